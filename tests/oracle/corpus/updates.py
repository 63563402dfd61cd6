"""Editing a thread by hand: `update_state`, `as_node`, `bulk_update_state`."""

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


def _routed(api: Api) -> Any:
    builder = api.StateGraph(Log)
    for name in ("first", "small", "big"):
        builder.add_node(name, _stamp(name))
    builder.add_edge(api.START, "first")
    builder.add_conditional_edges("first", lambda s: "big" if s["n"] > 9 else "small", ["small", "big"])
    return builder


@scenario("update_state", "as_node", "conditional edges", "update on a finished thread")
def update_takes_the_route(api: Api, t: Script) -> None:
    """An edit in a node's name runs that node's router, which decides what is next."""
    t.compile(_routed(api))
    t.go({"n": 1})
    t.update({"n": 50}, as_node="first")
    t.go(None)
    t.update({"n": 2, "log": ["x"]}, as_node="first")
    t.go(None)


@scenario("update_state", "as_node inferred", "linear", "single node graph")
def update_infers_the_node(api: Api, t: Script) -> None:
    """Without as_node the edit is in the name of the node that ran last."""
    builder = api.StateGraph(Log)
    builder.add_node("only", _stamp("only"))
    builder.add_edge(api.START, "only")
    t.compile(builder)
    t.go({"n": 1})
    t.update({"n": 2, "log": ["edited"]})
    t.update({"log": ["again"]})


@scenario("update_state", "as_node inferred", "static interrupt: before", "linear", "reducer: operator.add")
def update_infers_the_node_at_a_break(api: Api, t: Script) -> None:
    """At a breakpoint the edit is in the name of the node before it."""
    builder = api.StateGraph(Log)
    builder.add_node("a", _stamp("a"))
    builder.add_node("b", _stamp("b"))
    builder.add_edge(api.START, "a")
    builder.add_edge("a", "b")
    t.compile(builder, interrupt_before=["b"])
    t.go({"n": 1})
    t.update({"n": 7})
    t.go(None)


@scenario("update_state", "update on an empty thread", "as_node: __start__", "as_node inferred", "fresh thread")
def update_an_empty_thread(api: Api, t: Script) -> None:
    """An edit is a thread's first event: in START's name, inferred or given, or in a node's."""
    t.compile(_routed(api))
    t.update({"n": 5, "log": ["seed"]})
    t.go(None)
    t.update({"n": 50}, thread="2", as_node="__start__")
    t.go(None, thread="2")
    t.update({"n": 50}, thread="3", as_node="first")
    t.go(None, thread="3")


@scenario("update_state", "as_node: __input__", "source: input", "linear")
def update_as_input(api: Api, t: Script) -> None:
    """An edit as `__input__` is new input that has not run yet."""
    t.compile(_routed(api))
    t.go({"n": 1})
    t.update({"n": 90, "log": ["as input"]}, as_node="__input__")
    t.go(None)


@scenario("update_state", "as_node: END", "static interrupt: before", "pending tasks cleared")
def update_to_the_end(api: Api, t: Script) -> None:
    """None as END drops what was next; the thread is finished."""
    t.compile(_routed(api), interrupt_before=["small"])
    t.go({"n": 1})
    t.update(None, as_node=api.END)
    t.go({"n": 2})


@scenario("update_state", "as_node: END", "update on an empty thread", "fresh thread", "finished siblings kept")
def update_ends_early(api: Api, t: Script) -> None:
    """None as END on an empty thread makes an empty checkpoint; on a half-done step it keeps what finished."""
    builder = api.StateGraph(Log)
    builder.add_node("ask", lambda state: {"log": [api.interrupt("?")]})
    builder.add_node("quiet", _stamp("quiet"))
    builder.add_edge(api.START, "ask")
    builder.add_edge(api.START, "quiet")
    t.compile(builder)
    t.update(None, as_node=api.END)
    t.go({"n": 1, "log": ["in"]})
    t.update(None, as_node=api.END)
    t.go(None)


@scenario("update_state", "as_node: __copy__", "source: fork", "linear", exit=False)
def update_copies(api: Api, t: Script) -> None:
    """`__copy__` puts a twin of a checkpoint beside it, under the same parent."""
    t.compile(_routed(api), interrupt_before=["small"])
    t.go({"n": 1})
    t.update(None, as_node="__copy__")
    t.go(None)
    t.update(None, at=t.history()[-2].config, as_node="__copy__")
    t.history()


@scenario("bulk_update_state", "several updates in one step", "parallel", "as_node", "join")
def bulk_update(api: Api, t: Script) -> None:
    """Several edits in one superstep, in the names of several nodes, then another superstep."""
    builder = api.StateGraph(Log)
    for name in ("b", "a", "end"):
        builder.add_node(name, _stamp(name))
    builder.add_edge(api.START, "b")
    builder.add_edge(api.START, "a")
    builder.add_edge(["b", "a"], "end")
    t.compile(builder)
    update = api.StateUpdate
    t.bulk(
        [
            [update({"n": 1, "log": ["in"]}, "__start__")],
            [update({"log": ["B"]}, "b"), update({"log": ["A"]}, "a")],
        ]
    )
    t.go(None)
    t.bulk([[update({"log": ["x"]}, "end")], [update({"log": ["y"]}, "__start__")]])
    t.go(None)
    t.history()


@scenario("bulk_update_state", "replayed history", "as_node: __input__", "linear", "multi-turn")
def bulk_replays_a_history(api: Api, t: Script) -> None:
    """A whole conversation put in by hand, turn after turn, then continued by the graph."""
    builder = api.StateGraph(Log)
    builder.add_node("a", _stamp("a"))
    builder.add_edge(api.START, "a")
    t.compile(builder)
    update = api.StateUpdate
    t.bulk(
        [
            [update({"n": 1, "log": ["in"]}, "__input__")],
            [update({"n": 1, "log": ["in"]}, "__start__")],
            [update({"log": ["a by hand"]}, "a")],
            [update({"n": 2}, "__input__")],
            [update({"n": 2}, "__start__")],
        ]
    )
    t.go(None)
    t.history()


@scenario("update_state", "bulk_update_state", "error: InvalidUpdateError", "error: ValueError", "parallel")
def updates_refused(api: Api, t: Script) -> None:
    """Ambiguous, unknown and empty edits are refused and leave no trace."""
    builder = api.StateGraph(Log)
    for name in ("b", "a"):
        builder.add_node(name, _stamp(name))
        builder.add_edge(api.START, name)
    t.compile(builder)
    t.go({"n": 1})
    t.update({"n": 2}, error="InvalidUpdateError")
    t.update({"n": 2}, as_node="nobody", error="InvalidUpdateError")
    t.update(["not a dict"], as_node="a", error="InvalidUpdateError")
    t.bulk([], error="ValueError")
    t.bulk([[]], error="ValueError")
    t.bulk([[api.StateUpdate({"n": 1}), api.StateUpdate({"n": 2})]], error="InvalidUpdateError")
    t.history()


@scenario("update_state", "dynamic interrupt", "as_node answers for the node", "linear")
def update_instead_of_an_answer(api: Api, t: Script) -> None:
    """An edit in the name of the node that asks takes the answer's place."""
    builder = api.StateGraph(Log)
    builder.add_node("ask", lambda state: {"log": [api.interrupt("?")]})
    builder.add_node("after", _stamp("after"))
    builder.add_edge(api.START, "ask")
    builder.add_edge("ask", "after")
    t.compile(builder)
    t.go({"n": 1})
    t.update({"log": ["decided elsewhere"]}, as_node="ask")
    t.go(None)


@scenario(
    "update_state",
    "pending siblings planned again",
    "finished siblings run again",
    "dynamic interrupt",
    "parallel",
)
def update_beside_a_question(api: Api, t: Script) -> None:
    """An edit while one node asks and its sibling is done: the step is planned anew."""

    def quiet(state: Log) -> Any:
        t.note("quiet runs")
        return {"log": ["quiet"]}

    builder = api.StateGraph(Log)
    builder.add_node("ask", lambda state: {"log": [api.interrupt(state["n"])]})
    builder.add_node("quiet", quiet)
    builder.add_edge(api.START, "ask")
    builder.add_edge(api.START, "quiet")
    t.compile(builder)
    t.go({"n": 1})
    t.update({"n": 2}, as_node="__start__")
    t.go(None)
    t.go(api.Command(resume="yes"))
    t.history()


@scenario("update_state", "Command as update", "Send", "goto in an update", "linear")
def update_with_a_command(api: Api, t: Script) -> None:
    """An edit may be what a node may return: a Command that also says where to go."""
    builder = api.StateGraph(Log)
    builder.add_node("a", _stamp("a"))
    builder.add_node("b", lambda state: {"log": [f"b{state['n']}"]})
    builder.add_edge(api.START, "a")
    t.compile(builder)
    t.go({"n": 1})
    t.update(api.Command(update={"n": 5}, goto=["b", api.Send("b", {"n": 6})]), as_node="a")
    t.go(None)


@scenario("update_state", "as_node: __copy__", "updates on a copy", "source: fork", "parallel", exit=False)
def update_copies_and_edits(api: Api, t: Script) -> None:
    """`__copy__` with edits: a twin of the checkpoint, then the edits of each node in a step of their own."""
    builder = api.StateGraph(Log)
    for name in ("b", "a"):
        builder.add_node(name, _stamp(name))
        builder.add_edge(api.START, name)
    t.compile(builder)
    t.go({"n": 1})
    t.update([({"log": ["B"]}, "b"), ({"log": ["A"]}, "a")], as_node="__copy__")
    t.history()


@scenario("update_state", "as_node", "several routers on a node", "Send", "plain edge beside routers")
def update_through_two_routers(api: Api, t: Script) -> None:
    """An edit as a node with two routers and an edge: their Sends are planned in the routers' order."""
    builder = api.StateGraph(Log)
    for name in ("b", "a", "edge"):
        builder.add_node(name, lambda state, name=name: {"log": [f"{name}{state['n']}"]})
    builder.add_node("src", _stamp("src"))
    builder.add_edge(api.START, "src")
    builder.add_edge("src", "edge")

    def to_b(state: Log) -> Any:
        return [api.Send("b", {"n": number}) for number in (1, 2)]

    def to_a(state: Log) -> Any:
        return [api.Send("a", {"n": number}) for number in (3, 4)]

    builder.add_conditional_edges("src", to_b, ["b"])
    builder.add_conditional_edges("src", to_a, ["a"])
    t.compile(builder)
    t.go({"n": 0})
    t.update({"log": ["edit"]}, as_node="src")
    t.go(None)


@scenario("bulk_update_state", "as_node inferred", "error: InvalidUpdateError", "linear", "single node graph")
def update_twice_without_a_name(api: Api, t: Script) -> None:
    """Several updates in one step each need a node's name, even where there is only one node."""
    builder = api.StateGraph(Log)
    builder.add_node("only", _stamp("only"))
    builder.add_edge(api.START, "only")
    t.compile(builder)
    t.go({"n": 1})
    t.bulk([[api.StateUpdate({"n": 2}), api.StateUpdate({"log": ["too"]})]], error="InvalidUpdateError")
    t.bulk([[api.StateUpdate({"n": 2})], [api.StateUpdate({"log": ["edit"]})]])
    t.history()


@scenario("bulk_update_state", "as_node", "task id given", "static interrupt: before", "linear")
def update_for_a_task(api: Api, t: Script) -> None:
    """An edit may name the waiting task that it stands for."""
    builder = api.StateGraph(Log)
    builder.add_node("only", _stamp("only"))
    builder.add_edge(api.START, "only")
    t.compile(builder, interrupt_before=["only"])
    t.go({"n": 1})
    waiting = t.state().tasks[0]
    t.bulk([[api.StateUpdate({"n": 2}, "only", waiting.id)]])
    t.go(None)
