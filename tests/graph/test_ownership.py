"""Who owns a value: a reducer's left operand, what a router sees, and what a write is counted by."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

import operator
from typing import Annotated, Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.events import BlobChunk
from lithograph.graph import END, START, Send, StateGraph, UntrackedValue, add_messages
from typing_extensions import TypedDict

from .chains import ONE, chain


def meddle(left: list[Any], right: list[Any]) -> list[Any]:
    """Change the left operand down to its elements, and return it."""
    for part in left:
        part.append("changed")
    left.extend([word] for word in right)
    return left


class Parts(TypedDict):
    """Lists of words."""

    parts: Annotated[list[Any], meddle]


def _history(graph: Any) -> list[Any]:
    return [snapshot.values["parts"] for snapshot in graph.get_state_history(ONE)][::-1]


def test_a_reducer_may_change_its_left_operand() -> None:
    """A reducer that changes what it is given in place changes no older checkpoint, live or read again."""
    log = EventLog.in_memory()
    graph = chain(Parts, a=lambda state: {"parts": ["a"]}, b=lambda state: {"parts": ["b"]}).compile(checkpointer=log)
    graph.invoke({"parts": ["input"]}, ONE)
    expected = [
        [],
        [["input"]],
        [["input", "changed"], ["a"]],
        [["input", "changed", "changed"], ["a", "changed"], ["b"]],
    ]
    assert _history(graph) == expected
    assert _history(graph.builder.compile(checkpointer=EventLog.over(log.engine))) == expected


def test_a_router_that_looks_ahead_changes_nothing() -> None:
    """A router sees its node's writes reduced into the state; the reducer runs on a copy, not on the state's value."""
    seen: list[Any] = []

    def router(state: Parts) -> str:
        seen.append(state["parts"])
        return END

    builder: StateGraph[Any] = StateGraph(Parts)
    builder.add_node("a", lambda state: {"parts": ["a"]})
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", router)
    graph = builder.compile(checkpointer=EventLog.in_memory())
    graph.invoke({"parts": ["input"]}, ONE)
    assert seen == [[["input", "changed"], ["a"]]]
    assert _history(graph) == [[], [["input"]], [["input", "changed"], ["a"]]]


def test_a_large_state_is_not_stored_again_to_be_reduced() -> None:
    """A user's reducer over a large value costs the log what changed: the copy that it gets is never a blob."""
    log = EventLog.in_memory()

    def last(left: list[Any], right: list[Any]) -> list[Any]:
        return [*left, *right]

    schema = TypedDict("Large", {"items": Annotated[list[Any], last]})  # noqa: UP013 - it names a local reducer
    graph = chain(schema, a=lambda state: {"items": ["small"]}).compile(checkpointer=log)
    graph.invoke({"items": ["x" * 50_000, "y" * 50_000]}, ONE)
    before = sum(isinstance(record.event, BlobChunk) for page in log.scan() for record in page)
    for _ in range(3):
        graph.invoke({"items": ["more"]}, ONE)
    assert sum(isinstance(record.event, BlobChunk) for page in log.scan() for record in page) == before


def test_untracked_writes_are_not_counted() -> None:
    """Ids that a message gets are the same for a reader, whatever untracked keys were written beside it."""

    class State(TypedDict, total=False):
        scratch: Annotated[Any, UntrackedValue(Any)]
        messages: Annotated[list[Any], add_messages]

    log = EventLog.in_memory()
    graph = chain(State, a=lambda state: {"scratch": object(), "messages": ("ai", "hello")}).compile(checkpointer=log)
    graph.invoke({"messages": []}, ONE)
    graph.update_state(ONE, {"scratch": object(), "messages": ("user", "hi")}, as_node="a")
    live = graph.get_state(ONE).values["messages"]
    read = graph.builder.compile(checkpointer=EventLog.over(log.engine)).get_state(ONE).values["messages"]
    assert [message.id for message in live] == [message.id for message in read]
    assert len({message.id for message in live}) == 2


class Held(TypedDict, total=False):
    last: list[Any]
    items: Annotated[list[Any], operator.add]
    table: Annotated[dict[str, Any], operator.or_]
    newest: Annotated[list[Any], lambda left, right: (left + right)[-3:]]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("mode", ["values", "updates", "tasks", "checkpoints", "debug"])
def test_who_gets_a_chunk_may_change_it(mode: str, durability: str) -> None:
    """A reader of the stream who changes the containers of each chunk changes neither the run nor what is recorded."""

    def first(_state: Held) -> Held:
        return {"last": [1], "items": [1], "table": {"a": 1}, "newest": [1]}

    def second(state: Held) -> Held:
        return {"items": [len(state["last"])], "table": {"b": len(state["items"])}, "newest": [2]}

    graph = StateGraph(Held).add_sequence([first, second]).add_edge(START, "first")
    compiled = graph.compile(checkpointer=EventLog.in_memory())
    config = {"configurable": {"thread_id": "1"}}
    for chunk in compiled.stream({"items": [0]}, config, stream_mode=mode, durability=durability):
        _change(chunk)
    values = {"last": [1], "items": [0, 1, 1], "table": {"a": 1, "b": 2}, "newest": [1, 2]}
    assert compiled.get_state(config).values == values
    assert compiled.get_state(config, fold="reducers").values == values


def _change(part: Any) -> None:
    if isinstance(part, dict):
        for inner in part.values():
            _change(inner)
        part["changed"] = True
    elif isinstance(part, list):
        part.append("changed")


def test_a_packet_is_sent_again_as_it_was() -> None:
    """A node that changed what was sent to it and failed gets it unchanged when it is tried again."""
    seen: list[Any] = []

    def worker(packet: Any) -> Held:
        seen.append((dict(packet), list(packet["items"])))
        packet["items"].append("changed")
        packet["more"] = True
        if len(seen) == 1:
            raise ValueError("try again")
        return {"last": []}

    graph = StateGraph(Held).add_node("worker", worker)
    graph.add_conditional_edges(START, lambda _state: [Send("worker", {"items": [1]})], ["worker"])
    compiled = graph.compile(checkpointer=EventLog.in_memory())
    config = {"configurable": {"thread_id": "1"}}
    with pytest.raises(ValueError, match="try again"):
        compiled.invoke({"items": []}, config)
    compiled.invoke(None, config)
    assert seen[1][1] == [1]
    assert "more" not in seen[1][0]
