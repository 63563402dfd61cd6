"""What is put in while a step waits: commands one after another, edits, a new input, a stream that is left."""

import operator
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


class Log(TypedDict, total=False):
    """The names of the nodes that ran, and two values that commands set."""

    log: Annotated[list[str], operator.add]
    x: str
    y: str


def _stamp(name: str) -> Any:
    return lambda state: {"log": [name]}


def _asks(api: Api) -> Any:
    """A node that asks until `y` is set, beside one that finishes; a last one after the first."""

    def ask(state: Log) -> Log:
        answer = state.get("y") or api.interrupt("y?")
        return {"log": [f"{answer} with {state.get('x')}"]}

    builder = api.StateGraph(Log)
    builder.add_node("ask", ask)
    builder.add_node("beside", _stamp("beside"))
    builder.add_node("last", _stamp("last"))
    builder.add_edge(api.START, "ask")
    builder.add_edge(api.START, "beside")
    builder.add_edge("ask", "last")
    return builder


@scenario("Command input: update", "dynamic interrupt", "two commands ahead of a step", "parallel", past=False)
def command_then_command(api: Api, t: Script) -> None:
    """A second command at a waiting step keeps what the first one wrote."""
    t.compile(_asks(api))
    t.go({"log": ["in"]})
    t.go(api.Command(update={"x": "1", "log": ["first"]}))
    t.go(api.Command(update={"y": "2", "log": ["second"]}))


@scenario("Command input: update", "failure", "two commands ahead of a step", past=False)
def command_then_command_after_failure(api: Api, t: Script) -> None:
    """The same for a step that waits because its task failed."""

    def picky(state: Log) -> Log:
        if not state.get("y"):
            raise ValueError("y is missing")
        return {"log": [f"{state['y']} with {state.get('x')}"]}

    builder = api.StateGraph(Log)
    builder.add_node("picky", picky)
    builder.add_edge(api.START, "picky")
    t.compile(builder)
    t.go({"log": ["in"]}, error="ValueError")
    t.go(api.Command(update={"x": "1", "log": ["first"]}), error="ValueError")
    t.go(api.Command(update={"y": "2", "log": ["second"]}))


@scenario("Command input: update", "two commands ahead of a step", "as_node: END", "update_state", past=False)
def command_then_clear(api: Api, t: Script) -> None:
    """Giving up the waiting tasks keeps what a command wrote ahead of them."""
    t.compile(_asks(api))
    t.go({"log": ["in"]})
    t.go(api.Command(update={"x": "1", "log": ["first"]}))
    t.update(None, as_node=api.END)
    t.go({"y": "2"})


@scenario("Command input: update", "new input while a step waits", "dynamic interrupt", past=False)
def command_then_input(api: Api, t: Script) -> None:
    """A new input gives up the waiting tasks, and keeps what a command wrote ahead of them."""
    t.compile(_asks(api))
    t.go({"log": ["in"]})
    t.go(api.Command(update={"x": "1", "log": ["first"]}))
    t.go({"log": ["new"], "y": "2"})


@scenario("Command input: update", "replay of the last checkpoint", "dynamic interrupt", exit=False, past=False)
def command_then_replay(api: Api, t: Script) -> None:
    """A replay of the waiting checkpoint begins with what a command wrote ahead of it; an older one without."""
    t.compile(_asks(api))
    t.go({"log": ["in"]})
    t.go(api.Command(update={"x": "1", "log": ["first"]}))
    head = t.state()
    t.go(None, at=head.config)
    t.go(api.Command(resume="an answer"))
    t.go(None, at=head.config)


@scenario("waiting join", "static interrupt: before", "update_state")
def edit_beside_a_join(api: Api, t: Script) -> None:
    """An edit made while a full join waits at a breakpoint does not make the thread forget the join."""
    builder = api.StateGraph(Log)
    for name in ("a", "b", "other", "join"):
        builder.add_node(name, _stamp(name))
    builder.add_edge(api.START, "a")
    builder.add_edge(api.START, "b")
    builder.add_edge(["a", "b"], "join")
    t.compile(builder, interrupt_before=["join"])
    for number, node in enumerate(("a", "other", "__start__", "__input__")):
        t.go({"log": ["in"]}, thread=str(number))
        t.update({"x": "edited"}, as_node=node, thread=str(number))
        t.go(None, thread=str(number))


def _chain(api: Api) -> Any:
    builder = api.StateGraph(Log)
    for before, name in ((api.START, "a"), ("a", "b"), ("b", "c")):
        builder.add_node(name, _stamp(name))
        builder.add_edge(before, name)
    return builder


@scenario("stream left early", "linear", "Command input: update", "Command input: goto", past=False)
def left_chain(api: Api, t: Script) -> None:
    """Whoever has seen a node's chunk and leaves finds its step closed, in every mode; a command goes on from there."""
    t.compile(_chain(api))
    nexts = (None, api.Command(update={"x": "1"}), api.Command(goto="c"), api.Command(resume="any"), {"log": ["new"]})
    for number, given in enumerate(nexts):
        t.leave({"log": ["in"]}, "updates", 1, thread=str(number))
        t.go(given, thread=str(number))
    for mode, most in (("values", 4), ("updates", 3), ("tasks", 6), ("debug", 8)):
        for chunks in range(1, most + 1):
            t.leave({"log": ["in"]}, mode, chunks, thread=f"{mode} {chunks}")


@scenario("stream left early", "dynamic interrupt", "linear")
def left_before_a_question(api: Api, t: Script) -> None:
    """A stream left behind a chunk before the node that asks: the question is asked when the thread goes on."""
    builder = api.StateGraph(Log)
    builder.add_node("a", _stamp("a"))
    builder.add_node("q", lambda state: {"log": [api.interrupt("sure?")]})
    builder.add_edge(api.START, "a")
    builder.add_edge("a", "q")
    t.compile(builder)
    t.leave({"log": ["in"]}, "updates", 1)
    t.go(None)
    t.go(api.Command(resume="yes"))


@scenario("stream left early", "parallel", "finished siblings kept", exit=False, past=False, on_loop=False)
def left_in_parallel(api: Api, t: Script) -> None:
    """A stream left while a sibling runs: it is waited for and kept; a command then closes the finished step."""

    def slow(state: Log) -> Log:
        import time

        t.note("slow ran")
        time.sleep(0.08)
        return {"log": ["slow"]}

    builder = api.StateGraph(Log)
    builder.add_node("fast", _stamp("fast"))
    builder.add_node("slow", slow)
    builder.add_node("last", _stamp("last"))
    builder.add_edge(api.START, "fast")
    builder.add_edge(api.START, "slow")
    builder.add_edge(["fast", "slow"], "last")
    t.compile(builder)
    nexts = (None, api.Command(update={"x": "1"}), api.Command(goto="last"), api.Command(resume="any"))
    for number, given in enumerate(nexts):
        t.leave({"log": ["in"]}, "updates", 1, thread=str(number))
        t.go(given, thread=str(number))
