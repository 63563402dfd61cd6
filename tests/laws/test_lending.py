"""Laws L1 and L2 against nodes, routers and callers that edit what they were given, down to the last element."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

import operator
from collections.abc import Callable
from typing import Annotated, Any

from hypothesis import given
from lithograph.eventlog import EventLog
from lithograph.graph import END, START, Send, StateGraph
from typing_extensions import TypedDict

from tests.eventlog.serde.values import VALUES, identical

from .settings import laws
from .test_values import Known, keep_last
from .world import Place, config_of

NewName = Callable[[], str]
MARK = "a mark that somebody made on a copy"


class State(TypedDict, total=False):
    """A value in each kind of container that a channel keeps."""

    last: Known | Any
    items: Annotated[list[Any], operator.add]
    kept: Annotated[Any, keep_last]
    table: Annotated[dict[str, Any], operator.or_]
    sent: Annotated[list[Any], operator.add]


def spoil(part: Any) -> None:
    """Change whatever can be changed within a value."""
    fields = getattr(part, "__dict__", None)
    if isinstance(part, list | tuple | set | frozenset):
        for inner in list(part):
            spoil(inner)
    elif isinstance(part, dict):
        for inner in list(part.values()):
            spoil(inner)
    elif isinstance(fields, dict) and not isinstance(part, type):
        for inner in list(fields.values()):
            spoil(inner)
    if isinstance(part, list):
        part.append(MARK)
    elif isinstance(part, dict):
        part[MARK] = MARK
    elif isinstance(part, set):
        part.add(MARK)
    elif isinstance(part, bytearray):
        part.extend(b"a mark")


def _graph(log: EventLog, value: Any, seen: list[bool]) -> Any:
    def give(_state: State) -> Any:
        return {"last": value, "items": [value], "kept": value, "table": {"key": value}}

    def meddle(state: State) -> Any:
        seen.extend(_as_written(state, value))
        for part in state.values():
            spoil(part)
        return {}

    def take(packet: Any) -> Any:
        seen.append(identical(packet, {"value": value}))
        spoil(packet)
        return {"sent": [1]}

    def route(state: State) -> Any:
        meddle(state)
        return [Send("take", {"value": value})]

    def end(state: State) -> str:
        meddle(state)
        return END

    builder: StateGraph[Any] = StateGraph(State)
    for node in (give, take, meddle):
        builder.add_node(node)
    builder.add_edge(START, "give")
    builder.add_conditional_edges("give", route)
    builder.add_edge("take", "meddle")
    builder.add_conditional_edges("meddle", end)
    return builder.compile(checkpointer=log)


def _as_written(state: Any, value: Any) -> list[bool]:
    expected = {"last": value, "items": [value], "kept": value, "table": {"key": value}}
    return [identical(state[channel], written) for channel, written in expected.items()]


@laws(60)
@given(value=VALUES)
def test_nobody_changes_what_somebody_else_reads(place: Place, new_name: NewName, value: Any) -> None:
    """Everybody sees the value as it was written: later nodes, routers, readers here and elsewhere, and refolding."""
    config, seen = config_of(new_name()), list[bool]()
    graph = _graph(place.log, value, seen)
    spoil(graph.invoke({}, config))
    spoil(graph.get_state(config).values)
    for snapshot in graph.get_state_history(config):
        spoil(snapshot.values)
    assert len(seen) == 13
    assert all(seen)
    assert all(_as_written(graph.get_state(config).values, value))
    assert all(_as_written(graph.get_state(config, fold="reducers").values, value))
    with place.stranger() as stranger:
        assert all(_as_written(_graph(stranger, value, []).get_state(config).values, value))
