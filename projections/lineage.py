"""`lineage`: how a checkpoint came to be: its ancestors from the root on, across forks, with where each one lies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..eventlog.clock import id_text
from ..eventlog.configs import configurable
from ..eventlog.errors import LogGap
from ..eventlog.events import CheckpointCommitted
from ..eventlog.log import EventLog
from ..eventlog.reading import Record
from ..eventlog.record import Position
from .queries import open_thread
from .snapshot import created_at


class Ancestor(NamedTuple):
    """A checkpoint on the way from the root, in the thread that committed it."""

    thread_id: str
    checkpoint_id: str
    position: Position
    """Where its commit lies in the log."""
    version: int
    """Where it lies in its thread's stream."""
    step: int
    source: str
    created_at: str
    actor: str | None
    reason: str | None


def lineage(log: EventLog, config: Mapping[str, Any]) -> list[Ancestor]:
    """Return the checkpoints from the root to the one that the config names, or to the thread's last one.

    >>> [(each.thread_id, each.step) for each in lineage(log, {"configurable": {"thread_id": "1"}})]

    No value is decoded. An unknown thread has none; raises `CheckpointNotFound`, `MissingThreadId`.
    """
    thread, asked = open_thread(log, config), configurable(config)
    checkpoint_id = asked.get("checkpoint_id")
    if checkpoint_id and thread.thread.version:
        place = thread.find(checkpoint_id)
    else:
        place = thread.head(asked.get("checkpoint_ns", ""))
    found: list[Ancestor] = []
    wanted = None if place is None else place.state.id
    past = thread.past()
    while wanted is not None:
        version = past.version_of(wanted, thread.thread.version)
        if version is None:
            raise LogGap(f"checkpoint {id_text(wanted)} of thread {thread.id!r} is not there: run `verify`")
        record = past.record_at(version)
        event = record.event
        assert isinstance(event, CheckpointCommitted), "a checkpoint's version holds its commit"
        found.append(_ancestor(log, record, event))
        wanted = event.parent
    return found[::-1]


def _ancestor(log: EventLog, record: Record, event: CheckpointCommitted) -> Ancestor:
    name = log.stream_name(record.header.stream).name
    assert isinstance(name, str), "threads are named by text"
    return Ancestor(
        name,
        id_text(event.id),
        Position(record.position),
        record.header.version,
        event.step,
        event.source,
        created_at(record.header.time_us),
        record.body.actor,
        record.body.reason,
    )
