"""Calls of tasks by running tasks: `@task` functions, each a task of its own in the same superstep.

A call's id is a function of the checkpoint, the caller's path and the call's place among the caller's calls. Its
outcome is recorded as it ends, so a caller that runs again gets what had finished, in the order in which it calls. What
a call raises is raised to whoever waits for it. Drivers say how calls run: on threads (`thread_calls`), or as tasks of
an event loop (`event_calls`).
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Generator
from concurrent.futures import Future
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from ..eventlog.events import PlannedTask
from ..projections.ids import task_id
from ..projections.namespaces import inside
from ..projections.types import RETURN
from .errors import GraphInterrupt
from .rules import PUSH, PUSH_TRIGGERS, path_text
from .spec import NodeSpec
from .tasks import Task

if TYPE_CHECKING:
    from .loop import Loop

slot: ContextVar[Any] = ContextVar("lithograph_call_slot", default=None)
"""What a call holds while it runs, where only so many may: it gives it back while it waits for another call."""


class Call(NamedTuple):
    """A function that is called as a task, with its arguments."""

    node: NodeSpec
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class CallFuture(Future[Any]):
    """What a call comes to: `result()` waits for it on a thread, `await` on an event loop."""

    def result(self, timeout: float | None = None) -> Any:
        """Return what the call returned, or raise what it raised; waits for at most `timeout` seconds."""
        held = None if self.done() else slot.get()
        if held is None:
            return super().result(timeout)
        held.release()
        try:
            return super().result(timeout)
        finally:
            held.acquire()

    def __await__(self) -> Generator[Any, None, Any]:
        return self._awaited().__await__()

    async def _awaited(self) -> Any:
        import asyncio  # only who awaits pays for it

        held = None if self.done() else slot.get()
        if held is None:
            return await asyncio.wrap_future(self)
        held.release()
        try:
            return await asyncio.wrap_future(self)
        finally:
            await held.acquired()


class Calls(ABC):
    """The calls of one loop's present step."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._calls: dict[bytes, CallFuture] = {}

    def start(self, caller: Task, call: Call) -> CallFuture:
        """Start a call, unless it has finished already, in an earlier run or for an earlier attempt of its caller."""
        self.demand_runnable(call.node)
        with self._lock:
            planned = self._planned(caller, call.node)
            known = self._calls.get(planned.id)
            if known is not None and not (known.done() and known.exception() is not None):
                return known
            task, future = self._task(planned, call), CallFuture()
            self._calls[planned.id] = future
        self._loop.show_started(task)
        if task.restored:
            settle(task, future)
        else:
            self._run(task, future)
        return future

    def recall(self, task: Task) -> bool:
        """Finish a call whose result is in the cache, and tell whether it was; may wait for the cache."""
        caching = self._loop.run.caching
        if caching is not None:
            caching.recall_call(task)
        return task.done

    def take(self, task: Task) -> None:
        """Record and show what came of a call, and keep it in the cache; may wait for the log."""
        self._loop.on_task_done(task)
        if self._loop.run.caching is not None:
            self._loop.run.caching.keep([task])

    def _planned(self, caller: Task, node: NodeSpec) -> PlannedTask:
        state, place = self._loop.state, caller.next_call()
        assert state is not None, "tasks run at a checkpoint"
        scope = inside(state.namespace, node.name)
        path = f"{PUSH}\0{path_text(caller.planned.path)}\0{place}"
        id_ = task_id(state.id, scope, self._loop.step, node.name, path, ())
        return PlannedTask(id_, node.name, (PUSH, caller.planned.path, place, True), PUSH_TRIGGERS)

    def _task(self, planned: PlannedTask, call: Call) -> Task:
        loop = self._loop
        assert loop.state is not None
        task = Task(planned, call.node, loop.run, loop.step)
        task.again = lambda: (call.args, call.kwargs)
        task.input = task.again()
        loop.record.restore(task, loop.state)
        return task

    def clear(self) -> None:
        """Forget the calls of a step that is over."""
        self._calls.clear()

    @property
    def futures(self) -> list[CallFuture]:
        """What the step's calls come to, so far."""
        with self._lock:
            return list(self._calls.values())

    @abstractmethod
    def demand_runnable(self, node: NodeSpec) -> None:
        """Raise `SyncNodeMissing` for a call that cannot be run here."""

    @abstractmethod
    def _run(self, task: Task, future: CallFuture) -> None:
        """Run a call beside its caller, and settle its future when its outcome is recorded."""


def settle(task: Task, future: CallFuture) -> None:
    """Tell whoever waits for a call what came of it."""
    if task.error is not None:
        future.set_exception(task.error)
    elif task.drained is not None:
        future.set_exception(task.drained)
    elif not task.done:
        future.set_exception(GraphInterrupt(task.interrupts))
    else:
        future.set_result(next((written.value for channel, written in task.written if channel == RETURN), None))
