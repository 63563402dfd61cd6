"""Tasks of one step beside each other: who is started, who is kept, when one of them fails."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import START, StateGraph

ONE = {"configurable": {"thread_id": "1"}}


class Log(TypedDict):
    """Who was there."""

    log: Annotated[list[str], operator.add]


def fail(state: Log) -> Any:
    """A node that fails at once."""
    raise ValueError("at once")


def three() -> Any:
    """Return a graph of three parallel nodes of which the first fails at once."""
    builder = StateGraph(Log).add_node("a_fails", fail)
    builder.add_edge(START, "a_fails")
    for name in ("b", "c"):
        builder.add_node(name, lambda state, name=name: {"log": [name]})
        builder.add_edge(START, name)
    return builder.compile(checkpointer=EventLog.in_memory())


def test_siblings_of_a_fast_failure_run_and_are_kept() -> None:
    """Every task that has a worker counts as started; what it wrote is there when the thread goes on."""
    for _ in range(20):
        graph = three()
        with pytest.raises(ValueError, match="at once"):
            graph.invoke({"log": []}, ONE)
        results = {task.name: task.result for task in graph.get_state(ONE).tasks}
        assert results == {"a_fails": None, "b": {"log": ["b"]}, "c": {"log": ["c"]}}


def test_what_waits_for_a_worker_is_not_started_after_a_failure() -> None:
    """With one worker the siblings behind a failure never run."""
    graph = three()
    with pytest.raises(ValueError, match="at once"):
        graph.invoke({"log": []}, {**ONE, "max_concurrency": 1})
    results = {task.name: task.result for task in graph.get_state(ONE).tasks}
    assert results == {"a_fails": None, "b": None, "c": None}
