"""Policies of nodes and runs: late nodes leave nothing, caches serve only what is the same, a drain loses nothing."""

from __future__ import annotations

from .entry import Break

_TIMEOUT, _DRAIN = "tests/graph/test_timeout.py", "tests/graph/test_drain.py"
_CACHE, _CACHES = "tests/graph/test_caching.py", "tests/graph/test_cache.py"
_RUNTIME = "tests/graph/test_runtime.py"
_TIMED, _TASKS, _LOOP, _CACHING = "graph/timed.py", "graph/tasks.py", "graph/loop.py", "graph/caching.py"

POLICIES = (
    Break(
        "what a late node sends is dropped",
        _TIMED,
        "            if self._goes_on:\n                self.progress()\n                write(chunk)\n",
        "            self.progress()\n            write(chunk)\n",
        _TIMEOUT,
    ),
    Break(
        "chunks are no signs of life where only heartbeats are",
        _TIMED,
        '        self._hears_all = self._idle is not None and limits.refresh_on == "auto"\n',
        "        self._hears_all = self._idle is not None\n",
        _TIMEOUT,
    ),
    Break(
        "a late graph has closed its record before the next attempt",
        _TIMED,
        "            if waits():\n                await _ended(node)\n",
        "",
        _TIMEOUT,
    ),
    Break(
        "a cancelled run leaves no node with a limit behind",
        _TIMED,
        "        except asyncio.CancelledError:\n            await _ended(node)\n            raise\n",
        "",
        _TIMEOUT,
    ),
    Break(
        "a node that cancels itself has failed",
        _TIMED,
        "    return task is None or task.cancelling() == 0\n",
        "    return False\n",
        _TIMEOUT,
    ),
    Break(
        "what a graph inside a node does is a sign of the node's life",
        _TASKS,
        "        if self._attempt is not None:\n            self._attempt.progress()\n        self.task.run.progress()\n",
        "        self.task.run.progress()\n",
        _TIMEOUT,
    ),
    Break(
        "a packet's limit counts instead of the node's",
        _TASKS,
        "        if packet.timeout is not None:\n            return packet.timeout\n",
        "",
        _TIMEOUT,
    ),
    Break(
        "plain functions have no limit that cannot be kept",
        "graph/assembly.py",
        "    if timeout is not None and not has_native_async(note.callee.fn):\n        raise SyncTimeout(name)\n",
        "",
        _TIMEOUT,
    ),
    Break(
        "a packet's limits are in the log",
        "projections/types.py",
        "    if limit is None:\n        return [send.node, send.arg]\n",
        "    if limit is None or limit:\n        return [send.node, send.arg]\n",
        _TIMEOUT,
    ),
    Break(
        "the first attempt keeps its time",
        _TASKS,
        "        if task.began is None:\n            task.began",
        "        if True:\n            task.began",
        _RUNTIME,
    ),
    Break(
        "questions and breakpoints come before a drain",
        _LOOP,
        "        if self._stops_at(self.interrupt_before):\n",
        "        if not (self.run.control and self.run.control.drain_requested) and self._stops_at("
        "self.interrupt_before):\n",
        _DRAIN,
    ),
    Break(
        "tasks beside a graph that is drained are finished",
        _TASKS,
        "            task.drained = error\n            return True\n",
        "            return False\n",
        _DRAIN,
    ),
    Break(
        "a graph in a node shares its caller's control",
        "graph/config.py",
        "    return RunControl() if around is None else around\n",
        "    return RunControl()\n",
        _DRAIN,
    ),
    Break(
        "a hit says that it is one",
        _LOOP,
        "restored=task.cached)",
        "restored=False)",
        _CACHE,
    ),
    Break(
        "what failed or asked is not kept",
        _CACHING,
        "task.cache_key is not None and task.writes is not None and not task.cached:",
        "task.cache_key is not None and not task.cached:",
        _CACHE,
    ),
    Break(
        "an answer is never passed over for what a cache holds",
        _CACHING,
        "                if not task.has_asked and not loop.run.ground.has_answer:\n",
        "                if not loop.run.ground.has_answer:\n",
        _CACHE,
    ),
    Break(
        "an answer to the past is never passed over for what a cache holds",
        _CACHING,
        "                if not task.has_asked and not loop.run.ground.has_answer:\n",
        "                if not task.has_asked:\n",
        _CACHE,
    ),
    Break(
        "where a node leads is part of its key",
        _CACHING,
        "blake3(_ways_on(task.node) + data)",
        "blake3(data)",
        _CACHE,
    ),
    Break(
        "what a cache holds of another kind is a miss",
        _CACHING,
        "                case _:\n                    return None\n",
        "                case _:\n                    continue\n",
        _CACHE,
    ),
    Break(
        "packets that differ in the order of keys are the same",
        "graph/cache.py",
        "        keys = sorted(given) if all(type(key) is str for key in given) else list(given)\n",
        "        keys = list(given)\n",
        _CACHE,
    ),
    Break(
        "what was put in before all was cleared is not good",
        "graph/event_cache.py",
        "kept is not None and kept.position > cleared and",
        "kept is not None and",
        _CACHES,
    ),
    Break(
        "a value in a log ends when its time is up",
        "graph/event_cache.py",
        "(kept.ends_us is None or now_us < kept.ends_us)",
        "kept",
        _CACHES,
    ),
    Break(
        "a Runnable gets the task's config",
        "graph/injection.py",
        "        return fn.invoke(value, scope.config)\n",
        "        return fn.invoke(value)\n",
        "tests/graph/test_injection.py",
    ),
)
