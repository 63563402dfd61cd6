"""`ViewPass`: what the writer of views has taken so far, and how a page of the log becomes rows.

A function of the log alone: the same records give the same rows. It keeps no log, which its writer may outlive; each
page comes with it. Read next: `rung_builder`, and `view_writer` for who makes passes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from ..eventlog.codec import is_known
from ..eventlog.derived import LAYOUT, DerivedRows, Stamp
from ..eventlog.errors import ViewDamaged
from ..eventlog.events import CheckpointCommitted, RunEnded, RunStarted, ThreadForked
from ..eventlog.log import EventLog, Record
from ..eventlog.serde import Serializer
from ..eventlog.streams import encode_name
from .rung_builder import RUNG_BYTES, RungBuilder
from .thread import RUNG_COMMITS
from .values import LogValues
from .views import NEVER, NEWER, ThreadRow, decode_thread

_YIELD_RECORDS: Final = 64
_ENCODER = msgspec.msgpack.Encoder()


class ViewPass:
    """What is on its way into the views: rows not yet written lie over those that are."""

    def __init__(self, log: EventLog, rows: DerivedRows, position: int) -> None:
        self._rows = rows
        self.position = position
        self.transaction = rows.transaction()
        self._new: dict[str, dict[bytes, bytes]] = {"threads": {}, "ids": {}, "rungs": {}, "chunks": {}}
        self._threads: dict[bytes, ThreadRow] = {}
        self._known: dict[bytes, bool] = {}
        self._builder = RungBuilder(self, LogValues(log, None, Serializer()))

    def take(self, log: EventLog, page: Sequence[Record], is_over: Callable[[], bool]) -> bool:
        """Take the log's next records, and write what they add; return whether it was written.

        It is not when `is_over()` in between. Then, as after an exception, the pass is of no more use.
        """
        for number, record in enumerate(page):
            if not number % _YIELD_RECORDS:
                # Let a run that waits for the interpreter go first: it would wait for its whole switch interval.
                time.sleep(0)
                if is_over():
                    return False
            if self._is_thread(log, record.header.stream):
                self._take(log, record)
        new = self._new
        new["threads"] = {stream: _ENCODER.encode(row) for stream, row in self._threads.items()}
        last = page[-1]
        identity = log.identity
        self._rows.write(new, Stamp(LAYOUT, identity.log_id, identity.epoch, last.position, last.hash))
        for rows in new.values():
            rows.clear()
        self._threads.clear()
        self.position = last.position
        self.transaction = self._rows.transaction()
        return True

    def get(self, table: str, key: bytes) -> bytes | None:
        """Return a row's value."""
        return self._new[table].get(key) or self._rows.get(table, key)

    def range(self, table: str, low: bytes, high: bytes, *, vouched: bool = False) -> list[tuple[bytes, bytes]]:
        """Return rows in order of key."""
        found = dict(self._rows.range(table, low, high, vouched=vouched))
        found.update((key, value) for key, value in self._new[table].items() if low <= key <= high)
        return sorted(found.items())

    def keys(self, table: str, low: bytes, high: bytes) -> list[bytes]:
        """Return keys in order."""
        found = set(self._rows.keys(table, low, high))
        return sorted(found.union(key for key in self._new[table] if low <= key <= high))

    def _take(self, log: EventLog, record: Record) -> None:
        header = record.header
        row = self._thread(log, record)
        row.version = header.version
        row.updated_us = header.time_us
        row.weight += len(record.data)
        kind = header.kind
        if not is_known(kind, header.schema):
            row.status, row.rung = NEWER, NEVER
        elif kind == CheckpointCommitted.kind:
            event = record.event
            assert isinstance(event, CheckpointCommitted)
            self._new["ids"][header.stream + event.id] = header.version.to_bytes(8, "big")
            if event.namespace == "":
                self._commit(log, header.stream, row, event)
        elif kind == RunEnded.kind:
            event = record.event
            assert isinstance(event, RunEnded)
            row.status = event.outcome
        elif kind == RunStarted.kind:
            row.status = "open"
        elif kind == ThreadForked.kind:
            event = record.event
            assert isinstance(event, ThreadForked)
            row.checkpoint = event.checkpoint

    def _is_thread(self, log: EventLog, stream: bytes) -> bool:
        known = self._known.get(stream)
        if known is None:
            known = self._known[stream] = log.stream_name(stream).kind == "thread"
        return known

    def _thread(self, log: EventLog, record: Record) -> ThreadRow:
        stream = record.header.stream
        row = self._threads.get(stream)
        if row is None:
            stored = self._rows.get("threads", stream)
            if stored is None:
                name = encode_name(log.stream_name(stream))
                status = "forked" if record.header.kind == ThreadForked.kind else "stored"
                row = ThreadRow(name, record.position, record.header.time_us, status=status)
            else:
                row = decode_thread(stored)
            if row.version != record.header.version - 1:
                raise ViewDamaged(f"the view of stream {stream.hex()} is at another version than its records")
            self._threads[stream] = row
        return row

    def _commit(self, log: EventLog, stream: bytes, row: ThreadRow, event: CheckpointCommitted) -> None:
        row.checkpoint, row.step, row.source = event.id, event.step, event.source
        row.planned = tuple(task.name for task in event.tasks)
        row.commits += 1
        if row.rung == NEVER or (row.commits < RUNG_COMMITS and row.weight < RUNG_BYTES):
            return
        row.commits = row.weight = 0
        made = self._builder.build(log, stream, row.rung, row.version)
        if made is None:
            row.rung = NEVER
            return
        self._new["rungs"].update(made.rungs)
        self._new["chunks"].update(made.chunks)
        row.rung = row.version
