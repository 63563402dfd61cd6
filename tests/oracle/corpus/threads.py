"""Threads: many of them, turns that interrupt turns, and graphs that change under them."""

import operator
import uuid
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


class Log(TypedDict):
    """The names of the nodes that ran."""

    log: Annotated[list[str], operator.add]


def _chain(api: Api, **nodes: Any) -> Any:
    builder = api.StateGraph(Log)
    for before, name in zip((api.START, *nodes), nodes, strict=False):
        builder.add_node(name, nodes[name])
        builder.add_edge(before, name)
    return builder


def _stamp(name: str) -> Any:
    return lambda state: {"log": [name]}


@scenario("double texting", "dynamic interrupt", "new input on a paused thread", "linear")
def new_input_at_a_question(api: Api, t: Script) -> None:
    """New input while a node waits for an answer: the question is dropped, the state kept."""
    t.compile(_chain(api, a=_stamp("a"), ask=lambda state: {"log": [api.interrupt(len(state["log"]))]}))
    t.go({"log": ["one"]})
    t.go({"log": ["two"]})
    t.go(api.Command(resume="x"))
    t.history()


@scenario(
    "double texting",
    "finished siblings dropped",
    "dynamic interrupt",
    "parallel",
    "new input on a paused thread",
)
def new_input_beside_finished(api: Api, t: Script) -> None:
    """New input on a step of which one task had finished: its stored writes are dropped."""
    builder = _chain(api, ask=lambda state: {"log": [api.interrupt("?")]})
    builder.add_node("quick", _stamp("quick"))
    builder.add_edge(api.START, "quick")
    t.compile(builder)
    t.go({"log": ["one"]})
    t.go({"log": ["two"]})
    t.go(api.Command(resume="x"))


@scenario("several threads", "thread_id: int", "thread_id: UUID", "thread_id: odd text", "linear")
def thread_names(api: Api, t: Script) -> None:
    """Numbers and UUIDs as thread ids are their text; any text is a thread of its own."""
    t.compile(_chain(api, a=_stamp("a")))
    for thread in (7, "7", uuid.UUID(int=5), "", "ä/ö:|\u0000", "1", "11", "x" * 600):
        t.go({"log": [f"turn of {type(thread).__name__}"]}, thread=thread)


@scenario("graph changed", "static interrupt: before", "new node", "new edge", "linear")
def graph_grows_while_paused(api: Api, t: Script) -> None:
    """A thread that rests goes on with a graph that has one more node behind the pending one."""
    t.compile(_chain(api, a=_stamp("a"), b=_stamp("b")), interrupt_before=["b"])
    t.go({"log": []})
    t.compile(_chain(api, a=_stamp("a"), b=_stamp("new b"), c=_stamp("c")))
    t.go(None)
    t.history()


@scenario("graph changed", "new channel", "multi-turn", "linear")
def state_grows_between_turns(api: Api, t: Script) -> None:
    """A second turn with a state that has one more key, and nodes that write it."""

    class More(TypedDict):
        log: Annotated[list[str], operator.add]
        best: int

    t.compile(_chain(api, a=_stamp("a")))
    t.go({"log": ["old"]})
    builder = api.StateGraph(More)
    builder.add_node("a", lambda state: {"log": ["new a"], "best": state["best"] + 1})
    builder.add_edge(api.START, "a")
    t.compile(builder)
    t.go({"log": ["again"], "best": 9})


@scenario("several threads", "interleaved threads", "dynamic interrupt", "history: before", "parallel")
def threads_interleave(api: Api, t: Script) -> None:
    """Two threads take turns pausing and going on; neither sees anything of the other."""
    builder = _chain(api, a=_stamp("a"), ask=lambda state: {"log": [api.interrupt(state["log"][0])]})
    builder.add_node("b", _stamp("b"))
    builder.add_edge(api.START, "b")
    t.compile(builder)
    for thread in ("x", "y"):
        t.go({"log": [thread]}, thread=thread)
    for thread in ("y", "x"):
        t.go(api.Command(resume=f"to {thread}"), thread=thread)
    t.history(thread="x", before=t.history(thread="x")[0].config)


@scenario(
    "invoke(None) on a finished thread",
    "Command input: resume",
    "static interrupt: after",
    "END edge",
    "linear",
)
def pause_after_the_last_node(api: Api, t: Script) -> None:
    """A breakpoint after the last node: the thread is finished all the same."""
    t.compile(_chain(api, a=_stamp("a"), b=_stamp("b")), interrupt_after=["b"])
    t.go({"log": []})
    t.go(None)
    t.go({"log": ["more"]})
