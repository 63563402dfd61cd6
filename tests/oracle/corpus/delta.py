"""`DeltaChannel`: a step's writes reduced in one call, over all that a thread can go through.

Not under durability `exit`: there LangGraph keeps a further checkpoint for the writes that it will replay.
"""

import operator
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


def _joined(value: list[Any], writes: list[list[Any]]) -> list[Any]:
    return [*value, *(part for write in writes for part in write)]


def _entries(value: dict[str, Any], writes: list[dict[str, Any]]) -> dict[str, Any]:
    """Set and, with `None`, take out keys."""
    merged = dict(value)
    for write in writes:
        merged.update(write)
    return {key: part for key, part in merged.items() if part is not None}


def _by_id(value: list[Any], writes: list[Any]) -> list[Any]:
    """Messages by id: a known one is replaced, a removal takes one out."""
    table = {message.id: message for message in value}
    for write in writes:
        for message in write if isinstance(write, list) else [write]:
            if message.type == "remove":
                table.pop(message.id, None)
            else:
                table[message.id] = message
    return list(table.values())


def _state(api: Api, **options: Any) -> Any:
    class State(TypedDict):
        items: Annotated[list[Any], api.DeltaChannel(_joined, **options)]
        steps: Annotated[int, operator.add]

    return State


def _line(api: Api, schema: Any, **nodes: Any) -> Any:
    builder = api.StateGraph(schema)
    before = api.START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    return builder


def _fan(api: Api, schema: Any, **nodes: Any) -> Any:
    builder = api.StateGraph(schema)
    builder.add_node("end", lambda state: {"items": ["end"]})
    for name in sorted(nodes, reverse=True):
        builder.add_node(name, nodes[name])
        builder.add_edge(api.START, name)
    builder.add_edge(list(nodes), "end")
    return builder


def _writes(*parts: Any) -> Any:
    return lambda state: {"items": list(parts)}


@scenario("DeltaChannel", "parallel", "multi-turn", "join", exit=False)
def delta_parallel(api: Api, t: Script) -> None:
    """Three nodes write in one step; the reducer gets their writes in the order of names."""
    t.compile(_fan(api, _state(api), a=_writes(1, 2), b=_writes("b"), c=_writes({"c": 3}, None)))
    t.go({"items": ["in"]})
    t.go({"items": [], "steps": 1})
    t.history()


@scenario("DeltaChannel", "Overwrite", "parallel", "Overwrite as dict", exit=False)
def delta_overwrite(api: Api, t: Script) -> None:
    """One write of a step replaces; the others of that step are gone, later steps go on from it."""

    def b(state: Any) -> Any:
        turn = len(state["items"])
        return {"items": [api.Overwrite(["over"]), {"__overwrite__": ["again"]}, ["plain"]][turn % 3]}

    t.compile(_fan(api, _state(api), a=_writes("a"), b=b, c=_writes("c")))
    t.go({"items": []})
    t.go({"items": ["two", "more"]})
    t.go({"items": ["x"]})
    t.go({"items": api.Overwrite(["from", "outside"])})


@scenario("DeltaChannel", "Overwrite", "value: None", "update_state", exit=False)
def delta_overwrite_with_nothing(api: Api, t: Script) -> None:
    """Replacing by `None` empties the channel."""
    t.compile(_line(api, _state(api), a=_writes("a"), b=lambda state: {"items": api.Overwrite(None)}, c=_writes("c")))
    t.go({"items": ["in"]})
    t.update({"items": api.Overwrite(None)}, as_node="c")
    t.go({"steps": 1})


@scenario("DeltaChannel", "update_state", "as_node", "multi-turn", exit=False)
def delta_edits(api: Api, t: Script) -> None:
    """Edits by hand go through the reducer, or round it with `Overwrite`."""
    t.compile(_line(api, _state(api, snapshot_frequency=2), a=_writes("a"), b=_writes("b")))
    t.update({"items": ["first"]})
    t.go({"items": ["in"]})
    t.update({"items": ["by hand"]}, as_node="a")
    t.go(None)
    t.update({"items": api.Overwrite(["clean"])}, as_node="b")
    t.go({"items": ["in"]})
    t.history()


@scenario("DeltaChannel", "time travel", "fork", "replay", exit=False)
def delta_travel(api: Api, t: Script) -> None:
    """Going on from an older checkpoint begins with what the channel held there; so does a fork."""
    t.compile(_line(api, _state(api, snapshot_frequency=3), a=_writes("a"), b=_writes("b")))
    t.go({"items": ["one"]})
    t.go({"items": ["two"]})
    past = t.history()
    t.go(None, at=past[1].config)
    t.go({"items": ["three"]}, at=past[4].config)
    t.update({"items": ["branch"]}, at=past[2].config, as_node="a")
    t.go(None)
    t.history()


@scenario("DeltaChannel", "dynamic interrupt", "resume", "parallel", exit=False)
def delta_interrupted(api: Api, t: Script) -> None:
    """A sibling has finished when the other asks: its write counts once, after the answer."""

    def ask(state: Any) -> Any:
        answer = api.interrupt({"have": state["items"]})
        return {"items": [answer]}

    t.compile(_fan(api, _state(api), a=_writes("a"), b=ask))
    t.go({"items": ["in"]})
    t.go(api.Command(resume="yes"))
    t.go({"items": ["again"]})
    t.go(api.Command(resume="no"))


@scenario("DeltaChannel", "static interrupt: before", "update_state", "Send", exit=False)
def delta_paused(api: Api, t: Script) -> None:
    """A pause before a node that sends; the sent tasks write in the order of sending."""

    def spread(state: Any) -> Any:
        return api.Command(goto=[api.Send("work", n) for n in (3, 1, 2)])

    builder = _line(api, _state(api), a=_writes("a"), spread=spread)
    builder.add_node("work", lambda n: {"items": [n]})
    t.compile(builder, interrupt_before=["spread"])
    t.go({"items": []})
    t.update({"items": ["meanwhile"]})
    t.go(None)


@scenario("DeltaChannel", "value: dict", "value: set", "keys removed", "linear", "conditional edges", exit=False)
def delta_of_other_types(api: Api, t: Script) -> None:
    """Tables whose keys come and go, sets, and texts: what a field's type says is where each begins."""

    def united(value: set[str], writes: list[set[str]]) -> set[str]:
        return value.union(*writes)

    class State(TypedDict):
        files: Annotated[Mapping[str, Any], api.DeltaChannel(_entries)]
        names: Annotated[set[str], api.DeltaChannel(united)]
        more: Annotated[NotRequired[dict[str, int]], api.DeltaChannel(_entries)]
        rows: Annotated[Sequence[int], api.DeltaChannel(_joined)]

    def node(state: Any) -> Any:
        t.note(state)
        return {"files": {"a": None, "b": 2}, "names": {"n"}, "rows": [1]}

    t.compile(_line(api, State, node=node, last=lambda state: {"files": {"b": None}, "more": {"m": 1}}))
    t.go({"files": {"a": 1, "z": [1, 2]}})
    t.go({"files": {"a": 3}, "names": {"in"}, "more": {"m": None}, "rows": [0]})


@scenario("DeltaChannel", "messages", "RemoveMessage", "generated message ids", "message updated by id", exit=False)
def delta_messages(api: Api, t: Script) -> None:
    """Messages get ids before a delta's reducer sees them, dicts among them too."""

    class State(TypedDict):
        messages: Annotated[list[Any], api.DeltaChannel(_by_id)]

    def bot(state: Any) -> Any:
        return {"messages": [api.AIMessage("without an id"), {"role": "ai", "content": "a dict"}]}

    def tidy(state: Any) -> Any:
        first = state["messages"][0]
        return {"messages": [api.RemoveMessage(id=first.id), api.AIMessage("fixed", id="f")]}

    t.compile(_line(api, State, bot=bot, tidy=tidy))
    t.go({"messages": [api.HumanMessage("hello", id="h"), api.AIMessage("to be fixed", id="f")]})
    t.go({"messages": [api.HumanMessage("with an id", id="i")]})
    t.update({"messages": [api.HumanMessage("by hand")]})


@scenario("DeltaChannel", "no checkpointer", "parallel")
def delta_in_passing(api: Api, t: Script) -> None:
    """Without persistence it reduces all the same."""
    t.compile(_fan(api, _state(api), a=_writes("a"), b=_writes("b")), persist=False)
    t.go({"items": ["in"]}, thread=None)


@scenario("DeltaChannel", "error: ValueError", "refused step", "reducer raises", exit=False)
def delta_reducer_raises(api: Api, t: Script) -> None:
    """A reducer that raises is an error of the edit; nothing changes."""

    def picky(value: list[str], writes: list[list[str]]) -> list[str]:
        if ["bad"] in writes:
            raise ValueError("no bad ones")
        return _joined(value, writes)

    class State(TypedDict):
        items: Annotated[list[str], api.DeltaChannel(picky)]

    t.compile(_line(api, State, a=_writes("a")))
    t.go({"items": ["in"]})
    t.update({"items": ["bad"]}, error="ValueError")
    t.go({"items": ["good"]})
