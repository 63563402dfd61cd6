"""Calls of tasks on threads of their own: see `calls`."""

from __future__ import annotations

import contextvars
import threading
from concurrent.futures import wait

from .calls import CallFuture, Calls, settle, slot
from .errors import SyncNodeMissing
from .loop import Loop
from .spec import NodeSpec
from .tasks import Task, execute


class ThreadCalls(Calls):
    """Calls on threads of their own: a caller that waits holds up nobody."""

    def __init__(self, loop: Loop, max_concurrency: int | None) -> None:
        super().__init__(loop)
        self._slots = None if max_concurrency is None else threading.Semaphore(max_concurrency)

    def wait(self) -> None:
        """Return when all calls of the step have ended, those that nobody waited for too."""
        while pending := [future for future in self.futures if not future.done()]:
            wait(pending)

    def demand_runnable(self, node: NodeSpec) -> None:
        """Raise `SyncNodeMissing` for an asynchronous function."""
        if node.is_async:
            raise SyncNodeMissing(
                f"In an sync context async tasks cannot be called: {node.name!r} is one. Run the graph with ainvoke."
            )

    def _run(self, task: Task, future: CallFuture) -> None:
        context = contextvars.copy_context()
        # Not daemonic: what a call has begun is done and recorded, even if the program is about to end.
        threading.Thread(target=context.run, args=(self._settled, task, future), name="lithograph-call").start()

    def _settled(self, task: Task, future: CallFuture) -> None:
        slot.set(self._slots)
        if self._slots is not None:
            self._slots.acquire()
        try:
            if not self.recall(task):
                with self._loop.run.acting():
                    execute(task, self._loop.step_scope())
            self.take(task)
        except BaseException as error:  # noqa: BLE001 - it is raised to whoever waits for the call
            future.set_exception(error)
            return
        finally:
            if self._slots is not None:
                self._slots.release()
        settle(task, future)
