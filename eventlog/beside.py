"""Blocking work beside an event loop: on threads of our own, so that sync nodes which wait cannot starve it.

What is begun is done to its end: a task that is cancelled meanwhile is told so when the work is over, never while it
goes on. So whoever cleans up finds nobody at work.
"""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_P = ParamSpec("_P")
_R = TypeVar("_R")
_MOST_THREADS = 32
_pool: ThreadPoolExecutor | None = None


async def beside(work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Return `work(…)` as done on a worker thread, with the caller's context variables."""
    import asyncio  # only who awaits pays for it

    context = contextvars.copy_context()
    running = asyncio.get_running_loop().run_in_executor(_workers(), lambda: context.run(work, *args, **kwargs))
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait((running,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return running.result()


def _workers() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        from concurrent.futures import ThreadPoolExecutor

        _pool = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="lithograph-beside")
    return _pool


def _forget_workers() -> None:
    """Begin anew in the child of a fork: the parent's threads are not here."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)
