"""Calls of tasks on an event loop: see `calls`."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from functools import partial

from ..eventlog.beside import beside
from .calls import CallFuture, Calls, settle, slot
from .loop import Loop
from .spec import NodeSpec
from .tasks import Task, aexecute


class EventSlots:
    """So many calls may run: what one holds may be given back, and taken again, from a worker thread too."""

    def __init__(self, count: int, events: asyncio.AbstractEventLoop) -> None:
        self._semaphore = asyncio.Semaphore(count)
        self._events = events

    async def acquired(self) -> None:
        """Take one, on the event loop."""
        await self._semaphore.acquire()

    def acquire(self) -> None:
        """Take one, from another thread."""
        asyncio.run_coroutine_threadsafe(self.acquired(), self._events).result()

    def release(self) -> None:
        """Give one back; from any thread."""
        self._events.call_soon_threadsafe(self._semaphore.release)


class EventCalls(Calls):
    """Calls as tasks of an event loop; nodes on worker threads may make them, too."""

    def __init__(
        self, loop: Loop, max_concurrency: int | None, machine: Callable[[Loop, Callable[[], None]], Awaitable[None]]
    ) -> None:
        """`machine` does what may wait for the log beside the event loop."""
        super().__init__(loop)
        self._events = asyncio.get_running_loop()
        self._slots = None if max_concurrency is None else EventSlots(max_concurrency, self._events)
        self._machine = machine
        self._running: set[asyncio.Task[None]] = set()

    async def wait(self) -> None:
        """Return when all calls of the step have ended, those that nobody waited for too."""
        while pending := [asyncio.wrap_future(future) for future in self.futures if not future.done()]:
            await asyncio.wait(pending)

    async def cancel(self) -> None:
        """Cancel the calls that run and return when they have ended."""
        for running in self._running:
            running.cancel()
        if self._running:
            await asyncio.wait(set(self._running))

    def demand_runnable(self, node: NodeSpec) -> None:
        """Take any: a plain function runs on a worker thread."""

    def _run(self, task: Task, future: CallFuture) -> None:
        begin = partial(self._begin, task, future, contextvars.copy_context())
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._events:
            begin()
        else:
            self._events.call_soon_threadsafe(begin)

    def _begin(self, task: Task, future: CallFuture, context: contextvars.Context) -> None:
        running = self._events.create_task(self._settled(task, future), context=context)
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    async def _settled(self, task: Task, future: CallFuture) -> None:
        slot.set(self._slots)
        if self._slots is not None:
            await self._slots.acquired()
        try:
            if task.node.cache is None or not await beside(self.recall, task):
                with self._loop.run.acting():
                    await aexecute(task, self._loop.step_scope())
            await self._machine(self._loop, partial(self.take, task))
        except asyncio.CancelledError:
            future.cancel()
            raise
        except BaseException as error:  # noqa: BLE001 - it is raised to whoever waits for the call
            future.set_exception(error)
            return
        finally:
            if self._slots is not None:
                self._slots.release()
        settle(task, future)
