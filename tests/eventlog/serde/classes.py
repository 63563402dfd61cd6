"""Classes of every kind that can be registered, for the tests of the serializer."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from pydantic import BaseModel, ConfigDict, PrivateAttr

T = TypeVar("T")


@dataclasses.dataclass
class Loan:
    """A plain dataclass."""

    amount: Any
    note: Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """A frozen dataclass with slots."""

    x: Any
    y: Any = 0


@dataclasses.dataclass
class Made:
    """A dataclass whose `__init__` takes other things than its fields."""

    given: Any
    seed: dataclasses.InitVar[Any] = None
    made: Any = dataclasses.field(init=False)
    rest: Any = dataclasses.field(init=False, default="class default")

    def __post_init__(self, seed: Any) -> None:
        self.made = [seed]


@dataclasses.dataclass(slots=True)
class Half(Loan):
    """A dataclass with slots over one without: fields here and there."""

    half: Any = None


@dataclasses.dataclass
class Box(Generic[T]):
    """A generic dataclass."""

    content: T


@dataclasses.dataclass
class Tree:
    """A recursive dataclass, with a nested class."""

    name: Any
    branches: list[Tree] = dataclasses.field(default_factory=list)
    leaf: Tree.Leaf | None = None

    @dataclasses.dataclass
    class Leaf:
        """A nested dataclass."""

        color: Any = None


class Gauge(msgspec.Struct):
    """A Struct, which checks itself when it is made."""

    value: Any
    unit: Any = "m"

    def __post_init__(self) -> None:
        if self.value == "refused":
            raise ValueError("no")


class Fixed(msgspec.Struct, frozen=True, kw_only=True, tag="fixed", array_like=True, gc=False):
    """A frozen Struct with as many options as it can have."""

    x: Any
    y: Any = msgspec.UNSET


class Loose(Gauge, dict=True, weakref=True):
    """A Struct over a Struct, with attributes beside its fields."""

    more: Any = None


class Pair(NamedTuple):
    """A namedtuple."""

    left: Any
    right: Any


class Color(enum.Enum):
    """An Enum, with a value that has parts."""

    RED = 1
    GREEN = ("g", 2)


class Level(enum.IntEnum):
    """An Enum whose members are ints."""

    LOW = 1
    HIGH = 2


class Word(enum.StrEnum):
    """An Enum whose members are strs."""

    YES = "yes"


class Right(enum.Flag):
    """An Enum whose members combine."""

    READ = 1
    WRITE = 2


class Mode(enum.IntFlag):
    """An Enum whose members combine and are ints."""

    X = 1
    W = 2
    R = 4


class Model(BaseModel):
    """A pydantic model with extra fields and a private one."""

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)
    a: Any
    b: Any = None
    _secret: Any = PrivateAttr(default=None)


class Refused(Exception):
    """An exception with an attribute of its own."""

    def __init__(self, why: Any, code: int = 0) -> None:
        super().__init__(why)
        self.code = code


class Lost(FileNotFoundError):
    """An exception that keeps a file name beside its arguments."""


class Currency(str):
    """A str."""

    __slots__ = ()


class Cents(int):
    """An int that may have attributes."""

    def __index__(self) -> int:
        raise AssertionError("user code")


class Ratio(float):
    """A float."""


class Blob(bytes):
    """A bytes."""


class Buffer(bytearray):
    """A bytearray."""


class Names(list):  # type: ignore[type-arg]
    """A list with attributes, in a slot and elsewhere, which looks otherwise than it is."""

    __slots__ = ("__dict__", "owner")

    def __iter__(self) -> Any:
        return iter(["user code"])


class Triple(tuple):  # type: ignore[type-arg]
    """A tuple that cannot be made of what it holds."""

    def __new__(cls, a: Any, b: Any, c: Any) -> Triple:
        return super().__new__(cls, (a, b, c))


class Table(dict):  # type: ignore[type-arg]
    """A dict that changes what is put into it."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, "user code")


class Tags(set):  # type: ignore[type-arg]
    """A set."""


class Marks(frozenset):  # type: ignore[type-arg]
    """A frozenset."""


BUILTIN_SUBCLASSES: dict[type, type] = {
    Currency: str,
    Cents: int,
    Ratio: float,
    Blob: bytes,
    Buffer: bytearray,
    Names: list,
    Triple: tuple,
    Table: dict,
    Tags: set,
    Marks: frozenset,
}

CLASSES: list[type] = [
    *(Loan, Point, Made, Half, Box, Tree, Tree.Leaf, Gauge, Fixed, Loose),
    *(Pair, Color, Level, Word, Right, Mode, Model, Refused, Lost),
    *BUILTIN_SUBCLASSES,
]
