"""The functional API: what is promised beyond what `tests/oracle/corpus/functional.py` compares."""

# No postponed annotations: types in annotations of entrypoints and tasks are registered.

import asyncio
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import CachePolicy, Command, InMemoryCache, entrypoint, interrupt, task

from .chains import ONE, twin

DRIVERS = ("threads", "loop")


@pytest.fixture
def log() -> Iterator[EventLog]:
    """A log in memory."""
    with EventLog.in_memory() as opened:
        yield opened


@pytest.mark.parametrize("driver", DRIVERS)
def test_tasks_run_side_by_side(log: EventLog, driver: str) -> None:
    """Calls begin at once: two that wait for each other both get through."""
    meeting = threading.Barrier(2, timeout=10)

    @task
    def meets(name: str) -> str:
        meeting.wait()
        return name

    @entrypoint(checkpointer=log)
    def flow(names: list[str]) -> list[str]:
        return [future.result() for future in [meets(name) for name in names]]

    assert twin("invoke", driver)(flow, ["one", "two"], ONE) == ["one", "two"]


@pytest.mark.parametrize("driver", DRIVERS)
def test_calls_that_wait_do_not_use_up_the_concurrency(log: EventLog, driver: str) -> None:
    """With `max_concurrency=1` a task may call a task that calls a task."""

    @task
    def down(depth: int) -> int:
        return depth if depth == 0 else down(depth - 1).result() + 1

    @entrypoint(checkpointer=log)
    def flow(depth: int) -> int:
        return down(depth).result()

    assert twin("invoke", driver)(flow, 4, {**ONE, "max_concurrency": 1}) == 4


def test_max_concurrency_holds_for_calls(log: EventLog) -> None:
    """At most so many calls run at a time."""
    running: list[int] = []
    most = [0]
    lock = threading.Lock()

    @task
    def works(number: int) -> int:
        with lock:
            running.append(number)
            most[0] = max(most[0], len(running))
        time.sleep(0.01)
        with lock:
            running.remove(number)
        return number

    @entrypoint(checkpointer=log)
    def flow(count: int) -> list[int]:
        return [future.result() for future in [works(number) for number in range(count)]]

    assert flow.invoke(8, {**ONE, "max_concurrency": 2}) == list(range(8))
    assert most[0] == 2


def test_async_tasks_are_awaited_and_gathered(log: EventLog) -> None:
    """A future of a call is awaitable; `asyncio.gather` takes several."""

    @task
    async def double(number: int) -> int:
        await asyncio.sleep(0)
        return number * 2

    @task
    def plain(number: int) -> int:
        return number + 1

    @entrypoint(checkpointer=log)
    async def flow(numbers: list[int]) -> list[int]:
        doubled = await asyncio.gather(*[double(number) for number in numbers])
        return [*doubled, await plain(doubled[0])]

    assert asyncio.run(flow.ainvoke([1, 2], ONE)) == [2, 4, 3]


def test_an_async_task_needs_an_event_loop(log: EventLog) -> None:
    """Without one it is refused, in LangGraph's words."""

    @task
    async def later(number: int) -> int:
        return number

    @entrypoint(checkpointer=log)
    def flow(number: int) -> int:
        return later(number).result()

    with pytest.raises(TypeError, match="In an sync context async tasks cannot be called"):
        flow.invoke(1, ONE)


def test_a_task_outside_of_a_run_is_refused() -> None:
    """A task is no plain function."""

    @task
    def add(number: int) -> int:
        return number + 1

    with pytest.raises(RuntimeError, match="outside of a runnable context"):
        add(1)


def test_generators_are_refused(log: EventLog) -> None:
    """A generator has no one result to record."""

    def flow(number: int) -> Any:
        yield number

    with pytest.raises(NotImplementedError, match="Generators are not supported"):
        entrypoint(checkpointer=log)(flow)


@dataclass
class Score:
    """A class that only a task's annotation names."""

    points: int


def _scored() -> Any:
    calls: list[str] = []

    @task
    def score(name: str) -> Score:
        calls.append(name)
        return Score(len(name))

    def flow(name: str) -> list[Any]:
        found = score(name).result()
        return [found.points, interrupt("fair?")]

    return flow, calls


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_what_a_task_returned_is_there_in_another_process(tmp_path: Path, durability: str) -> None:
    """A finished call comes back from disk with its type, and is not made again."""
    with EventLog(tmp_path / "log") as opened:
        flow, calls = _scored()
        entrypoint(checkpointer=opened)(flow).invoke("Ada", ONE, durability=durability)
        assert calls == ["Ada"]
    with EventLog(tmp_path / "log") as opened:
        flow, calls = _scored()
        assert entrypoint(checkpointer=opened)(flow).invoke(Command(resume="yes"), ONE) == [3, "yes"]
        assert calls == []


def test_a_call_nobody_waits_for_is_done_before_the_run_returns(log: EventLog) -> None:
    """A future that is never asked belongs to the run all the same."""
    done: list[int] = []

    @task
    def slow(number: int) -> None:
        time.sleep(0.02)
        done.append(number)

    @entrypoint(checkpointer=log)
    def flow(number: int) -> str:
        slow(number)
        return "returned"

    assert flow.invoke(7, ONE) == "returned"
    assert done == [7]


@pytest.mark.parametrize("driver", DRIVERS)
def test_what_a_node_calls_is_shown_while_others_run(log: EventLog, driver: str) -> None:
    """`stream` of an entrypoint yields a task's chunk before the entrypoint has ended."""
    seen = threading.Event()

    @task
    def quick(number: int) -> int:
        return number

    @entrypoint(checkpointer=log)
    def flow(number: int) -> int:
        found = quick(number).result()
        assert seen.wait(10), "the chunk of the task came only behind its caller"
        return found

    def on_threads() -> list[Any]:
        chunks = []
        for chunk in flow.stream(1, ONE):
            chunks.append(chunk)
            seen.set()
        return chunks

    async def on_a_loop() -> list[Any]:
        chunks = []
        async for chunk in flow.astream(1, ONE):
            chunks.append(chunk)
            seen.set()
        return chunks

    found = on_threads() if driver == "threads" else asyncio.run(on_a_loop())
    assert found == [{"quick": 1}, {"flow": 1}]


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_call_is_taken_from_the_cache(log: EventLog, driver: str) -> None:
    """A task with a cache policy is called once for the same arguments, on any thread of the graph."""
    calls: list[int] = []

    @task(cache_policy=CachePolicy())
    def dear(number: int, *, by: int = 1) -> int:
        calls.append(number)
        return number * by

    @entrypoint(checkpointer=log, cache=InMemoryCache())
    def flow(number: int) -> list[int]:
        return [dear(number).result(), dear(number, by=2).result()]

    for thread in ("1", "2"):
        found = twin("invoke", driver)(flow, 5, {"configurable": {"thread_id": thread}})
        assert found == [5, 10]
    assert calls == [5, 5]
