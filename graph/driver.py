"""Drives a loop with threads: one task runs on the caller's thread, several side by side in a pool.

The loop itself does no I/O and knows no threads; `async_driver` runs it on an event loop.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, ThreadPoolExecutor, wait
from contextlib import suppress

from .loop import Loop
from .stream import Stream
from .tasks import StepScope, Task, execute
from .thread_calls import ThreadCalls

_MOST_WORKERS = 32


def drive(loop: Loop, *, max_concurrency: int | None) -> Iterator[None]:
    """Run supersteps until the loop is done, paused or failed; yields whenever there may be something to show.

    What tasks raise is on the loop (`failure`), not raised here; a `KeyboardInterrupt` goes through.
    """
    calls = loop.run.calls = ThreadCalls(loop, max_concurrency)
    try:
        yield from _supersteps(loop, calls, max_concurrency)
    finally:
        # Of a run that ends early, too: nobody works for it behind its end.
        calls.wait()


def _supersteps(loop: Loop, calls: ThreadCalls, max_concurrency: int | None) -> Iterator[None]:
    going, caching = loop.tick(), loop.run.caching
    while going:
        if caching is not None:
            caching.recall(loop)
        yield
        todo = [task for task in loop.tasks if not task.done]
        if len(todo) == 1 and not loop.stream.is_live:
            _run(loop, todo[0], loop.step_scope())
            calls.wait()
            # Shown when the step is closed: who stops reading behind it finds the step done.
            loop.on_task_done(todo[0])
        elif todo:
            yield from _side_by_side(loop, todo, max_concurrency)
            calls.wait()
        going, refusal = next_step(loop)
        calls.clear()
        if caching is not None:
            caching.keep(todo)
        if refusal is not None:
            yield
            raise refusal


def next_step(loop: Loop) -> tuple[bool, Exception | None]:
    """Close the step and plan the next one: whether there is one, and what refused it.

    A step in which a task started behind the others is not over yet.

    When it was refused there is to be shown what the tasks did, and nothing of the close; then it is to be raised.
    """
    if loop.take_started():
        return True, None
    try:
        with loop.stream.all_or_none():
            return loop.close() and loop.tick(), None
    except Exception as error:  # noqa: BLE001 - whoever drives raises it
        return False, error


def _run(loop: Loop, task: Task, step: StepScope) -> None:
    try:
        with loop.run.acting():
            execute(task, step)
    finally:
        task.end()


def _side_by_side(loop: Loop, tasks: list[Task], max_concurrency: int | None) -> Iterator[None]:
    """Run tasks in a pool. After a failure nothing is started that waits for a worker; the others are kept."""
    step = loop.step_scope()
    workers = min(max_concurrency or _MOST_WORKERS, len(tasks))
    news = _News(loop.stream)  # before anybody can send any
    with ThreadPoolExecutor(workers, thread_name_prefix="lithograph") as pool:
        futures: dict[Future[None], Task] = {}
        waiting: set[Future[None]] = set()

        def start(tasks: Iterable[Task]) -> None:
            for task in tasks:
                future = pool.submit(contextvars.copy_context().run, _run, loop, task, step)
                futures[future] = task
                waiting.add(future)

        start(tasks)
        try:
            yield from _as_they_finish(loop, futures, waiting, workers, news, start)
        except GeneratorExit:
            if loop.commits:
                _cancel(list(futures)[workers:])
                _keep_rest(loop, futures, waiting)
            raise
        finally:
            news.close()
            _cancel(futures)


def _keep_rest(loop: Loop, futures: dict[Future[None], Task], waiting: set[Future[None]]) -> None:
    """Nobody reads on: tasks that started are waited for, and what they did is kept for whoever goes on."""
    wait(waiting)
    for future, task in futures.items():
        if future in waiting and not future.cancelled() and future.exception() is None:
            loop.on_task_done(task)


def _as_they_finish(
    loop: Loop,
    futures: dict[Future[None], Task],
    waiting: set[Future[None]],
    workers: int,
    news: _News,
    start: Callable[[Iterable[Task]], None],
) -> Iterator[None]:
    # Each of the first has a worker of its own: it counts as started even when a sibling fails at once.
    queued = list(futures)[workers:]
    while waiting:
        done = news.or_done(waiting)
        waiting -= done
        for future in [future for future in futures if future in done and not future.cancelled()]:
            future.result()
            loop.on_task_done(futures[future])
            if futures[future].error is not None:
                _cancel(queued)
        start(loop.take_started())
        if waiting or len(futures) > 1:
            # What a single task did is shown when the step is closed, as if it had run here.
            yield


def _cancel(futures: Iterable[Future[None]]) -> None:
    for future in futures:
        future.cancel()


class _News:
    """Wakes who waits for tasks when one of them sends a chunk."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._came: Future[None] = Future()
        if stream.is_live:
            stream.wake_with(self._tell)

    def or_done(self, tasks: set[Future[None]]) -> set[Future[None]]:
        """Return the tasks that are done, when there are some, or when a chunk came."""
        done, _rest = wait({*tasks, self._came}, return_when=FIRST_COMPLETED)
        if self._came.done():
            # Before what came is shown: a chunk behind that wakes again.
            self._came = Future()
        return done & tasks

    def close(self) -> None:
        """Wait for no more chunks."""
        self._stream.wake_with(None)

    def _tell(self) -> None:
        with suppress(InvalidStateError):  # several at once: one of them is enough
            self._came.set_result(None)
