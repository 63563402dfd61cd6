"""Drives a loop with threads: one task runs on the caller's thread, several side by side in a pool.

The loop itself does no I/O and knows no threads; another driver may run it on an event loop.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from ..projections.fold import Cells
from .loop import Loop
from .tasks import Task, execute

_MOST_WORKERS = 32


def drive(loop: Loop, *, max_concurrency: int | None) -> Iterator[None]:
    """Run supersteps until the loop is done, paused or failed; yields whenever there may be something to show.

    What tasks raise is on the loop (`failure`), not raised here; a `KeyboardInterrupt` goes through.
    """
    while loop.tick():
        yield
        todo = [task for task in loop.tasks if not task.done]
        if len(todo) == 1:
            _run(loop, todo[0], loop.visible_cells())
            loop.on_task_done(todo[0])
            yield
        elif todo:
            for _ in _side_by_side(loop, todo, max_concurrency):
                yield
        if not loop.close():
            return


def _run(loop: Loop, task: Task, cells: Cells) -> None:
    assert loop.state is not None
    with loop.run.acting():
        execute(task, cells, loop.spec.channels, loop.state.id, values=loop.values, strict=loop.strict)


def _side_by_side(loop: Loop, tasks: list[Task], max_concurrency: int | None) -> Iterator[None]:
    """Run tasks in a pool. After a failure nothing is started that waits for a worker; the others are kept."""
    cells = loop.visible_cells()
    workers = min(max_concurrency or _MOST_WORKERS, len(tasks))
    with ThreadPoolExecutor(workers, thread_name_prefix="lithograph") as pool:
        futures: dict[Future[None], Task] = {
            pool.submit(contextvars.copy_context().run, _run, loop, task, cells): task for task in tasks
        }
        try:
            yield from _as_they_finish(loop, futures, workers)
        finally:
            _cancel(futures)


def _as_they_finish(loop: Loop, futures: dict[Future[None], Task], workers: int) -> Iterator[None]:
    waiting = set(futures)
    # Each of the first has a worker of its own: it counts as started even when a sibling fails at once.
    queued = list(futures)[workers:]
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in (future for future in futures if future in done and not future.cancelled()):
            future.result()
            loop.on_task_done(futures[future])
            if futures[future].error is not None:
                _cancel(queued)
        yield


def _cancel(futures: Iterable[Future[None]]) -> None:
    for future in futures:
        future.cancel()
