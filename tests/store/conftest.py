"""A log on each engine, for the tests of the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.clock import ManualClock
from lithograph.store import EventLogStore


@pytest.fixture(params=["memory", "lmdb"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EventLog]:
    """An empty log whose clock moves a second at each look."""
    clock = ManualClock(step_us=1_000_000)
    if request.param == "memory":
        opened = EventLog.in_memory(clock=clock)
    else:
        opened = EventLog(tmp_path / "items.lithograph", clock=clock)
    with opened:
        yield opened


@pytest.fixture
def store(log: EventLog) -> EventLogStore:
    """A store on that log."""
    return EventLogStore(log)
