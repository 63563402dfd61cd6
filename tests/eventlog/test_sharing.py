"""One log, many hands: threads, event loops and processes at the same time make one gapless chain."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lithograph.eventlog import ANY, EventLog, StreamName, StreamWrite
from lithograph.eventlog.engines.tree import TABLES
from lithograph.eventlog.environments import open_environment
from lithograph.eventlog.events import Recorded

from .children import stopped

pytestmark = pytest.mark.crash
TURNS = 20
HANDS = 4
BLOCKED_SECONDS = 0.5
"""A loop that does not turn for so long was blocked, however busy the machine is."""


def append_once(log: EventLog, who: str, turn: int, append_id: bytes | None = None) -> None:
    """Append to a stream of one's own and to one that everybody shares."""
    event = log.stamp(Recorded(who, turn))
    writes = [
        StreamWrite(StreamName("thread", who), turn, [event]),
        StreamWrite(StreamName("thread", "all"), ANY, [event]),
    ]
    log.append(writes, append_id=append_id)


def on_threads(log: EventLog, who: str) -> None:
    """Append from several threads."""

    def work(at: int) -> None:
        for turn in range(TURNS):
            append_once(log, f"{who} thread {at}", turn)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(HANDS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


async def watch(work: Any) -> float:
    """Await `work` while a task ticks on the same loop; return the longest time between two ticks."""
    gaps = [0.0]

    async def tick() -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.001)
            now = time.monotonic()
            gaps.append(now - last)
            last = now

    ticking = asyncio.create_task(tick())
    await work
    ticking.cancel()
    return max(gaps)


def on_a_loop(log: EventLog, who: str) -> float:
    """Append from several tasks of one loop; some are cancelled while they wait, and then try again under their id."""

    async def work(at: int) -> None:
        for turn in range(TURNS):
            append_id = f"{who}{at:2}{turn:3}".encode().rjust(16)[-16:]
            task = asyncio.create_task(asyncio.to_thread(append_once, log, f"{who} task {at}", turn, append_id))
            if turn % 5 == at:
                await asyncio.sleep(0.0005 * at)
                task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                await asyncio.to_thread(append_once, log, f"{who} task {at}", turn, append_id)

    async def everybody() -> None:
        await asyncio.gather(*[work(at) for at in range(HANDS)])

    return asyncio.run(watch(everybody()))


def _process(path: Path, who: str) -> None:
    with EventLog(path) as log:
        on_threads(log, who)


def _check(log: EventLog, streams: int) -> None:
    everything = [record for page in log.scan() for record in page]
    assert [record.position for record in everything] == list(range(1, 2 * streams * TURNS + 1))
    topics = Counter(record.event.topic for record in everything)  # type: ignore[attr-defined]
    assert set(topics.values()) == {2 * TURNS}, "an append is missing, or is there twice"
    assert len(topics) == streams
    for topic in topics:
        own = log.read_stream(log.stream_id(StreamName("thread", topic)))
        assert [record.event.data for record in own] == list(range(TURNS))  # type: ignore[attr-defined]
    assert log.verify().findings == []


def _all_at_once(works: list[Callable[[], object]]) -> list[object]:
    results: list[object] = [None] * len(works)

    def run(at: int) -> None:
        results[at] = works[at]()

    threads = [threading.Thread(target=run, args=(at,)) for at in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "somebody hangs"
    return results


def test_threads_and_loops_make_one_chain(log: EventLog) -> None:
    """Threads and three event loops with tasks, some of them cancelled: one chain, nothing lost, nothing twice."""
    works: list[Callable[[], object]] = [lambda at=at: on_a_loop(log, f"loop {at}") for at in range(3)]  # type: ignore[misc]
    gaps = _all_at_once([lambda: on_threads(log, "here"), *works])[1:]
    _check(log, 4 * HANDS)
    assert max(gaps) < BLOCKED_SECONDS, "a loop was blocked"  # type: ignore[type-var]


def test_processes_threads_and_loops_make_one_chain(tmp_path: Path) -> None:
    """Two other processes with threads, threads here, and a loop: one chain, nothing lost, nothing twice."""
    path = tmp_path / "log"
    EventLog(path).close()
    spawn = multiprocessing.get_context("fork")
    others = [spawn.Process(target=_process, args=(path, f"process {at}")) for at in range(2)]
    for other in others:
        other.start()
    with EventLog(path) as log:
        _all_at_once([lambda: on_threads(log, "here"), lambda: on_a_loop(log, "loop")])
        for other in others:
            other.join(60)
            assert other.exitcode == 0
        _check(log, 4 * HANDS)


def test_a_loop_turns_while_another_process_writes(tmp_path: Path) -> None:
    """With a writer elsewhere that stays in its transaction, appends beside a loop wait; the loop turns and reads."""
    path = tmp_path / "log"

    def write(stop: Callable[[], None]) -> None:
        environment = open_environment(path / "log", TABLES)
        environment.write(lambda transaction: stop())

    async def main(log: EventLog) -> None:
        appending = asyncio.gather(*[asyncio.to_thread(append_once, log, f"task {at}", 1) for at in range(HANDS)])
        await asyncio.sleep(0.05)
        for _ in range(20):
            assert len(log.read()) == 2 * HANDS
            await asyncio.sleep(0.005)
        assert not appending.done()
        child.go_on()
        await appending

    with EventLog(path) as log:
        for at in range(HANDS):
            append_once(log, f"task {at}", 0)
        with stopped(write) as child:
            assert asyncio.run(watch(main(log))) < BLOCKED_SECONDS
        assert log.log_head().position == 4 * HANDS


def test_a_cancelled_append_is_there_as_a_whole_or_not_at_all(log: EventLog) -> None:
    """Cancelling the task that waits for an append takes nothing from the append; its retry is recognised."""

    async def main() -> None:
        for turn in range(30):
            append_id = turn.to_bytes(16, "big")
            task = asyncio.create_task(asyncio.to_thread(append_once, log, "one", turn, append_id))
            await asyncio.sleep(0.0002 * (turn % 4))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.to_thread(append_once, log, "one", turn, append_id)
            assert log.head(log.stream_id(StreamName("thread", "one"))).version == turn + 1

    asyncio.run(main())
    assert log.head(log.stream_id(StreamName("thread", "all"))).version == 30
    assert log.verify().findings == []
