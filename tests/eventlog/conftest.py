"""What the tests of the event log share: a log on either engine, and short ways to append to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lithograph.eventlog import Appended, EventLog, ManualClock, StreamName, StreamWrite
from lithograph.eventlog.events import Recorded

Put = Callable[..., Appended]


def put_into(log: EventLog) -> Put:
    """Return a function that appends `Recorded` events to a thread's stream of `log`."""

    def put(name: str | bytes, expected: int, *data: bytes, append_id: bytes | None = None) -> Appended:
        events = [log.stamp(Recorded("test", item)) for item in data]
        return log.append([StreamWrite(StreamName("thread", name), expected, events)], append_id=append_id)

    return put


@pytest.fixture(params=["memory", "lmdb"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EventLog]:
    """A new log on each engine, with a clock that counts."""
    clock = ManualClock()
    made = EventLog.in_memory(clock=clock) if request.param == "memory" else EventLog(tmp_path / "log", clock=clock)
    with made:
        yield made


@pytest.fixture
def put(log: EventLog) -> Put:
    """Append to the log under test."""
    return put_into(log)
