"""The embedded engine: one log in a folder of LMDB environments.

    log/   meta: identity, end of the log     events: position -> record
           streams: stream + version -> position, and behind its last version the stream's head
    keys/  keys: number -> scope key     keymeta: which log they belong to
    views/ derived; not opened here

Records, index, heads, frontier and head position of an append are one transaction. Scope keys are durable
before they are handed out. Read `tree` and `rows` for the layouts, `batch` for the rules of an append, `environments`
for LMDB itself.
"""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import lmdb

from ..chain import check_limits
from ..engine import Append, Appended, Conflict, Head, Identity, Limits, LogHead, Page
from ..environments import DATA_FILE, Environment, Transaction, open_environment
from ..errors import CorruptionError, LogClosed, LogGap, NewerFormat, OutcomeUnknown, ReadOnlyLog, Unavailable
from ..record import FORMAT_VERSION, HEADER, HEADER_SIZE
from . import rows
from .batch import Batch
from .keys import FOLDER as KEYS
from .keys import KeyTable, keys_exist
from .tree import CHUNK, META, PAGE_BYTES, TABLES, View, heads, log_head, take, take_after

LOG = "log"
_POLL_SECONDS = 0.02
"""How often a waiting reader looks whether another process has written; looking costs 1 µs."""
_KNOWN_HEADS = 4096
_NAMES = frozenset(name.encode() for name in TABLES)
_pack = rows.NUMBER.pack


class LmdbEngine:
    """A log in a folder. Thread-safe; several processes may have it open."""

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        limits: Limits | None = None,
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self.path = path
        self.read_only = read_only
        self.limits = limits or Limits()
        self._random = random
        self._keys: KeyTable | None = None
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._waiting = 0
        has_keys = keys_exist(path)
        self._check_not_emptied(has_keys)
        self._log: Environment = open_environment(path / LOG, (), read_only=read_only)
        self._tables = self._log.tables
        self._known = _Known(-1, LogHead(0, ()), {})
        try:
            # Before anything is looked for, or made, that another format may not have.
            self._identity = self._read_identity(may_create=not has_keys)
            self._log.need(TABLES)
            self._open_keys()
        except BaseException:
            self.close()
            raise

    def identity(self) -> Identity:
        """Return which log this is."""
        return self._identity

    def commit(self, appends: Sequence[Append]) -> list[Appended | Conflict]:
        """Write several appends in one transaction; durable when it returns."""
        if self.read_only:
            raise self._refusal()
        for append in appends:
            check_limits(append, self.limits)
        before, batch = self._known, None

        def work(transaction: Transaction) -> tuple[list[Appended | Conflict], int]:
            nonlocal before, batch
            before = self._before(transaction)
            batch = Batch(View(self._tables, transaction, before.heads), before.log_head)
            outcomes = [batch.admit(append) for append in appends]
            if batch.events:
                self._store(transaction, batch, before.log_head.position)
            return outcomes, transaction.id()

        try:
            outcomes, transaction = self._log.write(work)
        except OutcomeUnknown as error:
            if self.log_head().position == before.log_head.position:
                raise Unavailable(f"nothing was written: {error}") from error
            raise
        assert batch is not None
        if batch.events:
            before.heads.update(batch.heads)
            self._known = _Known(transaction, batch.log_head, before.heads)
        if self._waiting:
            with self._lock:
                self._changed.notify_all()
        return outcomes

    def log_head(self) -> LogHead:
        """Return the end of the log."""
        return self._log.read(lambda transaction: log_head(transaction, self.path))

    def head(self, stream: bytes) -> Head:
        """Return the end of a stream."""
        return self._log.read(lambda transaction: View(self._tables, transaction).head(stream))

    def read(self, after: int, limit: int) -> Page:
        """Return records by position."""
        self._log.check_size()
        return self._log.read(lambda transaction: self._read(transaction, after, limit))

    def read_stream(self, stream: bytes, after: int, limit: int) -> Page:
        """Return records of a stream by version."""
        self._log.check_size()
        return self._log.read(lambda transaction: self._read_stream(transaction, stream, after, limit))

    def streams(self, after: bytes, limit: int) -> list[tuple[bytes, Head]]:
        """Return streams with their heads in bytewise order."""
        return self._log.read(lambda transaction: heads(self._cursor(transaction, "streams"), after, limit))

    def wait(self, after: int, timeout: float) -> int:
        """Wait until the log is longer than `after`, at most `timeout` seconds."""
        deadline = time.monotonic() + timeout
        with self._lock:
            self._waiting += 1
            try:
                return self._wait(after, deadline)
            finally:
                self._waiting -= 1

    def draw_keys(self, count: int) -> tuple[int, list[bytes]]:
        """Make new scope keys durable and return them."""
        return self._key_table().draw(count)

    def key(self, number: int) -> bytes | None:
        """Return a scope key, or `None` when it was destroyed, was never drawn, or `keys/` is not here."""
        if self._keys is None:
            self._log.last_transaction()
            return None
        return self._keys.key(number)

    def destroy_key(self, number: int) -> None:
        """Overwrite a scope key for ever."""
        self._key_table().destroy(number)

    def close(self) -> None:
        """Release the environments. They may be shared, so this engine lets go of its share once, and for ever."""
        with self._lock:
            log, self._log = self._log, _CLOSED
            if log is _CLOSED:
                return
            log.close()
            if self._keys is not None:
                self._keys.environment.close()
                self._keys.environment = _CLOSED
            self._changed.notify_all()

    def rows(self, table: str, after: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """Return rows of a table as stored."""
        if table not in TABLES and table != META:
            return self._keys_here().rows(table, after, limit)
        self._log.check_size()
        # The environment's own tree has a row for each named table, too.
        most = limit + len(TABLES)
        found = self._log.read(lambda transaction: take_after(self._cursor(transaction, table), after, most))
        return [row for row in found if table != META or row[0] not in _NAMES][:limit]

    def lookup(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of rows by key."""
        if table not in TABLES and table != META:
            return self._keys_here().lookup(table, keys)

        def work(transaction: Transaction) -> list[bytes | None]:
            handle = self._tables.get(table)
            return [None if key in _NAMES else transaction.get(key, db=handle) for key in keys]

        return self._log.read(work)

    def inspect(self) -> list[str]:
        """Return what is wrong with the files: cut, or not at the transaction that wrote their last row."""
        findings = [*self._log.inspect(), *(self._keys.inspect() if self._keys else ())]
        at, row = self._log.read(lambda t: (t.id(), t.get(rows.LOG_HEAD)))
        written = rows.transaction_of(row)
        if written not in (None, at):
            findings.append(f"{LOG}/ is at transaction {at}, but its last one was {written}")
        return findings

    # Opening

    def _check_not_emptied(self, has_keys: bool) -> None:
        """Refuse an empty log file beside existing keys: LMDB would quietly begin a new log in it."""
        data = self.path / LOG / DATA_FILE
        if has_keys and (not data.exists() or data.stat().st_size == 0):
            raise CorruptionError(f"{data} is missing or empty, but keys/ is there; restore it from a backup")

    def _read_identity(self, *, may_create: bool) -> Identity:
        row = self._log.read(lambda transaction: transaction.get(rows.IDENTITY))
        if row is None and may_create and not self.read_only:
            row = self._make_identity()
            _sync_folders(self.path / LOG, self.path, self.path.parent)
        if row is None:
            raise CorruptionError(f"{self.path} has lost its identity; restore it from a backup")
        identity = rows.unpack_identity(row)
        if identity.format > FORMAT_VERSION:
            raise NewerFormat(f"{self.path} has format {identity.format}, this version reads {FORMAT_VERSION}: upgrade")
        return identity

    def _make_identity(self) -> bytes:
        try:
            self._log.need(TABLES)
            return self._log.write(self._create)
        except OutcomeUnknown as error:
            raise Unavailable(f"{self.path} could not be made into a log; open it again: {error}") from error

    def _create(self, transaction: Transaction) -> bytes:
        row = transaction.get(rows.IDENTITY)
        if row is not None:
            return row
        row = rows.pack_identity(Identity(self._random(16), 1, self._random(32), FORMAT_VERSION, 0))
        transaction.put(rows.IDENTITY, row)
        transaction.put(rows.LOG_HEAD, rows.pack_log_head(LogHead(0, ()), transaction.id()))
        return row

    def _open_keys(self) -> None:
        # In this order: another process may be making the log now, and makes keys/ before its first append.
        position = self.log_head().position
        present = keys_exist(self.path)
        if not present and (self.read_only or position):
            # Scope numbers of lost keys would be given out again, so such a log can only be read.
            if not self.read_only:
                raise CorruptionError(f"{self.path / KEYS} is missing: restore it, or open the log with read_only=True")
            return
        self._keys = KeyTable(self.path, self._identity.log_id, read_only=self.read_only, random=self._random)
        if not present:
            _sync_folders(self.path / KEYS, self.path)

    # Writing

    def _before(self, transaction: Transaction) -> _Known:
        """Return the end of the log and heads of streams as a write transaction finds them: what this engine's last
        commit left, when nobody wrote since."""
        known = self._known
        if known.transaction + 1 == transaction.id():
            if len(known.heads) > _KNOWN_HEADS:
                known.heads.clear()
            return known
        return _Known(-1, log_head(transaction, self.path), {})

    def _store(self, transaction: Transaction, batch: Batch, position: int) -> None:
        events = [(_pack(at), record) for at, record in enumerate(batch.events, position + 1)]
        index = [(key, _pack(place)) for key, place in batch.places.items()]
        ends = [(stream + rows.HEAD, rows.pack_head(stream, head)) for stream, head in batch.heads.items()]
        streams = self._cursor(transaction, "streams")
        # An out-of-order append returns without an error, so the counts are the only sign.
        placed = streams.putmulti(index, overwrite=False)[1]
        streams.putmulti(ends)
        added = self._cursor(transaction, "events").putmulti(events, append=True)[1]
        if added != len(events) or placed != len(events):
            raise CorruptionError(
                f"{self.path} already holds records after its last position {position}; nothing was written; run verify"
            )
        transaction.put(rows.LOG_HEAD, rows.pack_log_head(batch.log_head, transaction.id()))

    def _key_table(self) -> KeyTable:
        if self._keys is None or self.read_only:
            raise self._refusal()
        return self._keys

    def _refusal(self) -> ReadOnlyLog:
        return ReadOnlyLog(f"{self.path} was opened read-only; open it without read_only to write")

    # Reading

    def _wait(self, after: int, deadline: float) -> int:
        head, seen = 0, -1
        while True:
            # Reading the head costs a transaction; whether anybody wrote costs a look. A commit shows in
            # the look before readers see it, so what is remembered is the transaction that was read.
            if self._log.last_transaction() != seen:
                head, seen = self._log.read(lambda t: (log_head(t, self.path).position, t.id()))
            left = deadline - time.monotonic()
            if head > after or left <= 0:
                return head
            self._changed.wait(min(left, _POLL_SECONDS))

    def _read(self, transaction: Transaction, after: int, limit: int) -> Page:
        end = log_head(transaction, self.path).position
        cursor = self._cursor(transaction, "events")
        found = take(cursor, limit) if after < end and cursor.set_range(_pack(after + 1)) else []
        return self._page(transaction, found, end)

    def _read_stream(self, transaction: Transaction, stream: bytes, after: int, limit: int) -> Page:
        end = View(self._tables, transaction).head(stream).version
        count = min(limit, end - after)
        if count <= 0:
            return Page([], {}, end)
        cursor = self._cursor(transaction, "streams")
        places: list[bytes] = []
        if cursor.set_range(stream + _pack(after + 1)):
            places = list(islice(cursor.iternext(keys=False), count))
        if len(places) != count:
            raise LogGap(f"stream {stream.hex()} lacks records after version {after}; run verify")
        found = self._fetch(transaction, places)
        return Page(_placed(found), {stream: self._tail(transaction, stream, found[-1][1])}, end)

    def _fetch(self, transaction: Transaction, places: list[bytes]) -> list[tuple[bytes, bytes]]:
        cursor = self._cursor(transaction, "events")
        found: list[tuple[bytes, bytes]] = []
        size = 0
        for at in range(0, len(places), CHUNK):
            wanted = places[at : at + CHUNK]
            chunk = _neighbours(cursor, wanted) or cursor.getmulti(wanted)
            if len(chunk) != len(wanted):
                raise LogGap("the index of a stream names a position that is not in the log; run verify")
            found += chunk
            size += sum([len(record) for _, record in chunk])
            if size > PAGE_BYTES:
                break
        return found

    def _page(self, transaction: Transaction, found: list[tuple[bytes, bytes]], end: int) -> Page:
        last = {record[36:52]: record for _, record in found}
        tails = {stream: self._tail(transaction, stream, record) for stream, record in last.items()}
        return Page(_placed(found), tails, end)

    def _tail(self, transaction: Transaction, stream: bytes, record: bytes) -> bytes:
        """Return the hash that vouches for a record: in its successor, or in the head when there is none."""
        if len(record) < HEADER_SIZE:
            raise CorruptionError("a record is shorter than its header; run verify")
        version = HEADER.unpack_from(record)[5]
        view = View(self._tables, transaction)
        head = view.head(stream)
        if version == head.version:
            return head.hash
        place = view.place(stream, version + 1) if version < head.version else None
        following = None if place is None else view.record(place)
        if following is None:
            raise LogGap(f"stream {stream.hex()} lacks the record after version {version}; run verify")
        return following[:32]

    def _cursor(self, transaction: Transaction, table: str) -> lmdb.Cursor[bytes]:
        return transaction.cursor(db=self._tables.get(table))

    def _keys_here(self) -> KeyTable:
        if self._keys is None:
            raise CorruptionError(f"{self.path / KEYS} is missing; restore it")
        return self._keys


class _Closed:
    """In the place of an environment that was let go of."""

    def __getattr__(self, name: str) -> Any:
        raise LogClosed("the log is closed; open it again")


_CLOSED: Any = _Closed()


class _Known(NamedTuple):
    """What a commit of this engine left: good as long as the next write transaction is the very next one."""

    transaction: int
    log_head: LogHead
    heads: dict[bytes, Head]


def _sync_folders(*folders: Path) -> None:
    """Make the entries of new files durable: LMDB syncs what is in its files, not that they are there."""
    for folder in folders:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _neighbours(cursor: lmdb.Cursor[bytes], keys: list[bytes]) -> list[tuple[bytes, bytes]]:
    """Return the rows under `keys` when they lie side by side, as what was appended together does; else nothing."""
    apart = int.from_bytes(keys[-1], "big") - int.from_bytes(keys[0], "big")
    if apart != len(keys) - 1 or not cursor.set_key(keys[0]):
        return []
    found = list(islice(cursor.iternext(), len(keys)))
    return found if [key for key, _ in found] == keys else []


def _placed(found: list[tuple[bytes, bytes]]) -> list[tuple[int, bytes]]:
    """Return rows of events with their positions."""
    positions = struct.unpack(f">{len(found)}Q", b"".join([key for key, _ in found]))
    return [*zip(positions, [record for _, record in found], strict=True)]
