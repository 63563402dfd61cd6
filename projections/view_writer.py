"""`ViewWriter`: brings a log's `views/` up to date, behind the runs that append to it.

A function of the log alone: the same rows at the same position, however many passes it took and whichever process made
them. A pass takes what is new page by page, each page one transaction together with the stamp of how far it goes, so a
kill leaves views that are older and nothing else. Whoever holds the folder's lock writes; the others do nothing.

Passes run in the background when appends have paused for a moment, give way when they go on, and run when the log is
closed. Nobody waits for views, and nobody is told when they cannot be written: a log without them is as good, and
slower to open.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import Final
from weakref import WeakKeyDictionary, ref

import msgspec

from ..eventlog.derived import LAYOUT, DerivedRows, Stamp, open_rows, writers_lock
from ..eventlog.errors import LithographError, ViewDamaged
from ..eventlog.events import CheckpointCommitted, RunEnded, RunStarted, ThreadForked
from ..eventlog.log import EventLog, Record
from ..eventlog.serde import Serializer
from ..eventlog.streams import encode_name
from .reader import threads_of
from .rung_builder import RUNG_BYTES, RungBuilder
from .thread import RUNG_COMMITS
from .values import LogValues
from .views import NEVER, ThreadRow, decode_thread, is_current

LULL_SECONDS: Final = 0.05
PATIENCE_SECONDS: Final = 30.0
"""Views are brought up to date after so long even when appends do not pause."""
DUE_RECORDS: Final = 64
"""How much is new before a pass is worth its flush."""
CLOSE_SECONDS: Final = 2.0
"""How long closing a log may take for its views."""
_IDLE_SECONDS: Final = 1.0
_PAGE: Final = 1024
_YIELD_RECORDS: Final = 64
_ENCODER = msgspec.msgpack.Encoder()


class ViewWriter:
    """Writes the views of one log. Thread-safe; holds no reference to the log."""

    def __init__(self, log: EventLog) -> None:
        self._log = ref(log)
        self._rows: DerivedRows | None = None
        self._builder: _Pass | None = None
        self._passing = threading.Lock()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asked = 0.0
        self._since = 0.0
        """When the first of the appends that no pass has seen was told of; 0 for none."""
        self._closed = False
        self._pid = os.getpid()
        log.on_close(self.finish)

    def poke(self) -> None:
        """Say that there was an append. Costs next to nothing."""
        self._asked = time.monotonic()
        if not self._since:
            self._since = self._asked
        if self._thread is None:
            self._start()

    def catch_up(self, *, all: bool = False, seconds: float | None = None, gives_way: bool = False) -> bool:
        """Bring the views up to the log's end, as it is now; return whether they are there.

        They are not when another process holds the lock, when `seconds` are over, when somebody appends meanwhile and
        this `gives_way`, or, unless `all`, when what is new is not worth it.
        """
        log = self._log()
        if log is None or log.path is None or log.read_only:
            return False
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._passing:
            since, self._since = self._since, 0.0
            if not all and not self._is_due(log):
                return False
            with writers_lock(log.path) as held:
                done = held and self._pass(log, deadline, gives_way=gives_way)
            if gives_way and held and not done:
                self._since = since
            return done

    def rebuild(self) -> bool:
        """Make all views anew; return whether they reach the log's end."""
        log = self._log()
        if log is None or log.path is None or log.read_only:
            return False
        with self._passing, writers_lock(log.path) as held:
            if not held:
                return False
            self._open(log).clear()
            self._builder = None
            return self._pass(log, None, gives_way=False)

    def finish(self) -> None:
        """Do what is due, within a bounded time, and let go of the folder."""
        self._closed = True
        if self._pid != os.getpid():
            # A child's copy: the parent's thread may have held the lock, and is not here to give it back.
            return
        try:
            if self._asked:
                self.catch_up(seconds=CLOSE_SECONDS)
        except (LithographError, OSError):
            self._builder = None
        with self._passing:
            # It holds the log, which nobody needs any more.
            self._builder = None
            if self._rows is not None:
                self._rows.close()
                self._rows = None

    def _is_due(self, log: EventLog) -> bool:
        views = threads_of(log).views
        if views.distrusted:
            return True
        position = views.position(log) if self._builder is None else self._builder.position
        return log.log_head().position - position >= DUE_RECORDS

    def _open(self, log: EventLog) -> DerivedRows:
        if self._rows is None:
            assert log.path is not None
            rows = open_rows(log.path, read_only=False)
            assert rows is not None, "opening for writing makes what is not there"
            self._rows = rows
            # What was there may have been of no use, and was replaced: readers look again.
            threads_of(log).views.close()
        return self._rows

    def _pass(self, log: EventLog, deadline: float | None, *, gives_way: bool) -> bool:
        end = log.log_head().position
        anew = threads_of(log).views.distrusted
        rows = self._open(log)
        building = self._builder
        if building is None or building.transaction != rows.transaction() or anew:
            building = self._builder = _Pass(log, rows, anew=anew)
        try:
            for page in log.scan(building.position, page=_PAGE):
                building.take(page)
                if building.position >= end:
                    return True
                now = time.monotonic()
                if deadline is not None and now > deadline:
                    return False
                if gives_way and now - self._asked < LULL_SECONDS:
                    return False
                # Let whoever works in this process go first.
                time.sleep(0 if self._closed else 0.001)
        except ViewDamaged:
            threads_of(log).views.distrust()
            self._builder = None
            rows.clear()
            return False
        except BaseException:
            self._builder = None
            raise
        return True

    def _start(self) -> None:
        with self._starting:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, name="lithograph-views", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while not self._closed and self._log() is not None:
            time.sleep(LULL_SECONDS)
            now = time.monotonic()
            patient = now - self._since < PATIENCE_SECONDS
            if self._since and (now - self._asked >= LULL_SECONDS or not patient):
                try:
                    self.catch_up(gives_way=patient)
                except (LithographError, OSError):
                    # Closed meanwhile, or the disk is full: the next pass, in whatever process, begins here again.
                    self._builder = None
            elif now - self._asked > _IDLE_SECONDS:
                break
        self._thread = None
        if self._since and self._log() is not None:
            # Somebody asked while this thread was leaving, and saw it still there.
            self._start()


class _Pass:
    """What is on its way into the views: rows not yet written lie over those that are."""

    def __init__(self, log: EventLog, rows: DerivedRows, *, anew: bool) -> None:
        self._log = log
        self._rows = rows
        self.position = 0 if anew else _position_to_go_on_from(log, rows)
        if not self.position and not _are_untouched(rows):
            rows.clear()
        self.transaction = rows.transaction()
        self._new: dict[str, dict[bytes, bytes]] = {"threads": {}, "ids": {}, "rungs": {}, "chunks": {}}
        self._threads: dict[bytes, ThreadRow] = {}
        self._known: dict[bytes, bool] = {}
        self._builder = RungBuilder(log, self, LogValues(log, None, Serializer()))

    def take(self, page: Sequence[Record]) -> None:
        """Take the log's next records, and write what they add."""
        for number, record in enumerate(page):
            if not number % _YIELD_RECORDS:
                # Let a run that waits for the interpreter go first: it would wait for its whole switch interval.
                time.sleep(0)
            if self._is_thread(record.header.stream):
                self._take(record)
        new = self._new
        new["threads"] = {stream: _ENCODER.encode(row) for stream, row in self._threads.items()}
        last = page[-1]
        identity = self._log.identity
        self._rows.write(new, Stamp(LAYOUT, identity.log_id, identity.epoch, last.position, last.hash))
        for rows in new.values():
            rows.clear()
        self._threads.clear()
        self.position = last.position
        self.transaction = self._rows.transaction()

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

    def _take(self, record: Record) -> None:
        header = record.header
        row = self._thread(record)
        row.version = header.version
        row.updated_us = header.time_us
        row.weight += len(record.data)
        kind = header.kind
        if kind == CheckpointCommitted.kind:
            event = record.event
            assert isinstance(event, CheckpointCommitted)
            self._new["ids"][header.stream + event.id] = header.version.to_bytes(8, "big")
            if event.namespace == "":
                self._commit(header.stream, row, event)
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

    def _is_thread(self, stream: bytes) -> bool:
        known = self._known.get(stream)
        if known is None:
            known = self._known[stream] = self._log.stream_name(stream).kind == "thread"
        return known

    def _thread(self, record: Record) -> ThreadRow:
        stream = record.header.stream
        row = self._threads.get(stream)
        if row is None:
            stored = self._rows.get("threads", stream)
            if stored is None:
                name = encode_name(self._log.stream_name(stream))
                status = "forked" if record.header.kind == ThreadForked.kind else "stored"
                row = ThreadRow(name, record.position, record.header.time_us, status=status)
            else:
                row = decode_thread(stored)
            if row.version != record.header.version - 1:
                raise ViewDamaged(f"the view of stream {stream.hex()} is at another version than its records")
            self._threads[stream] = row
        return row

    def _commit(self, stream: bytes, row: ThreadRow, event: CheckpointCommitted) -> None:
        row.checkpoint, row.step, row.source = event.id, event.step, event.source
        row.planned = tuple(task.name for task in event.tasks)
        row.commits += 1
        if row.rung == NEVER or (row.commits < RUNG_COMMITS and row.weight < RUNG_BYTES):
            return
        row.commits = row.weight = 0
        made = self._builder.build(stream, row.rung, row.version)
        if made is None:
            row.rung = NEVER
            return
        self._new["rungs"].update(made.rungs)
        self._new["chunks"].update(made.chunks)
        row.rung = row.version


def _are_untouched(rows: DerivedRows) -> bool:
    """Tell whether there are no rows yet, so that there is nothing to clear."""
    try:
        return rows.is_empty()
    except ViewDamaged:
        return False


def _position_to_go_on_from(log: EventLog, rows: DerivedRows) -> int:
    """Return the position up to which rows may be kept; 0 when none may, or there are none."""
    try:
        stamp = rows.stamp()
        return stamp.position if stamp is not None and is_current(log, rows) else 0
    except ViewDamaged:
        return 0


_WRITERS: WeakKeyDictionary[EventLog, ViewWriter] = WeakKeyDictionary()
_writers_lock = threading.Lock()


def view_writer_of(log: EventLog) -> ViewWriter:
    """Return the log's writer of views."""
    with _writers_lock:
        writer = _WRITERS.get(log)
        if writer is None:
            writer = _WRITERS[log] = ViewWriter(log)
        return writer


def _after_fork() -> None:
    global _writers_lock
    _writers_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    # A thread of the parent's may have held the lock, and is not here to give it back.
    os.register_at_fork(after_in_child=_after_fork)


def poke_views(log: EventLog) -> None:
    """Say that this process has appended to a log: its views are brought up to date in a while."""
    if log.path is not None and not log.read_only:
        view_writer_of(log).poke()


def rebuild_views(log: EventLog) -> bool:
    """Make all views of a log anew from its records; return whether that could be done now.

    Needed by nobody: views that are absent or wrong are made anew on their own. For those who want to see it.
    """
    return view_writer_of(log).rebuild()
