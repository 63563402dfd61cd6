"""Looking for a graph that ran inside a node, by its namespace: threads let go of those whose step is over."""

from __future__ import annotations

from ..eventlog.events import CheckpointCommitted
from ..eventlog.log import EventLog, Record
from .inherited import in_source
from .reader import StreamPast, moved
from .state import CheckpointState


def last_in_step(past: StreamPast, step_of: CheckpointState, namespace: str) -> CheckpointState | None:
    """Return the last checkpoint of a namespace that was committed in the step of a checkpoint around it."""
    if step_of.version < 0:
        fork = past.fork()
        assert fork is not None, "only a fork has a checkpoint under a number below zero"
        original = moved(step_of)
        original.version = in_source(step_of.version)
        found = last_in_step(past.source_of(fork), original, namespace)
        return None if found is None else moved(found)
    version = 0
    for record in past.records(after=step_of.version):
        where = _namespace(record)
        if where == namespace:
            version = record.header.version
        elif where == step_of.namespace:
            break
    return past.state_at(version) if version else None


def last_of(log: EventLog, stream: bytes, past: StreamPast, namespace: str) -> CheckpointState | None:
    """Return a namespace's last checkpoint, wherever in the thread's past; reads back until it is found."""
    for record in log.backwards(stream):
        if _namespace(record) == namespace:
            return past.state_at(record.header.version)
    fork = past.fork()
    found = None if fork is None else last_of(log, fork.source, past.source_of(fork), namespace)
    return None if found is None else moved(found)


def _namespace(record: Record) -> str | None:
    """Return the namespace in which a record commits a checkpoint; `None` when it commits none."""
    if record.header.kind != CheckpointCommitted.kind:
        return None
    event = record.event
    return event.namespace if isinstance(event, CheckpointCommitted) else None
