"""A run's own nodes cannot take its thread from it; other threads and other graphs are free."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import START, ConflictError, StateGraph


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
