"""Time travel: replay, forks, edits of the past."""

import operator
import threading
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, fail_after, scenario


class Log(TypedDict):
    """A number and the names of the nodes that ran."""

    n: int
    log: Annotated[list[str], operator.add]


def _chain(api: Api, t: Script, *names: str) -> Any:
    def stamp(name: str) -> Any:
        def node(state: Log) -> Any:
            t.note(name, "runs")
            return {"n": state["n"] + 1, "log": [f"{name}{state['n']}"]}

        return node

    builder = api.StateGraph(Log)
    for before, name in zip((api.START, *names), names, strict=False):
        builder.add_node(name, stamp(name))
        builder.add_edge(before, name)
    return builder


def _at_step(history: Any, step: int) -> Any:
    return next(snapshot.config for snapshot in history if snapshot.metadata["step"] == step)


@scenario("replay", "linear", "source: fork", "history", exit=False)
def replay_from_the_middle(api: Api, t: Script) -> None:
    """None at an old checkpoint runs what came after it again, on a branch of its own."""
    t.compile(_chain(api, t, "a", "b", "c"))
    t.go({"n": 0})
    t.go(None, at=_at_step(t.history(), 1))
    t.history()


@scenario("replay", "replay of the input", "replay of the last checkpoint", "linear", exit=False)
def replay_at_both_ends(api: Api, t: Script) -> None:
    """Replay from the input checkpoint runs everything; replay of a finished one runs nothing."""
    t.compile(_chain(api, t, "a", "b"))
    t.go({"n": 0})
    history = t.history()
    t.go(None, at=history[-1].config)
    t.go(None, at=history[0].config)
    t.history()


@scenario(
    "fork",
    "update_state at an old checkpoint",
    "linear",
    "invoke(None)",
    "resume by id of a branch",
    exit=False,
)
def fork_by_update(api: Api, t: Script) -> None:
    """An edit of an old checkpoint makes a branch; both branches stay readable and can go on."""
    t.compile(_chain(api, t, "a", "b", "c"))
    t.go({"n": 0})
    old_head = t.state().config
    branch = t.update({"n": 100, "log": ["edited"]}, at=_at_step(t.history(), 1))
    t.go(None, at=branch)
    t.state(at=old_head)
    t.history()


@scenario("fork", "fork of a fork", "update_state at an old checkpoint", "as_node", "linear", exit=False)
def fork_of_a_fork(api: Api, t: Script) -> None:
    """Branches of branches: parents lead back to the root on each of them."""
    t.compile(_chain(api, t, "a", "b", "c"))
    t.go({"n": 0})
    first = t.update({"n": 50}, at=_at_step(t.history(), 2), as_node="a")
    t.go(None, at=first)
    branch_head = t.state().config
    second = t.update({"n": 70}, at=branch_head, as_node="b")
    t.go(None, at=second)
    t.go(None)
    t.history()


@scenario("fork", "new input at an old checkpoint", "multi-turn", "linear", exit=False)
def input_at_an_old_checkpoint(api: Api, t: Script) -> None:
    """New input at a checkpoint of an earlier turn: that turn's state is the base."""
    t.compile(_chain(api, t, "a", "b"))
    t.go({"n": 0})
    first_turn = t.state().config
    t.go({"n": 10})
    t.go({"n": 20}, at=first_turn)
    t.go({"n": 30}, at=_at_step(t.history(), 1))
    t.history()


@scenario("replay", "dynamic interrupt", "interrupt fires again", "source: fork", exit=False)
def replay_an_interrupt(api: Api, t: Script) -> None:
    """Replay of a step that was answered asks again; the new branch gets another answer."""

    def ask(state: Log) -> Any:
        return {"log": [f"answer {api.interrupt('?')}"]}

    builder = _chain(api, t, "a")
    builder.add_node("ask", ask)
    builder.add_edge("a", "ask")
    t.compile(builder)
    t.go({"n": 0})
    asked = t.state().config
    t.go(api.Command(resume="one"))
    t.go(None, at=asked)
    t.go(api.Command(resume="two"))
    t.state(at=asked)
    t.history()


@scenario("replay", "parallel", "finished siblings run again", "Send", exit=False)
def replay_a_parallel_step(api: Api, t: Script) -> None:
    """Replay of a step with edges and Sends runs each of its tasks again."""

    def stamp(name: str) -> Any:
        def node(state: Any) -> Any:
            t.note(name, state["n"])
            return {"log": [f"{name}{state['n']}"]}

        return node

    builder = api.StateGraph(Log)
    for name in ("src", "b", "a"):
        builder.add_node(name, stamp(name))
    builder.add_edge(api.START, "src")
    builder.add_edge("src", "b")
    builder.add_conditional_edges("src", lambda s: [api.Send("a", {"n": i}) for i in (1, 2)], ["a"])
    t.compile(builder)
    t.go({"n": 0})
    t.go(None, at=_at_step(t.history(), 1))
    t.history()


@scenario("replay", "static interrupt: before", "fork", "breakpoint on a branch", exit=False)
def replay_through_a_breakpoint(api: Api, t: Script) -> None:
    """A replay runs into the same breakpoint, and goes on from the branch's head."""
    t.compile(_chain(api, t, "a", "b", "c"), interrupt_before=["c"])
    t.go({"n": 0})
    t.go(None)
    t.go(None, at=_at_step(t.history(), 0))
    t.go(None)
    t.history(limit=4)


@scenario("fork", "dynamic interrupt", "update_state at an old checkpoint", "Command input: resume", exit=False)
def fork_before_a_question(api: Api, t: Script) -> None:
    """An edit before an answered question: the branch asks with the edited state."""

    def ask(state: Log) -> Any:
        return {"log": [api.interrupt(f"about {state['n']}")]}

    builder = _chain(api, t, "a")
    builder.add_node("ask", ask)
    builder.add_edge("a", "ask")
    t.compile(builder)
    t.go({"n": 0})
    asked = t.state().config
    t.go(api.Command(resume="old"))
    branch = t.update({"n": 42}, at=asked)
    t.go(None, at=branch)
    t.go(api.Command(resume="new"))
    t.history()


@scenario("get_state by id", "history", "history of one checkpoint", "pending resume by head id", exit=False)
def read_by_id(api: Api, t: Script) -> None:
    """Each checkpoint reads the same by id; its history by id is itself; the id of the head resumes."""

    def ask(state: Log) -> Any:
        return {"log": [api.interrupt("?")]}

    builder = _chain(api, t, "a", "b")
    builder.add_node("ask", ask)
    builder.add_edge("b", "ask")
    t.compile(builder)
    t.go({"n": 0})
    for snapshot in t.history():
        t.state(at=snapshot.config)
        t.history(at=snapshot.config)
    t.go(api.Command(resume="by id"), at=t.state().config)


@scenario("replay", "failure", "finished siblings run again", "parallel", exit=False)
def replay_a_failed_step(api: Api, t: Script) -> None:
    """A failed step addressed by its id is a replay: its finished task runs again as well."""
    broken, finished = [True], threading.Semaphore(0)

    def fails(state: Log) -> Any:
        t.note("fails runs")
        if broken[0]:
            fail_after(finished, 1, ValueError("broken"))
        return {"log": ["repaired"]}

    def works(state: Log) -> Any:
        t.note("works runs")
        finished.release()
        return {"log": ["works"]}

    builder = _chain(api, t, "a")
    builder.add_node("fails", fails)
    builder.add_node("works", works)
    builder.add_edge("a", "fails")
    builder.add_edge("a", "works")
    t.compile(builder)
    t.go({"n": 0}, error="ValueError")
    broken[0] = False
    t.go(None, at=t.state().config)
    t.history()
