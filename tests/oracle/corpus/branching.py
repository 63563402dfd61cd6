"""Routers: conditional edges of every form, and loops made of them."""

import operator
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


class Log(TypedDict):
    """A number and the names of the nodes that ran."""

    n: int
    log: Annotated[list[str], operator.add]


def _stamp(name: str, **more: Any) -> Any:
    return lambda state: {"log": [name], **more}


@scenario("conditional edges", "path_map: dict", "multi-turn")
def router_with_map(api: Api, t: Script) -> None:
    """A router that returns labels which a dict maps to nodes or END."""
    builder = api.StateGraph(Log)
    builder.add_node("classify", _stamp("classify"))
    builder.add_node("even", _stamp("even"))
    builder.add_node("odd", _stamp("odd"))
    builder.add_edge(api.START, "classify")
    routes = {0: "even", 1: "odd", "stop": api.END}
    builder.add_conditional_edges("classify", lambda s: "stop" if s["n"] < 0 else s["n"] % 2, routes)
    t.compile(builder)
    for n in (2, 3, -1):
        t.go({"n": n})


@scenario("conditional edges", "path_map: Literal", "router returns a list", "parallel", "END among targets")
def router_to_many(api: Api, t: Script) -> None:
    """A router that fans out to several nodes, or to nodes and END at once."""

    def route(state: Log) -> list[Literal["left", "right", "__end__"]]:
        return {1: ["left", "right"], 2: ["right", "__end__"], 3: ["__end__"]}[state["n"]]

    builder = api.StateGraph(Log)
    builder.add_node("start", _stamp("start"))
    builder.add_node("right", _stamp("right"))
    builder.add_node("left", _stamp("left"))
    builder.add_edge(api.START, "start")
    builder.add_conditional_edges("start", route)
    t.compile(builder)
    for n in (1, 2, 3):
        t.go({"n": n})


@scenario("conditional edges", "fresh state in router", "path_map: list", "linear")
def router_sees_own_writes(api: Api, t: Script) -> None:
    """A router reads the state with its own node's writes applied, reducers included."""

    def route(state: Log) -> str:
        t.note("router saw", state)
        return "big" if state["n"] > 10 and state["log"][-1] == "work" else "small"

    builder = api.StateGraph(Log)
    builder.add_node("work", lambda state: {"n": state["n"] * 10, "log": ["work"]})
    builder.add_node("big", _stamp("big"))
    builder.add_node("small", _stamp("small"))
    builder.add_edge(api.START, "work")
    builder.add_conditional_edges("work", route, ["big", "small"])
    t.compile(builder)
    t.go({"n": 1})
    t.go({"n": 2})


@scenario("conditional edges", "fresh state in router", "parallel", "siblings' writes hidden")
def routers_of_parallel_nodes(api: Api, t: Script) -> None:
    """Routers of two nodes of one step: each sees its own node's writes, not its sibling's."""

    def route(name: str) -> Any:
        def choose(state: Log) -> str:
            t.note(name, state["log"])
            return f"after_{name}"

        return choose

    builder = api.StateGraph(Log)
    for name in ("b", "a"):
        builder.add_node(name, _stamp(name))
        builder.add_node(f"after_{name}", _stamp(f"after_{name}"))
        builder.add_edge(api.START, name)
        builder.add_conditional_edges(name, route(name), [f"after_{name}"])
    t.compile(builder)
    t.go({"n": 0, "log": ["in"]})


@scenario("conditional edges", "conditional entry point", "multi-turn", "static interrupt: before")
def conditional_entry(api: Api, t: Script) -> None:
    """The input itself is routed, also when the thread stood at a breakpoint."""
    builder = api.StateGraph(Log)
    builder.add_node("low", _stamp("low"))
    builder.add_node("high", _stamp("high"))
    builder.add_node("end", _stamp("end"))
    builder.set_conditional_entry_point(lambda s: "high" if s["n"] > 5 else "low")
    builder.add_edge("low", "end")
    builder.add_edge("high", "end")
    t.compile(builder, interrupt_before=["end"])
    t.go({"n": 9})
    t.go({"n": 1})
    t.go(None)


@scenario("conditional edges", "two routers on one node", "plain edge beside routers", "parallel")
def two_routers(api: Api, t: Script) -> None:
    """One node with a plain edge and two routers; what all three name runs in the next step, once each."""

    def by_sign(state: Log) -> str:
        return "plus" if state["n"] >= 0 else "minus"

    def by_size(state: Log) -> str:
        return "big" if abs(state["n"]) > 9 else "plus"

    builder = api.StateGraph(Log)
    for name in ("src", "plus", "minus", "big", "always"):
        builder.add_node(name, _stamp(name))
    builder.add_edge(api.START, "src")
    builder.add_edge("src", "always")
    builder.add_conditional_edges("src", by_sign)
    builder.add_conditional_edges("src", by_size)
    t.compile(builder)
    for n in (1, -50, 50):
        t.go({"n": n})


@scenario("loop", "conditional edges", "self edge", "history: limit")
def loop_until(api: Api, t: Script) -> None:
    """A node that routes to itself until a counter is reached."""
    builder = api.StateGraph(Log)
    builder.add_node("tick", lambda state: {"n": state["n"] + 1, "log": [f"tick{state['n']}"]})
    builder.add_edge(api.START, "tick")
    builder.add_conditional_edges("tick", lambda s: "tick" if s["n"] < 4 else api.END, ["tick", api.END])
    t.compile(builder)
    t.go({"n": 0})
    t.history(limit=2)


@scenario("loop", "recursion limit", "invoke(None) after the limit", "error: GraphRecursionError")
def recursion_limit(api: Api, t: Script) -> None:
    """A loop that never ends stops at the limit; its last checkpoint is kept and can go on."""
    builder = api.StateGraph(Log)
    builder.add_node("ping", lambda state: {"n": state["n"] + 1, "log": ["ping"]})
    builder.add_node("pong", lambda state: {"n": state["n"] + 1, "log": ["pong"]})
    builder.add_edge(api.START, "ping")
    builder.add_edge("ping", "pong")
    builder.add_conditional_edges("pong", lambda s: "ping" if s["n"] < 7 else api.END)
    t.compile(builder)
    t.go({"n": 0}, config={"recursion_limit": 3}, error="GraphRecursionError")
    t.go(None, config={"recursion_limit": 50})
    t.go({"n": 6}, config={"recursion_limit": 20})
    t.go({"n": 0}, thread="2", config={"recursion_limit": 1}, error="GraphRecursionError")
