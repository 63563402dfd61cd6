"""The one tree of `log/`: which rows lie in it, in which order, and how a transaction looks at them.

Its tables are key ranges, told apart by the first byte: a commit then touches few pages, which is most of what it
costs. A stream's head lies right behind the place of its last version, on the same page. Events come last, so that the
tree grows at its end and leaves full pages behind. Read `rows` for what the values hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import lmdb

from ..chain import NO_HEAD
from ..engine import Head, LogHead
from ..environments import Transaction
from ..errors import CorruptionError
from . import rows

PAGE_BYTES = 4 * 1024 * 1024
CHUNK = 64
META, STREAMS, EVENTS = b"\x00", b"\x01", b"\x02"
TABLES = {"meta": META, "streams": STREAMS, "events": EVENTS}
"""What the keys of each table begin with."""
IDENTITY = META + rows.IDENTITY
LOG_HEAD = META + rows.LOG_HEAD
_pack = rows.NUMBER.pack
_unpack = rows.NUMBER.unpack


def event_key(position: int) -> bytes:
    """Return the key of the record at a position."""
    return EVENTS + _pack(position)


class View:
    """The tables as a batch and a page see them, within one transaction; `heads` are known without a look."""

    def __init__(self, transaction: Transaction, heads: Mapping[bytes, Head] | None = None) -> None:
        self._get = transaction.get
        self._heads = heads or {}

    def head(self, stream: bytes) -> Head:
        """Return a stream's head."""
        known = self._heads.get(stream)
        if known is not None:
            return known
        row = self._get(head_key(stream))
        return NO_HEAD if row is None else rows.unpack_head(stream, row)

    def place(self, stream: bytes, version: int) -> int | None:
        """Return the position of a stream's record, if there is one."""
        row = self._get(STREAMS + stream + _pack(version))
        return None if row is None else _unpack(row)[0]

    def record(self, position: int) -> bytes | None:
        """Return the record at a position, if there is one."""
        return self._get(event_key(position))


def head_key(stream: bytes) -> bytes:
    """Return the key of a stream's head."""
    return STREAMS + stream + rows.HEAD


def log_head(transaction: Transaction, path: Path) -> LogHead:
    """Return the end of the log at `path`."""
    row = transaction.get(LOG_HEAD)
    if row is None:
        raise CorruptionError(f"{path} has lost the end of its log; restore it from a backup")
    return rows.unpack_log_head(row)[0]


def heads(transaction: Transaction, after: bytes, limit: int) -> list[tuple[bytes, Head]]:
    """Return up to `limit` streams with their heads: from each stream's head on to the first row of the next one."""
    found: list[tuple[bytes, Head]] = []
    cursor = transaction.cursor()
    more = cursor.set_range(head_key(after) if after else STREAMS)
    if more and cursor.key() == head_key(after):
        more = cursor.next()
    while more and len(found) < limit and cursor.key().startswith(STREAMS):
        stream = cursor.key()[1:17]
        if not cursor.set_key(head_key(stream)):
            raise CorruptionError(f"stream {stream.hex()} has no head; run verify")
        found.append((stream, rows.unpack_head(stream, cursor.value())))
        more = cursor.next()
    return found


def last_key(transaction: Transaction) -> bytes:
    """Return the tree's last key, empty when it has none."""
    cursor = transaction.cursor()
    return cursor.key() if cursor.last() else b""


def take(cursor: lmdb.Cursor[bytes], limit: int) -> list[tuple[bytes, bytes]]:
    """Return up to `limit` rows from where the cursor stands, and no more than a few MiB."""
    taken: list[tuple[bytes, bytes]] = []
    size = 0
    walk: Any = cursor.iternext()
    while len(taken) < limit and size <= PAGE_BYTES:
        chunk: list[tuple[bytes, bytes]] = list(islice(walk, min(CHUNK, limit - len(taken))))
        if not chunk:
            break
        taken += chunk
        size += sum([len(value) for _, value in chunk])
    return taken


def take_after(cursor: lmdb.Cursor[bytes], after: bytes, limit: int) -> list[tuple[bytes, bytes]]:
    """Return up to `limit` rows with keys greater than `after`."""
    found = cursor.set_range(after)
    if found and cursor.key() == after:
        found = cursor.next()
    return take(cursor, limit) if found else []
