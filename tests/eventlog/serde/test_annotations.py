"""Which classes an annotation leads to: the types that a graph registers at compile."""

import collections
import dataclasses
import enum
import typing
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NotRequired,
    Optional,
    TypedDict,
    TypeVar,
    Union,
)

import pytest
from lithograph.eventlog.serde import TypeRegistry
from pydantic import BaseModel

T = TypeVar("T")


class Kind(enum.Enum):
    """An Enum."""

    A = 1


@dataclasses.dataclass
class Leaf:
    """A dataclass with an Enum."""

    kind: Kind


@dataclasses.dataclass
class Tree:
    """A recursive dataclass, by forward reference."""

    leaf: "Leaf"
    children: "list[Tree]"
    parent: Optional["Tree"] = None


class Row(NamedTuple):
    """A namedtuple with a dataclass."""

    leaf: Leaf


class Form(BaseModel):
    """A pydantic model with a namedtuple."""

    row: Row | None = None


class Box(BaseModel, Generic[T]):
    """A generic pydantic model."""

    item: T


class Inner(TypedDict):
    """A TypedDict with a model."""

    form: NotRequired[Form]


class State(TypedDict):
    """A state as graphs have it."""

    tree: Annotated[list[Tree], lambda a, b: a + b]
    inner: Inner


class Half(TypedDict):
    """A state with a name that does not resolve."""

    lost: "Nowhere"  # type: ignore[name-defined]  # noqa: F821
    leaf: Leaf


class Problem(Exception):
    """An exception."""


CASES: list[tuple[Any, set[type]]] = [
    (int, set()),
    (Any, set()),
    (None, set()),
    ("Leaf", set()),
    (Kind, {Kind}),
    (Leaf, {Leaf, Kind}),
    (Tree, {Tree, Leaf, Kind}),
    (Row, {Row, Leaf, Kind}),
    (list[Row], {Row, Leaf, Kind}),
    (dict[str, tuple[Kind, ...]], {Kind}),
    (Union[Kind, int], {Kind}),  # noqa: UP007
    (Kind | None, {Kind}),
    (Optional[Kind], {Kind}),  # noqa: UP045
    (Annotated[Kind, "reducer"], {Kind}),
    (Literal[Kind.A], {Kind}),
    (Form, {Form, Row, Leaf, Kind}),
    (Box[Leaf], {Box, Box[Leaf], Leaf, Kind}),
    (State, {Tree, Leaf, Kind, Form, Row}),
    (Half, {Leaf, Kind}),
    (Problem | list[Problem], {Problem}),
    (collections.abc.Sequence[Kind], {Kind}),
    (typing.NewType("Id", Kind), {Kind}),
    (TypeVar("Bound", bound=Kind), {Kind}),
]


@pytest.mark.parametrize(("annotation", "expected"), CASES, ids=lambda case: str(case)[:50])
def test_what_an_annotation_leads_to(annotation: Any, expected: set[type]) -> None:
    """Exactly the registrable classes that values of an annotated field can be made of are registered."""
    registry = TypeRegistry()
    registry.collect(annotation)
    known = {Kind, Leaf, Tree, Row, Form, Box, Box[Leaf], Problem}
    assert {cls for cls in known if registry.codec(cls) is not None} - {Box} == expected - {Box}


def test_collecting_twice_and_over_a_parent() -> None:
    """A class that the registry or its parent knows already is left as it is, also a native one."""
    parent = TypeRegistry()
    parent.register_native(70, Leaf, lambda leaf: [leaf.kind], lambda parts: Leaf(*parts))
    child = parent.extended()
    child.collect(State)
    child.collect(State)
    codec = child.codec(Leaf)
    assert codec is not None
    assert codec.code == 70


def test_classes_of_a_function_are_found_beside_names_that_do_not_resolve() -> None:
    """A class of a function finds itself and what is in it by name, also when another of its annotations is unknown."""

    @dataclasses.dataclass
    class Outer:
        @dataclasses.dataclass
        class Inner:
            a: int

        inner: "Inner"
        outers: "list[Outer]"
        unknown: "Nowhere"  # type: ignore[name-defined]  # noqa: F821

    registry = TypeRegistry()
    registry.collect(Outer)
    assert registry.classes() == {Outer, Outer.Inner}


def test_message_classes_are_not_registered() -> None:
    """Conversations need no registration: the message classes are stored as messages, not as models."""
    messages = pytest.importorskip("langchain_core.messages")
    registry = TypeRegistry()
    registry.collect(list[messages.AnyMessage])
    assert registry.codec(messages.HumanMessage) is None
    assert registry.codec(messages.AIMessage) is None
