"""A thread's snapshots without its graph: what the log recorded, for tools and auditors. Runs no user code.

With the graph at hand `graph.get_state` says the same, with values in the order of the graph's keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..eventlog.configs import configurable, thread_id_of
from ..eventlog.log import EventLog
from ..eventlog.serde import Serializer
from .open_thread import OpenThread
from .types import StateSnapshot


def open_thread(log: EventLog, config: Mapping[str, Any], serializer: Serializer | None = None) -> OpenThread:
    """Return the thread that a config names, empty when there is none; raises `MissingThreadId`."""
    return OpenThread(log, thread_id_of(config), serializer or Serializer())


def snapshot(log: EventLog, config: Mapping[str, Any], *, serializer: Serializer | None = None) -> StateSnapshot:
    """Return a thread's state: as it stands now, or as a record of the checkpoint that `config` names.

    >>> snapshot(log, {"configurable": {"thread_id": "1"}}).values

    Types that `serializer` does not know come back as `Opaque`. A step that was killed with some tasks finished shows
    the values it started with; the finished tasks show their results. Raises `CheckpointNotFound`, `MissingThreadId`.
    """
    thread = open_thread(log, config, serializer)
    asked = configurable(config)
    checkpoint_id = asked.get("checkpoint_id")
    if checkpoint_id and thread.thread.version:
        place = thread.find(checkpoint_id)
        return thread.lens(place.past, None).record(place.state, place.writes)
    place = thread.head(asked.get("checkpoint_ns", ""))
    if place is None:
        return empty_snapshot(config)
    lens = thread.lens(place.past, None)
    if "checkpoint_id" in asked:
        return lens.record(place.state, place.writes)
    return lens.live(thread.thread, place.state, place.writes)


def history(
    log: EventLog,
    config: Mapping[str, Any],
    *,
    filter: Mapping[str, Any] | None = None,
    before: Mapping[str, Any] | None = None,
    limit: int | None = None,
    serializer: Serializer | None = None,
) -> Iterator[StateSnapshot]:
    """Yield a thread's checkpoints, newest first by their place in the log; lazily, values decoded when looked at.

    `filter`: metadata that must be equal. `before`: only what was committed before that checkpoint.
    """
    thread = open_thread(log, config, serializer)
    for place in thread.places(config, filter=filter, before=before, limit=limit):
        yield thread.lens(place.past, None).record(place.state, place.writes)


def empty_snapshot(config: Mapping[str, Any]) -> StateSnapshot:
    """Return what a thread without checkpoints looks like."""
    return StateSnapshot({}, (), config, None, None, None, (), ())
