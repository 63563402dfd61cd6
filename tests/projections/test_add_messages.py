"""Tests of the messages reducer: LangGraph's results, ids that a refold mints again, cost of a turn."""

from __future__ import annotations

import itertools
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lithograph.eventlog.messages import message_classes
from lithograph.projections.add_messages import (
    REMOVE_ALL_MESSAGES,
    MessagesCell,
    add_messages,
    merge_messages,
)
from lithograph.projections.cells import Cell, ListCell

CLASSES = message_classes()
Human, AI, Remove = CLASSES["human"], CLASSES["ai"], CLASSES["remove"]

ids = st.sampled_from(["1", "2", "3", "4"])
contents = st.sampled_from(["a", "b", ""])
messages = st.one_of(
    st.builds(lambda id, text: Human(content=text, id=id), ids, contents),
    st.builds(lambda id, text: AI(content=text, id=id), ids, contents),
    st.builds(lambda id, text: {"role": "user", "content": text, "id": id}, ids, contents),
)
removals = st.one_of(ids, st.just(REMOVE_ALL_MESSAGES)).map(lambda id: Remove(id=id))
arrivals = st.one_of(messages, st.lists(st.one_of(messages, messages, removals), max_size=6))


def counter() -> Callable[[], str]:
    """Return a source of ids: m0, m1, …"""
    numbers = itertools.count()
    return lambda: f"m{next(numbers)}"


def outcome(act: Callable[[], Any]) -> Any:
    """Return what `act` gives, or the text of the `ValueError` that it raises."""
    try:
        return act()
    except ValueError as refused:
        return str(refused)


@pytest.mark.oracle
@given(st.lists(messages, max_size=5), arrivals)
def test_merging_gives_what_langgraph_gives(left: list[Any], right: Any) -> None:
    """Any two lists merge to the same messages, or the same refusal, as in LangGraph."""
    theirs = pytest.importorskip("langgraph.graph.message")
    expected = outcome(lambda: theirs.add_messages(list(left), right))
    assert outcome(lambda: add_messages(left, right)) == expected


@given(st.lists(arrivals, max_size=6))
def test_a_kept_cell_equals_a_merge_from_scratch(steps: list[Any]) -> None:
    """Folding step by step equals merging plain lists, and old cells keep their values."""
    cell: MessagesCell | None = None
    plain: list[Any] = []
    kept: list[tuple[MessagesCell, list[Any]]] = []
    for step in steps:
        before = cell
        merged = outcome(lambda step=step, before=before: merge_messages(before, step, new_id=counter()))
        expected = outcome(lambda step=step, old=plain: add_messages(old, step))
        if isinstance(merged, str):
            assert merged == expected
            continue
        assert merged.get() == expected
        cell, plain = merged, expected
        kept.append((cell, expected))
    for old, values in kept:
        assert old.get() == values


def test_two_continuations_of_one_cell_do_not_see_each_other() -> None:
    """A fork of a conversation keeps its own messages and its own index."""
    base = merge_messages(None, [Human(content="q", id="1")], new_id=counter())
    left = merge_messages(base, [AI(content="left", id="2")], new_id=counter())
    right = merge_messages(base, [AI(content="right", id="2"), AI(content="more", id="3")], new_id=counter())
    left = merge_messages(left, [AI(content="left again", id="2")], new_id=counter())
    assert [m.content for m in base.get()] == ["q"]
    assert [m.content for m in left.get()] == ["q", "left again"]
    assert [m.content for m in right.get()] == ["q", "right", "more"]
    with pytest.raises(ValueError, match=r"doesn't exist \('3'\)"):
        merge_messages(left, Remove(id="3"), new_id=counter())


def test_only_an_append_extends() -> None:
    """New messages extend the old cell, so a log stores the tail alone; an edit makes a new list."""
    base = merge_messages(None, [Human(content="q", id="1")], new_id=counter())
    assert merge_messages(base, [AI(content="a", id="2")], new_id=counter()).extends(base)
    assert not merge_messages(base, [Human(content="q2", id="1")], new_id=counter()).extends(base)
    assert not merge_messages(base, Remove(id="1"), new_id=counter()).extends(base)


def test_a_list_read_from_a_log_is_extended_too() -> None:
    """The first merge over a plain list of messages with ids keeps the list."""
    read = ListCell([Human(content="q", id="1")])
    assert merge_messages(read, [AI(content="a", id="2")], new_id=counter()).extends(read)


def test_missing_ids_come_from_the_source_in_order() -> None:
    """The same source mints the same ids, left before right; given ids are kept."""
    right = ["hello", AI(content="a", id="mine"), ("user", "again")]
    merged = merge_messages(Cell("first"), right, new_id=counter()).get()
    assert [m.id for m in merged] == ["m0", "m1", "mine", "m2"]
    assert [m.content for m in merged] == ["first", "hello", "a", "again"]
    again = merge_messages(Cell("first"), right, new_id=counter()).get()
    assert again == merged


def test_nothing_passed_in_is_changed() -> None:
    """A message without an id is copied, not given one; lists stay as they were."""
    message = Human(content="q")
    left, right = [message], [AI(content="a")]
    merged = add_messages(left, right)
    assert message.id is None
    assert right[0].id is None
    assert left == [message]
    assert all(m.id for m in merged)


def test_remove_all_starts_over_after_the_last_one() -> None:
    """What comes after the last `REMOVE_ALL_MESSAGES` is the whole conversation."""
    right = [AI(content="gone", id="8"), Remove(id=REMOVE_ALL_MESSAGES), AI(content="kept", id="9")]
    assert [m.content for m in add_messages([Human(content="q", id="1")], right)] == ["kept"]


def test_a_reducer_with_a_format_is_made_by_a_call_without_operands() -> None:
    """`add_messages(format=…)` is a reducer; one operand alone and unknown formats are refused."""
    reducer = add_messages(format="langchain-openai")
    merged = reducer([], [{"role": "user", "content": [{"type": "text", "text": "hi"}], "id": "1"}])
    assert [m.type for m in merged] == ["human"]
    loose: Any = add_messages
    with pytest.raises(ValueError, match="Only received: 'left'"):
        loose([])
    with pytest.raises(ValueError, match="Unrecognized format='other'"):
        loose([], [], format="other")


def test_a_turn_costs_the_same_in_a_long_conversation() -> None:
    """Merging a turn looks at what arrives only: no message of the past is touched."""

    class Past:
        type = "human"
        looks = 0

        def __init__(self, id: str) -> None:
            self._id = id

        @property
        def id(self) -> str:
            Past.looks += 1
            return self._id

    cell = MessagesCell(ListCell([Past(str(number)) for number in range(1000)]))
    Past.looks = 0
    for turn in range(10):
        cell = merge_messages(cell, [AI(content="a", id=f"new{turn}")], new_id=counter())
    assert (Past.looks, cell.length) == (0, 1010)


def test_the_reducer_works_without_langchain() -> None:
    """With langchain-core absent the same merge works on our own classes."""
    script = """
        import sys
        sys.modules["langchain_core"] = None
        from lithograph.projections.add_messages import add_messages
        merged = add_messages([("user", "q")], [{"role": "assistant", "content": "a", "id": "1"}])
        again = add_messages(merged, [{"role": "assistant", "content": "b", "id": "1"}])
        print([(m.type, m.content) for m in again], type(again[0]).__module__, bool(again[0].id))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[('human', 'q'), ('ai', 'b')] lithograph.eventlog.own_messages True"
