"""Durabilities: what is stored when, and what the history shows of it."""

import operator
import threading
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, fail_after, scenario


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


@scenario("durability: mixed", "multi-turn", "linear", "history", exit=False)
def durabilities_take_turns(api: Api, t: Script) -> None:
    """One thread, three turns, three durabilities: each adds its own checkpoints to one history."""
    t.compile(_chain(api, a=_stamp("a"), b=_stamp("b")))
    for durability in ("sync", "exit", "async", "exit"):
        t.go({"log": [durability]}, durability=durability)
    t.history()


@scenario("durability: exit", "dynamic interrupt", "Command input: resume", "linear", exit=False)
def exit_with_a_question(api: Api, t: Script) -> None:
    """With `exit` a question stores one checkpoint and the pending task; the answer another."""
    t.compile(_chain(api, a=_stamp("a"), ask=lambda state: {"log": [api.interrupt("?")]}, b=_stamp("b")))
    t.go({"log": []}, durability="exit")
    t.history()
    t.go(api.Command(resume="x"), durability="exit")
    t.history()


@scenario("durability: exit", "failure", "parallel", "finished siblings kept", exit=False)
def exit_with_a_failure(api: Api, t: Script) -> None:
    """With `exit` a failure keeps the last state and what the siblings had finished."""
    broken, finished = [True], threading.Semaphore(0)

    def good(state: Log) -> Any:
        t.note("good runs")
        finished.release()
        return {"log": ["good"]}

    def bad(state: Log) -> Any:
        if broken[0]:
            fail_after(finished, 1, ValueError("broken"))
        return {"log": ["bad"]}

    builder = _chain(api, first=_stamp("first"))
    for name, node in (("good", good), ("bad", bad)):
        builder.add_node(name, node)
        builder.add_edge("first", name)
    t.compile(builder)
    t.go({"log": []}, durability="exit", error="ValueError")
    t.history()
    broken[0] = False
    t.go(None, durability="exit")
    t.history()


@scenario("durability: exit", "static interrupt: before", "update_state", "fork", exit=False)
def exit_edit_and_fork(api: Api, t: Script) -> None:
    """Edits and forks between runs that store only their end."""
    t.compile(_chain(api, a=_stamp("a"), b=_stamp("b"), c=_stamp("c")), interrupt_before=["c"])
    t.go({"log": []}, durability="exit")
    paused = t.state().config
    t.update({"log": ["edited"]})
    t.go(None, durability="exit")
    t.go(None, at=paused, durability="exit")
    t.history()


@scenario("durability: exit", "recursion limit", "loop", "error: GraphRecursionError", exit=False)
def exit_at_the_limit(api: Api, t: Script) -> None:
    """With `exit` a run that meets the limit stores where it stood."""
    builder = api.StateGraph(Log)
    builder.add_node("tick", _stamp("tick"))
    builder.add_edge(api.START, "tick")
    builder.add_conditional_edges("tick", lambda s: "tick" if len(s["log"]) < 9 else api.END)
    t.compile(builder)
    t.go({"log": []}, durability="exit", config={"recursion_limit": 4}, error="GraphRecursionError")
    t.history()
    t.go(None, durability="exit", config={"recursion_limit": 40})
    t.history()
