"""Deferred nodes: they run when the run would otherwise end."""

import operator
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


class Log(TypedDict):
    """A number and the names of the nodes that ran."""

    n: int
    log: Annotated[list[str], operator.add]


def _stamp(name: str) -> Any:
    return lambda state: {"log": [name]}


def _long_and_short(api: Api, *, defer: bool = True) -> Any:
    """Two branches of unequal length that meet at `last`."""
    builder = api.StateGraph(Log)
    for name in ("short", "long", "longer"):
        builder.add_node(name, _stamp(name))
    builder.add_node("last", _stamp("last"), defer=defer)
    builder.add_edge(api.START, "short")
    builder.add_edge(api.START, "long")
    builder.add_edge("long", "longer")
    builder.add_edge("short", "last")
    builder.add_edge("longer", "last")
    return builder


@scenario("defer", "parallel", "branches of unequal length", "multi-turn")
def deferred_end(api: Api, t: Script) -> None:
    """A deferred node waits for the longer branch and runs once; a second turn does the same."""
    t.compile(_long_and_short(api))
    t.go({"n": 1, "log": ["in"]})
    t.go({"n": 2, "log": ["again"]})


@scenario("defer", "join", "parallel")
def deferred_join(api: Api, t: Script) -> None:
    """A deferred join opens when nothing else is left to do."""
    builder = api.StateGraph(Log)
    for name in ("a", "b", "c", "d"):
        builder.add_node(name, _stamp(name))
    builder.add_node("join", _stamp("join"), defer=True)
    builder.add_edge(api.START, "a")
    builder.add_edge(api.START, "b")
    builder.add_edge(["a", "b"], "join")
    builder.add_edge("b", "c")
    builder.add_edge("c", "d")
    t.compile(builder)
    t.go({"n": 1, "log": ["in"]})
    t.go({"n": 1, "log": ["again"]})


@scenario("defer", "loop", "conditional edges", "replay", "update_state", exit=False)
def deferred_behind_a_loop(api: Api, t: Script) -> None:
    """A deferred node behind a loop; then replays from before and after it, and an edit that leads to it."""
    builder = api.StateGraph(Log)
    builder.add_node("count", lambda state: {"n": state["n"] + 1, "log": [f"count {state['n']}"]})
    builder.add_node("report", _stamp("report"), defer=True)
    builder.add_edge(api.START, "count")
    builder.add_edge("count", "report")
    builder.add_conditional_edges("count", lambda state: "count" if state["n"] < 3 else "report", ["count", "report"])
    t.compile(builder)
    t.go({"n": 0, "log": ["in"]})
    history = t.history()
    t.go(None, at=history[0].config)
    t.go(None, at=history[2].config)
    t.update({"n": 9, "log": ["edited"]}, at=history[3].config, as_node="count")
    t.go(None)


@scenario("defer", "dynamic interrupt", "static interrupt: before", "resume")
def deferred_and_asking(api: Api, t: Script) -> None:
    """A deferred node that asks, behind a breakpoint: nothing of it is forgotten between the calls."""
    builder = _long_and_short(api)
    builder.add_node("ask", lambda state: {"log": [api.interrupt(list(state["log"]))]}, defer=True)
    builder.add_edge("last", "ask")
    t.compile(builder, interrupt_before=["last"])
    t.go({"n": 1, "log": ["in"]})
    t.go(None)
    t.go(api.Command(resume="answer"))


@scenario("defer", "failure", "invoke(None) after a failure", "sends")
def deferred_behind_sends(api: Api, t: Script) -> None:
    """Sends to and before a deferred node; the node fails once."""
    failed: list[int] = []

    def fails_once(state: Log) -> Any:
        failed.append(1)
        if len(failed) == 1:
            raise ValueError("not yet")
        return {"log": ["deferred"]}

    builder = api.StateGraph(Log)
    builder.add_node("work", lambda packet: {"log": [f"work {packet}"]})
    builder.add_node("deferred", fails_once, defer=True)
    builder.add_conditional_edges(api.START, lambda state: [api.Send("work", n) for n in range(3)], ["work"])
    builder.add_edge("work", "deferred")
    t.compile(builder)
    t.go({"n": 1, "log": ["in"]}, error="ValueError")
    t.go(None)


@scenario("defer", "Command: goto", "two deferred nodes")
def two_deferred(api: Api, t: Script) -> None:
    """Two deferred nodes become available together; one goes on to a third that is deferred again."""
    builder = api.StateGraph(Log)
    builder.add_node("start", lambda state: api.Command(update={"log": ["start"]}, goto=["first", "second", "plain"]))
    builder.add_node("plain", _stamp("plain"))
    builder.add_node("first", lambda state: api.Command(update={"log": ["first"]}, goto="third"), defer=True)
    builder.add_node("second", _stamp("second"), defer=True)
    builder.add_node("behind", _stamp("behind"))
    builder.add_node("third", _stamp("third"), defer=True)
    builder.add_edge("second", "behind")
    builder.add_edge(api.START, "start")
    t.compile(builder)
    t.go({"n": 1, "log": ["in"]})
