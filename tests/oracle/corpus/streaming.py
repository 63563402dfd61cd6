"""Stream modes, alone and in lists, and the keys that are shown."""

import operator
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import MODES, Script, scenario


class Two(TypedDict):
    """Two keys, one of which is not always written."""

    n: int
    log: Annotated[list[str], operator.add]


def _pair(api: Api) -> Any:
    builder = api.StateGraph(Two)
    builder.add_sequence([("a", lambda state: {"n": state["n"] + 1}), ("b", lambda state: {"log": ["b"]})])
    builder.add_node("quiet", lambda state: None)
    builder.add_edge(api.START, "a")
    builder.add_edge("b", "quiet")
    return builder


@scenario("stream: each mode alone", "linear", "several threads")
def single_modes(api: Api, t: Script) -> None:
    """Each mode given as a string streams bare chunks."""
    t.compile(_pair(api))
    for mode in MODES:
        t.stream({"n": 0}, mode, thread=mode)


@scenario("stream: lists of modes", "invoke with a stream mode", "output_keys", "linear")
def mode_lists_and_keys(api: Api, t: Script) -> None:
    """Lists of modes, `invoke` with a mode, and a choice of output keys."""
    t.compile(_pair(api))
    t.stream({"n": 0}, ["updates"])
    t.stream({"n": 0}, ["values", "tasks"])
    t.invoke({"n": 0}, stream_mode="updates")
    t.invoke({"n": 0}, stream_mode=["values", "updates"])
    t.invoke({"n": 0}, output_keys=["log"])
    t.invoke({"n": 0}, output_keys="n")
    t.stream({"n": 0}, ["values", "updates"], output_keys=["n"])


@scenario(
    "stream: updates of an interrupt",
    "static interrupt: before",
    "stream: each mode alone",
    "dynamic interrupt",
)
def modes_at_a_pause(api: Api, t: Script) -> None:
    """What each mode shows when a thread rests at a breakpoint, at a question, and goes on."""
    builder = _pair(api)
    builder.add_node("ask", lambda state: {"log": [api.interrupt("?")]})
    builder.add_edge("quiet", "ask")
    t.compile(builder, interrupt_before=["quiet"])
    for mode in ("values", "updates", "tasks", "checkpoints", "debug"):
        t.stream({"n": 0}, mode, thread=mode)
        t.stream(None, mode, thread=mode)
        t.stream(api.Command(resume="x"), mode, thread=mode)


@scenario("stream: updates of None", "stream: values without change", "Send", "Command: update")
def updates_of_every_shape(api: Api, t: Script) -> None:
    """What `updates` and `values` show of None, of an empty dict, of a Command, of several writes."""
    builder = api.StateGraph(Two)
    builder.add_node("none", lambda state: None)
    builder.add_node("empty", lambda state: {})
    builder.add_node("command", lambda state: api.Command(update={"n": 9}))
    builder.add_node("several", lambda state: [{"n": 1}, api.Command(update={"log": ["x"]}), {"log": ["y"]}])
    builder.add_node("sent", lambda state: {"log": [str(state)]})
    order = ("none", "empty", "command", "several")
    for before, name in zip((api.START, *order), order, strict=False):
        builder.add_edge(before, name)
    builder.add_conditional_edges("several", lambda _: [api.Send("sent", 1), api.Send("sent", "two")], ["sent"])
    t.compile(builder)
    t.go({"n": 0})
    t.stream({"n": 0}, ["updates", "values"], thread="2")


@scenario("stream: metadata of nodes", "node metadata", "metadata in config", "linear")
def task_metadata(api: Api, t: Script) -> None:
    """Metadata given to a node and to a call, as the tasks stream shows it."""
    builder = api.StateGraph(Two)
    builder.add_node("a", lambda state: {"n": 1}, metadata={"owner": "ann"})
    builder.add_edge(api.START, "a")
    t.compile(builder)
    t.go({"n": 0}, config={"metadata": {"trace": "x"}, "tags": ["tagged"]})
