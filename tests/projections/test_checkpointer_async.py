"""The saver's async twins: while a slow storage is asked, the event loop goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.engines.memory import MemoryEngine
from lithograph.projections import EventLogSaver

from .conftest import METADATA, checkpoint, place

SLOW_SECONDS = 0.2
TICK_SECONDS = 0.005
LAG_SECONDS_MAX = 0.05
PUT = checkpoint({"a": 1}, {"a": 1})


class SlowEngine(MemoryEngine):
    """A storage that takes its time once told to; it counts the calls for which it did."""

    slow = False
    waits = 0

    def _wait(self) -> None:
        if self.slow:
            self.waits += 1
            time.sleep(SLOW_SECONDS)

    def head(self, *args: Any, **kwargs: Any) -> Any:
        self._wait()
        return super().head(*args, **kwargs)

    def append(self, *args: Any, **kwargs: Any) -> Any:
        self._wait()
        return super().append(*args, **kwargs)

    def close(self) -> None:
        self._wait()
        super().close()


async def _listed(saver: EventLogSaver) -> None:
    assert [each async for each in saver.alist(place())]


async def _closed(saver: EventLogSaver) -> None:
    saver._owns = True
    async with saver:
        pass


CALLS: dict[str, Callable[[EventLogSaver], Awaitable[Any]]] = {
    "aget": lambda saver: saver.aget(place()),
    "aget_tuple": lambda saver: saver.aget_tuple(place()),
    "alist": _listed,
    "aput": lambda saver: saver.aput(place(), checkpoint({"a": 2}, {"a": 2}), METADATA, {"a": 2}),
    "aput_writes": lambda saver: saver.aput_writes(place(checkpoint=PUT["id"]), [("a", 3)], "t"),
    "acopy_thread": lambda saver: saver.acopy_thread("1", "2"),
    "__aexit__": _closed,
}


async def _longest_lag(work: Awaitable[Any]) -> float:
    """Return by how much a coroutine that ticks was late at the most while `work` was done."""
    worst = 0.0

    async def tick() -> None:
        nonlocal worst
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(TICK_SECONDS)
            worst = max(worst, time.perf_counter() - begun - TICK_SECONDS)

    ticker = asyncio.create_task(tick())
    await asyncio.sleep(0)
    await work
    await asyncio.sleep(2 * TICK_SECONDS)  # a tick that the work held up is late by now
    ticker.cancel()
    return worst


@pytest.mark.parametrize("name", CALLS)
def test_the_loop_goes_on_while_a_slow_storage_is_asked(name: str) -> None:
    """A coroutine that ticks every 5 ms is never more than 50 ms late, whichever twin waits for the storage."""
    engine = SlowEngine()
    saver = EventLogSaver(EventLog.over(engine))
    saver.put(place(), PUT, METADATA, {"a": 1})
    engine.slow = True

    lag = asyncio.run(_longest_lag(CALLS[name](saver)))

    assert engine.waits
    assert lag < LAG_SECONDS_MAX
