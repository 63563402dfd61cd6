"""The checks of `verify`: every byte of every row is accounted for by another one, or by a checksum.

Records: hash, chain, density, digest, salt, body, tree. Places and heads of streams: equal to what the records say, in
both directions. Identity, end of the log and scope keys: their checksums. The rows are read as stored
(`engine.Rows`), and nothing that is wrong with them raises: it becomes a finding. Read `verify` for how this
is run.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

from blake3 import blake3

from . import merkle
from .codec import decode_body
from .engine import Head, Identity, LogHead, Rows
from .engines import rows
from .errors import LithographError
from .record import FORMAT_VERSION, HEADER, HEADER_SIZE, NO_HASH, SALT_SIZE, Header, derive_salts
from .streams import decode_name, stream_ids

_PAGE = 512
_ENOUGH = 1000
"""After so many findings the rest is of no use to anybody."""
_pack = rows.NUMBER.pack

Kind = Literal["file", "identity", "end", "key", "record", "chain", "order", "tree", "place", "head", "view"]
"""What is wrong: the file below the rows; the rows of the identity, of the log's end, of a scope key; a record's own
bytes; its link to the one before it; its position, version or append; the tree over all records; the place of a record
in its stream's index; a stream's head; views."""

Report = Callable[["Finding"], None]
Progress = Callable[[int, int], None]


class Finding(NamedTuple):
    """Something that is not as it was written, and where, when it concerns a record."""

    position: int | None
    what: str
    derived: bool = False
    """Whether only views are concerned, which are computed again from the log: nothing is lost."""
    kind: Kind = "file"


class Audit:
    """One pass over the rows of an engine. `run` reports findings; the counts are its result."""

    def __init__(self, source: Rows, report: Report, progress: Progress) -> None:
        self.records = 0
        self.bytes = 0
        self.streams: dict[bytes, Head] = {}
        """Each stream's head as its records say."""
        self.frontier: list[bytes] = []
        self.not_checked = ""
        """What was left out on purpose, in words."""
        self._source = source
        self._report = report
        self._progress = progress
        self._findings = 0
        self._identity = Identity(b"", 0, bytes(32), 0, 0)
        self._end = LogHead(0, ())
        self._keys: dict[int, bytes | None] = {}
        self._append = (b"", -1)
        self._keyless = False

    def run(self) -> None:
        """Check all tables; one that cannot be read to its end is a finding, then comes the next."""
        try:
            for check in self._checks():
                self._guard(check)
        except _Enough:
            return

    def _checks(self) -> tuple[Callable[[], None], ...]:
        return (
            self._check_keys_are_here,
            self._check_storage,
            self._check_meta,
            self._check_keys,
            self._check_owner,
            self._check_events,
            self._check_streams,
        )

    def _guard(self, check: Callable[[], None]) -> None:
        """Run one check; rows of a shape that no version writes end it, as a finding."""
        try:
            check()
        except (LithographError, struct.error, ValueError, OverflowError) as error:
            self._found(None, f"stored bytes are of no known shape: {error}")

    def _check_keys_are_here(self) -> None:
        """Say first when there are no keys to check with, and what to do; all else is checked without them."""
        try:
            self._source.rows("keys", b"", 1)
        except LithographError as error:
            self._keyless = True
            self._found(
                None,
                f"the scope keys cannot be read: {error}. Copies of keys/ are kept apart; a backup of log/ has none. "
                "All else was checked; with which keys the salts were made was not",
                "key",
            )

    def _check_storage(self) -> None:
        for what in self._source.inspect():
            self._found(None, what)

    def _found(self, position: int | None, what: str, kind: Kind = "file") -> None:
        self._findings += 1
        self._report(Finding(position, what, kind=kind))
        if self._findings >= _ENOUGH:
            self._report(Finding(None, "there are more findings than are worth listing; the audit stopped here"))
            raise _Enough

    def _walk(self, table: str) -> Iterator[list[tuple[bytes, bytes]]]:
        """Yield a table's rows in pages, as far as they can be read and come in order."""
        after = b""
        while page := self._page(table, after):
            keys = [key for key, _ in page]
            if keys[0] <= after or any(second <= first for first, second in pairwise(keys)):
                self._found(None, f"the table {table!r} is not in order after key {after.hex()}")
                return
            after = keys[-1]
            yield page

    def _page(self, table: str, after: bytes) -> list[tuple[bytes, bytes]]:
        try:
            return self._source.rows(table, after, _PAGE)
        except LithographError as error:
            self._found(None, f"the table {table!r} cannot be read: {error}")
            return []

    def _check_meta(self) -> None:
        found = {key: value for page in self._walk("meta") for key, value in page}
        for key in found.keys() - {rows.IDENTITY, rows.LOG_HEAD}:
            self._found(None, f"the table 'meta' has a row that no version writes: {key!r}")
        try:
            self._identity = identity = rows.unpack_identity(found.get(rows.IDENTITY, b""))
            if identity.format > FORMAT_VERSION:
                self._found(None, f"the log has format {identity.format}, which this version does not know", "identity")
        except LithographError as error:
            self._found(None, str(error), "identity")
        try:
            self._end, _ = rows.unpack_log_head(found.get(rows.LOG_HEAD, b""))
        except LithographError as error:
            self._found(None, str(error), "end")

    def _check_keys(self) -> None:
        if self._keyless:
            return
        number = 0
        for page in self._walk("keys"):
            for key, row in page:
                number += 1
                if key != _pack(number):
                    self._found(None, f"scope key {number} is missing: the next row is {key.hex()}", "key")
                    number = int.from_bytes(key, "big")
                try:
                    rows.unpack_key(number, row)
                except LithographError as error:
                    self._found(None, str(error), "key")

    def _check_owner(self) -> None:
        if self._keyless:
            return
        owner = {key: row for page in self._walk("keymeta") for key, row in page}
        try:
            row = owner.pop(rows.LOG_ID, b"")
            if rows.unseal(rows.LOG_ID, row, "the owner of keys/")[8:] != self._identity.log_id:
                self._found(None, "keys/ belongs to another log", "key")
        except LithographError as error:
            self._found(None, str(error), "key")
        for key in owner:
            self._found(None, f"the table 'keymeta' has a row that no version writes: {key!r}", "key")

    def _check_events(self) -> None:
        stream_id = stream_ids(self._identity.secret)
        end = self._end
        position = 0
        for page in self._walk("events"):
            hashes: list[bytes] = []
            for key, record in page:
                position += 1
                if key != _pack(position):
                    self._found(position, f"position {position} is missing: the next row is {key.hex()}", "order")
                    position = int.from_bytes(key, "big")
                if position > end.position:
                    break
                hashes.append(blake3(record[:HEADER_SIZE]).digest())
                self._check_record(position, record, hashes[-1], stream_id)
            merkle.extend(self.frontier, self.records - len(hashes), hashes)
            self._check_places(page[: len(hashes)])
            self._progress(min(position, end.position), end.position)
            if position > end.position:
                self._check_beyond(position)
                break
        if self.records != end.position or tuple(self.frontier) != end.frontier:
            self._found(
                None,
                f"the tree of {self.records} records is not the one at the end of a log of {end.position}",
                "tree" if self.records == end.position else "order",
            )

    def _check_beyond(self, position: int) -> None:
        """Records behind the end that was read first are fine when somebody is appending meanwhile."""
        row = self._source.lookup("meta", (rows.LOG_HEAD,))[0]
        try:
            if rows.unpack_log_head(row or b"")[0].position < position:
                self._found(position, f"there is a record at position {position}, behind the end of the log", "order")
        except LithographError as error:
            self._found(None, str(error), "end")

    def _check_record(self, position: int, record: bytes, record_hash: bytes, stream_id: Callable[..., bytes]) -> None:
        self.records += 1
        self.bytes += len(record)
        if len(record) < HEADER_SIZE + SALT_SIZE:
            self._found(position, "the record is cut short", "record")
            return
        header = Header._make(HEADER.unpack_from(record))
        last = self.streams.get(header.stream, Head(0, 0, NO_HASH, 0))
        if header.previous != last.hash:
            before = f"the record does not follow the one before it in its stream, at {last.position}"
            self._found(position, before, "chain")
        if header.version != last.version + 1:
            self._found(position, f"the record has version {header.version} in a stream at {last.version}", "order")
        self.streams[header.stream] = Head(header.version, position, record_hash, header.scope)
        if header.index and self._append != (header.append, header.index - 1):
            self._found(position, "the record is not where its append put it", "order")
        self._append = (header.append, header.index)
        self._check_content(position, header, record[HEADER_SIZE:], stream_id)

    def _check_content(self, position: int, header: Header, erasable: bytes, stream_id: Callable[..., bytes]) -> None:
        if blake3(erasable).digest() != header.digest:
            self._found(position, "the record's content does not match its digest", "record")
            return
        key = self._key(header.scope)
        if key is not None and derive_salts(key, header.append, header.index, 1) != erasable[:SALT_SIZE]:
            self._found(position, f"the record's salt was not made with scope key {header.scope}", "record")
        if header.format > FORMAT_VERSION:
            unknown = f"the record has format {header.format}, which this version does not know"
            self._found(position, unknown, "record")
            return
        try:
            body = decode_body(header.kind, header.schema, erasable[SALT_SIZE:])
            if header.version == 1 and (body.name is None or stream_id(decode_name(body.name)) != header.stream):
                self._found(position, "the stream's first record does not name it", "record")
        except LithographError as error:
            self._found(position, str(error), "record")

    def _key(self, scope: int) -> bytes | None:
        if self._keyless:
            return None
        if scope not in self._keys:
            row = self._source.lookup("keys", (_pack(scope),))[0]
            try:
                self._keys[scope] = None if row is None else rows.unpack_key(scope, row)
            except LithographError:
                self._keys[scope] = None  # a finding of `_check_keys` already
            if row is None:
                self._found(None, f"scope key {scope} is named by a record and is not there")
        return self._keys[scope]

    def _check_places(self, page: list[tuple[bytes, bytes]]) -> None:
        """Look up where the index says that each record of a page is."""
        try:
            places = self._source.lookup("streams", [record[36:60] for _, record in page])
        except LithographError as error:
            self._found(None, f"the table 'streams' cannot be read: {error}")
            return
        for (key, _), place in zip(page, places, strict=True):
            if place != key:
                self._found(int.from_bytes(key, "big"), "the index of its stream does not name the record", "place")

    def _check_streams(self) -> None:
        """Count the places: with every record found in them, equal numbers mean equal sets. Check each head."""
        count = 0
        seen: set[bytes] = set()
        for page in self._walk("streams"):
            for key, row in page:
                stream, version = key[:16], key[16:]
                if version != rows.HEAD:
                    count += int.from_bytes(row, "big") <= self._end.position
                    continue
                seen.add(stream)
                self._check_head(stream, row)
        if count != self.records:
            self._found(None, f"the index of the streams names {count} records, the log has {self.records}", "place")
        for stream in self.streams.keys() - seen:
            self._found(self.streams[stream].position, f"stream {stream.hex()} has no head", "head")

    def _check_head(self, stream: bytes, row: bytes) -> None:
        try:
            head = rows.unpack_head(stream, row)
        except LithographError as error:
            last = self.streams.get(stream)
            self._found(last.position if last else None, str(error), "head")
            return
        if head.position > self._end.position:
            self._check_new_head(stream, head)
        elif head != self.streams.get(stream):
            self._found(head.position, f"the head of stream {stream.hex()} is not its last record", "head")

    def _check_new_head(self, stream: bytes, head: Head) -> None:
        """A head that moved while the audit ran must name a record that is there."""
        record = self._source.lookup("events", (_pack(head.position),))[0]
        if record is None or record[36:52] != stream or blake3(record[:HEADER_SIZE]).digest() != head.hash:
            self._found(head.position, f"the head of stream {stream.hex()} is not its last record", "head")


class _Enough(Exception):
    """Too many findings."""
