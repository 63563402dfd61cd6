"""Nodes that fail, and what the thread is worth afterwards."""

import operator
import threading
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, fail_after, scenario


class Log(TypedDict):
    """The names of the nodes that ran."""

    log: Annotated[list[str], operator.add]


class OddError(Exception):
    """An error of the user's with arguments of its own."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(f"{code}: {why}")
        self.code = code


@scenario("failure", "linear", "invoke(None) after a failure", "error text in tasks")
def fail_and_repair(api: Api, t: Script) -> None:
    """A node fails twice with different errors, then works: the thread goes on where it stood."""
    errors = [ValueError("first"), OddError(7, "second")]

    def shaky(state: Log) -> Any:
        t.note("shaky runs")
        if errors:
            raise errors.pop(0)
        return {"log": ["shaky"]}

    builder = api.StateGraph(Log)
    builder.add_node("ok", lambda state: {"log": ["ok"]})
    builder.add_node("shaky", shaky)
    builder.add_edge(api.START, "ok")
    builder.add_edge("ok", "shaky")
    t.compile(builder)
    t.go({"log": []}, error="ValueError")
    t.go(None, error="OddError")
    t.history()
    t.go(None)


@scenario("failure", "parallel", "finished siblings kept", "join", "error text in tasks")
def fail_beside_finished(api: Api, t: Script) -> None:
    """Two siblings finish before the third fails: only the third runs again."""
    broken, finished = [True], threading.Semaphore(0)

    def good(name: str) -> Any:
        def node(state: Log) -> Any:
            t.note(name, "runs")
            finished.release()
            return {"log": [name]}

        return node

    def bad(state: Log) -> Any:
        if broken[0]:
            fail_after(finished, 2, OddError(1, "broken"))
        return {"log": ["bad"]}

    builder = api.StateGraph(Log)
    for name, node in (("z", good("z")), ("bad", bad), ("a", good("a"))):
        builder.add_node(name, node)
        builder.add_edge(api.START, name)
    builder.add_node("end", lambda state: {"log": ["end"]})
    builder.add_edge(["z", "bad", "a"], "end")
    t.compile(builder)
    t.go({"log": ["in"]}, error="OddError")
    t.history()
    broken[0] = False
    t.go(None)


@scenario("failure", "new input after a failure", "finished siblings dropped", "parallel")
def fail_then_new_input(api: Api, t: Script) -> None:
    """New input after a failure starts a new turn; what the siblings had finished is gone."""
    broken, finished = [True], threading.Semaphore(0)

    def good(state: Log) -> Any:
        finished.release()
        return {"log": ["good"]}

    def bad(state: Log) -> Any:
        if broken[0]:
            fail_after(finished, 1, ValueError("broken"))
        return {"log": ["bad"]}

    builder = api.StateGraph(Log)
    for name, node in (("good", good), ("bad", bad)):
        builder.add_node(name, node)
        builder.add_edge(api.START, name)
    t.compile(builder)
    t.go({"log": ["one"]}, error="ValueError")
    broken[0] = False
    t.go({"log": ["two"]})


@scenario("failure", "update_state after a failure", "as_node", "linear")
def fail_and_edit(api: Api, t: Script) -> None:
    """After a failure an edit in the failed node's name takes its place, or repairs its input."""

    def picky(state: Log) -> Any:
        if "repaired" not in state["log"]:
            raise ValueError("nothing to work on")
        return {"log": ["picky"]}

    builder = api.StateGraph(Log)
    builder.add_sequence([("first", lambda state: {"log": ["first"]}), ("picky", picky), ("end", lambda state: None)])
    builder.add_edge(api.START, "first")
    t.compile(builder)
    t.go({"log": []}, error="ValueError")
    t.update({"log": ["repaired"]}, as_node="first")
    t.go(None)
    t.go({"log": []}, thread="2", error="ValueError")
    t.update({"log": ["instead"]}, thread="2", as_node="picky")
    t.go(None, thread="2")


@scenario("failure", "error: InvalidUpdateError", "node returns a wrong thing", "linear")
def wrong_return(api: Api, t: Script) -> None:
    """A node that returns no update is an error of that node; repaired, the thread goes on."""
    wrong: list[Any] = ["text", 5]

    builder = api.StateGraph(Log)
    builder.add_node("node", lambda state: wrong.pop() if wrong else {"log": ["node"]})
    builder.add_edge(api.START, "node")
    t.compile(builder)
    t.go({"log": []}, error="InvalidUpdateError")
    t.go(None, error="InvalidUpdateError")
    t.go(None)


@scenario("error: EmptyInputError", "error: no thread id", "empty thread", "linear")
def nothing_to_run(api: Api, t: Script) -> None:
    """None on an empty thread, and no thread at all, are refused; an empty thread reads as empty."""
    builder = api.StateGraph(Log)
    builder.add_node("node", lambda state: {"log": ["node"]})
    builder.add_edge(api.START, "node")
    t.compile(builder)
    t.state()
    t.history()
    t.go(None, error="EmptyInputError")
    t.invoke({"log": []}, thread=None, error="ValueError")
    t.state(thread=None, error="KeyError")
    t.go({"log": []})


@scenario("failure", "no checkpointer", "parallel", "chunks before a failure")
def fail_without_checkpointer(api: Api, t: Script) -> None:
    """Without persistence a failure is raised after the chunks of what had finished."""
    finished = threading.Semaphore(0)

    def good(state: Log) -> Any:
        finished.release()
        return {"log": ["good"]}

    def bad(state: Log) -> Any:
        fail_after(finished, 1, OddError(2, "always"))

    builder = api.StateGraph(Log)
    builder.add_node("first", lambda state: {"log": ["first"]})
    for name, node in (("good", good), ("bad", bad)):
        builder.add_node(name, node)
        builder.add_edge("first", name)
    builder.add_edge(api.START, "first")
    t.compile(builder, persist=False)
    t.go({"log": []}, thread=None, error="OddError")


@scenario("failure", "router fails at the input", "conditional entry point", "no checkpointer")
def fail_in_entry_router(api: Api, t: Script) -> None:
    """A router of START that fails is a failure of the run, and the next run routes again."""
    broken = [True]

    def route(state: Log) -> str:
        if broken[0]:
            raise OddError(3, "cannot decide")
        return "node"

    builder = api.StateGraph(Log)
    builder.add_node("node", lambda state: {"log": ["node"]})
    builder.set_conditional_entry_point(route, ["node"])
    t.compile(builder, persist=False)
    t.go({"log": ["in"]}, thread=None, error="OddError")
    broken[0] = False
    t.go({"log": ["new"]}, thread=None)


@scenario("failure", "RetryPolicy", "parallel", "attempts in runtime")
def tried_again(api: Api, t: Script) -> None:
    """A node fails twice and works at the third attempt, beside one that works at once."""
    calls: list[int] = []

    def flaky(state: Log, runtime: api.Runtime) -> Any:
        calls.append(1)
        t.note("attempt", runtime.execution_info.node_attempt, state["log"])
        if len(calls) % 3:
            raise OddError(len(calls) % 3, "not yet")
        return {"log": ["flaky"]}

    builder = api.StateGraph(Log)
    builder.add_node("flaky", flaky, retry_policy=api.RetryPolicy(initial_interval=0.01, jitter=False))
    builder.add_node("steady", lambda state: {"log": ["steady"]})
    builder.add_edge(api.START, "flaky")
    builder.add_edge(api.START, "steady")
    t.compile(builder)
    t.go({"log": ["in"]})
    t.go({"log": ["again"]})


@scenario("failure", "RetryPolicy", "linear", "several policies", "invoke(None) after a failure")
def tried_again_in_vain(api: Api, t: Script) -> None:
    """The first policy that matches allows two attempts; the run fails, and the next call tries twice again."""
    calls: list[int] = []

    def fails(state: Log) -> Any:
        calls.append(1)
        t.note("call", len(calls))
        if len(calls) < 4:
            raise OddError(len(calls), "not yet")
        return {"log": ["at last"]}

    policies = [
        api.RetryPolicy(retry_on=KeyError, max_attempts=9, initial_interval=0.01, jitter=False),
        api.RetryPolicy(retry_on=(OddError,), max_attempts=2, initial_interval=0.01, jitter=False),
        api.RetryPolicy(max_attempts=9, initial_interval=0.01, jitter=False),
    ]
    builder = api.StateGraph(Log)
    builder.add_node("fails", fails, retry_policy=policies)
    builder.add_edge(api.START, "fails")
    t.compile(builder)
    t.go({"log": ["in"]}, error="OddError")
    t.go(None)
