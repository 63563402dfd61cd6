"""Policies of nodes and of runs: caches, draining, limits of time."""

import asyncio
import operator
import threading
import time
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


class Log(TypedDict, total=False):
    """A number and the names of the nodes that ran."""

    n: int
    log: Annotated[list[Any], operator.add]


def _by_number(state: Any) -> str:
    return str(state["n"])


def _noting(t: Script, name: str) -> Any:
    def node(state: Log) -> Any:
        t.note(name, "runs")
        return {"log": [f"{name} {state.get('n')}"]}

    return node


@scenario("CachePolicy", "linear", "multi-turn")
def cached_over_turns(api: Api, t: Script) -> None:
    """A node is skipped in a later turn with the same key; the one behind it always runs."""
    builder = api.StateGraph(Log)
    builder.add_node("cached", _noting(t, "cached"), cache_policy=api.CachePolicy(key_func=_by_number))
    builder.add_node("behind", _noting(t, "behind"))
    builder.add_edge(api.START, "cached")
    builder.add_edge("cached", "behind")
    t.compile(builder, cache=api.InMemoryCache())
    for number in (1, 1, 2, 1):
        t.go({"n": number, "log": ["in"]})
    t.history()


@scenario("CachePolicy", "several threads", "linear", "default cache key")
def cached_across_threads(api: Api, t: Script) -> None:
    """What one thread's node wrote serves another thread that gives it the same input."""
    builder = api.StateGraph(Log)
    builder.add_node("cached", _noting(t, "cached"), cache_policy=api.CachePolicy())
    builder.add_edge(api.START, "cached")
    t.compile(builder, cache=api.InMemoryCache())
    for thread, number in (("1", 1), ("2", 1), ("3", 2), ("4", 1)):
        t.go({"n": number, "log": ["in"]}, thread=thread)


@scenario("CachePolicy", "linear", "time to live", "multi-turn")
def cached_for_a_time(api: Api, t: Script) -> None:
    """What is good for no time at all is never used; what is good for an hour, and for ever, is."""
    builder = api.StateGraph(Log)
    for name, ttl in (("never", 0), ("hour", 3600), ("ever", None)):
        builder.add_node(name, _noting(t, name), cache_policy=api.CachePolicy(key_func=_by_number, ttl=ttl))
    builder.add_edge(api.START, "never")
    builder.add_edge("never", "hour")
    builder.add_edge("hour", "ever")
    t.compile(builder, cache=api.InMemoryCache())
    t.go({"n": 1, "log": []})
    t.go({"n": 1, "log": []})


@scenario("CachePolicy", "dynamic interrupt", "resume", "several threads")
def cached_after_the_answer(api: Api, t: Script) -> None:
    """A node that asks is kept when it has its answer, not before: another thread is asked only until then."""

    def ask(state: Log) -> Any:
        t.note("ask runs")
        return {"log": [api.interrupt("how much?")]}

    builder = api.StateGraph(Log)
    builder.add_node("ask", ask, cache_policy=api.CachePolicy())
    builder.add_node("behind", _noting(t, "behind"))
    builder.add_edge(api.START, "ask")
    builder.add_edge("ask", "behind")
    t.compile(builder, cache=api.InMemoryCache())
    t.go({"n": 1, "log": []}, thread="1")
    t.go({"n": 1, "log": []}, thread="2")
    t.go(api.Command(resume="all"), thread="1")
    t.go({"n": 1, "log": []}, thread="3")


@scenario("CachePolicy", "sends", "parallel", "join")
def cached_in_parallel(api: Api, t: Script) -> None:
    """Of several packets some are found and some run, beside a node that has no policy."""

    def work(packet: Any) -> Any:
        t.note("work runs", packet)
        return {"log": [f"work {packet['n']}"]}

    builder = api.StateGraph(Log)
    builder.add_node("work", work, cache_policy=api.CachePolicy())
    builder.add_node("beside", _noting(t, "beside"))
    builder.add_node("join", _noting(t, "join"))
    builder.add_conditional_edges(
        api.START,
        lambda state: ["beside", *(api.Send("work", {"n": n}) for n in range(state["n"]))],
        ["work", "beside"],
    )
    builder.add_edge("work", "join")
    builder.add_edge("beside", "join")
    t.compile(builder, cache=api.InMemoryCache())
    t.go({"n": 1, "log": []})
    t.go({"n": 3, "log": []})
    t.go({"n": 2, "log": []})


@scenario("CachePolicy", "Command: goto", "conditional edges", "sends")
def cached_ways_on(api: Api, t: Script) -> None:
    """Where a skipped node leads is kept with what it wrote: its command, its packets, its router's answer."""

    def choose(state: Log) -> Any:
        t.note("choose runs")
        return api.Command(update={"log": ["choose"]}, goto=[api.Send("take", {"n": 7}), "plain"])

    def route(state: Log) -> Any:
        t.note("route runs")
        return "routed" if state["n"] < 5 else api.END

    builder = api.StateGraph(Log)
    builder.add_node("choose", choose, cache_policy=api.CachePolicy(key_func=_by_number))
    for name in ("take", "plain", "routed"):
        builder.add_node(name, _noting(t, name))
    builder.add_edge(api.START, "choose")
    builder.add_conditional_edges("choose", route, ["routed", api.END])
    t.compile(builder, cache=api.InMemoryCache())
    for number in (1, 1, 6, 6):
        t.go({"n": number, "log": []})


@scenario("CachePolicy", "set_node_defaults", "RetryPolicy", "failure", "invoke(None) after a failure")
def cached_by_default(api: Api, t: Script) -> None:
    """A default policy; a node that fails is not kept, one that a retry repaired is."""
    calls: list[str] = []

    def flaky(state: Log) -> Any:
        calls.append("flaky")
        t.note("flaky runs")
        if len(calls) == 1:
            raise ConnectionError("not yet")
        return {"log": ["flaky"]}

    def fails(state: Log) -> Any:
        calls.append("fails")
        t.note("fails runs")
        if calls.count("fails") == 1:
            raise ValueError("never")
        return {"log": ["fails"]}

    builder = api.StateGraph(Log)
    builder.set_node_defaults(cache_policy=api.CachePolicy(key_func=_by_number))
    builder.add_node("flaky", flaky, retry_policy=api.RetryPolicy(initial_interval=0.01, jitter=False))
    builder.add_node("fails", fails)
    builder.add_edge(api.START, "flaky")
    builder.add_edge("flaky", "fails")
    t.compile(builder, cache=api.InMemoryCache())
    t.go({"n": 1, "log": []}, error="ValueError")
    t.go(None)
    t.go({"n": 1, "log": []}, thread="2")


@scenario("CachePolicy", "clear_cache", "linear", "no checkpointer")
def cached_and_cleared(api: Api, t: Script) -> None:
    """The cache is cleared for one node, then for all; without persistence it works as well."""
    builder = api.StateGraph(Log)
    for name in ("first", "second"):
        builder.add_node(name, _noting(t, name), cache_policy=api.CachePolicy(key_func=_by_number))
    builder.add_edge(api.START, "first")
    builder.add_edge("first", "second")
    t.compile(builder, persist=False, cache=api.InMemoryCache())
    for cleared in (None, ["second"], ["first", "none"], []):
        if cleared is not None:
            t.graph.clear_cache(cleared)
        t.go({"n": 1, "log": []}, thread=None)


@scenario("CachePolicy", "static interrupt: before", "replay", "update_state", exit=False)
def cached_and_travelled(api: Api, t: Script) -> None:
    """A cached node behind a breakpoint, replayed from before it and after an edit."""
    builder = api.StateGraph(Log)
    builder.add_node("first", _noting(t, "first"))
    builder.add_node("cached", _noting(t, "cached"), cache_policy=api.CachePolicy(key_func=_by_number))
    builder.add_edge(api.START, "first")
    builder.add_edge("first", "cached")
    t.compile(builder, interrupt_before=["cached"], cache=api.InMemoryCache())
    t.go({"n": 1, "log": []})
    t.go(None)
    history = t.history()
    t.go(None, at=history[1].config)
    t.update({"n": 2}, at=history[1].config, as_node="first")
    t.go(None)
    t.update({"n": 1}, at=history[1].config, as_node="first")
    t.go(None)


def _draining(api: Api, t: Script, control: Any, where: str) -> Any:
    """Return a node maker: the node `where` asks for the drain."""

    def node_for(name: str) -> Any:
        def node(state: Log, runtime: api.Runtime) -> Any:
            t.note(name, "runs", runtime.drain_requested, runtime.drain_reason)
            if name == where:
                control.request_drain("deploy")
            return {"log": [name]}

        return node

    return node_for


@scenario("drain", "linear", "error: GraphDrained", "invoke(None) after a drain")
def drained_between_steps(api: Api, t: Script) -> None:
    """A node asks for the drain: its step is the last one; the rest runs in the next call, then a new turn."""
    control = api.RunControl()
    node_for = _draining(api, t, control, "b")
    builder = api.StateGraph(Log)
    builder.add_sequence([(name, node_for(name)) for name in "abc"])
    builder.add_edge(api.START, "a")
    t.compile(builder)
    t.go({"n": 1, "log": []}, control=control, error="GraphDrained")
    t.history()
    t.go(None)
    t.history()
    t.go({"n": 2, "log": ["again"]})


@scenario("drain", "error: GraphDrained", "before the first step", "multi-turn")
def drained_at_once(api: Api, t: Script) -> None:
    """A control that was asked before: the input is kept and no node runs, in the first turn and in a later one."""
    drained = api.RunControl()
    drained.request_drain()
    builder = api.StateGraph(Log)
    builder.add_node("node", _noting(t, "node"))
    builder.add_edge(api.START, "node")
    t.compile(builder)
    t.go({"n": 1, "log": ["in"]}, control=drained, error="GraphDrained")
    t.go(None)
    t.go({"n": 2, "log": ["again"]}, control=drained, error="GraphDrained")
    t.go(None, control=drained, error="GraphDrained")
    t.go(None, control=api.RunControl())


@scenario("drain", "parallel", "join", "sends", "invoke(None) after a drain")
def drained_in_parallel(api: Api, t: Script) -> None:
    """The siblings of the node that asks are finished too; packets for the next step wait."""
    control = api.RunControl()
    node_for = _draining(api, t, control, "b")
    builder = api.StateGraph(Log)
    for name in "abc":
        builder.add_node(name, node_for(name))
        builder.add_edge(api.START, name)
    builder.add_node("take", lambda packet: {"log": [f"take {packet}"]})
    builder.add_node("join", node_for("join"))
    builder.add_conditional_edges("b", lambda state: [api.Send("take", n) for n in range(2)], ["take"])
    builder.add_edge(["a", "b", "c"], "join")
    t.compile(builder)
    t.go({"n": 1, "log": []}, control=control, error="GraphDrained")
    t.history()
    t.go(None)


@scenario("drain", "dynamic interrupt", "static interrupt: after", "resume")
def drained_behind_a_question(api: Api, t: Script) -> None:
    """A run that pauses anyway is not drained; the control that is still asked drains the next call."""
    control = api.RunControl()
    node_for = _draining(api, t, control, "a")
    builder = api.StateGraph(Log)
    builder.add_node("a", node_for("a"))
    builder.add_node("ask", lambda state: {"log": [api.interrupt("go on?")]})
    builder.add_node("b", node_for("b"))
    builder.add_edge(api.START, "a")
    builder.add_edge("a", "ask")
    builder.add_edge("ask", "b")
    t.compile(builder, interrupt_after=["a"])
    t.go({"n": 1, "log": []}, control=control)
    t.go(None, control=control, error="GraphDrained")
    t.go(None)
    t.go(api.Command(resume="yes"), control=control, error="GraphDrained")
    t.go(None)


@scenario("drain", "no checkpointer", "error: GraphDrained")
def drained_without_checkpointer(api: Api, t: Script) -> None:
    """Without persistence the chunks of what ran come before the error."""
    control = api.RunControl()
    node_for = _draining(api, t, control, "a")
    builder = api.StateGraph(Log)
    builder.add_sequence([(name, node_for(name)) for name in "ab"])
    builder.add_edge(api.START, "a")
    t.compile(builder, persist=False)
    t.go({"n": 1, "log": []}, thread=None, control=control, error="GraphDrained")
    t.go({"n": 1, "log": []}, thread=None)


def _slow_at_first(api: Api, t: Script, slow: int) -> Any:
    """Return a coroutine that takes too long in its first attempts, where it is awaited at all."""

    async def node(state: Log, runtime: api.Runtime) -> Any:
        attempt = runtime.execution_info.node_attempt
        t.note("attempt", attempt)
        await asyncio.sleep(5 if attempt <= slow else 0)
        return {"log": [f"node {attempt}"]}

    return node


@scenario("TimeoutPolicy", "RetryPolicy", "parallel", "async nodes", on_threads=False)
def late_and_tried_again(api: Api, t: Script) -> None:
    """An attempt that takes too long is stopped and tried again, by the run's limit and by the idle one."""
    again = api.RetryPolicy(initial_interval=0.01, jitter=False)
    builder = api.StateGraph(Log)
    limits = {"run": 0.1, "idle": api.TimeoutPolicy(idle_timeout=0.1, refresh_on="heartbeat")}
    for name, limit in limits.items():
        builder.add_node(name, _slow_at_first(api, t, 1), timeout=limit, retry_policy=again)
        builder.add_edge(api.START, name)
    builder.add_node("join", _noting(t, "join"))
    builder.add_edge(["run", "idle"], "join")
    t.compile(builder)
    t.go({"n": 1, "log": []})
    t.go({"n": 2, "log": []})


@scenario("TimeoutPolicy", "sends", "several policies", "RetryPolicy", "async nodes", on_threads=False)
def late_packets(api: Api, t: Script) -> None:
    """A packet's limit counts instead of the node's; of several policies the one for timeouts tries again."""

    async def take(packet: Any, runtime: api.Runtime) -> Any:
        first = runtime.execution_info.node_attempt == 1
        t.note(packet, "first" if first else "again")
        await asyncio.sleep(packet if first else 0)
        return {"log": [packet]}

    again = [
        api.RetryPolicy(retry_on=KeyError, max_attempts=1),
        api.RetryPolicy(retry_on=api.NodeTimeoutError, initial_interval=0.01, jitter=False),
    ]
    builder = api.StateGraph(Log)
    builder.add_node("take", take, timeout=0.1, retry_policy=again)
    builder.add_conditional_edges(
        api.START,
        lambda state: [api.Send("take", 0.3), api.Send("take", 0.3, timeout=5), api.Send("take", 0)],
        ["take"],
    )
    t.compile(builder)
    t.go({"n": 1, "log": []})


@scenario("TimeoutPolicy", "failure", "static interrupt: before", "async nodes", "plain nodes", on_threads=False)
def in_time(api: Api, t: Script) -> None:
    """Coroutines that are in time: their errors, breakpoints and results are as without a limit."""
    failed: list[int] = []

    async def works(state: Log) -> Any:
        await asyncio.sleep(0)
        return {"log": ["works"]}

    async def fails_once(state: Log) -> Any:
        failed.append(1)
        if len(failed) == 1:
            raise ValueError("not yet")
        return {"log": ["fails_once"]}

    builder = api.StateGraph(Log)
    builder.add_node("works", works, timeout=5)
    builder.add_node("fails_once", fails_once, timeout=api.TimeoutPolicy(run_timeout=5, idle_timeout=4))
    builder.add_node("plain", _noting(t, "plain"))
    builder.add_edge(api.START, "works")
    builder.add_edge("works", "fails_once")
    builder.add_edge("fails_once", "plain")
    t.compile(builder, interrupt_before=["plain"])
    t.go({"n": 1, "log": []}, error="ValueError")
    t.go(None)
    t.go(None)


@scenario("CachePolicy", "subgraph", "several threads", "multi-turn")
def cached_subgraph(api: Api, t: Script) -> None:
    """A graph as a node is skipped as a whole; nodes inside are skipped only where that graph has a cache itself."""
    inner = api.StateGraph(Log)
    inner.add_node("open", _noting(t, "open"))
    inner.add_node("kept", _noting(t, "kept"), cache_policy=api.CachePolicy(key_func=_by_number))
    inner.add_edge(api.START, "open")
    inner.add_edge("open", "kept")
    builder = api.StateGraph(Log)
    builder.add_node("whole", inner.compile(), cache_policy=api.CachePolicy(key_func=_by_number))
    builder.add_node("none", inner.compile())
    builder.add_node("own", inner.compile(cache=api.InMemoryCache()))
    builder.add_edge(api.START, "whole")
    builder.add_edge("whole", "none")
    builder.add_edge("none", "own")
    t.compile(builder, cache=api.InMemoryCache())
    for thread, number in (("1", 1), ("2", 1), ("1", 2), ("2", 2)):
        t.go({"n": number, "log": []}, thread=thread)


@scenario("drain", "subgraph", "invoke(None) after a drain", "error: GraphDrained", exit=False)
def drained_inside(api: Api, t: Script) -> None:
    """A graph as a node stops behind its own step; the next call goes on inside it."""
    control = api.RunControl()
    node_for = _draining(api, t, control, "i1")
    inner = api.StateGraph(Log)
    inner.add_sequence([(name, node_for(name)) for name in ("i1", "i2")])
    inner.add_edge(api.START, "i1")
    builder = api.StateGraph(Log)
    builder.add_node("first", node_for("first"))
    builder.add_node("inner", inner.compile())
    builder.add_node("last", node_for("last"))
    builder.add_edge(api.START, "first")
    builder.add_edge("first", "inner")
    builder.add_edge("inner", "last")
    t.compile(builder)
    t.go({"n": 1, "log": []}, control=control, error="GraphDrained")
    t.history()
    t.go(None)


@scenario("drain", "subgraph", "parallel", "join", "invoke(None) after a drain", exit=False)
def drained_inside_beside_others(api: Api, t: Script) -> None:
    """Beside a graph that stops one node finishes and one asks: only what did not finish runs again."""
    control, stopped = api.RunControl(), threading.Event()

    def stop(state: Log) -> Any:
        t.note("stop runs")
        control.request_drain("inside")
        stopped.set()
        return {"log": ["stop"]}

    def slow(state: Log) -> Any:
        t.note("slow runs")
        stopped.wait(5)
        time.sleep(0.05)
        return {"log": ["slow"]}

    inner = api.StateGraph(Log)
    inner.add_sequence([("stop", stop), ("rest", _noting(t, "rest"))])
    inner.add_edge(api.START, "stop")
    builder = api.StateGraph(Log)
    builder.add_node("inner", inner.compile())
    builder.add_node("slow", slow)
    builder.add_node("join", _noting(t, "join"))
    builder.add_edge(api.START, "inner")
    builder.add_edge(api.START, "slow")
    builder.add_edge(["inner", "slow"], "join")
    t.compile(builder)
    t.go({"n": 1, "log": []}, control=control, error="GraphDrained")
    t.go(None)


@scenario("TimeoutPolicy", "subgraph", "RetryPolicy", "async nodes", on_threads=False)
def late_subgraph(api: Api, t: Script) -> None:
    """A graph as a node is alive as long as its nodes are: the one that is too slow in all is in time for each."""

    def node_for(name: str) -> Any:
        async def node(state: Log) -> Any:
            t.note(name, "runs")
            await asyncio.sleep(0.1)
            return {"log": [name]}

        return node

    inner = api.StateGraph(Log)
    inner.add_sequence([(name, node_for(name)) for name in "abcd"])
    inner.add_edge(api.START, "a")
    builder = api.StateGraph(Log)
    builder.add_node("inner", inner.compile(), timeout=api.TimeoutPolicy(idle_timeout=0.3))
    builder.add_edge(api.START, "inner")
    t.compile(builder)
    t.go({"n": 1, "log": []})
