"""Appenders side by side: interrupts at any line, unknown outcomes, one gapless chain, loops that go on turning."""

from __future__ import annotations

from .entry import Break

_GROUP, _LEADER = "tests/eventlog/test_group.py", "tests/eventlog/test_leader.py"
_SHARING = "tests/eventlog/test_sharing.py"

GROUP_COMMIT = (
    Break(
        "followers of a leader that dies before its commit go back to the queue",
        "eventlog/group.py",
        "                self._queue.appendleft(ticket)\n",
        "                pass\n",
        f"{_GROUP} {_LEADER}",
    ),
    Break(
        "followers of a leader that dies before its commit are as if nobody had taken them",
        "eventlog/group.py",
        "                ticket.taken = False\n",
        "",
        f"{_GROUP} {_LEADER}",
    ),
    Break(
        "followers of a leader that dies in its commit learn that the outcome is unknown",
        "eventlog/group.py",
        "        begun = bool(batch) and batch[-1].taken\n",
        "        begun = False\n",
        f"{_GROUP} {_LEADER}",
    ),
    Break(
        "a leader's death leaves nobody waiting",
        "eventlog/group.py",
        "        except BaseException:\n            self._abandon(own, batch)\n            raise\n",
        "        except Exception:\n            self._abandon(own, batch)\n            raise\n",
        f"{_GROUP} {_LEADER}",
    ),
    Break(
        "the lock to lead is given back whatever strikes",
        "eventlog/group.py",
        "            with self._lead:\n                outcome = self._run(append)\n            self._wake()\n",
        "            self._lead.acquire()\n            outcome = self._run(append)\n            self._lead.release()\n"
        "            self._wake()\n",
        f"{_GROUP} {_LEADER}",
    ),
    Break(
        "an append is in the queue or in a batch, never in both",
        "eventlog/group.py",
        "            batch.append(self._queue.popleft())\n",
        "            batch.append(self._queue[0])\n            self._queue.popleft()\n",
        _LEADER,
    ),
    Break(
        "whoever leaves takes its append back when no leader has it",
        "eventlog/group.py",
        "        except BaseException:\n            self._withdraw(ticket)\n            raise\n        finally:",
        "        finally:",
        f"{_GROUP} {_LEADER}",
    ),
    Break(
        "an unknown outcome is tried again",
        "eventlog/writing.py",
        "                if attempt == _TRIES - 1:\n",
        "                if attempt == 0:\n",
        f"{_GROUP} {_LEADER}",
    ),
    Break(
        "what is tried again is written once",
        "eventlog/writing.py",
        "                append = append._replace(since=since)\n",
        "                append = append._replace(id=self._clock.random(16))\n",
        f"{_GROUP} {_LEADER}",
    ),
    Break(
        "one guilty append of a batch fails alone",
        "eventlog/group.py",
        "            outcomes = [error] if len(batch) == 1 else [self._alone(ticket.append) for ticket in batch]\n",
        "            outcomes = [error for _ in batch]\n",
        _GROUP,
    ),
    Break(
        "an append that is too large is refused before it queues",
        "eventlog/group.py",
        "        check_limits(append, self._engine.limits)\n",
        "",
        f"{_GROUP} tests/eventlog/test_engines.py",
    ),
    Break(
        "a lone appender pays no hand-off",
        "eventlog/group.py",
        "        if not self._lead.locked():\n            # `with`",
        "        if self._queue and not self._lead.locked():\n            # `with`",
        _GROUP,
    ),
    Break(
        "followers share a commit",
        "eventlog/group.py",
        "        while self._queue and len(batch) < MAX_BATCH:\n",
        "        while self._queue and len(batch) < 1:\n",
        _GROUP,
    ),
    Break(
        "threads, loops and processes make one chain: what is remembered of the end is checked",
        "eventlog/engines/lmdb.py",
        "        if known.transaction + 1 == transaction.id():\n",
        "        if known.transaction > 0:\n",
        f"{_SHARING} tests/eventlog/test_engines.py tests/eventlog/test_crash.py",
    ),
    Break(
        "a loop goes on turning while another process writes",
        "projections/checkpointer.py",
        "        return await beside(self.get_tuple, config)\n",
        "        return self.get_tuple(config)\n",
        "tests/projections/test_checkpointer_async.py",
    ),
)
