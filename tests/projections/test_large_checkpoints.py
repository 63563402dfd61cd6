"""Checkpoints and writes of a foreign runtime that are larger than a record, all together or each."""

from __future__ import annotations

from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.projections import EventLogSaver


@pytest.mark.parametrize(("count", "size"), [(30, 60_000), (10, 200_000), (1, 2_000_000)])
def test_a_large_checkpoint_is_put_and_got(count: int, size: int) -> None:
    """Its channels, and what its tasks wrote, come back exactly, also where they are megabytes together."""
    log = EventLog.in_memory()
    saver = EventLogSaver(log)
    held = {f"channel {number}": [str(number % 10) * size] for number in range(count)}
    versions: dict[str, Any] = dict.fromkeys(held, 1)
    checkpoint: Any = {
        "v": 4,
        "id": "1f0a0000-0000-6000-8000-000000000001",
        "ts": "",
        "channel_values": held,
        "channel_versions": versions,
        "versions_seen": {},
        "updated_channels": None,
    }
    config: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    placed = saver.put(config, checkpoint, {"source": "input", "step": -1, "parents": {}}, versions)
    saver.put_writes(placed, list(held.items()), "1f0a0000-0000-6000-8000-000000000002")
    found = EventLogSaver(EventLog.over(log.engine)).get_tuple(placed)
    assert found is not None
    assert found.checkpoint["channel_values"] == held
    assert [(channel, value) for _task, channel, value in found.pending_writes or ()] == list(held.items())
