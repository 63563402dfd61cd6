"""The executable specification of an engine: lists and dicts behind one lock.

What `LmdbEngine` must do, this does in the plainest way; the conformance suite runs both. It keeps nothing
when the process ends.
"""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_right, insort
from collections.abc import Callable, Sequence

from ..chain import NO_HEAD, check_limits
from ..engine import Append, Appended, Conflict, Head, Identity, Limits, LogHead, Page
from ..errors import LogClosed, LogGap
from ..record import FORMAT_VERSION, HEADER
from . import rows
from .batch import Batch

PAGE_BYTES = 4 * 1024 * 1024


class MemoryEngine:
    """A log in memory. Thread-safe; gone with the process."""

    def __init__(self, *, limits: Limits | None = None, random: Callable[[int], bytes] = os.urandom) -> None:
        self.limits = limits or Limits()
        self._random = random
        self._identity = Identity(random(16), 1, random(32), FORMAT_VERSION, 0)
        self._events: list[bytes] = []
        self._places: dict[bytes, list[int]] = {}
        self._heads: dict[bytes, Head] = {}
        self._order: list[bytes] = []
        self._log_head = LogHead(0, ())
        self._keys: list[bytes | None] = []
        # Taken as such, never through the condition, whose `__enter__` is Python code: an interrupt in there
        # would leave it locked for ever.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._closed = False
        self._shown: dict[str, tuple[object, dict[bytes, bytes], list[bytes]]] = {}

    def identity(self) -> Identity:
        """Return which log this is."""
        return self._identity

    def commit(self, appends: Sequence[Append]) -> list[Appended | Conflict]:
        """Accept or refuse each append, in order."""
        for append in appends:
            check_limits(append, self.limits)
        with self._lock:
            self._check_open()
            batch = Batch(_View(self._events, self._places, self._heads), self._log_head)
            outcomes = [batch.admit(append) for append in appends]
            try:
                self._store(batch, batch.first)
            except BaseException:
                self._store(
                    batch, batch.first
                )  # an interrupt must not leave half an append; storing twice is storing once
                raise
            self._changed.notify_all()
        return outcomes

    def log_head(self) -> LogHead:
        """Return the end of the log."""
        self._check_open()
        return self._log_head

    def head(self, stream: bytes) -> Head:
        """Return the end of a stream."""
        self._check_open()
        return self._heads.get(stream, NO_HEAD)

    def read(self, after: int, limit: int) -> Page:
        """Return records by position."""
        with self._lock:
            self._check_open()
            last = min(after + limit, len(self._events))
            return self._page(list(range(after + 1, last + 1)), len(self._events))

    def read_stream(self, stream: bytes, after: int, limit: int) -> Page:
        """Return records of a stream by version."""
        with self._lock:
            self._check_open()
            places = self._places.get(stream, [])
            return self._page(places[after : after + limit], len(places))

    def streams(self, after: bytes, limit: int) -> list[tuple[bytes, Head]]:
        """Return streams with their heads in bytewise order."""
        with self._lock:
            self._check_open()
            start = bisect_right(self._order, after)
            return [(stream, self._heads[stream]) for stream in self._order[start : start + limit]]

    def wait(self, after: int, timeout: float) -> int:
        """Wait until the log is longer than `after`, at most `timeout` seconds."""
        deadline = time.monotonic() + timeout
        with self._lock:
            while self._log_head.position <= after and not self._closed:
                left = deadline - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
            self._check_open()
            return self._log_head.position

    def draw_keys(self, count: int) -> tuple[int, list[bytes]]:
        """Make new scope keys."""
        keys = [self._random(32) for _ in range(count)]
        with self._lock:
            self._check_open()
            first = len(self._keys) + 1
            self._keys += keys
        return first, keys

    def key(self, number: int) -> bytes | None:
        """Return a scope key, or `None` when it was destroyed or never drawn."""
        self._check_open()
        return self._keys[number - 1] if 0 < number <= len(self._keys) else None

    def destroy_key(self, number: int) -> None:
        """Forget a scope key."""
        with self._lock:
            self._check_open()
            self._keys[number - 1] = None

    def close(self) -> None:
        """Refuse further calls and wake whoever waits."""
        with self._lock:
            self._closed = True
            self._changed.notify_all()

    def rows(self, table: str, after: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """Return rows as LMDB would store them."""
        values, keys = self._shown_table(table)
        start = bisect_right(keys, after)
        return [(key, values[key]) for key in keys[start : start + limit]]

    def lookup(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return row values by key."""
        values, _ = self._shown_table(table)
        return [values.get(key) for key in keys]

    def inspect(self) -> list[str]:
        """Return nothing: there is nothing below the rows."""
        return []

    def _shown_table(self, table: str) -> tuple[dict[bytes, bytes], list[bytes]]:
        """Return a table as rows, made once for each state of the log."""
        state = (table, self._log_head.position, len(self._keys))
        shown = self._shown.get(table)
        if shown is None or shown[0] != state:
            values = self._table(table)
            shown = self._shown[table] = (state, values, sorted(values))
        return shown[1], shown[2]

    def _table(self, table: str) -> dict[bytes, bytes]:
        pack = rows.NUMBER.pack
        with self._lock:
            if table == "meta":
                head = rows.pack_log_head(self._log_head, 0)
                return {rows.IDENTITY: rows.pack_identity(self._identity), rows.LOG_HEAD: head}
            if table == "events":
                return {pack(at): record for at, record in enumerate(self._events, 1)}
            if table == "streams":
                heads = {stream + rows.HEAD: rows.pack_head(stream, head) for stream, head in self._heads.items()}
                return heads | {
                    stream + pack(version): pack(place)
                    for stream, places in self._places.items()
                    for version, place in enumerate(places, 1)
                }
            if table == "keys":
                return {pack(at): rows.pack_key(at, key) for at, key in enumerate(self._keys, 1)}
            return {rows.LOG_ID: rows.seal(rows.LOG_ID, pack(0) + self._identity.log_id)}

    def _store(self, batch: Batch, first: int) -> None:
        self._events[first - 1 :] = batch.events
        for key, place in batch.places.items():
            version = rows.NUMBER.unpack(key[16:])[0]
            self._places.setdefault(key[:16], [])[version - 1 :] = [place]
        for stream, head in batch.heads.items():
            if stream not in self._heads:
                insort(self._order, stream)
            self._heads[stream] = head
        self._log_head = batch.log_head

    def _page(self, places: list[int], end: int) -> Page:
        records: list[tuple[int, bytes]] = []
        size = 0
        for place in places:
            records.append((place, self._events[place - 1]))
            size += len(self._events[place - 1])
            if size > PAGE_BYTES:
                break
        last = {record[36:52]: record for _, record in records}
        return Page(records, {stream: self._tail(stream, record) for stream, record in last.items()}, end)

    def _tail(self, stream: bytes, record: bytes) -> bytes:
        version: int = HEADER.unpack_from(record)[5]
        places = self._places.get(stream, [])
        if version == len(places):
            return self._heads[stream].hash
        if version > len(places):
            raise LogGap(f"stream {stream.hex()} lacks the record after version {version}; run verify")
        return self._events[places[version] - 1][:32]

    def _check_open(self) -> None:
        if self._closed:
            raise LogClosed("the log is closed; open it again")


class _View:
    """The tables as a batch sees them."""

    def __init__(self, events: list[bytes], places: dict[bytes, list[int]], heads: dict[bytes, Head]) -> None:
        self._events = events
        self._places = places
        self._heads = heads

    def head(self, stream: bytes) -> Head:
        return self._heads.get(stream, NO_HEAD)

    def place(self, stream: bytes, version: int) -> int | None:
        places = self._places.get(stream, [])
        return places[version - 1] if version <= len(places) else None

    def record(self, position: int) -> bytes | None:
        return self._events[position - 1] if 0 < position <= len(self._events) else None
