"""Values for the tests of the serializer: strategies, registered classes, what "exactly the same" means."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import struct
from collections.abc import Hashable
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from hypothesis import strategies as st
from lithograph.eventlog.serde import BASE, Opaque, Serializer, StoredError
from pydantic import BaseModel, ConfigDict, PrivateAttr


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


CLASSES = [Loan, Point, Pair, Color, Level, Word, Right, Model, Refused]


def serializer() -> Serializer:
    """Return a serializer that knows `CLASSES`."""
    return Serializer(BASE.extended(CLASSES))


def identical(one: Any, other: Any) -> bool:
    """Say whether two values are equal and of one type in every part; NaN is itself, dicts have order."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return struct.pack(">d", one) == struct.pack(">d", other)
    if isinstance(one, enum.Enum):
        return one is other
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(identical, one, other))
    if isinstance(one, dict):
        return identical(list(one), list(other)) and identical(list(one.values()), list(other.values()))
    if isinstance(one, (set, frozenset)):
        return len(one) == len(other) and all(any(identical(a, b) for b in other) for a in one)
    if isinstance(one, (dt.datetime, dt.time)):
        return repr(one) == repr(other) and one.fold == other.fold
    if isinstance(one, BaseException):
        return identical([list(one.args), one.__dict__], [list(other.args), other.__dict__])
    if isinstance(one, BaseModel):
        return all(identical(getattr(one, name), getattr(other, name)) for name in _PYDANTIC)
    if dataclasses.is_dataclass(one):
        return identical(_fields(one), _fields(other))
    if isinstance(one, StoredError):
        return all(identical(getattr(one, name), getattr(other, name)) for name in StoredError.__slots__)
    if isinstance(one, Opaque):
        return one == other
    return repr(one) == repr(other)


_PYDANTIC = ("__dict__", "__pydantic_extra__", "__pydantic_fields_set__", "__pydantic_private__")


def _fields(value: Any) -> dict[str, Any]:
    own = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return own | dict(sorted(getattr(value, "__dict__", {}).items()))


ZONES = [ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York"), dt.UTC]
FIXED = st.builds(
    dt.timezone,
    st.timedeltas(dt.timedelta(hours=-23), dt.timedelta(hours=23)),
)
NAMED = st.builds(dt.timezone, st.timedeltas(dt.timedelta(hours=-23), dt.timedelta(hours=23)), st.text(max_size=5))
TZ = st.none() | st.sampled_from(ZONES) | FIXED | NAMED
FOLDS = st.integers(0, 1)
TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
"""Text that may hold lone surrogates."""

DATETIMES = st.builds(lambda d, tz, fold: d.replace(tzinfo=tz, fold=fold), st.datetimes(), TZ, FOLDS)
TIMES = st.builds(lambda t, tz, fold: t.replace(tzinfo=tz, fold=fold), st.times(), TZ, FOLDS)

PLAIN_LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=12)
PLAIN = st.recursive(
    PLAIN_LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=15,
)
"""What MessagePack has itself."""

HASHABLE_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**90), 2**90)
    | st.integers(-3, 3)
    | st.floats()
    | TEXT
    | st.binary(max_size=8)
    | DATETIMES
    | st.dates()
    | TIMES
    | st.timedeltas()
    | st.uuids()
    | st.decimals(allow_nan=True).filter(lambda number: not number.is_snan())
    | st.sampled_from([*Color, *Level, *Word, *Right, Right.READ | Right.WRITE, *ZONES])
)
HASHABLE: st.SearchStrategy[Hashable] = st.recursive(
    HASHABLE_LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.frozensets(inner, max_size=3)
        | st.builds(Point, inner, inner)
        | st.builds(Pair, inner, inner)
    ),
    max_leaves=6,
)


def _set_secret(model: Model, secret: Any) -> Model:
    model._secret = secret
    return model


MODELS = st.builds(
    _set_secret,
    st.fixed_dictionaries({"a": HASHABLE_LEAVES}, optional={"b": HASHABLE_LEAVES, "c": HASHABLE_LEAVES}).map(
        lambda fields: Model(**fields)
    ),
    HASHABLE_LEAVES,
)
ERRORS = st.builds(
    lambda cls, args: cls(*args), st.sampled_from([ValueError, KeyError, RuntimeError]), st.lists(PLAIN)
) | st.builds(Refused, HASHABLE_LEAVES, st.integers(0, 9))

VALUES = st.recursive(
    HASHABLE | st.binary(max_size=8).map(bytearray) | MODELS | ERRORS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
        | st.dictionaries(HASHABLE, inner, max_size=3)
        | st.sets(HASHABLE, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.builds(Loan, inner, inner)
        | st.builds(Pair, inner, inner)
    ),
    max_leaves=10,
)
"""Every type that the serializer stores, nested."""
