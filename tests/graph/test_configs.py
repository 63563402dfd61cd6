"""What a config may say: values that mean nothing are refused before anything is stored, by their type's own error."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import get_config
from lithograph.projections.errors import InvalidSearchError

from .chains import ONE, chain, stamp


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("max_concurrency", -1, ValueError),
        ("max_concurrency", 0, ValueError),
        ("max_concurrency", "x", TypeError),
        ("max_concurrency", True, TypeError),
        ("recursion_limit", "x", TypeError),
        ("recursion_limit", 1.5, TypeError),
    ],
)
def test_a_limit_that_is_none_leaves_no_event(key: str, value: Any, error: type[Exception]) -> None:
    """The call raises, naming the key, and the thread is as it was."""
    log = EventLog.in_memory()
    graph = chain(a=stamp("a")).compile(checkpointer=log)
    with pytest.raises(error, match=key):
        graph.invoke({"n": 1}, {**ONE, key: value})
    assert log.log_head().position == 0


@pytest.mark.parametrize("given", [5, b"id", ["id"]])
def test_a_checkpoint_id_is_text_or_a_uuid(given: Any) -> None:
    """Anything else is a `TypeError`, from whatever call; a UUID counts as its text."""
    log = EventLog.in_memory()
    graph = chain(a=stamp("a")).compile(checkpointer=log)
    graph.invoke({"n": 1}, ONE)
    wrong = {"configurable": {"thread_id": "1", "checkpoint_id": given}}
    end = log.log_head().position
    for call in (
        lambda: graph.get_state(wrong),
        lambda: list(graph.get_state_history(wrong)),
        lambda: list(graph.get_state_history(ONE, before=wrong)),
        lambda: graph.invoke(None, wrong),
        lambda: graph.update_state(wrong, {"n": 2}),
    ):
        with pytest.raises(TypeError, match="checkpoint"):
            call()
    assert log.log_head().position == end
    head = graph.get_state(ONE).config["configurable"]["checkpoint_id"]
    same = {"configurable": {"thread_id": "1", "checkpoint_id": uuid.UUID(head)}}
    assert graph.get_state(same).config == graph.get_state(ONE).config


@pytest.mark.parametrize("limit", ["a", 1.5, True, -1])
def test_a_limit_of_history_is_a_number_of_checkpoints(limit: Any) -> None:
    """Anything else is an `InvalidSearchError`."""
    graph = chain(a=stamp("a")).compile(checkpointer=EventLog.in_memory())
    with pytest.raises(InvalidSearchError):
        list(graph.get_state_history(ONE, limit=limit))


def test_a_namespace_in_a_config_does_not_start_a_thread_anew() -> None:
    """A run goes on from the thread's head whatever namespace is named; an edit there is refused."""
    log = EventLog.in_memory()
    graph = chain(a=stamp("a")).compile(checkpointer=log)
    graph.invoke({"n": 1}, ONE)
    elsewhere = {"configurable": {"thread_id": "1", "checkpoint_ns": "nowhere"}}
    assert graph.invoke({"n": 2}, elsewhere)["log"] == ["a", "a"]
    end = log.log_head().position
    with pytest.raises(ValueError, match="Subgraph nowhere not found"):
        graph.update_state(elsewhere, {"n": 3}, as_node="a")
    assert log.log_head().position == end


def test_a_node_may_hand_its_own_config_on_to_another_thread() -> None:
    """A node calls a graph with `{**its own configurable, "thread_id": …}`: that thread grows with each call."""
    log = EventLog.in_memory()
    memo = chain(note=stamp("note")).compile(checkpointer=log)

    def outer(_state: Any) -> dict[str, Any]:
        config = {"configurable": {**get_config()["configurable"], "thread_id": "memo"}}
        return {"n": len(memo.invoke({"n": 0}, config)["log"])}

    graph = chain(outer=outer).compile(checkpointer=log)
    assert [graph.invoke({"n": 0}, ONE)["n"] for _turn in range(3)] == [1, 2, 3]
