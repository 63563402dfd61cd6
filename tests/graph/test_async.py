"""Runs on an event loop: the same machine, nodes that are coroutines, cancellation, and a loop that goes on turning."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

import asyncio
import operator
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import ConflictError
from lithograph.eventlog.events import CheckpointCommitted, RunEnded, RunStarted
from lithograph.graph import (
    START,
    Command,
    GraphRecursionError,
    Send,
    StateGraph,
    get_config,
    get_stream_writer,
    interrupt,
)
from typing_extensions import TypedDict

from .chains import ONE, Log, chain, parallel

FRESH = {"n": 0, "log": []}
TICK_S, LAG_S = 0.005, 0.05


@pytest.fixture(params=["memory", "lmdb"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EventLog]:
    """A log on each engine."""
    with EventLog.in_memory() if request.param == "memory" else EventLog(tmp_path / "log") as opened:
        yield opened


def later(name: str, seconds: float = 0.0) -> Callable[[Any], Any]:
    """Return a coroutine as a node that adds its name after a while."""

    async def node(state: Log) -> Any:
        await asyncio.sleep(seconds)
        return {"log": [name]}

    return node


async def asking(state: Log) -> Any:
    """Ask from a coroutine."""
    await asyncio.sleep(0)
    return {"log": [interrupt("?")]}


def kinds(log: EventLog) -> list[type[Any]]:
    """Return the kinds of all events."""
    return [type(record.event) for page in log.scan() for record in page]


@asynccontextmanager
async def ticking() -> AsyncIterator[list[float]]:
    """Tick every 5 ms within the block; gives how late each tick was, in seconds."""
    late: list[float] = []

    async def tick() -> None:
        while True:
            due = time.monotonic() + TICK_S
            await asyncio.sleep(TICK_S)
            late.append(time.monotonic() - due)

    ticker = asyncio.create_task(tick())
    try:
        yield late
    finally:
        ticker.cancel()


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_coroutines_ask_and_are_answered(log: EventLog, durability: Any) -> None:
    """A question pauses the run, an answer on another loop goes on; plain functions are nodes beside coroutines."""

    async def begin() -> Any:
        return await graph.ainvoke(FRESH, ONE, durability=durability)

    async def answer() -> Any:
        return await graph.ainvoke(Command(resume="yes"), ONE, durability=durability)

    graph = chain(first=later("first"), ask=asking, last=lambda state: {"log": ["last"]}).compile(checkpointer=log)
    paused = asyncio.run(begin())
    assert [question.value for question in paused["__interrupt__"]] == ["?"]
    assert asyncio.run(answer())["log"] == ["first", "yes", "last"]
    assert graph.get_state(ONE).values == {"n": 0, "log": ["first", "yes", "last"]}
    assert log.verify().findings == []


def test_a_run_begun_without_a_loop_goes_on_with_one_and_back(log: EventLog) -> None:
    """The record is the same, so a thread does not know which driver ran it."""
    graph = chain(one=asking_plainly, two=asking_plainly).compile(checkpointer=log)
    graph.invoke(FRESH, ONE)
    asyncio.run(graph.ainvoke(Command(resume="a"), ONE))
    assert graph.invoke(Command(resume="b"), ONE)["log"] == ["a", "b"]


def asking_plainly(state: Log) -> Any:
    """Ask from a plain function."""
    return {"log": [interrupt("?")]}


def test_tasks_run_at_once_and_no_more_than_are_allowed(log: EventLog) -> None:
    """All tasks of a step are under way together, or as many as `max_concurrency` says."""
    running, most = 0, 0

    async def node(packet: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1
        return {"log": [packet]}

    builder: StateGraph[Any] = StateGraph(Log)
    builder.add_node("node", node)
    builder.add_conditional_edges(START, lambda state: [Send("node", n) for n in range(8)], ["node"])
    graph = builder.compile(checkpointer=log)
    assert asyncio.run(graph.ainvoke(FRESH, ONE))["log"] == [*range(8)]
    assert most == 8
    most = 0
    asyncio.run(graph.ainvoke(FRESH, {"configurable": {"thread_id": "2"}, "max_concurrency": 3}))
    assert most == 3


def test_routers_may_be_coroutines(log: EventLog) -> None:
    """A conditional edge that awaits leads where it says."""

    async def route(state: Log) -> str:
        await asyncio.sleep(0)
        return "two"

    builder: StateGraph[Any] = StateGraph(Log)
    for name in ("one", "two", "three"):
        builder.add_node(name, later(name))
    builder.add_edge(START, "one")
    builder.add_conditional_edges("one", route, ["two", "three"])
    assert asyncio.run(builder.compile(checkpointer=log).ainvoke(FRESH, ONE))["log"] == ["one", "two"]


def test_a_failure_cancels_its_siblings_and_keeps_what_finished(log: EventLog) -> None:
    """Who was not done is cancelled and runs again; who was done does not."""
    ran: list[str] = []
    broken = True

    async def quick(state: Log) -> Any:
        ran.append("quick")
        return {"log": ["quick"]}

    async def fails(state: Log) -> Any:
        ran.append("fails")
        await asyncio.sleep(0.02)
        if broken:
            raise ValueError("broken")
        return {"log": ["fails"]}

    async def slow(state: Log) -> Any:
        ran.append("slow")
        try:
            await asyncio.sleep(0.1 if not broken else 30)
        except asyncio.CancelledError:
            ran.append("slow was cancelled")
            raise
        return {"log": ["slow"]}

    graph = parallel(quick=quick, fails=fails, slow=slow).compile(checkpointer=log)
    with pytest.raises(ValueError, match="broken"):
        asyncio.run(graph.ainvoke(FRESH, ONE))
    assert ran[-1] == "slow was cancelled"
    broken = False
    ran.clear()
    assert asyncio.run(graph.ainvoke(None, ONE))["log"] == ["fails", "quick", "slow"]
    assert sorted(ran) == ["fails", "slow"]


@pytest.mark.parametrize("durability", ["sync", "async"])
def test_a_cancelled_run_can_be_gone_on_with(log: EventLog, durability: Any) -> None:
    """What finished before is recorded, the run is ended in the log, and only what was cut short runs again."""
    ran: list[str] = []

    async def run() -> None:
        entered = asyncio.Event()

        async def done(state: Log) -> Any:
            ran.append("done")
            return {"log": ["done"]}

        async def waits(state: Log) -> Any:
            ran.append("waits")
            entered.set()
            await asyncio.sleep(30 if len(ran) < 4 else 0)
            return {"log": ["waits"]}

        graph = parallel(done=done, waits=waits).compile(checkpointer=log)
        running = asyncio.create_task(graph.ainvoke(FRESH, ONE, durability=durability))
        await entered.wait()
        await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert kinds(log)[-1] is RunEnded
        (task,) = [task for task in (await graph.aget_state(ONE)).tasks if task.name == "done"]
        assert task.result == {"log": ["done"]}
        ran.append("between")
        assert (await graph.ainvoke(None, ONE))["log"] == ["done", "waits"]

    asyncio.run(run())
    assert sorted(ran) == ["between", "done", "waits", "waits"]
    assert log.verify().findings == []


def test_a_cancellation_waits_for_what_is_being_recorded(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody cleans up beside a thread that is still at work on the same run."""
    inside, overlapped = threading.Lock(), []
    really = log.append

    def slow(*given: Any, **options: Any) -> Any:
        if not inside.acquire(blocking=False):
            overlapped.append(True)
            return really(*given, **options)
        try:
            time.sleep(0.05)
            return really(*given, **options)
        finally:
            inside.release()

    async def run() -> None:
        graph = chain(one=later("one"), two=later("two")).compile(checkpointer=log)
        await graph.ainvoke(FRESH, {"configurable": {"thread_id": "first"}})
        monkeypatch.setattr(log, "append", slow)
        for delay in (0.02, 0.07, 0.12):
            running = asyncio.create_task(graph.ainvoke(FRESH, ONE, durability="sync"))
            await asyncio.sleep(delay)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

    asyncio.run(run())
    assert overlapped == []
    assert log.verify().findings == []


def test_closing_the_iterator_early_stops_the_run(log: EventLog) -> None:
    """A step of which all was shown is closed; the run's end is in the log, and it can be gone on with."""
    graph = chain(one=later("one"), two=later("two"), three=later("three")).compile(checkpointer=log)

    async def leave() -> None:
        stream = graph.astream(FRESH, ONE)
        async for chunk in stream:
            if "one" in chunk:
                break
        await stream.aclose()

    asyncio.run(leave())
    assert kinds(log)[-1] is RunEnded
    assert asyncio.run(graph.ainvoke(None, ONE))["log"] == ["one", "two", "three"]


def test_closing_the_iterator_early_cancels_who_runs(log: EventLog) -> None:
    """When the close returns nothing of the run is under way any more; what finished is kept."""
    ran: list[str] = []

    async def slow(state: Log) -> Any:
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.02)
            ran.append("slow ended")

    async def leave() -> None:
        graph = parallel(quick=later("quick"), slow=slow).compile(checkpointer=log)
        stream = graph.astream(FRESH, ONE)
        async for _ in stream:
            break
        await stream.aclose()
        assert ran == ["slow ended"]
        assert asyncio.all_tasks() == {asyncio.current_task()}
        results = {task.name: task.result for task in (await graph.aget_state(ONE)).tasks}
        assert results == {"quick": {"log": ["quick"]}, "slow": None}

    asyncio.run(leave())
    assert kinds(log)[-1] is RunEnded


def test_custom_chunks_come_while_their_node_runs(log: EventLog) -> None:
    """Progress of a long node is seen when it is sent, from a coroutine and from a plain function."""

    async def coroutine(state: Log) -> Any:
        get_stream_writer()("from a coroutine")
        await release.wait()
        return {"log": ["coroutine"]}

    def function(state: Log) -> Any:
        get_stream_writer()("from a function")
        released.wait(5)
        return {"log": ["function"]}

    released = threading.Event()

    async def run() -> list[Any]:
        nonlocal release
        release = asyncio.Event()
        graph = chain(coroutine=coroutine, function=function).compile(checkpointer=log)
        seen: list[Any] = []
        async for chunk in graph.astream(FRESH, ONE, stream_mode=["custom", "updates"]):
            seen.append(chunk)
            if chunk == ("custom", "from a coroutine"):
                release.set()
            if chunk == ("custom", "from a function"):
                released.set()
        return seen

    release: Any = None
    assert asyncio.run(run()) == [
        ("custom", "from a coroutine"),
        ("updates", {"coroutine": {"log": ["coroutine"]}}),
        ("custom", "from a function"),
        ("updates", {"function": {"log": ["function"]}}),
    ]


def test_context_variables_reach_the_nodes(log: EventLog) -> None:
    """A node knows its config and who acts, on the loop and on a worker thread."""
    seen: list[Any] = []

    async def coroutine(state: Log) -> Any:
        seen.append(get_config()["metadata"]["langgraph_node"])
        return {"log": ["c"]}

    def function(state: Log) -> Any:
        seen.append(get_config()["metadata"]["langgraph_node"])
        return {"log": ["f"]}

    async def run() -> None:
        graph = parallel(coroutine=coroutine, function=function).compile(checkpointer=log)
        with log.as_actor("alice", reason="asked for it"):
            await graph.ainvoke(FRESH, ONE)

    asyncio.run(run())
    assert sorted(seen) == ["coroutine", "function"]
    told = [record for page in log.scan() for record in page]
    bodies = [each.body for each in told if log.stream_name(each.header.stream).kind == "thread"]
    assert {(body.actor, body.reason) for body in bodies} == {("alice", "asked for it")}


def test_of_two_runs_one_gets_a_conflict_and_may_go_on_in_a_fork(log: EventLog) -> None:
    """Two runs on one loop and one thread: the fence is the log's, as everywhere."""

    async def run() -> tuple[list[Any], list[str]]:
        graph = chain(one=later("one", 0.02), two=later("two", 0.02)).compile(checkpointer=log)
        both = (graph.ainvoke(FRESH, ONE) for _ in range(2))
        first = await asyncio.gather(*both, return_exceptions=True)
        forks = (graph.ainvoke(FRESH, ONE, on_conflict="fork") for _ in range(2))
        second = await asyncio.gather(*forks)
        return first, [result["log"][-1] for result in second]

    first, second = asyncio.run(run())
    assert sorted(type(result).__name__ for result in first) == ["ConflictError", "dict"]
    assert any(isinstance(result, ConflictError) for result in first)
    assert second == ["two", "two"]
    assert log.verify().findings == []


def test_the_loop_goes_on_while_large_states_are_written(tmp_path: Path) -> None:
    """A 5 ms ticker is never 50 ms late while a megabyte is written at every step, whatever the durability.

    The best of three runs: on a busy machine a tick may be late for reasons that are not ours.
    """
    text = "x" * 1_000_000

    async def run(number: int) -> float:
        with EventLog(tmp_path / str(number)) as log:
            graph = chain(**{f"n{i}": lambda state, i=i: {"log": [text + str(i)]} for i in range(8)}).compile(
                checkpointer=log
            )
            await graph.ainvoke(FRESH, {"configurable": {"thread_id": "warm"}})
            async with ticking() as late:
                for durability in ("sync", "async", "exit"):
                    await graph.ainvoke(FRESH, {"configurable": {"thread_id": durability}}, durability=durability)
                    await graph.aget_state({"configurable": {"thread_id": durability}})
            return max(late)

    assert min(asyncio.run(run(number)) for number in range(3)) < LAG_S


def test_the_loop_goes_on_while_a_slow_storage_records(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each append takes 0.1 s, and no tick is late: at the claim, at steps, at the end, at an edit."""
    really = log.append

    def slow(*given: Any, **options: Any) -> Any:
        time.sleep(0.1)
        return really(*given, **options)

    async def run() -> float:
        graph = chain(one=later("one"), two=later("two")).compile(checkpointer=log)
        await graph.ainvoke(FRESH, {"configurable": {"thread_id": "warm"}})
        monkeypatch.setattr(log, "append", slow)
        async with ticking() as late:
            await graph.ainvoke(FRESH, ONE, durability="sync")
            await graph.aupdate_state(ONE, {"n": 5})
        monkeypatch.undo()
        assert len(late) > 40
        return max(late)

    assert asyncio.run(run()) < LAG_S


def test_many_threads_at_once_on_one_log(log: EventLog) -> None:
    """A hundred threads under way together, each with its own state, in one gapless chain."""

    async def run() -> list[Any]:
        graph = chain(one=later("one", 0.001), two=later("two")).compile(checkpointer=log)
        runs = (graph.ainvoke({"n": n, "log": []}, {"configurable": {"thread_id": str(n)}}) for n in range(100))
        return await asyncio.gather(*runs)

    assert [result["n"] for result in asyncio.run(run())] == [*range(100)]
    assert kinds(log).count(RunStarted) == kinds(log).count(RunEnded) == 100
    assert kinds(log).count(CheckpointCommitted) == 400
    assert log.verify().findings == []


def test_nodes_that_wait_for_each_other_do_not_starve_the_machine(log: EventLog) -> None:
    """Plain functions that fill every worker thread of the loop's own pool leave room for what records them."""
    released = threading.Event()

    def waits(packet: Any) -> Any:
        released.wait(10)
        return {"log": [packet]}

    async def run() -> Any:
        builder: StateGraph[Any] = StateGraph(Log)
        builder.add_node("waits", waits)
        builder.add_conditional_edges(START, lambda state: [Send("waits", n) for n in range(60)], ["waits"])
        blocked = builder.compile(checkpointer=log)
        other = chain(one=later("one")).compile(checkpointer=log)
        waiting = asyncio.create_task(blocked.ainvoke(FRESH, ONE))
        await asyncio.sleep(0.05)
        result = await other.ainvoke(FRESH, {"configurable": {"thread_id": "other"}})
        released.set()
        await waiting
        return result

    assert asyncio.run(run())["log"] == ["one"]


def test_the_limit_of_steps_holds_on_a_loop(log: EventLog) -> None:
    """N steps are N steps."""
    builder = chain(tick=later("tick"))
    builder.add_conditional_edges("tick", lambda state: "tick")
    graph = builder.compile(checkpointer=log)
    with pytest.raises(GraphRecursionError):
        asyncio.run(graph.ainvoke(FRESH, {**ONE, "recursion_limit": 3}))
    assert graph.get_state(ONE).values["log"] == ["tick"] * 3


class Bare(TypedDict):
    """A state of one list."""

    log: Annotated[list[str], operator.add]


def test_a_graph_without_a_log_runs_on_a_loop() -> None:
    """No checkpointer: no worker thread for the machine, and the same results."""
    graph = chain(Bare, one=later("one"), two=later("two")).compile()
    assert asyncio.run(graph.ainvoke({"log": []}))["log"] == ["one", "two"]


def test_a_sync_call_within_a_running_loop_works(log: EventLog) -> None:
    """A plain call from a coroutine blocks that loop for its time, and does not hang."""

    async def run() -> Any:
        return chain(one=lambda state: {"log": ["one"]}).compile(checkpointer=log).invoke(FRESH, ONE)

    assert asyncio.run(run())["log"] == ["one"]
