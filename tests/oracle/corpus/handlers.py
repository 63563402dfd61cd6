"""Error handlers: what runs in the stead of a node that failed for good."""

from typing import Any

from ..api import Api
from ..harness import Script, scenario
from .nested import Log, line, stamp


def _fails(api: Api, t: Script, name: str = "fails") -> Any:
    def node(state: Log) -> dict[str, Any]:
        t.note(name, "runs")
        raise ValueError(f"{name} {state['n']}")

    return node


def _handler(api: Api, t: Script, update: Any = None) -> Any:
    """A handler that says what it was told."""

    def handler(state: Log, error: Any) -> Any:
        t.note("handles", error.node, str(error.error), state["n"])
        return {"log": [f"handled {error.node}"]} if update is None else update(state, error)

    handler.__annotations__["error"] = api.NodeError
    return handler


@scenario("error handler", "edges", "multi-turn")
def handler_stands_in(api: Api, t: Script) -> None:
    """A node fails, its handler writes, and the run goes on behind the node."""
    builder = api.StateGraph(Log)
    builder.add_node("fails", _fails(api, t), error_handler=_handler(api, t))
    builder.add_node("after", stamp("after"))
    builder.add_edge(api.START, "fails")
    builder.add_edge("fails", "after")
    t.compile(builder)
    t.go({"n": 1, "log": ["in"]})
    t.go({"n": 2, "log": ["again"]})


@scenario("error handler", "Command", "goto")
def handler_goes_elsewhere(api: Api, t: Script) -> None:
    """A handler sends the run to another node."""
    builder = api.StateGraph(Log)

    def away(state: Log, error: Any) -> Any:
        return api.Command(update={"log": ["sorry"]}, goto="rescue")

    builder.add_node("fails", _fails(api, t), error_handler=_handler(api, t, away))
    builder.add_node("rescue", stamp("rescue"))
    builder.add_edge(api.START, "fails")
    t.compile(builder)
    t.go({"n": 1, "log": []})


@scenario("error handler", "retries first")
def handler_after_retries(api: Api, t: Script) -> None:
    """A handler has the word when the node was tried as often as its policy says."""
    builder = api.StateGraph(Log)
    retry = api.RetryPolicy(initial_interval=0.0, jitter=False, max_attempts=3, retry_on=ValueError)
    builder.add_node("fails", _fails(api, t), error_handler=_handler(api, t), retry_policy=retry)
    builder.add_edge(api.START, "fails")
    t.compile(builder)
    t.go({"n": 1, "log": []})


@scenario("error handler", "parallel", "sibling")
def handler_beside_siblings(api: Api, t: Script) -> None:
    """A sibling of a node whose failure is handled runs to its end, in the same superstep."""
    builder = api.StateGraph(Log)
    builder.add_node("fails", _fails(api, t), error_handler=_handler(api, t))
    builder.add_node("works", stamp("works"))
    builder.add_node("join", stamp("join"))
    builder.add_edge(api.START, "fails")
    builder.add_edge(api.START, "works")
    builder.add_edge("works", "join")
    t.compile(builder)
    t.go({"n": 1, "log": []})


@scenario("error handler", "fails too", "resume")
def handler_fails(api: Api, t: Script) -> None:
    """A handler fails: so does the run; going on runs the handler again, and not the node."""
    failing = [True]

    def update(state: Log, error: Any) -> Any:
        if failing[0]:
            raise KeyError("handler")
        return {"log": ["handled at last"]}

    builder = api.StateGraph(Log)
    builder.add_node("fails", _fails(api, t), error_handler=_handler(api, t, update))
    builder.add_edge(api.START, "fails")
    t.compile(builder)
    t.go({"n": 1, "log": []}, error="KeyError")
    failing[0] = False
    t.go(None)


@scenario("error handler", "Send")
def handler_of_a_packet(api: Api, t: Script) -> None:
    """Of three packets one fails; its handler gets the packet."""

    def works(state: Any) -> dict[str, Any]:
        if state["n"] == 2:
            raise ValueError("two")
        return {"log": [f"did {state['n']}"]}

    builder = api.StateGraph(Log)
    builder.add_node("works", works, error_handler=_handler(api, t))
    builder.add_conditional_edges(
        api.START, lambda state: [api.Send("works", {"n": n, "log": []}) for n in (1, 2, 3)], ["works"]
    )
    t.compile(builder)
    t.go({"n": 0, "log": []})


@scenario("error handler", "subgraph")
def handler_around_a_graph(api: Api, t: Script) -> None:
    """A node that is a graph fails inside; the handler of the outer node has the word."""
    inner = line(api, ("one", stamp("one")), ("fails", _fails(api, t))).compile()
    builder = api.StateGraph(Log)
    builder.add_node("inner", inner, error_handler=_handler(api, t))
    builder.add_node("after", stamp("after"))
    builder.add_edge(api.START, "inner")
    builder.add_edge("inner", "after")
    t.compile(builder)
    t.go({"n": 1, "log": []})
