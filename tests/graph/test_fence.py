"""A run's own nodes cannot take its thread from it; other threads and other graphs are free."""

from __future__ import annotations

import operator
import threading
from contextlib import suppress
from typing import Annotated, Any, TypedDict

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.events import CheckpointCommitted
from lithograph.eventlog.serde import Serializer
from lithograph.graph import START, ConflictError, StateGraph
from lithograph.projections import threads
from lithograph.projections.open_thread import OpenThread
from lithograph.projections.reader import threads_of
from lithograph.projections.thread import RUNG_COMMITS


class Log(TypedDict):
    """A state that says who was there."""

    log: Annotated[list[str], operator.add]


def run_with(act: Any) -> Any:
    """Run a graph of one node that calls `act(graph)` while its run holds thread 1."""
    log = EventLog.in_memory()
    holder: list[Any] = []

    def node(state: Log) -> dict[str, Any]:
        act(holder[0])
        return {"log": ["node"]}

    graph = StateGraph(Log).add_node("node", node).add_edge(START, "node").compile(checkpointer=log)
    holder.append(graph)
    return graph


ONE = {"configurable": {"thread_id": "1"}}


@pytest.mark.parametrize(
    "act",
    [
        lambda graph: graph.invoke({"log": ["again"]}, ONE),
        lambda graph: graph.invoke(None, ONE),
        lambda graph: graph.update_state(ONE, {"log": ["edit"]}, as_node="node"),
    ],
    ids=["input", "continue", "edit"],
)
def test_a_node_cannot_take_its_own_thread(act: Any) -> None:
    """The call raises at once, the run fails with it, and the thread goes on afterwards."""
    graph = run_with(act)
    with pytest.raises(ConflictError, match="from the node"):
        graph.invoke({"log": []}, ONE)
    assert graph.get_state(ONE).next == ("node",)


def test_a_node_may_read_its_thread_and_use_another() -> None:
    """Reading one's own thread, and editing another, is no conflict."""

    def act(graph: Any) -> None:
        graph.get_state(ONE)
        graph.update_state({"configurable": {"thread_id": "2"}}, {"log": ["elsewhere"]}, as_node="node")

    graph = run_with(act)
    assert graph.invoke({"log": []}, ONE) == {"log": ["node"]}


def test_a_conflict_that_a_node_meets_is_no_conflict_over_its_own_thread() -> None:
    """With `on_conflict="fork"`, a node that raises one fails like any other: it runs once, and nothing is forked."""
    log, ran = EventLog.in_memory(), []

    def node(state: Log) -> dict[str, Any]:
        ran.append(1)
        raise ConflictError("of something else", stream="other", expected=1, actual=2)

    graph = StateGraph(Log).add_node("node", node).add_edge(START, "node").compile(checkpointer=log)
    with pytest.raises(ConflictError, match="something else"):
        graph.invoke({"log": []}, ONE, on_conflict="fork")
    assert ran == [1]
    assert [thread.thread_id for thread in threads(log)] == ["1"]
    assert "something else" in str(graph.get_state(ONE).tasks[0].error)


def test_an_overtaken_run_leaves_no_trace_in_memory() -> None:
    """What a run held that lost its thread is nothing that a later run or reader of the same process begins from."""
    log, turns, rivals = EventLog.in_memory(), 2 * RUNG_COMMITS, []

    def first(state: Log) -> dict[str, Any]:
        if state["log"][-1].startswith("loser"):
            rival = threading.Thread(target=win, args=(len(rivals),))
            rivals.append(rival)
            rival.start()
            rival.join()
        return {"log": ["first"]}

    def second(_state: Log) -> dict[str, Any]:
        return {"log": ["second"]}

    def win(turn: int) -> None:
        # What the other run has queued may be appended in the middle: then this one has not won.
        with suppress(ConflictError):
            for edit in range(turn % 5):
                graph.update_state(ONE, {"log": [f"edit {edit}"]}, as_node="second")
            if turn % 2:
                graph.invoke({"log": [f"winner {turn}"]}, ONE)

    graph = StateGraph(Log).add_sequence([first, second]).add_edge(START, "first").compile(checkpointer=log)
    lost = 0
    for turn in range(turns):
        try:
            graph.invoke({"log": [f"loser {turn}"]}, ONE)
        except ConflictError:
            lost += 1
    assert lost > turns / 2
    thread = OpenThread(log, "1", Serializer()).thread
    kept = threads_of(log).known(thread.stream, graph._persistence.open(ONE).values)
    assert kept is not None
    assert len(kept.ladder) > 2
    for version, state in kept.ladder.items():
        event = log.read_stream(thread.stream, version - 1, 1)[0].event
        assert isinstance(event, CheckpointCommitted)
        assert event.id == state.id
