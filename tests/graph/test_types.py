"""Tests of the values that travel through a graph: shape, equality, stored form."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from lithograph.eventlog.serde import Serializer
from lithograph.graph.errors import GraphInterrupt, GraphRecursionError, MissingThreadId
from lithograph.projections.cells import overwrite_of
from lithograph.projections.types import (
    Command,
    Interrupt,
    Overwrite,
    PregelTask,
    Send,
    StateSnapshot,
)

VALUES: list[Any] = [
    Send("a", {"x": (1, 2)}),
    Overwrite(["b"]),
    Interrupt({"question": 1}, "id-1"),
    Interrupt("q", "id-2", response_schema={"type": "string"}),
    Command(update={"a": Overwrite(1)}, goto=[Send("a", 1), "b"]),
    Command(graph=Command.PARENT, goto="x"),
    Command(resume=None),
    Command(),
]


def snapshot(values: Any = None, **changes: Any) -> StateSnapshot:
    """Return a snapshot of one pending task."""
    task = PregelTask("t", "node_a", ("__pregel_pull", "node_a"))
    fields: dict[str, Any] = {
        "values": values,
        "next": ("node_a",),
        "config": {"configurable": {"thread_id": "1"}},
        "metadata": {"step": 0},
        "created_at": "2024-08-29T19:19:38+00:00",
        "parent_config": None,
        "tasks": (task,),
        "interrupts": (),
    }
    return StateSnapshot(**{**fields, **changes})


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back_equal_from_the_log(value: Any) -> None:
    """What a node may return is stored exactly, and the stored bytes are a function of the value."""
    serializer = Serializer()
    data = serializer.encode(value)
    back = serializer.decode(data)
    assert (back, type(back)) == (value, type(value))
    assert serializer.encode(back) == data


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_survive_copy_and_pickle(value: Any) -> None:
    """Copies and pickles of graph values are equal to the original."""
    assert copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(value)) == value


def test_answering_none_is_an_answer() -> None:
    """`Command(resume=None)` resumes with `None`; a command without `resume` resumes nothing."""
    assert Command(resume=None).resumes
    assert not Command(update={}).resumes
    assert Command(resume=None) != Command()


@pytest.mark.oracle
def test_representations_are_those_of_langgraph() -> None:
    """`repr` of our values is what LangGraph prints."""
    theirs = pytest.importorskip("langgraph.types")
    assert repr(Send("a", 1)) == repr(theirs.Send("a", 1))
    assert repr(Overwrite([1])) == repr(theirs.Overwrite([1]))
    assert repr(Interrupt("q", "i")) == repr(theirs.Interrupt("q", "i"))
    assert repr(Command(update={"a": 1}, goto="b")) == repr(theirs.Command(update={"a": 1}, goto="b"))
    assert repr(Command()) == repr(theirs.Command())
    ours, other = snapshot({"foo": 1}), theirs.StateSnapshot(*snapshot({"foo": 1}))
    assert repr(ours) == repr(other)
    assert ours._fields == other._fields


@pytest.mark.parametrize("value", [Command(), snapshot({})], ids=["command", "snapshot"])
def test_values_cannot_be_assigned(value: Any) -> None:
    """A command or snapshot that somebody holds does not change under them."""
    with pytest.raises(AttributeError, match="cannot be assigned"):
        value.next = ()
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del value.goto


def test_overwrite_is_recognised_in_three_forms() -> None:
    """The object and both plain forms that survive JSON overwrite; other dictionaries are values."""
    forms = [Overwrite(1), {"__overwrite__": 1}, {"type": "__overwrite__", "value": 1}]
    assert [overwrite_of(form) for form in forms] == [(True, 1)] * 3
    others = [{"__overwrite__": 1, "more": 2}, {"type": "other", "value": 1}, [1], None]
    assert [overwrite_of(other) for other in others] == [(False, other) for other in others]


def test_a_lazy_snapshot_builds_its_values_once_and_only_when_asked() -> None:
    """Looking at metadata decodes no state; looking at values twice decodes it once."""
    built: list[int] = []

    def build() -> dict[str, int]:
        built.append(1)
        return {"foo": 1}

    fields = {name: value for name, value in snapshot()._asdict().items() if name != "values"}
    lazy = StateSnapshot.lazy(build, **fields, writes=lambda: {"node_a": 2})
    assert lazy.metadata == {"step": 0}
    assert lazy.writes == {"node_a": 2}
    assert built == []
    assert lazy.values is lazy.values
    assert built == [1]
    assert lazy == snapshot({"foo": 1})


def test_a_snapshot_behaves_like_a_named_tuple() -> None:
    """Unpacking, indexing, `_asdict`, `_replace`, comparison with tuples and pickling work."""
    shot = snapshot({"foo": 1})
    values, next_, *_rest = shot
    assert (values, next_, len(shot)) == ({"foo": 1}, ("node_a",), 8)
    assert shot[0] == {"foo": 1}
    assert shot == tuple(shot)
    assert shot != ({"foo": 1},)
    assert list(shot._asdict()) == list(shot._fields)
    assert shot._replace(next=()).next == ()
    assert shot._replace(next=()) != shot
    assert pickle.loads(pickle.dumps(shot)) == shot
    with pytest.raises(TypeError, match="unhashable"):
        hash(shot)
    match shot:
        case StateSnapshot(values={"foo": found}):
            assert found == 1
        case _:
            pytest.fail("a snapshot matches by its fields")


def test_signals_pass_a_broad_except() -> None:
    """An interrupt leaves a node whose code catches `Exception`."""

    def node() -> str:
        try:
            raise GraphInterrupt([Interrupt("q")])
        except Exception:  # noqa: BLE001 - the point of the test
            return "swallowed"

    with pytest.raises(GraphInterrupt) as caught:
        node()
    assert caught.value.interrupts == (Interrupt("q"),)


def test_errors_can_be_caught_as_what_langgraph_raises() -> None:
    """Existing `except` clauses keep working."""
    assert issubclass(GraphRecursionError, RecursionError)
    assert issubclass(MissingThreadId, ValueError)
    assert issubclass(MissingThreadId, KeyError)
