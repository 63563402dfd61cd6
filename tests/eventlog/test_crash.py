"""Processes that share a log, and processes that are killed: nothing acknowledged is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lithograph.eventlog import EventLog, StreamName

SHARED = """
import sys
from lithograph.eventlog import ANY, EventLog, StreamName, StreamWrite
from lithograph.eventlog.events import Recorded
path, who, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
with EventLog(path) as log:
    for turn in range(turns):
        event = log.stamp(Recorded(who, turn))
        log.append([
            StreamWrite(StreamName("thread", "shared"), ANY, [event]),
            StreamWrite(StreamName("thread", who), turn, [event]),
        ])
"""

ACKNOWLEDGED = """
import sys, threading
from lithograph.eventlog import EventLog, StreamName, StreamWrite
from lithograph.eventlog.events import Recorded
log = EventLog(sys.argv[1])
def work(who):
    name = StreamName("thread", who)
    version = log.head(log.stream_id(name)).version
    while True:
        log.append([StreamWrite(name, version, [log.stamp(Recorded(who, version))] * 3)])
        version += 3
        sys.stdout.write(f"{who} {version}\\n")
        sys.stdout.flush()
for at in range(4):
    threading.Thread(target=work, args=(f"w{at}",)).start()
"""


def test_processes_share_a_log(tmp_path: Path) -> None:
    """Processes appending to one log, to a shared stream and their own, make one dense chain."""
    path = tmp_path / "log"
    turns = 40
    commands = [[sys.executable, "-c", SHARED, str(path), f"p{at}", str(turns)] for at in range(3)]
    processes = [subprocess.Popen(command) for command in commands]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    with EventLog(path) as log:
        assert [record.position for record in log.read(0, 1000)] == list(range(1, 3 * 2 * turns + 1))
        shared = log.read_stream(log.stream_id(StreamName("thread", "shared")))
        assert len(shared) == 3 * turns
        for at in range(3):
            own = [record.event.data for record in shared if record.event.topic == f"p{at}"]  # type: ignore[attr-defined]
            assert own == list(range(turns))
        assert log.verify().findings == []


def _kill_and_reopen(path: Path, acknowledgements: int) -> None:
    process = subprocess.Popen([sys.executable, "-c", ACKNOWLEDGED, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    acknowledged: dict[str, int] = {}
    for _, line in zip(range(acknowledgements), process.stdout, strict=False):
        who, version = line.split()
        acknowledged[who] = int(version)
    process.send_signal(signal.SIGKILL)
    for line in process.stdout:
        if line.endswith("\n"):
            who, version = line.split()
            acknowledged[who] = int(version)
    process.wait(10)
    assert acknowledged
    with EventLog(path) as log:
        for who, version in acknowledged.items():
            records = log.read_stream(log.stream_id(StreamName("thread", who)), 0, version + 1000)
            assert len(records) >= version
            assert len(records) % 3 == 0
        assert log.verify().findings == []


@pytest.mark.crash
def test_killed_appender_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """After SIGKILL all that was acknowledged is there, appends are whole, the next process goes on."""
    for turn in range(3):
        _kill_and_reopen(tmp_path / "log", 40 + 37 * turn)


@pytest.mark.crash
@pytest.mark.nightly
def test_appender_killed_many_times_loses_nothing(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """The same, forty times on one log."""
    for turn in range(40):
        _kill_and_reopen(tmp_path / "log", 1 + 17 * turn % 400)
    record_property("kills", 40)
