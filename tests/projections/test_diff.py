"""`diff`: which parts differ between two checkpoints, decided on stored bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lithograph.eventlog import EventLog
from lithograph.eventlog.serde import BASE, Serializer
from lithograph.graph import Command
from lithograph.projections import CheckpointNotFound, diff
from lithograph.projections.cells import MISSING
from lithograph.projections.diff import Change, compare

from .conftest import counter, desk, thread

SERIALIZER = Serializer(BASE.extended())


def changes(old: Any, new: Any) -> list[Change]:
    """Return the parts in which two values differ."""
    return list(compare(old, new, SERIALIZER))


def test_channels_that_came_changed_and_went(log: EventLog) -> None:
    """Between two checkpoints: each channel that differs with its kind, both values, and the parts."""
    graph = desk(log)
    graph.invoke({"done": ["in"], "word": ""}, thread("1"))
    asked = next(each for each in graph.get_state_history(thread("1")) if "ask" in each.next)
    graph.invoke(Command(resume="this"), thread("1"))

    found = diff(log, asked.config, thread("1"))

    assert list(found) == ["done", "word", "note"]
    assert found["done"].kind == "changed"
    assert found["done"].changes == (
        Change((2,), "added", MISSING, "this"),
        Change((3,), "added", MISSING, "second"),
        Change((4,), "added", MISSING, "last"),
    )
    assert found["note"] == ("added", MISSING, "answered", (Change((), "added", MISSING, "answered"),))
    back = diff(log, thread("1"), asked.config)
    assert back["note"].kind == "removed"
    assert [change.kind for change in back["done"].changes] == ["removed"] * 3


def test_a_checkpoint_and_itself_do_not_differ(log: EventLog) -> None:
    """Nothing is listed where nothing differs, in one thread or in a thread and its fork."""
    graph = desk(log)
    graph.invoke({"done": ["in"], "word": ""}, thread("1"))
    log.fork(thread("1"), "2")

    assert diff(log, thread("1"), thread("1")) == {}
    assert diff(log, thread("1"), thread("2")) == {}


def test_two_threads_can_be_compared(log: EventLog) -> None:
    """The two configs may name two threads."""
    graph = counter(log)
    graph.invoke({"done": ["a"], "word": "", "note": "x"}, thread("1"))
    graph.invoke({"done": ["b"], "word": "", "note": "x"}, thread("2"))

    found = diff(log, thread("1"), thread("2"))

    assert list(found) == ["done"]
    assert found["done"].changes == (Change((0,), "changed", "a", "b"),)


def test_an_unknown_checkpoint_is_an_error(log: EventLog) -> None:
    """An id that the thread does not have is told, not taken for an empty state."""
    counter(log).invoke({"done": [], "word": "", "note": ""}, thread("1"))

    with pytest.raises(CheckpointNotFound):
        diff(log, thread("1"), thread("1", "1f1ecf5c-23a3-6f84-8001-075c9d4962f3"))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (1, 1, []),
        (1, True, [Change((), "changed", 1, True)]),
        (1, 1.0, [Change((), "changed", 1, 1.0)]),
        ((1, 2), [1, 2], [Change((), "changed", (1, 2), [1, 2])]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, [Change(("a", "b"), "changed", 1, 2)]),
        ({"a": 1}, {"b": 1}, [Change(("a",), "removed", 1, MISSING), Change(("b",), "added", MISSING, 1)]),
        ({1: "x"}, {1: "y"}, [Change((1,), "changed", "x", "y")]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, [Change((), "changed", {"a": 1, "b": 2}, {"b": 2, "a": 1})]),
        ([1, 2, 3], [1, 3], [Change((1,), "removed", 2, MISSING)]),
        ([1, 3], [1, 2, 3], [Change((1,), "added", MISSING, 2)]),
        ([{"k": 1}, 5], [{"k": 2}, 5], [Change((0, "k"), "changed", 1, 2)]),
        ({1, 2}, {2, 3}, [Change((1,), "removed", 1, MISSING), Change((3,), "added", MISSING, 3)]),
        (MISSING, None, [Change((), "added", MISSING, None)]),
    ],
)
def test_parts_that_differ(old: Any, new: Any, expected: list[Change]) -> None:
    """Dicts by key, lists by place behind what they begin with alike, sets by member, all else as a whole."""
    found = changes(old, new)

    assert [tuple(map(repr, each)) for each in found] == [tuple(map(repr, each)) for each in expected]


@dataclass
class Case:
    """A value with fields."""

    name: str
    amount: int


def test_fields_of_objects_differ_by_name_whether_or_not_their_class_is_known() -> None:
    """A dataclass is taken apart by fields; so is the same value read where nobody registered it."""
    known = Serializer(BASE.extended([Case]))
    old, new = Case("a", 1), Case("a", 2)
    expected = [Change(("amount",), "changed", 1, 2)]

    assert list(compare(old, new, known)) == expected
    assert changes(SERIALIZER.decode(known.encode(old)), SERIALIZER.decode(known.encode(new))) == expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)


@given(VALUES, VALUES)
def test_changes_are_empty_exactly_for_equal_values(old: Any, new: Any) -> None:
    """No change is missed, none is made up: changes are there when, and only when, the stored bytes differ."""
    assert bool(changes(old, new)) == (SERIALIZER.encode(old) != SERIALIZER.encode(new))


@given(VALUES, VALUES)
def test_each_change_leads_to_its_part(old: Any, new: Any) -> None:
    """A change's path, followed in the old value, leads to its `before`, and in the new one to its `after`."""
    for change in changes(old, new):
        if change.kind == "changed" and not any(isinstance(step, int) for step in change.path):
            assert _follow(old, change.path) == change.before
            assert _follow(new, change.path) == change.after
        elif change.kind == "removed":
            assert _follow(old, change.path) == change.before
        elif change.kind == "added":
            assert _follow(new, change.path) == change.after


def _follow(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value
