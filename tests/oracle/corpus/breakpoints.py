"""Static interrupts: threads that rest before or after named nodes."""

import operator
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


class Log(TypedDict):
    """The names of the nodes that ran."""

    log: Annotated[list[str], operator.add]


def _chain(api: Api, *names: str) -> Any:
    builder = api.StateGraph(Log)
    for before, name in zip((api.START, *names), names, strict=False):
        builder.add_node(name, lambda state, name=name: {"log": [name]})
        builder.add_edge(before, name)
    return builder


@scenario("static interrupt: before", "linear", "invoke(None)", "second turn")
def break_before(api: Api, t: Script) -> None:
    """A thread rests before a node, goes on with None, and rests there again in the next turn."""
    t.compile(_chain(api, "a", "b", "c"), interrupt_before=["b"])
    t.go({"log": ["in"]})
    t.go(None)
    t.go({"log": ["again"]})
    t.go(api.Command(resume="any answer"))


@scenario("static interrupt: after", "interrupt at every node", "linear", "invoke(None)")
def break_after_all(api: Api, t: Script) -> None:
    """`"*"` rests after every node but START; each None is one step."""
    t.compile(_chain(api, "a", "b", "c"), interrupt_after="*")
    t.go({"log": []})
    for _ in range(3):
        t.go(None)


@scenario("static interrupt: before", "static interrupt: after", "per call", "interrupt at every node")
def break_per_call(api: Api, t: Script) -> None:
    """Breakpoints given to one call replace those of the compiled graph."""
    t.compile(_chain(api, "a", "b", "c"), interrupt_before=["c"])
    t.go({"log": []}, interrupt_before=["b"])
    t.go(None, interrupt_after=["b"])
    t.go(None, interrupt_before="*")
    t.go(None)
    t.go({"log": ["through"]}, thread="2", interrupt_before=[])


@scenario("static interrupt: before", "parallel", "several nodes rest at once", "update_state")
def break_before_parallel(api: Api, t: Script) -> None:
    """Two parallel nodes of which one has a breakpoint: neither runs until the thread goes on."""
    builder = api.StateGraph(Log)
    for name in ("b", "a", "end"):
        builder.add_node(name, lambda state, name=name: {"log": [name]})
    for name in ("b", "a"):
        builder.add_edge(api.START, name)
        builder.add_edge(name, "end")
    t.compile(builder, interrupt_before=["a", "end"])
    t.go({"log": []})
    t.update({"log": ["edited"]}, as_node="__start__")
    t.go(None)
    t.go(None)


@scenario("static interrupt: before", "update_state", "as_node skips a node", "linear")
def break_and_skip(api: Api, t: Script) -> None:
    """At a breakpoint an edit in the name of the next node takes its place."""
    t.compile(_chain(api, "a", "b", "c"), interrupt_before=["b"])
    t.go({"log": []})
    t.update({"log": ["instead of b"]}, as_node="b")
    t.go(None)


@scenario("static interrupt: after", "loop", "conditional edges", "new input at a breakpoint")
def break_in_a_loop(api: Api, t: Script) -> None:
    """A breakpoint inside a loop rests once a round; new input there starts a new turn."""
    builder = api.StateGraph(Log)
    builder.add_node("turn", lambda state: {"log": ["turn"]})
    builder.add_edge(api.START, "turn")
    builder.add_conditional_edges("turn", lambda s: "turn" if len(s["log"]) < 4 else api.END)
    t.compile(builder, interrupt_after=["turn"])
    t.go({"log": ["in"]})
    t.go(None)
    t.go({"log": ["more"]})
    t.go(None)


@scenario("static interrupt: before", "dynamic interrupt", "failure", "linear", "invoke(None) after a failure")
def break_ask_and_fail(api: Api, t: Script) -> None:
    """A breakpoint, then a question, then a failure, all at one node, until it is done."""
    broken = [True]

    def node(state: Log) -> Any:
        answer = api.interrupt("why?")
        if broken[0]:
            raise RuntimeError(f"cannot use {answer}")
        return {"log": [answer]}

    builder = api.StateGraph(Log)
    builder.add_node("node", node)
    builder.add_edge(api.START, "node")
    t.compile(builder, interrupt_before=["node"])
    t.go({"log": []})
    t.go(None)
    t.go(api.Command(resume="because"), error="RuntimeError")
    broken[0] = False
    t.go(None)
