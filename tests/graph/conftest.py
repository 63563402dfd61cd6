"""Caches of each kind, over a clock that stands, for the tests of this room."""

from __future__ import annotations

from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import BaseCache, EventLogCache, InMemoryCache

from tests.graph.caches import Make, StillClock


@pytest.fixture(params=["memory", "log"])
def make_cache(request: pytest.FixtureRequest) -> Make:
    """Return what makes a cache of each kind over a clock."""
    if request.param == "memory":
        return lambda clock: InMemoryCache(clock=clock)
    return lambda clock: EventLogCache(EventLog.in_memory(clock=clock))


@pytest.fixture
def still_clock() -> StillClock:
    """Return a clock that stands."""
    return StillClock()


@pytest.fixture
def cache(make_cache: Make, still_clock: StillClock) -> BaseCache[Any]:
    """Return a cache of each kind."""
    return make_cache(still_clock)
