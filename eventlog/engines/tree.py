"""The tables of `log/`: which rows lie where, and how a transaction looks at them.

    meta     identity, end of the log: in the environment's own tree, which each commit writes anyway
    streams  stream + version -> position, and right behind the last version, on the same page, the stream's head
    events   position -> record, only ever grown at its end, so that it leaves full pages behind

The fewer pages a commit touches the less it costs, and that is most of what an append costs. Read `rows` for what the
values hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import lmdb

from ..chain import NO_HEAD
from ..engine import Head, LogHead
from ..environments import Table, Transaction
from ..errors import CorruptionError
from . import rows

PAGE_BYTES = 4 * 1024 * 1024
CHUNK = 64
META = "meta"
TABLES = ("streams", "events")
"""Tables with a name of their own in the environment."""
_pack = rows.NUMBER.pack
_unpack = rows.NUMBER.unpack


class View:
    """The tables as a batch and a page see them, within one transaction; `heads` are known without a look."""

    def __init__(
        self, tables: Mapping[str, Table], transaction: Transaction, heads: Mapping[bytes, Head] | None = None
    ) -> None:
        self._streams = tables["streams"]
        self._events = tables["events"]
        self._get = transaction.get
        self._heads = heads or {}

    def head(self, stream: bytes) -> Head:
        """Return a stream's head."""
        known = self._heads.get(stream)
        if known is not None:
            return known
        row = self._get(stream + rows.HEAD, db=self._streams)
        return NO_HEAD if row is None else rows.unpack_head(stream, row)

    def place(self, stream: bytes, version: int) -> int | None:
        """Return the position of a stream's record, if there is one."""
        row = self._get(stream + _pack(version), db=self._streams)
        return None if row is None else _unpack(row)[0]

    def record(self, position: int) -> bytes | None:
        """Return the record at a position, if there is one."""
        return self._get(_pack(position), db=self._events)


def log_head(transaction: Transaction, path: Path) -> LogHead:
    """Return the end of the log at `path`."""
    row = transaction.get(rows.LOG_HEAD)
    if row is None:
        raise CorruptionError(f"{path} has lost the end of its log; restore it from a backup")
    return rows.unpack_log_head(row)[0]


def heads(cursor: lmdb.Cursor[bytes], after: bytes, limit: int) -> list[tuple[bytes, Head]]:
    """Return up to `limit` streams with their heads: from each stream's head on to the first row of the next one."""
    found: list[tuple[bytes, Head]] = []
    last = after + rows.HEAD
    more = cursor.set_range(last) if after else cursor.first()
    if more and cursor.key() == last:
        more = cursor.next()
    while more and len(found) < limit:
        stream = cursor.key()[:16]
        if not cursor.set_key(stream + rows.HEAD):
            raise CorruptionError(f"stream {stream.hex()} has no head; run verify")
        found.append((stream, rows.unpack_head(stream, cursor.value())))
        more = cursor.next()
    return found


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
    found = cursor.set_range(after) if after else cursor.first()
    if found and cursor.key() == after:
        found = cursor.next()
    return take(cursor, limit) if found else []
