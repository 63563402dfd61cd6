"""Kills: nothing acknowledged is lost, nothing finished runs twice, and nothing torn is believed."""

from __future__ import annotations

from .entry import Break

_KILLS = "tests/laws/test_kill.py tests/eventlog/test_kill_rounds.py tests/eventlog/test_crash.py"
_VIEWS = "tests/projections/test_view_damage.py tests/projections/test_views.py tests/projections/test_rungs.py"

CRASHES = (
    Break(
        "what was acknowledged was committed before",
        "graph/run_writer.py",
        '        """Return when everything appended is durable; raises `ConflictError` when the thread was taken over."""\n'
        "        with self._flushing:\n            self._flush()\n",
        '        """Return when everything appended is durable; raises `ConflictError` when the thread was taken over."""\n'
        "        self.flush_behind() if self._steps > 1 else None\n",
        f"{_KILLS} tests/graph/test_run_writer.py",
    ),
    Break(
        "an append is acknowledged when it is there",
        "eventlog/engines/lmdb.py",
        "        transaction.put(rows.LOG_HEAD, rows.pack_log_head(batch.log_head, transaction.id()))\n",
        "        pass\n",
        _KILLS,
    ),
    Break(
        "finished tasks of a step that was killed do not run again",
        "graph/step_record.py",
        "self._journal.thread.open.get(state.id) if restore and self._journal is not None else None\n",
        "None\n",
        "tests/laws/test_kill.py tests/graph/test_law_pending.py tests/laws/test_threads.py",
    ),
    Break(
        "a run claims its thread, durably, before its first node",
        "graph/begin.py",
        "        return\n    loop.journal.writer.drain()\n    loop.journal.writer.run_behind()\n",
        "        return\n    loop.journal.writer.run_behind()\n",
        "tests/laws/test_kill.py tests/graph/test_law_runs.py tests/graph/test_run_writer.py tests/laws/test_writers.py",
    ),
    Break(
        "a row of views that was torn is not taken for one",
        "eventlog/derived.py",
        "    if len(stored) < CHECK_BYTES or _checksum(table, key, value) != stored[-CHECK_BYTES:]:\n",
        "    if len(stored) < CHECK_BYTES:\n",
        _VIEWS,
    ),
    Break(
        "rows of views that are gone are missed",
        "eventlog/derived.py",
        "        if found[table] != expected[table]\n",
        "        if found[table].rows > expected[table].rows\n",
        _VIEWS,
    ),
    Break(
        "views of another log, or of an earlier one in its place, are not believed",
        "projections/views.py",
        "    return bool(found) and found[0].hash == stamp.hash\n",
        "    return bool(found)\n",
        "tests/laws/test_views.py",
    ),
)
