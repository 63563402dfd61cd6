"""Drives a loop on an event loop: nodes are tasks of it, and all that blocks is done beside it.

The same machine as `driver` runs, in the same order. What the machine does by itself (planning, folding, recording)
is done on a worker thread when there is a log, so the event loop goes on meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from typing import TypeVar

from ..eventlog.beside import beside
from .caching import Caching
from .driver import next_step
from .event_calls import EventCalls
from .loop import Loop
from .tasks import StepScope, Task, aexecute

T = TypeVar("T")


async def drive(loop: Loop, *, max_concurrency: int | None) -> AsyncGenerator[None]:
    """Run supersteps until the loop is done, paused or failed; yields whenever there may be something to show.

    What tasks raise is on the loop (`failure`), not raised here; a cancellation goes through and leaves no task behind.
    """
    calls = loop.run.calls = EventCalls(loop, max_concurrency, machine)
    try:
        async with aclosing(_supersteps(loop, calls, max_concurrency)) as steps:
            async for _ in steps:
                yield
    finally:
        await calls.cancel()


async def _supersteps(loop: Loop, calls: EventCalls, max_concurrency: int | None) -> AsyncGenerator[None]:
    going, caching = await machine(loop, loop.tick), loop.run.caching
    while going:
        if caching is not None:
            await _recall(loop, caching)
        yield
        todo = [task for task in loop.tasks if not task.done]
        if todo:
            async with aclosing(_side_by_side(loop, todo, max_concurrency)) as steps:
                async for _ in steps:
                    yield
        await calls.wait()
        going, refusal = await machine(loop, partial(_taken_and_closed, loop, todo))
        calls.clear()
        if caching is not None and (pairs := caching.kept(todo)):
            await caching.cache.aset(pairs)
        if refusal is not None:
            yield
            raise refusal


def _taken_and_closed(loop: Loop, todo: list[Task]) -> tuple[bool, Exception | None]:
    """Close the step. A task that ran alone is taken here, too: shown when the step is closed, in one hop."""
    if len(todo) == 1:
        loop.on_task_done(todo[0])
    return next_step(loop)


async def _recall(loop: Loop, caching: Caching) -> None:
    """Finish those tasks of the present step whose writes are in the cache."""
    if wanted := caching.wanted(loop):
        found = await caching.cache.aget(list(wanted))
        await machine(loop, partial(caching.take, loop, wanted, found))


async def machine(loop: Loop, work: Callable[[], T]) -> T:
    """Return `work()`, which may wait for the log, as done beside the event loop."""
    return work() if loop.journal is None else await beside(work)


async def _run(loop: Loop, task: Task, step: StepScope, limit: asyncio.Semaphore | None) -> None:
    if limit is not None:
        async with limit:
            await _run(loop, task, step, None)
        return
    try:
        with loop.run.acting():
            await aexecute(task, step)
    finally:
        task.end()


async def _side_by_side(loop: Loop, tasks: list[Task], max_concurrency: int | None) -> AsyncGenerator[None]:
    """Run tasks at once. After a failure the others are cancelled; what finished before is kept.

    One that is alone is left to whoever closes the step.
    """
    step = loop.step_scope()
    limit = asyncio.Semaphore(max_concurrency) if max_concurrency else None
    news = _News(loop)  # before anybody can send any
    running = {asyncio.create_task(_run(loop, task, step, limit)): task for task in tasks}
    waiting = set(running)
    try:
        while waiting:
            done = await news.or_done(waiting)
            waiting -= done
            await _take(
                loop, {future: task for future, task in running.items() if future in done}, alone=len(tasks) == 1
            )
            if any(running[future].error is not None for future in done):
                return
            started = {asyncio.create_task(_run(loop, task, step, limit)): task for task in loop.take_started()}
            running.update(started)
            waiting.update(started)
            if waiting or len(tasks) > 1:
                yield
    finally:
        news.close()
        await _cancelled(waiting)


async def _take(loop: Loop, done: dict[asyncio.Task[None], Task], *, alone: bool) -> None:
    """Take the outcomes of tasks, in their order; raises what goes through them."""
    for future, task in done.items():
        future.result()
        if not alone:
            await machine(loop, partial(loop.on_task_done, task))


async def _cancelled(running: set[asyncio.Task[None]]) -> None:
    """Cancel tasks and return when they have ended."""
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)


class _News:
    """Wakes who waits for tasks when one of them sends a chunk."""

    def __init__(self, loop: Loop) -> None:
        self._stream = loop.stream
        self._events = asyncio.get_running_loop()
        self._came = asyncio.Event()
        self._waiter: asyncio.Task[bool] | None = None
        if self._stream.is_live:
            self._stream.wake_with(lambda: self._events.call_soon_threadsafe(self._came.set))

    async def or_done(self, tasks: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
        """Return the tasks that are done, when there are some, or when a chunk came."""
        if not self._stream.is_live:
            return (await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED))[0]
        if self._waiter is None:
            self._waiter = asyncio.create_task(self._came.wait())
        await asyncio.wait({*tasks, self._waiter}, return_when=asyncio.FIRST_COMPLETED)
        if self._waiter.done():
            self._waiter = None
            self._came.clear()
        return {task for task in tasks if task.done()}

    def close(self) -> None:
        """Wait for no more chunks."""
        self._stream.wake_with(None)
        if self._waiter is not None:
            self._waiter.cancel()
