"""Caches: a value is found under its key until its time is up, it is cleared, or another one comes."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import UnsupportedTypeError
from lithograph.eventlog.serde import JsonPlusSerializer
from lithograph.graph import (
    BaseCache,
    EventLogCache,
)

from tests.graph.caches import StillClock

KEY = (("desk", "rate"), "4711")
OTHER = (("desk", "notes"), "4711")


def test_values_come_back_equal_and_of_their_types(cache: BaseCache[Any]) -> None:
    """What is found is what was kept, and nobody's to change; what was never kept is left out."""
    value = {"writes": [("n", (1, {2})), ("m", None)], "raw": b"\x00"}
    cache.set({KEY: (value, None), OTHER: (None, None)})
    found = cache.get([KEY, OTHER, (KEY[0], "4712"), (("none",), "4711")])
    assert found == {KEY: value, OTHER: None}
    found[KEY]["writes"].clear()
    assert cache.get([KEY]) == {KEY: value}
    assert cache.get([]) == {}


def test_the_last_value_counts(cache: BaseCache[Any]) -> None:
    """A key holds one value, with the time of its own."""
    cache.set({KEY: ("old", 10)})
    cache.set({KEY: ("new", None)})
    assert cache.get([KEY]) == {KEY: "new"}


def test_a_value_ends_when_its_time_is_up(cache: BaseCache[Any], still_clock: StillClock) -> None:
    """By the clock that the cache was given, to the second, for each value by itself."""
    cache.set({KEY: (1, 10), OTHER: (2, None)})
    still_clock.pass_seconds(9.9)
    assert cache.get([KEY, OTHER]) == {KEY: 1, OTHER: 2}
    still_clock.pass_seconds(0.1)
    assert cache.get([KEY, OTHER]) == {OTHER: 2}
    cache.set({KEY: (3, 10)})
    assert cache.get([KEY]) == {KEY: 3}


def test_namespaces_are_cleared_one_by_one_or_all(cache: BaseCache[Any]) -> None:
    """What is put in after a clearing stays."""
    cache.set({KEY: (1, None), OTHER: (2, None)})
    cache.clear([KEY[0], ("none",)])
    assert cache.get([KEY, OTHER]) == {OTHER: 2}
    cache.set({KEY: (3, None)})
    cache.clear([])
    assert cache.get([KEY, OTHER]) == {KEY: 3, OTHER: 2}
    cache.clear()
    assert cache.get([KEY, OTHER]) == {}
    cache.set({KEY: (4, None)})
    assert cache.get([KEY]) == {KEY: 4}


def test_the_async_twins_do_the_same(cache: BaseCache[Any]) -> None:
    """`aget`, `aset` and `aclear` are the same on an event loop."""

    async def use() -> None:
        await cache.aset({KEY: (1, None), OTHER: (2, None)})
        assert await cache.aget([KEY]) == {KEY: 1}
        await cache.aclear([KEY[0]])
        assert await cache.aget([KEY, OTHER]) == {OTHER: 2}
        await cache.aclear()
        assert await cache.aget([OTHER]) == {}

    asyncio.run(use())


def test_several_threads_may_use_it(cache: BaseCache[Any]) -> None:
    """Whoever put a value in finds it, whatever the others do."""

    def use(number: int) -> None:
        for turn in range(5):
            full = (("desk", str(number % 2)), f"{number}-{turn}")
            cache.set({full: (turn, None)})
            found.append(cache.get([full]) == {full: turn})

    found: list[bool] = []
    threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 20


def test_a_value_that_cannot_be_kept_is_refused(cache: BaseCache[Any]) -> None:
    """None of the call's values is kept then, unless the serde that the cache was given takes them."""
    with pytest.raises(UnsupportedTypeError):
        cache.set({KEY: (1, None), OTHER: (object(), None)})
    assert cache.get([KEY, OTHER]) == {}
    cache.serde = JsonPlusSerializer(pickle_fallback=True)
    cache.set({KEY: ({"error": OSError}, None)})
    assert cache.get([KEY]) == {KEY: {"error": OSError}}


def test_a_log_keeps_it_for_other_processes(tmp_path: Path) -> None:
    """Values are there when the log is opened again, large ones too; two that are open see each other's."""
    large = "a large value; " * 10_000
    with EventLog(tmp_path / "log") as log:
        cache: EventLogCache[Any] = EventLogCache(log)
        assert cache.log is log
        cache.set({KEY: (large, None), OTHER: ("gone", None)})
        another: EventLogCache[Any] = EventLogCache(log)
        assert another.get([KEY]) == {KEY: large}
        another.clear([OTHER[0]])
        assert cache.get([OTHER]) == {}
    with EventLog(tmp_path / "log") as log:
        again: EventLogCache[Any] = EventLogCache(log)
        assert again.get([KEY, OTHER]) == {KEY: large}
        assert log.verify().findings == []
