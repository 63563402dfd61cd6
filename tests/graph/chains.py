"""Small graphs and helpers that the tests of the runtime share."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

import asyncio
import operator
from collections.abc import Callable
from typing import Annotated, Any

from lithograph.eventlog import EventLog
from lithograph.eventlog.events import GraphRegistered
from lithograph.graph import START, StateGraph, interrupt
from typing_extensions import TypedDict

ONE: Any = {"configurable": {"thread_id": "1"}}
"""The config of thread 1."""


class Log(TypedDict):
    """A number without a reducer and a list with one."""

    n: int
    log: Annotated[list[Any], operator.add]


def chain(schema: Any = Log, **nodes: Callable[..., Any]) -> StateGraph[Any]:
    """Return a builder of the given nodes in a row."""
    builder: StateGraph[Any] = StateGraph(schema)
    for before, name in zip((START, *nodes), nodes, strict=False):
        builder.add_node(name, nodes[name])
        builder.add_edge(before, name)
    return builder


def parallel(schema: Any = Log, **nodes: Callable[..., Any]) -> StateGraph[Any]:
    """Return a builder of the given nodes side by side."""
    builder: StateGraph[Any] = StateGraph(schema)
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(START, name)
    return builder


def twin(method: str, driver: str) -> Callable[..., Any]:
    """Return what calls a method of a graph on `threads`, or its async twin on an event loop of its own."""

    def on_threads(graph: Any, *given: Any, **options: Any) -> Any:
        return getattr(graph, method)(*given, **options)

    def on_a_loop(graph: Any, *given: Any, **options: Any) -> Any:
        return asyncio.run(getattr(graph, f"a{method}")(*given, **options))

    return on_threads if driver == "threads" else on_a_loop


def stamp(name: str) -> Callable[[Any], Any]:
    """Return a node that adds its name to the log."""
    return lambda state: {"log": [name]}


def ask(question: Any = "?") -> Callable[[Any], Any]:
    """Return a node that asks and adds the answer to the log."""
    return lambda state: {"log": [interrupt(question)]}


def events(log: EventLog) -> int:
    """Return how many events the log holds, descriptions of graphs left out: those are nobody's act."""
    return sum(not isinstance(record.event, GraphRegistered) for page in log.scan() for record in page)
