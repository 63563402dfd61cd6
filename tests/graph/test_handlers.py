"""Error handlers: where they go beyond LangGraph, which runs one again that had finished."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

from collections.abc import Iterator
from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import START, Command, NodeError, RecordedError, StateGraph, interrupt

from .chains import ONE, Log, stamp, twin

DRIVERS = ("threads", "loop")


@pytest.fixture
def log() -> Iterator[EventLog]:
    """A log in memory."""
    with EventLog.in_memory() as opened:
        yield opened


def _fails(state: Log) -> dict[str, Any]:
    raise ValueError(f"no {state['n']}")


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_handler_that_finished_does_not_run_again(log: EventLog, driver: str, durability: str) -> None:
    """A sibling asks: when the answer is there neither the node that failed nor its handler runs a second time."""
    ran: list[str] = []

    def handler(state: Log, error: NodeError) -> dict[str, Any]:
        ran.append(f"{error.node}: {error.error}")
        return {"log": ["handled"]}

    builder = StateGraph(Log)
    builder.add_node("fails", _fails, error_handler=handler)
    builder.add_node("asks", lambda state: {"log": [interrupt("?")]})
    builder.add_edge(START, "fails").add_edge(START, "asks")
    graph, run = builder.compile(checkpointer=log), twin("invoke", driver)
    run(graph, {"n": 1, "log": []}, ONE, durability=durability)
    assert run(graph, Command(resume="yes"), ONE, durability=durability)["log"] == ["yes", "handled"]
    assert ran == ["fails: no 1"]


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_handler_learns_of_a_failure_of_an_earlier_run(log: EventLog, driver: str) -> None:
    """A handler that failed runs again, with the recorded error; the node does not."""
    tries: list[Any] = []

    def handler(state: Log, error: NodeError) -> dict[str, Any]:
        tries.append(error.error)
        if len(tries) == 1:
            raise KeyError("not yet")
        return {"log": ["handled"]}

    builder = StateGraph(Log).add_node("fails", _fails, error_handler=handler).add_edge(START, "fails")
    graph, run = builder.compile(checkpointer=log), twin("invoke", driver)
    with pytest.raises(KeyError):
        run(graph, {"n": 1, "log": []}, ONE)
    assert run(graph, None, ONE)["log"] == ["handled"]
    assert isinstance(tries[0], ValueError)
    assert isinstance(tries[1], RecordedError)
    assert "no 1" in str(tries[1])


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_default_handler_is_for_nodes_without_their_own(log: EventLog, driver: str) -> None:
    """`set_node_defaults(error_handler=…)` before or after `add_node`; a builder may be compiled twice."""
    builder = StateGraph(Log)
    builder.add_node("one", _fails)
    builder.add_node("two", _fails, error_handler=lambda state: {"log": ["own"]})
    builder.set_node_defaults(error_handler=lambda state: {"log": ["default"]})
    builder.add_node("works", stamp("works"))
    builder.add_edge(START, "one").add_edge(START, "two").add_edge(START, "works")
    for _ in range(2):
        graph = builder.compile(checkpointer=log)
    found = twin("invoke", driver)(graph, {"n": 1, "log": []}, ONE)
    assert sorted(found["log"]) == ["default", "own", "works"]
