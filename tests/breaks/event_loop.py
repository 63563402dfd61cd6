"""Runs on an event loop: nothing blocks it, nobody is left behind, and what finished is kept."""

from __future__ import annotations

from .entry import Break

_ASYNC = "tests/graph/test_async.py"
_DRIVER, _RUN, _BESIDE = "graph/async_driver.py", "graph/driven.py", "eventlog/beside.py"

EVENT_LOOP = (
    Break(
        "the event loop goes on while the machine records",
        _DRIVER,
        "    return work() if loop.journal is None else await beside(work)\n",
        "    return work()\n",
        _ASYNC,
    ),
    Break(
        "the event loop goes on while a thread is opened and claimed",
        _RUN,
        "        loop = await beside(self._prepare, given)\n",
        "        loop = self._prepare(given)\n        import time\n\n        time.sleep(0.06)\n",
        _ASYNC,
    ),
    Break(
        "a cancellation waits for what is being recorded",
        _BESIDE,
        "        except asyncio.CancelledError as error:\n            cancelled = error\n",
        "        except asyncio.CancelledError:\n            raise\n",
        _ASYNC,
    ),
    Break(
        "work beside the loop has the caller's context",
        _BESIDE,
        "lambda: context.run(work, *args, **kwargs)",
        "lambda: work(*args, **kwargs)",
        _ASYNC,
    ),
    Break(
        "nodes that wait do not starve the machine",
        _BESIDE,
        "run_in_executor(_workers(), ",
        "run_in_executor(None, ",
        _ASYNC,
    ),
    Break(
        "a failure cancels its siblings",
        _DRIVER,
        "            if any(running[future].error is not None for future in done):\n                return\n",
        "",
        _ASYNC,
    ),
    Break(
        "who is cancelled has ended when the step is left",
        _DRIVER,
        "    if running:\n        await asyncio.wait(running)\n",
        "",
        _ASYNC,
    ),
    Break(
        "tasks are cancelled when the iterator is closed early",
        _DRIVER,
        "        await _cancelled(waiting)\n",
        "        pass\n",
        _ASYNC,
    ),
    Break(
        "no more tasks run at once than are allowed",
        _DRIVER,
        "    limit = asyncio.Semaphore(max_concurrency) if max_concurrency else None\n",
        "    limit = None\n",
        _ASYNC,
    ),
    Break(
        "custom chunks come while their node runs",
        "graph/outlet.py",
        "            if (wake := self.on_chunk) is not None:\n                wake()\n",
        "",
        _ASYNC,
    ),
    Break(
        "a run that is cancelled is ended in the log",
        _RUN,
        "        finally:\n            await beside(self._end, loop, outcome)\n",
        "        else:\n            await beside(self._end, loop, outcome)\n",
        _ASYNC,
    ),
    Break(
        "what a step's finished tasks did is recorded when they finish",
        _DRIVER,
        "            await machine(loop, partial(loop.on_task_done, task))\n",
        "            pass\n",
        _ASYNC,
    ),
    Break(
        "a run that lost its thread may go on in a fork, on a loop too",
        "graph/run.py",
        "            given = await beside(self._on_a_branch, conflict, given)\n",
        "            raise\n",
        _ASYNC,
    ),
    Break(
        "a signal or a cancellation is no failure of the task's",
        "graph/tasks.py",
        "        if isinstance(error, Exception):\n            note(error, task)\n",
        "        if isinstance(error, BaseException):\n            note(error, task)\n",
        "tests/graph/test_law_runs.py",
    ),
)
