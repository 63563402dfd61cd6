"""Following: catch up, then live, each record once and in order, also across processes."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from lithograph.eventlog import EventLog

from .conftest import Put

APPENDER = """
import sys
from lithograph.eventlog import EventLog
with EventLog(sys.argv[1]) as log:
    for turn in range(int(sys.argv[2])):
        log.record("process", turn)
"""


def test_follow_catches_up_and_goes_on(log: EventLog, put: Put) -> None:
    """A follower gets what was there and what comes while it follows, and ends when nothing comes."""
    put("a", 0, *[b"x"] * 5)

    def more() -> None:
        for turn in range(50):
            put("b", turn, b"y")

    follower = log.follow(2, timeout=1.0)
    positions = [next(follower).position]
    thread = threading.Thread(target=more)
    thread.start()
    positions += [record.position for record in follower]
    thread.join()
    assert positions == list(range(3, 56))


def test_follow_ends_after_its_timeout(log: EventLog) -> None:
    """On a quiet log a follower ends when its timeout has passed."""
    assert list(log.follow(timeout=0.05)) == []


def test_follow_sees_other_processes(tmp_path: Path) -> None:
    """What another process appends is followed, gapless."""
    command = [sys.executable, "-c", APPENDER, str(tmp_path / "log"), "40"]
    with EventLog(tmp_path / "log") as log, subprocess.Popen(command) as process:
        follower = log.follow(timeout=20)
        positions = [next(follower).position for _ in range(40)]
        assert process.wait() == 0
    assert positions == list(range(1, 41))
