"""Deep edits: whoever is given a value may change it down to the last element, and nobody else sees it."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

import operator
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from lithograph.eventlog import EventLog, StreamName
from lithograph.eventlog.serde import Serializer
from lithograph.graph import (
    END,
    START,
    Command,
    MutatedInputError,
    Send,
    StateGraph,
    UntrackedValue,
    add_messages,
    interrupt,
)
from lithograph.graph.messages import AIMessage, HumanMessage, RemoveMessage
from lithograph.projections import EventLogSaver, rebuild_views
from lithograph.projections.digests import channel_key, digest_of
from lithograph.projections.open_thread import OpenThread
from lithograph.projections.reader import fold_until, threads_of
from lithograph.projections.values import LogValues
from pydantic import BaseModel
from typing_extensions import TypedDict

from .chains import ONE


@dataclass
class Box:
    """A container that no built-in copy copies."""

    inside: list[Any]


def kept(left: Any, right: Any) -> Any:
    """Keep both operands, as a reducer that nobody pinned."""
    return [*(left or []), *right]


class Deep(TypedDict, total=False):
    """A container within a container, in a channel of each kind."""

    last: Any
    added: Annotated[list[Any], operator.add]
    table: Annotated[dict[str, Any], operator.or_]
    mine: Annotated[list[Any], kept]
    box: Box
    pair: tuple[Any, ...]
    written: int


KEYS = ("last", "added", "table", "mine", "box", "pair")


def _values() -> Any:
    return {
        "last": {"a": {"b": [1]}},
        "added": [{"a": [1]}],
        "table": {"a": {"b": [1]}},
        "mine": [[1]],
        "box": Box([1]),
        "pair": ([1], "x"),
    }


def spoil(part: Any, depth: int = 0) -> None:
    """Change every container within a value, at every depth."""
    if isinstance(part, Box):
        spoil(part.inside, depth + 1)
    elif isinstance(part, dict):
        for inner in list(part.values()):
            spoil(inner, depth + 1)
        part["spoilt"] = depth
    elif isinstance(part, list | tuple):
        for inner in part:
            spoil(inner, depth + 1)
        if isinstance(part, list):
            part.append(f"spoilt {depth}")


def _spoiler(seen: list[Any]) -> Callable[[Deep], Any]:
    def node(state: Deep) -> Any:
        seen.append(repr({key: state.get(key) for key in KEYS}))
        for key in KEYS:
            spoil(state.get(key))
        return {"written": 1}

    return node


def _fresh(graph: Any, log: EventLog) -> Any:
    """Return what somebody reads who shares nothing with the process but the log."""
    return graph.builder.compile(checkpointer=EventLog.over(log.engine)).get_state(ONE).values


def _agrees(graph: Any, log: EventLog, expected: Any) -> None:
    assert graph.get_state(ONE).values == expected
    assert _fresh(graph, log) == expected
    assert graph.get_state(ONE, fold="reducers").values == expected
    newest = next(iter(graph.get_state_history(ONE)))
    assert newest.values == expected
    saved = EventLogSaver(log).get_tuple(ONE)
    assert saved is not None
    assert len(saved.checkpoint["channel_values"]["last"]["a"]["b"]) == 1


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_node_that_edits_deep_inside_its_input_changes_nothing(durability: Any) -> None:
    """Later nodes, later runs in the process, routers, readers and the log all have the value as it was written."""
    log, seen = EventLog.in_memory(), list[Any]()

    def router(state: Deep) -> str:
        _spoiler(seen)(state)
        return "second"

    builder: StateGraph[Any] = StateGraph(Deep)
    builder.add_node("first", _spoiler(seen)).add_node("second", _spoiler(seen))
    builder.add_edge(START, "first").add_conditional_edges("first", router).add_edge("second", END)
    graph = builder.compile(checkpointer=log)
    graph.invoke(_values(), ONE, durability=durability)
    _agrees(graph, log, _values() | {"written": 1})
    graph.invoke({"written": 2}, ONE, durability=durability)
    assert set(seen) == {repr(_values())}
    assert len(seen) == 6
    _agrees(graph, log, _values() | {"written": 1})
    assert log.verify().ok


def test_an_edit_beside_a_reducer_of_the_users_is_not_recorded() -> None:
    """What a node changed in its copy is no part of the left operand of a reducer, nor of what is recorded."""
    log = EventLog.in_memory()

    def node(state: Deep) -> Any:
        spoil(state["mine"])
        return {"mine": [[2]]}

    graph = StateGraph(Deep).add_node("node", node).add_edge(START, "node").compile(checkpointer=log)
    graph.invoke({"mine": [[1]], "last": {"a": {"b": [1]}}}, ONE)
    _agrees(graph, log, {"mine": [[1], [2]], "last": {"a": {"b": [1]}}, "added": [], "table": {}})


def test_what_a_caller_is_given_is_the_callers() -> None:
    """Editing what `invoke`, `get_state` or the history returned changes no later read and no later run."""
    log, seen = EventLog.in_memory(), list[Any]()

    def look(state: Deep) -> Any:
        seen.append(repr({key: state.get(key) for key in KEYS}))

    graph = StateGraph(Deep).add_node("look", look).add_edge(START, "look").compile(checkpointer=log)
    spoil(graph.invoke(_values(), ONE))
    _agrees(graph, log, _values())
    spoil(graph.get_state(ONE).values)
    for snapshot in graph.get_state_history(ONE):
        spoil(snapshot.values)
        for task in snapshot.tasks:
            spoil(task.result)
    saved = EventLogSaver(log).get_tuple(ONE)
    assert saved is not None
    spoil(saved.checkpoint["channel_values"])
    _agrees(graph, log, _values())
    graph.update_state(ONE, {"written": 2}, as_node="look")
    graph.invoke({}, ONE)
    assert seen == [repr(_values())] * 2
    _agrees(graph, log, _values() | {"written": 2})


@pytest.mark.parametrize("mode", ["values", "updates", "tasks", "checkpoints", "debug"])
def test_who_gets_a_chunk_may_change_it_down_to_the_last_element(mode: str) -> None:
    """Deep edits of a stream's chunks change neither the run nor what is recorded."""
    log = EventLog.in_memory()
    graph = StateGraph(Deep).add_sequence([("one", lambda state: _values()), ("two", lambda state: {"written": 1})])
    compiled = graph.add_edge(START, "one").compile(checkpointer=log)
    for chunk in compiled.stream({"written": 0}, ONE, stream_mode=mode):
        spoil(chunk)
    _agrees(compiled, log, _values() | {"written": 1})


def test_a_router_does_not_change_what_its_node_wrote() -> None:
    """A router that edits the fresh state deep inside changes neither the record nor what the next router sees."""
    log, seen = EventLog.in_memory(), list[Any]()

    def router(state: Deep) -> str:
        seen.append(repr({key: state.get(key) for key in KEYS}))
        spoil(state)
        return END

    def again(state: Deep) -> str:
        return router(state)

    builder: StateGraph[Any] = StateGraph(Deep).add_node("node", lambda state: _values()).add_edge(START, "node")
    graph = builder.add_conditional_edges("node", router).add_conditional_edges("node", again).compile(checkpointer=log)
    graph.invoke({"written": 1}, ONE)
    assert seen == [repr(_values())] * 2
    _agrees(graph, log, _values() | {"written": 1})
    graph.update_state(ONE, _values() | {"added": [], "mine": []}, as_node="node")
    _agrees(graph, log, _values() | {"written": 1})


def test_a_router_does_not_change_a_message_that_its_node_wrote() -> None:
    """A message object is written as the node returned it, whatever a router does to the one that it is shown."""
    log = EventLog.in_memory()
    schema = TypedDict("Talk", {"messages": Annotated[list[Any], add_messages]})  # noqa: UP013 - names a local type

    def router(state: Any) -> str:
        state["messages"][-1].content = "changed"
        return END

    builder: StateGraph[Any] = StateGraph(schema)
    builder.add_node("node", lambda state: {"messages": [AIMessage("as written", id="1")]}).add_edge(START, "node")
    graph = builder.add_conditional_edges("node", router).compile(checkpointer=log)
    assert graph.invoke({"messages": []}, ONE)["messages"][-1].content == "as written"


def test_a_packet_is_the_nodes_own_down_to_the_last_element() -> None:
    """A node that edits deep inside what was sent to it finds it unchanged when it is tried again."""
    log, seen = EventLog.in_memory(), list[Any]()

    def worker(packet: Any) -> Any:
        seen.append(repr(packet))
        spoil(packet)
        if len(seen) == 1:
            raise ValueError("try again")

    graph = StateGraph(Deep).add_node("worker", worker)
    graph.add_conditional_edges(START, lambda _state: [Send("worker", {"items": [{"a": [1]}]})], ["worker"])
    compiled = graph.compile(checkpointer=log)
    with pytest.raises(ValueError, match="try again"):
        compiled.invoke({"written": 0}, ONE)
    compiled.invoke(None, ONE)
    assert seen == [repr({"items": [{"a": [1]}]})] * 2


def test_an_untracked_value_is_shared_as_it_is() -> None:
    """What is never stored is never copied: nodes share the object itself, whatever it holds."""
    thing, seen = Box([1]), list[Any]()
    schema = TypedDict("State", {"n": int, "thing": Annotated[Any, UntrackedValue(Any)], "box": Box})  # noqa: UP013 - local type
    graph = StateGraph(schema).add_sequence(
        [("one", lambda state: {"thing": thing}), ("two", lambda state: seen.append(state["thing"]))]
    )
    graph.add_edge(START, "one").compile(checkpointer=EventLog.in_memory()).invoke({"n": 1}, ONE)
    assert seen[0] is thing


def test_scalars_and_messages_are_not_copied() -> None:
    """Lending a long text, or a list of messages, costs no copy of them."""
    log, seen = EventLog.in_memory(), list[Any]()
    schema = TypedDict("Talk", {"text": str, "messages": Annotated[list[Any], add_messages]})  # noqa: UP013 - local type
    graph = StateGraph(schema).add_sequence([("one", lambda s: seen.append(s)), ("two", lambda s: seen.append(s))])
    compiled = graph.add_edge(START, "one").compile(checkpointer=log)
    compiled.invoke({"text": "x" * 1000, "messages": [("user", "hi")]}, ONE)
    one, two = seen
    assert one["text"] is two["text"]
    assert one["messages"] is not two["messages"]
    assert one["messages"][0] is two["messages"][0]


# strict


class Model(BaseModel):
    """A state that pydantic builds."""

    last: Any = None
    written: int = 0


@dataclass
class Record:
    """A state that is a dataclass."""

    last: Any = None
    written: int = 0


def _edit(state: Any) -> Any:
    last = state["last"] if isinstance(state, dict) else state.last
    last["a"]["b"].append(2)
    return {"written": 1}


@pytest.mark.parametrize("schema", [Deep, Model, Record])
def test_strict_names_the_node_and_the_key_that_it_edited(schema: Any) -> None:
    """`compile(strict=True)`: an edit deep inside an input ends the run with both names; nothing of it is recorded."""
    log = EventLog.in_memory()
    graph = StateGraph(schema).add_node("editor", _edit).add_edge(START, "editor")
    strict = graph.compile(checkpointer=log, strict=True)
    with pytest.raises(MutatedInputError, match=r"'editor'.*'last'") as caught:
        strict.invoke({"last": {"a": {"b": [1]}}}, ONE)
    assert (caught.value.node, caught.value.channel) == ("editor", "last")
    assert strict.get_state(ONE).values["last"] == {"a": {"b": [1]}}


def test_strict_sees_an_edited_message() -> None:
    """A message object that a node changed in place is found by `strict`, although messages are not copied."""
    schema = TypedDict("Talk", {"messages": Annotated[list[Any], add_messages]})  # noqa: UP013 - names a local type

    def editor(state: Any) -> Any:
        state["messages"][0].content = "changed"

    graph = StateGraph(schema).add_node("editor", editor).add_edge(START, "editor")
    with pytest.raises(MutatedInputError) as caught:
        graph.compile(checkpointer=EventLog.in_memory(), strict=True).invoke({"messages": [("user", "hi")]}, ONE)
    assert (caught.value.node, caught.value.channel) == ("editor", "messages")


def test_strict_sees_an_edited_packet() -> None:
    """What was sent to a node is its input too: an edit of it is found, by key."""

    def worker(packet: Any) -> Any:
        packet["items"][0].append(2)

    graph = StateGraph(Deep).add_node("worker", worker)
    graph.add_conditional_edges(START, lambda _state: [Send("worker", {"items": [[1]]})], ["worker"])
    with pytest.raises(MutatedInputError) as caught:
        graph.compile(checkpointer=EventLog.in_memory(), strict=True).invoke({"written": 0}, ONE)
    assert (caught.value.node, caught.value.channel) == ("worker", "items")


def test_strict_lets_a_node_replace_what_it_holds() -> None:
    """Giving a key of the input another value changes no value that somebody wrote: strict has nothing against it."""

    def node(state: Any) -> Any:
        state["last"] = {"another": 1}
        state["new"] = object()
        return {"written": 1}

    schema = TypedDict(  # noqa: UP013 - it names a local type
        "State", {"last": Any, "written": int, "loose": Annotated[Any, UntrackedValue(Any)]}
    )
    graph = StateGraph(schema).add_sequence([("first", lambda state: {"loose": object()}), ("node", node)])
    compiled = graph.add_edge(START, "first").compile(checkpointer=EventLog.in_memory(), strict=True)
    assert compiled.invoke({"last": {"a": 1}}, ONE)["written"] == 1


class Talk(TypedDict):
    """A conversation."""

    messages: Annotated[list[Any], add_messages]


@pytest.mark.parametrize("by_hand", [True, False])
def test_an_edited_message_is_not_in_what_is_recorded(by_hand: bool, tmp_path: Path) -> None:
    """Who edits a message in place, and rebuilds the list around it, records the list as the events say it is."""

    def edit(state: Talk) -> None:
        state["messages"][0].content = "edited"

    def remove(state: Talk) -> Any:
        return None if by_hand else {"messages": [RemoveMessage(id="b")]}

    builder = StateGraph(Talk).add_sequence([("edit", edit), ("remove", remove)]).add_edge(START, "edit")
    with EventLog(tmp_path / "log") as log:
        graph = builder.compile(checkpointer=log)
        graph.invoke({"messages": [AIMessage("a", id="a"), AIMessage("b", id="b")]}, ONE)
        if by_hand:
            graph.update_state(ONE, {"messages": [RemoveMessage(id="b")]})
        assert [message.content for message in graph.get_state(ONE).values["messages"]] == ["a"]
        for turn in range(70):
            graph.update_state(ONE, {"messages": [AIMessage(f"turn {turn}")]})
    with EventLog(tmp_path / "log") as log:
        assert rebuild_views(log)
        thread = OpenThread(log, "1", builder.compile(checkpointer=log)._persistence.serializer)
        rungs = threads_of(log).views.rungs(log, thread.stream, thread.values)
        assert list(rungs.versions), "what was recorded vouches for what is folded"
        assert builder.compile(checkpointer=log).get_state(ONE).values["messages"][0].content == "a"


@pytest.mark.parametrize("case", ["added", "paused", "merged", "reduced", "ahead"])
def test_an_edited_message_reaches_no_digest(case: str, tmp_path: Path) -> None:
    """Whatever a channel makes of messages, what is recorded of it is what the events say, edits in place or not."""

    def merged(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        return {**left, **right}

    class State(TypedDict, total=False):
        listed: Annotated[list[Any], operator.add]
        table: Annotated[dict[str, Any], operator.or_]
        reduced: Annotated[dict[str, Any], merged]
        talk: Annotated[list[Any], add_messages]

    def edits(state: State) -> Any:
        for value in (state.get("listed"), state.get("talk"), state.get("table"), state.get("reduced")):
            for message in value.values() if isinstance(value, dict) else value or ():
                message.content = "EDITED"
        return {"listed": [AIMessage("b")], "table": {"b": AIMessage("b")}, "reduced": {"b": AIMessage("b")}}

    def asks(state: State) -> Any:
        return {"listed": [AIMessage(interrupt("?"))], "talk": [AIMessage("replaced", id="2")]}

    builder = StateGraph(State)
    builder.add_node("edits", edits)
    builder.add_node("asks", asks)
    builder.add_node("beside", lambda state: {"listed": [AIMessage("c")]})
    builder.add_edge(START, "edits")
    if case in ("paused", "ahead"):
        builder.add_edge("edits", "asks")
        builder.add_edge("edits", "beside")
    first = [HumanMessage("one", id="1"), HumanMessage("two", id="2")]
    with EventLog(tmp_path / "log") as log:
        graph = builder.compile(checkpointer=log)
        mid = graph.invoke({"listed": first, "talk": first, "table": {"a": first[0]}, "reduced": {"a": first[0]}}, ONE)
        assert mid is not None
        if case == "ahead":
            graph.get_state(ONE).values["talk"][0].content = "EDITED"
            graph.invoke(Command(resume="yes", update={"talk": [HumanMessage("three", id="3")]}), ONE)
        elif case == "paused":
            graph.invoke(Command(resume="yes"), ONE)
        assert_digests(log)
    with EventLog(tmp_path / "log") as log:
        assert "EDITED" not in str(builder.compile(checkpointer=log).get_state(ONE, fold="reducers").values)


def assert_digests(log: EventLog) -> None:
    """Compare each recorded digest of a thread's head with that of the value that a fresh fold gives."""
    name = StreamName("thread", "1")
    stream = log.stream_id(name)
    values = LogValues(log, name, Serializer())
    head = fold_until(log, stream, log.head(stream).version, values).head
    assert head is not None
    key = log.scope_key(log.scope_of(name))
    wrong = [
        channel
        for channel, cell in head.cells.items()
        if cell.digest and digest_of(channel_key(key, "", channel), cell, values) != cell.digest
    ]
    assert wrong == []
