"""Limits of time: an attempt that takes too long is stopped, recorded as failed, and tried again like any failure."""

from __future__ import annotations

import asyncio
import pickle
import time
from datetime import timedelta
from typing import Annotated, Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.serde import Serializer
from lithograph.graph import (
    START,
    Command,
    NodeCancelledError,
    NodeTimeoutError,
    RetryPolicy,
    Runtime,
    Send,
    StateGraph,
    StreamWriter,
    TimeoutPolicy,
    interrupt,
)
from typing_extensions import TypedDict

QUICK = RetryPolicy(initial_interval=0.001, jitter=False)
CONFIG: Any = {"configurable": {"thread_id": "1"}}


def _both(left: list[Any] | None, right: list[Any]) -> list[Any]:
    return [*(left or []), *right]


class Seen(TypedDict, total=False):
    """What ran."""

    seen: Annotated[list[Any], _both]


def graph_of(node: Any, *, log: EventLog | None = None, **options: Any) -> Any:
    """Return a graph of one node."""
    builder: StateGraph[Any] = StateGraph(Seen)
    builder.add_node("node", node, **options)
    builder.add_edge(START, "node")
    return builder.compile(checkpointer=log)


def failure_of(graph: Any, given: Any = None) -> NodeTimeoutError:
    """Run the graph on an event loop and return the error that it raises."""
    with pytest.raises(NodeTimeoutError) as caught:
        asyncio.run(graph.ainvoke(given or {"seen": []}, CONFIG))
    return caught.value


async def sleeps(state: Seen) -> Any:
    """Take too long."""
    await asyncio.sleep(5)


async def nothing(state: Seen) -> Any:
    """Do nothing."""


@pytest.mark.parametrize(
    ("given", "run", "idle"),
    [
        (2, 2.0, None),
        (timedelta(minutes=1), 60.0, None),
        (TimeoutPolicy(run_timeout=timedelta(seconds=1), idle_timeout=3), 1.0, 3.0),
        (TimeoutPolicy(idle_timeout=0.5, refresh_on="heartbeat"), None, 0.5),
    ],
)
def test_a_limit_may_be_said_in_several_ways(given: Any, run: float | None, idle: float | None) -> None:
    """A number and a `timedelta` limit the attempt as a whole; all become seconds."""
    policy = TimeoutPolicy.coerce(given)
    assert policy is not None
    assert (policy.run_timeout, policy.idle_timeout) == (run, idle)
    assert TimeoutPolicy.coerce(policy) == policy


def test_no_limit_is_none() -> None:
    """A policy without limits is as good as none."""
    assert TimeoutPolicy.coerce(None) is None
    assert TimeoutPolicy.coerce(TimeoutPolicy(refresh_on="heartbeat")) is None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (0, "run_timeout must be greater than 0"),
        (float("nan"), "run_timeout must be greater than 0"),
        (TimeoutPolicy(idle_timeout=timedelta(0)), "idle_timeout must be greater than 0"),
        (TimeoutPolicy(idle_timeout=1, refresh_on="never"), "refresh_on must be"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_what_is_no_limit_is_refused(given: Any, says: str) -> None:
    """Limits are above zero, and what refreshes them is one of two words."""
    for use in (TimeoutPolicy.coerce, lambda limit: Send("node", 1, timeout=limit)):
        with pytest.raises(ValueError, match=says):
            use(given)
    with pytest.raises(ValueError, match=says):
        graph_of(nothing, timeout=given)


def test_a_run_timeout_stops_the_node_and_says_how_long() -> None:
    """The error has the node, which limit it was, both limits and the time that passed; siblings' work is kept."""
    log = EventLog.in_memory()
    graph = graph_of(sleeps, log=log, timeout=TimeoutPolicy(run_timeout=0.02, idle_timeout=4))
    error = failure_of(graph)
    assert (error.node, error.kind, error.timeout, error.run_timeout, error.idle_timeout) == (
        "node",
        "run",
        0.02,
        0.02,
        4,
    )
    assert 0.02 <= error.elapsed < 1
    assert str(error).startswith("Node 'node' exceeded its run timeout of 0.020s (elapsed: 0.")
    (task,) = graph.get_state(CONFIG).tasks
    assert "exceeded its run timeout" in task.error


def test_an_idle_timeout_is_put_off_by_each_sign_of_life() -> None:
    """Chunks and heartbeats are signs; when they end the node is stopped, whatever the time in all."""

    async def lives(state: Seen, runtime: Runtime, writer: StreamWriter) -> Any:
        for beat in (runtime.heartbeat, lambda: writer(1), lambda: runtime.stream_writer(2)) * 3:
            await asyncio.sleep(0.05)
            beat()
        return {"seen": ["alive"]}

    policy = TimeoutPolicy(idle_timeout=0.2)
    assert asyncio.run(graph_of(lives, timeout=policy).ainvoke({"seen": []})) == {"seen": ["alive"]}
    error = failure_of(graph_of(sleeps, timeout=TimeoutPolicy(idle_timeout=0.02)))
    assert (error.kind, error.timeout, error.run_timeout) == ("idle", 0.02, None)
    assert "exceeded its idle timeout of 0.020s without making progress (elapsed" in str(error)


def test_heartbeats_alone_count_when_told_so() -> None:
    """With `refresh_on="heartbeat"` chunks are no signs of life."""

    async def writes(state: Seen, runtime: Runtime) -> Any:
        for _ in range(20):
            await asyncio.sleep(0.02)
            runtime.stream_writer("working")

    async def beats(state: Seen, runtime: Runtime) -> Any:
        for _ in range(5):
            await asyncio.sleep(0.02)
            runtime.heartbeat()
        return {"seen": ["alive"]}

    policy = TimeoutPolicy(idle_timeout=0.1, refresh_on="heartbeat")
    assert failure_of(graph_of(writes, timeout=policy)).kind == "idle"
    assert asyncio.run(graph_of(beats, timeout=policy).ainvoke({"seen": []})) == {"seen": ["alive"]}


def test_what_a_late_node_sends_is_dropped() -> None:
    """A node that goes on after it was stopped reaches neither the stream nor the thread, while the run goes on."""
    log, late = EventLog.in_memory(), []

    async def stubborn(state: Seen, runtime: Runtime) -> Any:
        assert runtime.execution_info is not None
        if runtime.execution_info.node_attempt > 1:
            await asyncio.sleep(0.1)
            return {"seen": ["in time"]}
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            await asyncio.sleep(0.02)
            runtime.stream_writer("late")
            late.append(1)
        return {"seen": ["late"]}

    graph = graph_of(stubborn, log=log, timeout=0.3, retry_policy=QUICK)

    async def read() -> list[Any]:
        return [chunk async for chunk in graph.astream({"seen": []}, CONFIG, stream_mode=["custom", "updates"])]

    assert asyncio.run(read()) == [("updates", {"node": {"seen": ["in time"]}})]
    assert late == [1]
    assert graph.get_state(CONFIG).values == {"seen": ["in time"]}


def test_it_is_tried_again_by_the_default_policy() -> None:
    """A timeout is worth another attempt, which begins with all of its time and the values as they were."""
    attempts: list[float] = []

    async def slow_at_first(state: Seen, runtime: Runtime) -> Any:
        info = runtime.execution_info
        assert info is not None
        attempts.append(info.node_attempt)
        await asyncio.sleep(5 if info.node_attempt < 3 else 0)
        return {"seen": [info.node_attempt]}

    graph = graph_of(slow_at_first, log=EventLog.in_memory(), timeout=0.05, retry_policy=QUICK)
    assert asyncio.run(graph.ainvoke({"seen": []}, CONFIG)) == {"seen": [3]}
    assert attempts == [1, 2, 3]


def test_a_question_within_the_limit_pauses_the_run() -> None:
    """A node with a limit may ask; the answer's attempt has all of the time again."""

    async def asks(state: Seen) -> Any:
        return {"seen": [interrupt("go on?")]}

    graph = graph_of(asks, log=EventLog.in_memory(), timeout=0.5)
    paused = asyncio.run(graph.ainvoke({"seen": []}, CONFIG))
    assert [question.value for question in paused["__interrupt__"]] == ["go on?"]
    assert asyncio.run(graph.ainvoke(Command(resume="yes"), CONFIG)) == {"seen": ["yes"]}


def test_an_error_of_the_nodes_own_is_not_a_timeout() -> None:
    """What the node raises within its time comes out as it is, its own `TimeoutError` too."""

    async def raises(state: Seen) -> Any:
        raise TimeoutError("the bank did not answer")

    with pytest.raises(TimeoutError, match="the bank did not answer"):
        asyncio.run(graph_of(raises, timeout=1).ainvoke({"seen": []}))


def test_a_packet_brings_a_limit_of_its_own() -> None:
    """`Send(timeout=…)` is for that task instead of the node's limit, also when another process goes on."""
    log = EventLog.in_memory()

    async def take(packet: Any) -> Any:
        await asyncio.sleep(packet)
        return {"seen": [packet]}

    builder: StateGraph[Any] = StateGraph(Seen)
    builder.add_node("take", take, timeout=0.05)
    builder.add_conditional_edges(
        START, lambda state: [Send("take", 0.2, timeout=5), Send("take", 0), Send("take", 0.1)], ["take"]
    )
    graph = builder.compile(checkpointer=log)
    for given in ({"seen": []}, None):
        with pytest.raises(NodeTimeoutError) as caught:
            asyncio.run(graph.ainvoke(given, CONFIG))
        assert caught.value.timeout == 0.05
    tasks = graph.get_state(CONFIG).tasks
    assert [task.error is None for task in tasks] == [True, True, False]


def test_a_packet_without_a_limit_is_stored_as_ever() -> None:
    """Its bytes are those of packets before there were limits; one with a limit comes back equal."""
    serializer = Serializer()
    assert serializer.encode(Send("a", {"x": 1})).hex() == "c7074092a16181a17801"
    assert serializer.decode(bytes.fromhex("c7074092a16181a17801")) == Send("a", {"x": 1})
    for limit in (3, timedelta(seconds=1), TimeoutPolicy(idle_timeout=2, refresh_on="heartbeat")):
        packet = Send("a", 1, timeout=limit)
        assert serializer.decode(serializer.encode(packet)) == packet == pickle.loads(pickle.dumps(packet))
        assert packet != Send("a", 1)


def test_plain_functions_have_no_limit() -> None:
    """What runs on a thread cannot be stopped, so `compile` refuses a limit, and a run one that a packet brings."""

    def plain(state: Seen) -> Any: ...

    with pytest.raises(ValueError, match=r"only supported for async nodes.*Node 'node' is sync"):
        graph_of(plain, timeout=1)
    builder = StateGraph(Seen).set_node_defaults(timeout=1).add_node(plain).add_edge(START, "plain")
    with pytest.raises(ValueError, match="Node 'plain' is sync"):
        builder.compile()
    builder = StateGraph(Seen).add_node(plain)
    builder.add_conditional_edges(START, lambda state: [Send("plain", {}, timeout=1)], ["plain"])
    with pytest.raises(ValueError, match="Node 'plain' is sync"):
        builder.compile().invoke({"seen": []})


def test_a_default_limit_gives_way_to_a_nodes_own() -> None:
    """`set_node_defaults` is for nodes that were told nothing, before or after it."""
    builder: StateGraph[Any] = StateGraph(Seen)
    builder.add_node("own", nothing, timeout=7)
    builder.set_node_defaults(timeout=timedelta(seconds=2))
    builder.add_node("default", nothing)
    builder.add_edge(START, "own").add_edge(START, "default")
    limits = {name: node.timeout for name, node in builder.spec().nodes.items() if node.timeout}
    assert limits == {"own": TimeoutPolicy.coerce(7), "default": TimeoutPolicy.coerce(2)}


def test_a_cancelled_run_stops_a_node_that_has_a_limit() -> None:
    """Whoever cancels the run cancels the node, which has ended then; the thread is left to go on with."""
    graph, ended = None, []

    async def waits(state: Seen) -> Any:
        try:
            await asyncio.sleep(5)
        finally:
            await asyncio.sleep(0.05)
            ended.append(1)

    graph = graph_of(waits, log=EventLog.in_memory(), timeout=9)

    async def run() -> None:
        task = asyncio.create_task(graph.ainvoke({"seen": []}, CONFIG))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == [1]

    asyncio.run(run())
    assert graph.get_state(CONFIG).next == ("node",)


@pytest.mark.parametrize("options", [{}, {"timeout": 5}], ids=["no limit", "a limit"])
def test_a_node_that_cancels_itself_has_failed(options: dict[str, Any]) -> None:
    """`CancelledError` out of a node's own body is a failure with a name, and is not tried again."""
    calls: list[int] = []

    async def gives_up(state: Seen) -> Any:
        calls.append(1)
        raise asyncio.CancelledError

    graph = graph_of(gives_up, log=EventLog.in_memory(), retry_policy=QUICK, **options)
    with pytest.raises(NodeCancelledError, match=r"Node 'node' raised asyncio\.CancelledError") as caught:
        asyncio.run(graph.ainvoke({"seen": []}, CONFIG))
    assert caught.value.node == "node"
    assert calls == [1]


def test_a_plain_node_that_cancels_itself_has_failed() -> None:
    """On a thread, too: with and without an event loop around it."""

    def gives_up(state: Seen) -> Any:
        raise asyncio.CancelledError

    for run in (lambda graph: graph.invoke({}), lambda graph: asyncio.run(graph.ainvoke({}))):
        with pytest.raises(NodeCancelledError):
            run(graph_of(gives_up))


def test_callbacks_are_signs_of_life() -> None:
    """What a LangChain model or tool under the node tells its callbacks puts the idle timeout off."""
    pytest.importorskip("langchain_core")
    from langchain_core.runnables import RunnableLambda
    from lithograph.graph import RunnableConfig

    async def works(state: Seen, config: RunnableConfig) -> Any:
        async def step(value: int) -> int:
            await asyncio.sleep(0.05)
            return value

        for number in range(6):
            await RunnableLambda(step).ainvoke(number, config)
        return {"seen": ["alive"]}

    policy = TimeoutPolicy(idle_timeout=0.15)
    assert asyncio.run(graph_of(works, timeout=policy).ainvoke({"seen": []})) == {"seen": ["alive"]}
    strict = TimeoutPolicy(idle_timeout=0.15, refresh_on="heartbeat")
    assert failure_of(graph_of(works, timeout=strict)).kind == "idle"


def test_a_node_without_a_limit_is_not_watched() -> None:
    """Outside of an idle limit a heartbeat is heard by nobody and costs nothing."""

    async def beats(state: Seen, runtime: Runtime) -> Any:
        runtime.heartbeat()
        return {"seen": [len(asyncio.all_tasks())]}

    began = time.monotonic()
    assert asyncio.run(graph_of(beats).ainvoke({"seen": []}))["seen"][0] <= 2
    assert time.monotonic() - began < 2


class Inner(TypedDict, total=False):
    """What a graph inside a node keeps."""

    seen: Annotated[list[Any], _both]


def inner_of(*steps: float, stuck: list[int] | None = None) -> Any:
    """Return a graph of nodes that take so many seconds each; `stuck` counts how often the last one is cancelled."""

    def node(number: int, seconds: float) -> Any:
        async def run(state: Inner) -> Any:
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                if stuck is not None:
                    await asyncio.sleep(0.05)
                    stuck.append(number)
                raise
            return {"seen": [number]}

        return run

    builder: StateGraph[Any] = StateGraph(Inner)
    builder.add_sequence([(f"step{number}", node(number, seconds)) for number, seconds in enumerate(steps)])
    return builder.add_edge(START, "step0").compile()


def test_what_a_graph_inside_does_is_a_sign_of_life() -> None:
    """Each of its nodes puts the idle timeout off, at any depth; a run timeout it does not."""
    middle = StateGraph(Inner).add_node("inner", inner_of(*[0.1] * 5)).add_edge(START, "inner").compile()

    async def calls(state: Seen) -> Any:
        return await middle.ainvoke({"seen": []})

    log = EventLog.in_memory()
    graph = graph_of(calls, log=log, timeout=TimeoutPolicy(idle_timeout=0.3))
    assert asyncio.run(graph.ainvoke({"seen": []}, CONFIG))["seen"] == [0, 1, 2, 3, 4]
    assert failure_of(graph_of(calls, timeout=TimeoutPolicy(idle_timeout=0.3, refresh_on="heartbeat"))).kind == "idle"
    assert failure_of(graph_of(calls, timeout=TimeoutPolicy(run_timeout=0.3, idle_timeout=1))).kind == "run"


def test_chunks_of_a_graph_inside_are_signs_of_life() -> None:
    """One long node of it that sends chunks keeps the node around it alive."""

    async def sends(state: Inner, writer: StreamWriter) -> Any:
        for number in range(6):
            await asyncio.sleep(0.05)
            writer(number)
        return {"seen": ["alive"]}

    inner = StateGraph(Inner).add_node(sends).add_edge(START, "sends").compile()

    async def calls(state: Seen) -> Any:
        return await inner.ainvoke({"seen": []})

    graph = graph_of(calls, timeout=TimeoutPolicy(idle_timeout=0.2))
    assert asyncio.run(graph.ainvoke({"seen": []})) == {"seen": ["alive"]}


def test_a_late_graph_has_ended_before_the_next_attempt() -> None:
    """What a graph inside the node recorded is closed by then, so the next attempt goes on where it stood."""
    stuck: list[int] = []
    inner = inner_of(0, 0.3, stuck=stuck)
    ended: list[int] = []

    async def calls(state: Seen, runtime: Runtime) -> Any:
        ended.append(len(stuck))
        return await inner.ainvoke({"seen": []})

    log = EventLog.in_memory()
    builder: StateGraph[Any] = StateGraph(Seen)
    builder.add_node("calls", calls, timeout=0.2, retry_policy=QUICK._replace(max_attempts=2)).add_edge(START, "calls")
    graph = builder.compile(checkpointer=log)
    failure_of(graph)
    assert ended == [0, 1]
    assert log.verify().findings == []
    for snapshot in graph.get_state_history(CONFIG):
        assert graph.get_state(snapshot.config).values == snapshot.values
