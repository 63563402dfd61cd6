"""A process killed again and again, at named points and at random instants: the log is a prefix of what was appended.

Each round forks a child that appends to the one log of the test, and says on a pipe what it is about to append and what
was acknowledged. It kills itself at a point of the storage code, or is killed at an instant that is nobody's choice.
Then the log is held to what the child had said.
"""

from __future__ import annotations

import functools
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from lithograph.eventlog import EventLog, StreamName, StreamWrite, environments
from lithograph.eventlog.engines.keys import KeyTable
from lithograph.eventlog.engines.lmdb import LmdbEngine
from lithograph.eventlog.environments import Environment
from lithograph.eventlog.events import Recorded
from lithograph.eventlog.group import GroupCommit, _Ticket

pytestmark = pytest.mark.crash
WRITERS = 3
SEED = int(os.environ.get("LITHOGRAPH_SEED", "2024"))
MAP_BYTES = 1 << 20
"""So small that the file has to grow within a round or two."""


def _die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def _before(owner: Any, name: str) -> Callable[[int], None]:
    """A point before a call of `owner.name`."""

    def arm(turns: int) -> None:
        really, left = getattr(owner, name), [turns]

        def call(*arguments: Any, **options: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                _die()
            return really(*arguments, **options)

        setattr(owner, name, call)

    return arm


def _after(owner: Any, name: str) -> Callable[[int], None]:
    """A point after a call of `owner.name`, before anybody is told."""

    def arm(turns: int) -> None:
        really, left = getattr(owner, name), [turns]

        def call(*arguments: Any, **options: Any) -> Any:
            answer = really(*arguments, **options)
            left[0] -= 1
            if left[0] < 0:
                _die()
            return answer

        setattr(owner, name, call)

    return arm


POINTS: dict[str, Callable[[int], None]] = {
    "before a transaction": _before(Environment, "_write_once"),
    "in a transaction, before its first row": _before(LmdbEngine, "_store"),
    "in a transaction, after its last row": _after(LmdbEngine, "_store"),
    "after a commit": _after(Environment, "_write_once"),
    "after an engine's commit": _after(LmdbEngine, "commit"),
    "in a transaction that draws keys": _after(KeyTable, "_draw"),
    "after keys were drawn": _after(KeyTable, "draw"),
    "before the file grows": _before(Environment, "_double"),
    "after the file has grown": _after(Environment, "_double"),
    "before the file is opened": _before(Environment, "_open"),
    "while tables are made": _before(Environment, "_create_tables"),
    "while the identity is made": _after(LmdbEngine, "_create"),
    "before a batch is taken": _before(GroupCommit, "_take"),
    "after a batch is committed": _after(GroupCommit, "_commit"),
    "before the next of a batch is woken": _before(_Ticket, "pass_on"),
}


def _append_for_ever(path: Path, say: int) -> None:
    log = EventLog(path)

    def work(who: int) -> None:
        name = StreamName("thread", f"w{who}")
        version = log.head(log.stream_id(name)).version
        while True:
            events = [log.stamp(Recorded("t", version + at + 1)) for at in range(1 + version % 3)]
            os.write(say, b"?%d %d\n" % (who, version + len(events)))
            log.append([StreamWrite(name, version, events), StreamWrite(StreamName("thread", "all"), -1, events[:1])])
            version += len(events)
            os.write(say, b"!%d %d\n" % (who, version))
            # New streams use scope keys up, so that more are drawn.
            log.record(f"topic {who} {version}", b"")

    threads = [threading.Thread(target=work, args=(who,)) for who in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Rounds:
    """One log, and what every child so far has said about it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.acknowledged = [0] * WRITERS
        self.begun = [0] * WRITERS
        self.read = 0
        self.rounds = 0

    def play(self, arm: Callable[[], None], seconds: float) -> None:
        """Let a child append until it dies, of itself or after so many seconds, and check what it leaves."""
        said, say = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(said)
            try:
                arm()
                _append_for_ever(self.path, say)
            finally:
                os._exit(1)
        os.close(say)
        timer = threading.Timer(seconds, os.kill, (pid, signal.SIGKILL))
        timer.start()
        with os.fdopen(said, "rb") as pipe:
            lines = pipe.read().split(b"\n")[:-1]
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        timer.cancel()
        assert code == -signal.SIGKILL, "the child died of something else"
        for line in lines:
            who, version = map(int, line[1:].split())
            told = self.acknowledged if line[:1] == b"!" else self.begun
            told[who] = max(told[who], version)
        self.rounds += 1
        self._check()

    def _check(self) -> None:
        began = time.monotonic()
        with EventLog(self.path) as log:
            assert time.monotonic() - began < 5.0, "the log was not to be opened at once"
            records = [record for page in log.scan(self.read) for record in page]
            assert [record.position for record in records] == list(range(self.read + 1, self.read + 1 + len(records)))
            self.read += len(records)
            for who in range(WRITERS):
                stream = log.stream_id(StreamName("thread", f"w{who}"))
                version = log.head(stream).version
                assert self.acknowledged[who] <= version <= self.begun[who], (who, self.acknowledged, self.begun)
                # What was neither acknowledged nor refused is there as a whole, or not at all.
                self.acknowledged[who] = self.begun[who] = version
                tail = log.read_stream(stream, max(0, version - 40))
                assert [record.event.data for record in tail] == list(range(max(1, version - 39), version + 1))  # type: ignore[attr-defined]
            if self.rounds % 25 == 0:
                assert log.verify(quick=True).findings == []

    def finish(self) -> None:
        """Look at all that the rounds have left."""
        with EventLog(self.path) as log:
            assert log.verify().findings == []
            assert log.log_head().position == self.read


@pytest.fixture
def rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rounds:
    """A log that is not there yet, whose file is small at first."""
    monkeypatch.setattr(environments, "LARGEST_MAP", MAP_BYTES)
    return Rounds(tmp_path / "log")


@pytest.mark.parametrize("times", [10, pytest.param(100, marks=pytest.mark.nightly)])
def test_killed_at_every_point(rounds: Rounds, times: int) -> None:
    """Killed at each point of the storage code, at its first call and at later ones: nothing acknowledged is lost."""
    dice = random.Random(SEED)
    for turn in range(times):
        for arm in POINTS.values():
            rounds.play(functools.partial(arm, dice.randrange(3) if turn else 0), 0.1)
    assert rounds.read > 100
    rounds.finish()


@pytest.mark.parametrize("times", [40, pytest.param(400, marks=pytest.mark.nightly)])
def test_killed_at_random_instants(rounds: Rounds, times: int) -> None:
    """Killed at any instant, while the log is made or long after: nothing acknowledged is lost."""
    dice = random.Random(SEED)
    for _ in range(times):
        rounds.play(lambda: None, dice.uniform(0.0, 0.12))
    assert rounds.read > 100
    rounds.finish()


@pytest.mark.parametrize("point", POINTS)
def test_every_point_is_met(tmp_path: Path, point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No point has lost its place in the code: each kills a child that makes a log and fills it."""
    monkeypatch.setattr(environments, "LARGEST_MAP", MAP_BYTES)
    rounds = Rounds(tmp_path / "log")
    began = time.monotonic()
    rounds.play(lambda: POINTS[point](0), 20)
    assert time.monotonic() - began < 19, "it was never met"
    rounds.finish()
