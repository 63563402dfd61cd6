"""Tasks of one step beside each other: who is started, who is kept, when one of them fails."""

from __future__ import annotations

import operator
import threading
import time
from typing import Annotated, Any, TypedDict

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import START, StateGraph, get_stream_writer

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


@pytest.mark.parametrize("beside", [0, 2])
def test_custom_chunks_come_while_their_node_runs(beside: int) -> None:
    """Progress of a long node is seen when it is sent, alone or beside others that are done or send as well."""
    seen = threading.Event()

    def works(state: Log) -> Any:
        get_stream_writer()("half")
        assert seen.wait(5), "nobody was shown the first chunk while the node ran"
        get_stream_writer()("whole")
        return {"log": ["works"]}

    def chatters(state: Log) -> Any:
        for number in range(50):
            get_stream_writer()(number)
        return {"log": ["chatters"]}

    builder = StateGraph(Log).add_node("works", works).add_edge(START, "works")
    for number in range(beside):
        builder.add_node(f"chatters {number}", chatters)
        builder.add_edge(START, f"chatters {number}")
    chunks: list[Any] = []
    for chunk in builder.compile(checkpointer=EventLog.in_memory()).stream({"log": []}, ONE, stream_mode="custom"):
        chunks.append(chunk)
        if chunk == "half":
            seen.set()
    assert [chunk for chunk in chunks if isinstance(chunk, str)] == ["half", "whole"]
    assert sorted(chunk for chunk in chunks if isinstance(chunk, int)) == sorted([*range(50)] * beside)


def test_leaving_while_a_node_sends_waits_for_it_and_keeps_what_it_did() -> None:
    """Whoever stops reading behind a custom chunk finds the node that sent it done when the stream is closed."""

    def works(state: Log) -> Any:
        get_stream_writer()("begun")
        time.sleep(0.05)
        return {"log": ["works"]}

    graph = StateGraph(Log).add_node("works", works).add_edge(START, "works").compile(checkpointer=EventLog.in_memory())
    stream = graph.stream({"log": []}, ONE, stream_mode="custom")
    assert next(stream) == "begun"
    stream.close()
    assert graph.get_state(ONE).tasks[0].result == {"log": ["works"]}
    assert graph.invoke(None, ONE) == {"log": ["works"]}
