"""Tests of what a user's schema means: channels, node input, updates."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired, Required, TypedDict

import pytest
from lithograph.graph.schema import analyse, coerce_context, input_hint, update_pairs
from lithograph.graph.spec import MISSING
from lithograph.projections.channels import BinaryOperatorAggregate, EphemeralValue, LastValue, Topic
from pydantic import BaseModel, ValidationError


class Fields(TypedDict, total=False):
    plain: str
    required: Required[Annotated[int, operator.add]]
    optional: Annotated[NotRequired[list[str]], operator.add]
    noted: Annotated[int, "a note, no reducer"]
    instance: Annotated[list[str], Topic(str, True)]
    of_class: Annotated[int, EphemeralValue, "and a note"]


@dataclass
class Record:
    a: int
    b: list[int] = field(default_factory=list)


class Model(BaseModel):
    a: int
    b: int | None = None
    c: int | None = 3


def test_fields_become_channels() -> None:
    """A channel in the metadata wins over a reducer, a reducer over last-value."""
    channels = analyse(Fields).channels
    kinds = {name: type(channel) for name, channel in channels.items()}
    assert kinds == {
        "plain": LastValue,
        "required": BinaryOperatorAggregate,
        "optional": BinaryOperatorAggregate,
        "noted": LastValue,
        "instance": Topic,
        "of_class": EphemeralValue,
    }
    assert channels["optional"].initial() == []
    assert channels["required"].initial() == 0


@pytest.mark.parametrize("schema", [list, dict, Annotated[list, operator.add]])
def test_a_plain_type_is_one_root_channel(schema: Any) -> None:
    """Without fields the whole state is one value; there is nothing to read before it has one."""
    analysed = analyse(schema)
    assert analysed.keys == ("__root__",)
    assert analysed.read({"__root__": [1]}) == [1]
    assert analysed.read({}) is MISSING


def test_a_reducer_needs_two_parameters() -> None:
    """A last callable of another arity is refused with LangGraph's words."""

    def one(a: int) -> int:
        return a

    with pytest.raises(ValueError, match=r"Invalid reducer signature. Expected \(a, b\) -> c. Got \(a"):
        analyse(Annotated[int, one])


def test_no_schema_at_all_warns() -> None:
    """Something that is no type is taken as the root's type, with a warning."""
    with pytest.warns(UserWarning, match="Invalid state_schema: nonsense"):
        analyse("nonsense")


def test_input_is_restricted_to_the_schema_and_to_what_has_a_value() -> None:
    """A node sees its own keys only, and no key without a value."""
    read = analyse(Fields).read
    assert read({"plain": "x", "foreign": 1}) == {"plain": "x"}


def test_records_are_built_and_models_validated() -> None:
    """Dataclass and pydantic states arrive as instances; pydantic checks a node's input."""
    assert analyse(Record).read({"a": 1}) == Record(1)
    assert analyse(Model).read({"a": "1"}) == Model(a=1)
    with pytest.raises(ValidationError):
        analyse(Model).read({"a": "no number"})


@pytest.mark.oracle
@pytest.mark.parametrize(
    "value",
    [Model(a=1), Model(a=1, b=None), Model(a=1, c=None), Model(a=1, b=2), Record(1, [2])],
    ids=repr,
)
def test_an_instance_writes_what_langgraph_writes(value: Any) -> None:
    """Which fields of a returned state object count as updates is LangGraph's rule."""
    theirs = pytest.importorskip("langgraph._internal._fields")
    keys = ("a", "b", "c", "other")
    assert update_pairs(value, keys) == theirs.get_update_as_tuples(value, keys)


def test_the_first_parameter_names_the_input_schema() -> None:
    """Only an annotated class with fields counts; what cannot be resolved is no hint."""

    def typed(state: Record) -> None: ...
    def loose(state: dict[str, Any]) -> None: ...
    def bare(state): ...  # type: ignore[no-untyped-def]
    def unknown(state: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    class Callable:
        def __call__(self, state: Record) -> None: ...

        def method(self, state: Record) -> None: ...

    assert input_hint(typed) is Record
    assert input_hint(Callable()) is Record
    assert input_hint(Callable().method) is Record
    assert [input_hint(fn) for fn in (loose, bare, unknown, len)] == [None] * 4


def test_context_given_as_a_dictionary_becomes_its_class() -> None:
    """`invoke(context={…})` gives nodes an instance of the context schema."""
    assert coerce_context(Record, {"a": 1}) == Record(1)
    assert coerce_context(Fields, {"plain": "x"}) == {"plain": "x"}
    assert coerce_context(None, {"a": 1}) == {"a": 1}
    assert coerce_context(Record, None) is None
