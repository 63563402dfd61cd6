"""Graphs inside nodes: as nodes and called by them, what they keep, what is asked inside them."""

import operator
from itertools import pairwise
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario

KEEPS = (None, True, False)


class Log(TypedDict):
    """A number and the names of the nodes that ran."""

    n: int
    log: Annotated[list[str], operator.add]


class Words(TypedDict):
    """What several tasks may write at once."""

    log: Annotated[list[str], operator.add]


class Inner(TypedDict):
    """A state that shares one key with the outer one."""

    n: int
    notes: Annotated[list[str], operator.add]


def stamp(name: str) -> Any:
    return lambda state: {"log": [name]}


def note(name: str) -> Any:
    return lambda state: {"notes": [name], "n": state["n"] + 1}


def ask(api: Api, name: str) -> Any:
    def node(state: Log) -> dict[str, Any]:
        return {"log": [f"{name}:{api.interrupt(f'{name}?')}"]}

    return node


def line(api: Api, *nodes: tuple[str, Any], state: Any = Log) -> Any:
    """A builder whose nodes follow each other."""
    builder = api.StateGraph(state)
    for name, action in nodes:
        builder.add_node(name, action)
    for start, end in pairwise((api.START, *(name for name, _ in nodes))):
        builder.add_edge(start, end)
    return builder


def pair(api: Api) -> Any:
    """Two nodes, the second asks."""
    return line(api, ("first", stamp("first")), ("second", ask(api, "second")))


@scenario("subgraph", "node", "streams", "multi-turn")
def nested_node(api: Api, t: Script) -> None:
    """A graph as a node, over two turns; what it tells is seen with its namespace."""
    inner = line(api, ("x", stamp("x")), ("y", stamp("y"))).compile()
    t.compile(line(api, ("before", stamp("before")), ("inner", inner), ("after", stamp("after"))))
    t.go({"n": 1, "log": ["in"]}, subgraphs=True)
    t.go({"n": 2, "log": ["again"]})


@scenario("subgraph", "called", "other state")
def nested_call(api: Api, t: Script) -> None:
    """A graph with a state of its own, called by a node's function."""
    inner = line(api, ("x", note("x")), ("y", note("y")), state=Inner).compile()

    def calls(state: Log) -> dict[str, Any]:
        found = inner.invoke({"n": state["n"], "notes": ["given"]})
        return {"n": found["n"], "log": found["notes"]}

    t.compile(line(api, ("calls", calls), ("after", stamp("after"))))
    t.go({"n": 1, "log": ["in"]}, subgraphs=True)


@scenario("subgraph", "called", "config")
def nested_call_with_config(api: Api, t: Script) -> None:
    """A node hands its config on, with tags and metadata of its own; the inner graph sees both."""

    def looks(state: Log, config: api.RunnableConfig) -> dict[str, Any]:  # type: ignore[name-defined]
        metadata = config["metadata"]
        t.note(sorted(config.get("tags") or []), metadata.get("who"), metadata.get("desk"), metadata["langgraph_node"])
        return {"log": ["looked"]}

    looks.__annotations__["config"] = api.RunnableConfig
    inner = line(api, ("looks", looks)).compile()

    def calls(state: Log, config: Any) -> dict[str, Any]:
        inner.invoke(state, {**config, "tags": ["call"], "metadata": {**config["metadata"], "desk": 7}})
        inner.invoke(state, {"tags": ["bare"]})
        return {"log": ["called"]}

    calls.__annotations__["config"] = api.RunnableConfig
    t.compile(line(api, ("calls", calls)))
    t.go({"n": 1, "log": []}, config={"metadata": {"who": "alice"}, "tags": ["outer"]})


@scenario("subgraph", "interrupt", "resume")
def nested_question(api: Api, t: Script) -> None:
    """A question inside a graph as a node; the answer finds it, and what had finished there does not run again."""

    def once(state: Log) -> dict[str, Any]:
        t.note("once runs")
        return {"log": ["once"]}

    inner = line(api, ("once", once), ("asks", ask(api, "asks"))).compile()
    t.compile(line(api, ("before", stamp("before")), ("inner", inner), ("after", stamp("after"))))
    t.go({"n": 1, "log": []}, subgraphs=True)
    t.state(subgraphs=True)
    t.go(api.Command(resume="yes"), subgraphs=True)


@scenario("subgraph", "interrupt", "resume", "checkpointer=True", "multi-turn")
def nested_question_kept(api: Api, t: Script) -> None:
    """A graph that keeps its state asks in two turns; its history goes through both."""
    t.compile(line(api, ("inner", pair(api).compile(checkpointer=True)), ("after", stamp("after"))))
    t.go({"n": 1, "log": ["one"]}, subgraphs=True)
    t.go(api.Command(resume="a"), subgraphs=True)
    t.go({"n": 2, "log": ["two"]})
    t.go(api.Command(resume="b"))


@scenario("subgraph", "interrupt", "resume", "checkpointer=False")
def nested_question_forgotten(api: Api, t: Script) -> None:
    """A graph that keeps nothing runs from its beginning when its question is answered."""

    def once(state: Log) -> dict[str, Any]:
        t.note("once runs")
        return {"log": ["once"]}

    inner = line(api, ("once", once), ("asks", ask(api, "asks"))).compile(checkpointer=False)
    t.compile(line(api, ("inner", inner), ("after", stamp("after"))))
    # Without persistence inside it LangGraph fails at "sync".
    t.go({"n": 1, "log": []}, durability="exit")
    t.go(api.Command(resume="yes"), durability="exit")


@scenario("subgraph", "interrupt", "depth 3", "map")
def nested_question_deep(api: Api, t: Script) -> None:
    """A question three levels down, answered by its id."""
    deepest = line(api, ("d1", stamp("d1")), ("d2", ask(api, "d2"))).compile()
    middle = line(api, ("m1", stamp("m1")), ("deepest", deepest), ("m2", stamp("m2"))).compile()
    t.compile(line(api, ("middle", middle), ("after", stamp("after"))))
    t.go({"n": 1, "log": []}, subgraphs=True)
    asked = t.state(subgraphs=True)
    t.go(api.Command(resume={asked.interrupts[0].id: "deep"}), subgraphs=True)


@scenario("subgraph", "interrupt", "two questions", "called")
def nested_questions_in_turn(api: Api, t: Script) -> None:
    """Two questions in one inner node, one after another; the node runs again for each."""

    def asks(state: Log) -> dict[str, Any]:
        t.note("asks runs")
        return {"log": [api.interrupt("name?"), api.interrupt("age?")]}

    inner = line(api, ("asks", asks)).compile()

    def calls(state: Log) -> dict[str, Any]:
        t.note("calls runs")
        return {"log": inner.invoke({"n": 1, "log": []})["log"]}

    t.compile(line(api, ("calls", calls)))
    t.go({"n": 1, "log": []})
    t.go(api.Command(resume="Ada"))
    t.go(api.Command(resume="36"))


@scenario("subgraph", "interrupt", "outer and inner")
def nested_question_beside_outer(api: Api, t: Script) -> None:
    """A node asks itself, then runs a graph that asks: each gets its own answer."""
    inner = line(api, ("asks", ask(api, "inner"))).compile()

    def calls(state: Log) -> dict[str, Any]:
        own = api.interrupt("outer?")
        found = inner.invoke({"n": 1, "log": []})
        return {"log": [f"outer:{own}", *found["log"]]}

    t.compile(line(api, ("calls", calls)))
    t.go({"n": 1, "log": []})
    t.go(api.Command(resume="first"))
    t.go(api.Command(resume="second"))


@scenario("subgraph", "several in one task", "interrupt")
def nested_several(api: Api, t: Script) -> None:
    """A task runs two graphs; the second asks, the first is not run again."""
    one = line(api, ("x", stamp("x"))).compile()
    two = line(api, ("asks", ask(api, "two"))).compile()

    def calls(state: Log) -> dict[str, Any]:
        found = one.invoke({"n": 1, "log": []})["log"]
        return {"log": [*found, *two.invoke({"n": 1, "log": []})["log"]]}

    t.compile(line(api, ("calls", calls), ("after", stamp("after"))))
    t.go({"n": 1, "log": []}, subgraphs=True)
    t.go(api.Command(resume="ok"), subgraphs=True)


@scenario("subgraph", "parallel", "interrupt", "map")
def nested_parallel_questions(api: Api, t: Script) -> None:
    """Two graphs side by side ask at once; both are answered in one map."""
    builder = api.StateGraph(Words)
    for name in ("left", "right"):
        builder.add_node(name, line(api, ("asks", ask(api, name)), state=Words).compile())
        builder.add_edge(api.START, name)
    t.compile(builder)
    t.go({"log": []})
    asked = t.state()
    t.go(api.Command(resume={question.id: question.value.upper() for question in asked.interrupts}))


@scenario("subgraph", "parallel", "interrupt", "Send")
def nested_sends(api: Api, t: Script) -> None:
    """A graph is sent to three times; one of the three asks."""

    def asks(state: Log) -> dict[str, Any]:
        return {"log": [f"{state['n']}:{api.interrupt('go?')}" if state["n"] == 2 else str(state["n"])]}

    inner = api.StateGraph(Log, output_schema=Words)
    inner.add_node("asks", asks)
    inner.add_edge(api.START, "asks")
    inner = inner.compile()
    builder = api.StateGraph(Log)
    builder.add_node("inner", inner)
    builder.add_node("after", stamp("after"))
    builder.add_conditional_edges(
        api.START, lambda state: [api.Send("inner", {"n": n, "log": []}) for n in (1, 2, 3)], ["inner"]
    )
    builder.add_edge("inner", "after")
    t.compile(builder)
    t.go({"n": 0, "log": []})
    t.go(api.Command(resume="go"))


@scenario("subgraph", "breakpoint inside")
def nested_breakpoint(api: Api, t: Script) -> None:
    """An inner graph stops before a node; the thread goes on from there."""
    inner = line(api, ("x", stamp("x")), ("y", stamp("y"))).compile(interrupt_before=["y"])
    t.compile(line(api, ("inner", inner), ("after", stamp("after"))))
    t.go({"n": 1, "log": []}, subgraphs=True)
    t.state(subgraphs=True)
    t.go(None, subgraphs=True)


@scenario("subgraph", "breakpoint after inside", "checkpointer=True")
def nested_breakpoint_after(api: Api, t: Script) -> None:
    """An inner graph that keeps its state stops behind a node, twice."""
    inner = line(api, ("x", stamp("x")), ("y", stamp("y"))).compile(interrupt_after=["x"], checkpointer=True)
    t.compile(line(api, ("inner", inner)))
    t.go({"n": 1, "log": ["one"]})
    t.go(None)
    t.go({"n": 1, "log": ["two"]})
    t.go(None)


@scenario("subgraph", "failure", "resume")
def nested_failure(api: Api, t: Script) -> None:
    """An inner node fails; what finished inside stays, and only the failed one runs again."""
    failing = [True]

    def fails(state: Log) -> dict[str, Any]:
        if failing[0]:
            raise ValueError("not yet")
        return {"log": ["worked"]}

    def once(state: Log) -> dict[str, Any]:
        t.note("once runs")
        return {"log": ["once"]}

    inner = line(api, ("once", once), ("fails", fails)).compile()
    t.compile(line(api, ("inner", inner), ("after", stamp("after"))))
    t.go({"n": 1, "log": []}, error="ValueError", subgraphs=True)
    failing[0] = False
    t.go(None, subgraphs=True)


@scenario("subgraph", "Command.PARENT", "goto")
def nested_parent_command(api: Api, t: Script) -> None:
    """An inner node sends the outer graph elsewhere and writes to its state."""

    def leaves(state: Log) -> Any:
        return api.Command(graph=api.Command.PARENT, update={"log": ["left"], "n": 9}, goto="aside")

    inner = line(api, ("x", stamp("x")), ("leaves", leaves), ("never", stamp("never"))).compile()
    builder = api.StateGraph(Log)
    builder.add_node("inner", inner, destinations=("aside",))
    builder.add_node("aside", stamp("aside"))
    builder.add_edge(api.START, "inner")
    t.compile(builder)
    t.go({"n": 1, "log": ["in"]}, subgraphs=True)


@scenario("subgraph", "Command.PARENT", "depth 3", "Send")
def nested_parent_command_deep(api: Api, t: Script) -> None:
    """A command for the parent ends at the graph around the one that gave it, also three levels down."""

    def leaves(state: Log) -> Any:
        return api.Command(
            graph=api.Command.PARENT, update={"log": ["up"]}, goto=api.Send("other", {"n": 5, "log": []})
        )

    deepest = line(api, ("leaves", leaves)).compile()
    middle = api.StateGraph(Log)
    middle.add_node("deepest", deepest, destinations=("other",))
    middle.add_node("other", lambda state: {"log": [f"other {state['n']}"]})
    middle.add_edge(api.START, "deepest")
    t.compile(line(api, ("middle", middle.compile()), ("after", stamp("after"))))
    t.go({"n": 1, "log": []}, subgraphs=True)


@scenario("subgraph", "checkpointer=True", "loop", "called")
def nested_kept_in_a_loop(api: Api, t: Script) -> None:
    """A graph that keeps its state is run three times in one run: each finds what the one before left."""
    inner = line(api, ("x", lambda state: {"notes": [f"x{len(state['notes'])}"]}), state=Inner).compile(
        checkpointer=True
    )

    def calls(state: Log) -> dict[str, Any]:
        found = inner.invoke({"n": state["n"], "notes": ["call"]})
        return {"n": state["n"] + 1, "log": [",".join(found["notes"])]}

    builder = line(api, ("calls", calls))
    builder.add_conditional_edges("calls", lambda state: "calls" if state["n"] < 3 else api.END)
    t.compile(builder)
    t.go({"n": 0, "log": []})
    t.go({"n": 1, "log": []})


@scenario("subgraph", "no persistence", "interrupt")
def nested_without_persistence(api: Api, t: Script) -> None:
    """Without a checkpointer an inner question ends the run and is in its result."""
    t.compile(line(api, ("inner", pair(api).compile())), persist=False)
    t.go({"n": 1, "log": []})


@scenario("subgraph", "custom stream", "subgraphs=True")
def nested_custom(api: Api, t: Script) -> None:
    """What inner nodes write to the custom stream, with and without `subgraphs`."""

    def writes(state: Log) -> dict[str, Any]:
        api.get_stream_writer()({"inner": state["n"]})
        return {"log": ["wrote"]}

    inner = line(api, ("writes", writes)).compile()
    t.compile(line(api, ("inner", inner)))
    t.stream({"n": 1, "log": []}, "custom", thread="with", subgraphs=True)
    t.stream({"n": 2, "log": []}, "custom", thread="without")


@scenario("subgraph", "new input at a question inside")
def nested_new_input(api: Api, t: Script) -> None:
    """A new input while an inner graph waits: the question is given up."""
    t.compile(line(api, ("inner", pair(api).compile()), ("after", stamp("after"))))
    t.go({"n": 1, "log": ["one"]})
    t.go({"n": 2, "log": ["two"]})
    t.go(api.Command(resume="answer"))


@scenario("subgraph", "command inside", "routing inside")
def nested_routing(api: Api, t: Script) -> None:
    """Commands and routers inside an inner graph go their own ways; the outer router sees the inner output."""

    def chooses(state: Log) -> Any:
        return api.Command(update={"log": ["chose"]}, goto="b" if state["n"] > 1 else "a")

    inner = api.StateGraph(Log)
    inner.add_node("chooses", chooses, destinations=("a", "b"))
    inner.add_node("a", stamp("a"))
    inner.add_node("b", stamp("b"))
    inner.add_edge(api.START, "chooses")
    builder = line(api, ("inner", inner.compile()))
    builder.add_node("end", stamp("end"))
    builder.add_conditional_edges("inner", lambda state: "end" if "b" in state["log"] else api.END)
    t.compile(builder)
    t.go({"n": 1, "log": []})
    t.go({"n": 2, "log": []})


@scenario("subgraph", "recursion limit", exit=False)
def nested_recursion(api: Api, t: Script) -> None:
    """The limit of supersteps holds for an inner graph by itself."""
    inner = line(api, ("x", stamp("x")))
    inner.add_edge("x", "x")
    t.compile(line(api, ("inner", inner.compile())))
    t.go({"n": 1, "log": []}, error="GraphRecursionError", config={"recursion_limit": 4})


@scenario("subgraph", "context", "store")
def nested_context(api: Api, t: Script) -> None:
    """Inner nodes see the outer run's context and where they run."""

    def looks(state: Log, runtime: Any) -> dict[str, Any]:
        t.note(runtime.context, runtime.execution_info.thread_id, runtime.execution_info.checkpoint_ns)
        return {"log": ["looked"]}

    looks.__annotations__["runtime"] = api.Runtime
    inner = line(api, ("looks", looks)).compile()
    t.compile(line(api, ("inner", inner)))
    t.go({"n": 1, "log": []}, context={"desk": 1})
