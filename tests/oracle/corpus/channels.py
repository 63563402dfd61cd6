"""Channels other than last value and reducer: topics, ephemeral, untracked, any value, barriers."""

import operator
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


def _chain(api: Api, schema: Any, **nodes: Any) -> Any:
    builder = api.StateGraph(schema)
    for before, name in zip((api.START, *nodes), nodes, strict=False):
        builder.add_node(name, nodes[name])
        builder.add_edge(before, name)
    return builder


@scenario("channel: Topic", "Topic accumulates", "linear", "multi-turn")
def topics(api: Api, t: Script) -> None:
    """A topic that is emptied each step, and one that accumulates; lists are flattened."""

    class State(TypedDict):
        fresh: Annotated[list[str], api.Topic(str)]
        kept: Annotated[list[str], api.Topic(str, accumulate=True)]

    def node(name: str, *words: str) -> Any:
        def run(state: State) -> Any:
            t.note(name, state.get("fresh"), state.get("kept"))
            return {"fresh": list(words), "kept": name} if words else None

        return run

    t.compile(_chain(api, State, one=node("one", "a", "b"), two=node("two"), three=node("three", "c")))
    t.go({"fresh": "in", "kept": ["k1", "k2"]})
    t.go({"kept": "again"})


@scenario("channel: Topic", "parallel", "Send", "several writers on a topic")
def topic_of_many(api: Api, t: Script) -> None:
    """Many writers on one topic in one step: all values, in apply order."""

    class State(TypedDict):
        found: Annotated[list[str], api.Topic(str)]
        log: Annotated[list[str], operator.add]

    builder = api.StateGraph(State)
    builder.add_node("b", lambda state: {"found": ["b1", "b2"]})
    builder.add_node("a", lambda state: {"found": "a"})
    builder.add_node("s", lambda state: {"found": f"s{state['i']}"})
    builder.add_node("end", lambda state: {"log": state["found"]})
    builder.add_edge(api.START, "b")
    builder.add_edge(api.START, "a")
    builder.add_conditional_edges(api.START, lambda _: [api.Send("s", {"i": i}) for i in range(3)], ["s"])
    for name in ("b", "a", "s"):
        builder.add_edge(name, "end")
    t.compile(builder)
    t.go({"log": []})


@scenario("channel: EphemeralValue", "channel: AnyValue", "parallel", "linear")
def ephemeral_and_any(api: Api, t: Script) -> None:
    """A value that lives for one step, and one that takes any of several equal writes."""

    class State(TypedDict):
        brief: Annotated[str, api.EphemeralValue]
        agreed: Annotated[str, api.AnyValue]
        log: Annotated[list[str], operator.add]

    def node(name: str, **more: Any) -> Any:
        return lambda state: {"log": [f"{name} {state.get('brief')} {state.get('agreed')}"], **more}

    builder = api.StateGraph(State)
    builder.add_node("one", node("one", brief="from one"))
    builder.add_node("b", node("b", agreed="same"))
    builder.add_node("a", node("a", agreed="same"))
    builder.add_node("end", node("end"))
    builder.add_edge(api.START, "one")
    for name in ("b", "a"):
        builder.add_edge("one", name)
        builder.add_edge(name, "end")
    t.compile(builder)
    t.go({"brief": "in", "agreed": "x", "log": []})


@scenario("channel: UntrackedValue", "dynamic interrupt", "value no serializer takes", "linear")
def untracked(api: Api, t: Script) -> None:
    """A value that is in no checkpoint: there within the run, gone after the pause."""

    class State(TypedDict):
        handle: Annotated[Any, api.UntrackedValue]
        log: Annotated[list[str], operator.add]

    def opens(state: State) -> Any:
        return {"handle": {"open": True}, "log": ["open"]}

    def uses(state: State) -> Any:
        t.note("uses", state.get("handle"))
        return {"log": [f"used {'handle' in state}"]}

    def asks(state: State) -> Any:
        t.note("asks", state.get("handle"))
        return {"log": [api.interrupt("?")]}

    t.compile(_chain(api, State, opens=opens, uses=uses, asks=asks))
    t.go({"log": []})
    t.go(api.Command(resume="x"))


@scenario("channel: BinaryOperatorAggregate", "channel: LastValue", "channels given as objects", "linear")
def channels_as_objects(api: Api, t: Script) -> None:
    """Channels written out in the annotation instead of a reducer."""

    class State(TypedDict):
        total: Annotated[int, api.BinaryOperatorAggregate(int, operator.add)]
        latest: Annotated[str, api.LastValue(str)]
        items: Annotated[list[int], api.BinaryOperatorAggregate(list, operator.add)]

    def node(n: int) -> Any:
        return lambda state: {"total": n, "latest": str(state["total"]), "items": [n]}

    t.compile(_chain(api, State, a=node(1), b=node(2), c=node(4)))
    t.go({"total": 10, "latest": ""})
    t.update({"total": 100}, as_node="a")
    t.go(None)


@scenario("channel: NamedBarrierValue", "channel without value hidden", "linear")
def barrier_in_state(api: Api, t: Script) -> None:
    """A barrier as a channel of the state: it has a value once all names were written."""

    class State(TypedDict):
        gate: Annotated[Any, api.NamedBarrierValue(str, {"x", "y"})]
        log: Annotated[list[str], operator.add]

    def node(name: str, **more: Any) -> Any:
        return lambda state: {"log": [f"{name} {'gate' in state}"], **more}

    t.compile(_chain(api, State, a=node("a", gate="x"), b=node("b", gate="y"), c=node("c")))
    t.go({"log": []})


@scenario("channel: EphemeralValue", "Ephemeral without guard", "static interrupt: before", "parallel")
def ephemeral_at_a_breakpoint(api: Api, t: Script) -> None:
    """An unguarded ephemeral value takes the last of several writes, and waits out a breakpoint."""

    class State(TypedDict):
        brief: Annotated[str, api.EphemeralValue(str, guard=False)]
        log: Annotated[list[str], operator.add]

    builder = api.StateGraph(State)
    for name in ("b", "a"):
        builder.add_node(name, lambda state, name=name: {"brief": name})
        builder.add_edge(api.START, name)
        builder.add_edge(name, "end")
    builder.add_node("end", lambda state: {"log": [state.get("brief", "nothing")]})
    builder.add_node("later", lambda state: {"log": [state.get("brief", "nothing")]})
    builder.add_edge("end", "later")
    t.compile(builder, interrupt_before=["end"])
    t.go({"log": []})
    t.go(None)


@scenario("channel: UntrackedValue", "update_state", "linear", "as_node")
def untracked_in_an_update(api: Api, t: Script) -> None:
    """An edit that names an untracked key beside others: the others are stored."""

    class State(TypedDict):
        handle: Annotated[Any, api.UntrackedValue]
        log: Annotated[list[str], operator.add]

    def node(state: State) -> Any:
        return {"log": [f"node {'handle' in state}"]}

    t.compile(_chain(api, State, a=node, b=node), interrupt_before=["b"])
    t.go({"log": []})
    t.update({"handle": "open", "log": ["edited"]}, as_node="a")
    t.go(None)


@scenario("channel: LastValueAfterFinish", "value appears at the end", "parallel", "multi-turn")
def value_after_finish(api: Api, t: Script) -> None:
    """A channel whose value can be read only once nothing else is left to run."""

    class State(TypedDict):
        late: Annotated[str, api.LastValueAfterFinish(str)]
        log: Annotated[list[str], operator.add]

    def node(name: str, **more: Any) -> Any:
        return lambda state: {"log": [f"{name} {state.get('late')}"], **more}

    t.compile(_chain(api, State, a=node("a", late="set by a"), b=node("b"), c=node("c")))
    t.go({"log": []})
    t.go({"log": ["again"]})


@scenario("channel: Topic", "empty list on a topic", "linear", "static interrupt: before")
def topic_of_nothing(api: Api, t: Script) -> None:
    """An empty list written to a topic: nothing to read then, and nothing left of the step before."""

    class State(TypedDict):
        fresh: Annotated[list[str], api.Topic(str)]
        log: Annotated[list[str], operator.add]

    def node(words: list[str]) -> Any:
        return lambda state: {"fresh": words, "log": [repr(state.get("fresh"))]}

    nodes = {"one": node(["a"]), "two": node([]), "three": node([])}
    t.compile(_chain(api, State, **nodes), interrupt_before=["three"])
    t.go({"fresh": [], "log": []})
    t.go(None)
