"""Forks: a thread that begins where another one was, in one event. Nothing is copied.

The event says where the fork leaves its source; `projections.reader` reads through it. A checkpoint that the source
itself inherited is forked from the stream that it was committed in, so forks of forks stay short.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .clock import any_id
from .codec import demand_known
from .configs import configurable, thread_id_of, thread_text
from .errors import CheckpointNotFound, ConflictError
from .events import CheckpointCommitted, ThreadForked
from .reading import Record
from .streams import StreamName
from .writing import StreamWrite

if TYPE_CHECKING:
    from .log import EventLog

_FIRST_PAGE = 16
_LARGEST_PAGE = 1024


def fork(
    log: EventLog, source_config: Mapping[str, Any], new_thread_id: Any, *, until: int | None = None
) -> dict[str, Any]:
    """Append the event that begins a thread as a fork; see `EventLog.fork`. `until`: of the source as of a version."""
    source_id, asked = thread_id_of(source_config), configurable(source_config)
    source = log.stream_id(StreamName("thread", source_id))
    if not log.head(source).version:
        raise CheckpointNotFound(f"There is no thread {source_id!r} to fork. Its name is case-sensitive.")
    checkpoint_id = asked.get("checkpoint_id")
    event = _of_head(log, source, log.head(source).version if until is None else until)
    if event is None:
        raise CheckpointNotFound(f"Thread {source_id!r} has no checkpoint yet, so there is nothing to fork.")
    if checkpoint_id and any_id(checkpoint_id) != event.checkpoint:
        event = _of_earlier(log, source, any_id(checkpoint_id))
        if event is None:
            raise CheckpointNotFound(
                f"Thread {source_id!r} has no checkpoint {checkpoint_id!r}. List what it has with get_state_history."
            )
    thread_id = thread_text(new_thread_id)
    name, scope = StreamName("thread", thread_id), log.head(source).scope
    try:
        log.append([StreamWrite(name, 0, [log.stamp(event)], scope)])
    except ConflictError as error:
        message = f"There is a thread {thread_id!r} already, so nothing was forked. Give the fork an id of its own."
        raise ConflictError(message, stream=thread_id, expected=0, actual=error.actual) from error
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": asked.get("checkpoint_ns", "")}}


def copy(log: EventLog, source_id: str, target_id: str) -> None:
    """Append the event that begins a thread as a copy of a whole one."""
    source = log.head(log.stream_id(StreamName("thread", source_id)))
    if not source.version:
        raise CheckpointNotFound(f"There is no thread {source_id!r} to copy. Its name is case-sensitive.")
    event = ThreadForked(log.stream_id(StreamName("thread", source_id)), source.version, None)
    log.append([StreamWrite(StreamName("thread", target_id), 0, [log.stamp(event)], source.scope)])


def backwards(log: EventLog, stream: bytes, version: int) -> Iterator[Record]:
    """Yield a stream's records from a version down to the first, read in pages that grow."""
    page = _FIRST_PAGE
    while version > 0:
        low = max(0, version - page)
        yield from reversed(log.read_stream(stream, low, version - low))
        version, page = low, min(page * 2, _LARGEST_PAGE)


def _of_head(log: EventLog, stream: bytes, end: int) -> ThreadForked | None:
    """Return the fork of a thread as it stood at version `end`, with what its head's tasks wrote so far."""
    for record in backwards(log, stream, end):
        version = record.header.version
        demand_known(record.header.kind, record.header.schema)
        if record.header.kind == CheckpointCommitted.kind:
            event = record.event
            if isinstance(event, CheckpointCommitted) and event.namespace == "":
                return ThreadForked(stream, version, event.id, end)
        elif record.header.kind == ThreadForked.kind:
            event = record.event
            assert isinstance(event, ThreadForked)
            base = event if event.checkpoint is not None else _of_head(log, event.source, event.version)
            if base is None or end == version:
                return base
            # What was written here since is inherited too, so the way leads through this stream.
            return ThreadForked(stream, version, base.checkpoint, end)
    return None


def _of_earlier(log: EventLog, stream: bytes, wanted: bytes) -> ThreadForked | None:
    """Return the fork of a checkpoint by id, looked for here and in the streams that this one was forked from."""
    until = log.head(stream).version
    while True:
        fork: ThreadForked | None = None
        for record in _forwards(log, stream, until):
            event = record.event
            if isinstance(event, ThreadForked):
                fork = event
            elif isinstance(event, CheckpointCommitted) and event.id == wanted and event.namespace == "":
                return ThreadForked(stream, record.header.version, wanted)
        if fork is None:
            return None
        stream, until = fork.source, fork.version


def _forwards(log: EventLog, stream: bytes, until: int) -> Iterator[Record]:
    """Yield a stream's commits, and the fork it may begin with, up to a version."""
    for page in log.scan_stream(stream, until=until):
        for record in page:
            demand_known(record.header.kind, record.header.schema)
            if record.header.kind in (CheckpointCommitted.kind, ThreadForked.kind):
                yield record
