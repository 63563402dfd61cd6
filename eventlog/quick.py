"""The quick form of `verify`: what can be told of a log by its files, its end and its last records.

It costs the same however long the log is. What it checks it checks as `audit` does; what it leaves out it says. Read
`audit` for the checks.
"""

from __future__ import annotations

from collections.abc import Callable

from blake3 import blake3

from . import merkle
from .audit import Audit, Progress, Report
from .engine import Head, Rows
from .engines import rows
from .errors import LithographError
from .record import HEADER, HEADER_SIZE, SALT_SIZE, Header
from .streams import stream_ids

RECORDS = 4096
"""So many of the last records are looked at."""
_PAGE = 512
_pack = rows.NUMBER.pack


class QuickAudit(Audit):
    """One pass over the last records of an engine, and over what belongs to them."""

    def __init__(self, source: Rows, report: Report, progress: Progress, *, records: int = RECORDS) -> None:
        super().__init__(source, report, progress)
        self._last = records
        self._first = 1
        self._tail: list[bytes] = []
        self._unproven = 0

    def _checks(self) -> tuple[Callable[[], None], ...]:
        return (
            self._check_keys_are_here,
            self._check_storage,
            self._check_meta,
            self._check_owner,
            self._check_last_events,
            self._check_tail,
            self._check_heads,
            self._say_what_was_left_out,
        )

    def _check_last_events(self) -> None:
        end = self._end.position
        self._first = max(0, end - self._last) + 1
        stream_id, position = stream_ids(self._identity.secret), self._first - 1
        while position < end:
            page = self._source.rows("events", _pack(position) if position else b"", min(_PAGE, end - position))
            if not page:
                self._found(position + 1, f"position {position + 1} is missing from a log of {end}", "order")
                return
            for key, record in page:
                position += 1
                if key != _pack(position):
                    self._found(position, f"position {position} is missing: the next row is {key.hex()}", "order")
                    return
                self._look_before(position, record)
                self._tail.append(blake3(record[:HEADER_SIZE]).digest())
                self._check_record(position, record, self._tail[-1], stream_id)
            self._check_places(page)
            self._progress(position - self._first + 1, end - self._first + 1)
        behind = self._source.rows("events", _pack(end), 1)
        if behind:
            self._check_beyond(int.from_bytes(behind[0][0], "big"))

    def _look_before(self, position: int, record: bytes) -> None:
        """Take what lies before the last records as it is: a stream's record before its first one here."""
        if len(record) < HEADER_SIZE + SALT_SIZE:
            return
        header = Header._make(HEADER.unpack_from(record))
        if position == self._first and header.index:
            self._append = (header.append, header.index - 1)
        if header.version == 1 or header.stream in self.streams:
            return
        place = self._source.lookup("streams", (header.stream + _pack(header.version - 1),))[0]
        before = place and self._source.lookup("events", (place,))[0]
        if not place or not before:
            self._found(position, "the stream's record before this one is not where its index says", "place")
            return
        at = int.from_bytes(place, "big")
        self.streams[header.stream] = Head(header.version - 1, at, blake3(before[:HEADER_SIZE]).digest(), header.scope)

    def _check_tail(self) -> None:
        """Compare the frontier with those of its subtrees that lie within the last records as a whole."""
        end, frontier, tail = self._end.position, self._end.frontier, self._tail
        self.frontier = [*frontier]
        start, subtrees = end, 0
        while start and end - start + (start & -start) <= len(tail):
            start &= start - 1
            subtrees += 1
        found: list[bytes] = []
        merkle.extend(found, start, tail[len(tail) - (end - start) :])
        if len(tail) == end - self._first + 1 and tuple(found) != frontier[len(frontier) - subtrees :]:
            self._found(
                None, f"the tree of the last {end - start} records is not the one at the end of the log", "tree"
            )
        self._unproven = start

    def _check_heads(self) -> None:
        """Compare the heads of the streams that the last records are of."""
        known = [*self.streams]
        found = self._source.lookup("streams", [stream + rows.HEAD for stream in known])
        for stream, row in zip(known, found, strict=True):
            if row is None:
                self._found(self.streams[stream].position, f"stream {stream.hex()} has no head", "head")
            else:
                self._check_head(stream, row)

    def _say_what_was_left_out(self) -> None:
        if self._first == 1:
            self.not_checked = "scope keys that no record uses, rows of streams that have no record, and views/"
            return
        self.not_checked = (
            f"the {self._first - 1:,} records before position {self._first:,}, with their places and keys, and the "
            f"heads of streams that end there; the tree over the first {self._unproven:,} records; and views/"
        )

    def _key(self, scope: int) -> bytes | None:
        if not self._keyless and scope not in self._keys:
            row = self._source.lookup("keys", (_pack(scope),))[0]
            try:
                if row is not None:
                    rows.unpack_key(scope, row)
            except LithographError as error:
                self._found(None, str(error), "key")
        return super()._key(scope)
