"""`threads`: which threads a log has, and how far each of them is, without folding any of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..eventlog.clock import id_text
from ..eventlog.codec import is_known
from ..eventlog.events import CheckpointCommitted, RunEnded, RunStarted, ThreadForked
from ..eventlog.log import EventLog, Record
from ..eventlog.streams import decode_name
from .reader import threads_of
from .snapshot import created_at
from .views import NEWER, ThreadRow

_STREAMS = 1000


class ThreadInfo(NamedTuple):
    """What the end of a thread's stream says of it."""

    thread_id: str
    version: int
    """How many events it has."""
    status: str
    """`finished`, `interrupted`, `failed` or `stopped`, as its last run ended; `edited`: by hand, and no run went on
    from there; `open`: a run is on it, or was killed; `forked`, `stored`: it has had no run, but began as a fork or is
    written by a foreign runtime; `newer`: a later version went on with it in a way that this one does not know."""
    checkpoint_id: str | None
    """The root namespace's last checkpoint; `None` when it has none of its own."""
    step: int | None
    source: str | None
    planned: tuple[str, ...]
    """The tasks planned at that checkpoint: names, in the order that `next` shows. Some may have finished."""
    created_at: str
    updated_at: str


def threads(log: EventLog) -> Iterator[ThreadInfo]:
    """Yield the log's threads in the order in which they began.

    >>> [info.thread_id for info in threads(log)]

    A thread that the views know as it stands costs a row; of any other the first record is read, and the last few.
    """
    for _position, stream, known in sorted(_streams(log), key=lambda found: found[0]):
        yield _known(known) if known is not None else _info(log, stream, log.read_stream(stream, 0, 1)[0])


def _streams(log: EventLog) -> Iterator[tuple[int, bytes, ThreadRow | None]]:
    """Yield each thread's stream with the position where it begins, and its row when that is up to date."""
    views = threads_of(log).views
    after = b""
    while page := log.streams(after, _STREAMS):
        after = page[-1][0]
        rows = views.threads(log, page[0][0], after)
        for stream, head in page:
            row = rows.get(stream)
            if row is not None and row.version == head.version:
                yield row.first, stream, row
            elif log.stream_name(stream).kind == "thread":
                yield log.read_stream(stream, 0, 1)[0].position, stream, None


def _known(row: ThreadRow) -> ThreadInfo:
    name = decode_name(row.name).name
    assert isinstance(name, str), "threads are named by text"
    return ThreadInfo(
        name,
        row.version,
        row.status,
        None if row.checkpoint is None else id_text(row.checkpoint),
        row.step,
        row.source,
        row.planned,
        created_at(row.created_us),
        created_at(row.updated_us),
    )


def _info(log: EventLog, stream: bytes, first: Record) -> ThreadInfo:
    version = log.head(stream).version
    ended: RunEnded | RunStarted | None = None
    head: CheckpointCommitted | None = None
    fork: ThreadForked | None = None
    updated_us: int | None = None
    newer = False
    for record in log.backwards(stream, version):
        updated_us = record.header.time_us if updated_us is None else updated_us
        if not is_known(record.header.kind, record.header.schema):
            newer = newer or ended is None
            continue
        kind = record.header.kind
        if ended is None and kind in (RunEnded.kind, RunStarted.kind):
            event = record.event
            assert isinstance(event, RunEnded | RunStarted)
            ended = event
        elif kind == CheckpointCommitted.kind and head is None:
            event = record.event
            assert isinstance(event, CheckpointCommitted)
            head = event if event.namespace == "" else None
        elif kind == ThreadForked.kind:
            event = record.event
            assert isinstance(event, ThreadForked)
            fork = event
        if ended is not None and head is not None:
            break
    checkpoint = head.id if head is not None else fork.checkpoint if fork is not None else None
    name = log.stream_name(stream).name
    assert isinstance(name, str), "threads are named by text"
    return ThreadInfo(
        name,
        version,
        NEWER if newer else _status(ended, fork),
        None if checkpoint is None else id_text(checkpoint),
        None if head is None else head.step,
        None if head is None else head.source,
        () if head is None else tuple(task.name for task in head.tasks),
        created_at(first.header.time_us),
        created_at(first.header.time_us if updated_us is None else updated_us),
    )


def _status(last: RunEnded | RunStarted | None, fork: ThreadForked | None) -> str:
    if isinstance(last, RunEnded):
        return last.outcome
    if last is not None:
        return "open"
    return "stored" if fork is None else "forked"
