"""`Attempt`: one attempt of a node under a clock, on an event loop.

The node runs as a task of its own beside two watches. Whichever ends first decides; a node that is too late is
cancelled and not waited for, and what it still sends is dropped: nothing of it reaches the log or the stream. Signs of
life come from any thread. Only who sets a `timeout` pays for any of it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..projections.timeouts import TimeoutPolicy
from ..projections.types import RunnableConfig
from .errors import NodeTimeoutError
from .runtime import StreamWriter, beat_nowhere

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")


class Attempt:
    """One attempt: whether it goes on, and when its node last showed that it is alive."""

    def __init__(self, node: str, limits: TimeoutPolicy) -> None:
        """`limits` as `TimeoutPolicy.coerce` returns them: in seconds."""
        self._node = node
        self._run = cast("float | None", limits.run_timeout)
        self._idle = cast("float | None", limits.idle_timeout)
        self._hears_all = self._idle is not None and limits.refresh_on == "auto"
        self._goes_on = True
        self._began = self._alive = time.monotonic()

    # Signs of life

    @property
    def heartbeat(self) -> Callable[[], None]:
        """What the node calls to say that it is alive; nothing listens where being idle is not limited."""
        return beat_nowhere if self._idle is None else self._beat

    def progress(self) -> None:
        """Take what the node did as a sign of life, unless only heartbeats are."""
        if self._hears_all:
            self._beat()

    def writer(self, write: StreamWriter) -> StreamWriter:
        """Return a stream writer whose chunks are signs of life, and are dropped once the attempt is over."""

        def watched(chunk: Any) -> None:
            if self._goes_on:
                self.progress()
                write(chunk)

        return watched

    def listening(self, config: RunnableConfig) -> RunnableConfig:
        """Return a config under which each event of a LangChain callback is a sign of life."""
        if not self._hears_all or "langchain_core.callbacks" not in sys.modules:
            return config
        from .progress_callbacks import with_progress

        return with_progress(config, self.progress)

    def _beat(self) -> None:
        self._alive = time.monotonic()

    # The clock

    async def within_limits(self, work: Coroutine[Any, Any, T], *, waits: Callable[[], bool]) -> T:
        """Return what `work` does; raises `NodeTimeoutError` when it takes too long, and leaves it cancelled.

        Where `waits` says so its end is waited for: a graph inside it has a record to close before the next attempt
        begins. It always is when somebody cancels the run.
        """
        import asyncio

        node = asyncio.ensure_future(work)
        watches = {asyncio.create_task(watch): kind for kind, watch in self._watches()}
        try:
            await asyncio.wait({node, *watches}, return_when=asyncio.FIRST_COMPLETED)
            if node.done():
                return node.result()
            self._goes_on = False
            late = self._too_late(next(watches[watch] for watch in watches if watch.done()))
            if waits():
                await _ended(node)
            raise late
        except asyncio.CancelledError:
            await _ended(node)
            raise
        finally:
            self._goes_on = False
            for watch in watches:
                watch.cancel()
            node.cancel()
            node.add_done_callback(_let_go)

    def _too_late(self, kind: Any) -> NodeTimeoutError:
        elapsed = time.monotonic() - self._began
        return NodeTimeoutError(self._node, elapsed, kind=kind, idle_timeout=self._idle, run_timeout=self._run)

    def _watches(self) -> list[tuple[Any, Coroutine[Any, Any, None]]]:
        watches: list[tuple[Any, Coroutine[Any, Any, None]]] = []
        if self._idle is not None:
            watches.append(("idle", self._until_idle(self._idle)))
        if self._run is not None:
            watches.append(("run", self._until(self._began + self._run)))
        return watches

    async def _until_idle(self, longest: float) -> None:
        while (due := self._alive + longest) > time.monotonic():
            await self._until(due)

    async def _until(self, due: float) -> None:
        import asyncio

        await asyncio.sleep(max(0.0, due - time.monotonic()))


def after(first: Callable[[], None], write: StreamWriter) -> StreamWriter:
    """Return a stream writer that calls `first` before each chunk."""

    def writing(chunk: Any) -> None:
        first()
        write(chunk)

    return writing


async def _ended(node: asyncio.Future[Any]) -> None:
    import asyncio

    node.cancel()
    await asyncio.wait((node,))


def _let_go(late: asyncio.Future[Any]) -> None:
    """Take what a node raised that nobody waits for any more, so that the event loop does not report it as lost."""
    if not late.cancelled():
        late.exception()


def cancelled_itself(error: BaseException | None) -> bool:
    """Tell whether an error is a cancellation that a node raised, with nobody cancelling the task it runs in."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return True
    return task is None or task.cancelling() == 0
