"""Which appends of a batch are accepted, refused or already there: the rules, once, for every engine.

An engine opens its transaction, makes a `Batch` on it, admits appends in order, and stores what the batch
gathered (`events`, `places`, `heads`, `log_head`). Nothing is written while appends are admitted, so a
refused one leaves nothing. Later appends of a batch see the earlier ones.
"""

from __future__ import annotations

from typing import Protocol

from .. import merkle
from ..chain import finish
from ..engine import ANY, Append, Appended, Conflict, Head, LogHead, StreamAppend
from ..record import HEADER, Header, record_hash
from .rows import NUMBER


class Source(Protocol):
    """What a batch needs to see of the transaction it runs in."""

    def head(self, stream: bytes) -> Head:
        """Return a stream's head."""
        ...

    def place(self, stream: bytes, version: int) -> int | None:
        """Return the position of a stream's record, if there is one."""
        ...

    def record(self, position: int) -> bytes | None:
        """Return the record at a position, if there is one."""
        ...


class Batch:
    """Appends admitted to one transaction, and what must be stored for them."""

    def __init__(self, source: Source, log_head: LogHead) -> None:
        self._source = source
        self.first = log_head.position + 1
        self._frontier = list(log_head.frontier)
        self._seen: dict[bytes, Head] = {}
        self.events: list[bytes] = []
        """New records; the first lies at the old head position + 1."""
        self.places: dict[bytes, int] = {}
        """Position by stream id and version (8 bytes, big-endian)."""
        self.heads: dict[bytes, Head] = {}
        """New heads of the streams appended to."""

    @property
    def position(self) -> int:
        """The log's last position, this batch included."""
        return self.first - 1 + len(self.events)

    @property
    def log_head(self) -> LogHead:
        """The log's end, this batch included."""
        return LogHead(self.position, tuple(self._frontier))

    def admit(self, append: Append) -> Appended | Conflict:
        """Accept, refuse or recognise one append."""
        conflict = self._conflict(append)
        if conflict is not None or append.since is not None:
            replayed = self._replayed(append)
            if replayed is not None:
                return replayed
        return self._accept(append) if conflict is None else conflict

    def _conflict(self, append: Append) -> Conflict | None:
        for write in append.streams:
            if write.expected != ANY:
                actual = self._head(write.stream).version
                if actual != write.expected:
                    return Conflict(write.stream, write.expected, actual)
        return None

    def _accept(self, append: Append) -> Appended:
        first, index = self.position + 1, 0
        heads: dict[bytes, Head] = {}
        for write in append.streams:
            head = self._head(write.stream)
            if write.drafts:
                head = self._extend(write, head, append.append_id, index)
                index += len(write.drafts)
            heads[write.stream] = head
        return Appended(first, self.position, heads, False)

    def _extend(self, write: StreamAppend, head: Head, append_id: bytes, index: int) -> Head:
        size = self.position
        records, hashes, grown = finish(write, head, append_id=append_id, index=index, position=size + 1)
        merkle.extend(self._frontier, size, hashes)
        self.events += records
        stream, pack = write.stream, NUMBER.pack
        version = head.version
        for _ in records:
            version += 1
            size += 1
            self.places[stream + pack(version)] = size
        self.heads[stream] = grown
        return grown

    def _replayed(self, append: Append) -> Appended | None:
        """Return where the append lies when it is in the log already."""
        found = self._find(append)
        if found is None:
            return None
        at = found
        heads: dict[bytes, Head] = {}
        for write in append.streams:
            if not write.drafts:
                heads[write.stream] = self._head(write.stream)
                continue
            at += len(write.drafts)
            header = self._header(at - 1)
            if header is None or header.append != append.append_id or header.stream != write.stream:
                return None
            heads[write.stream] = Head(header.version, at - 1, record_hash(self._record(at - 1)), header.scope)
        return Appended(found, at - 1, heads, True)

    def _find(self, append: Append) -> int | None:
        """Return the first position of the append, found by its id in one stream where it must be."""
        index = 0
        unconditional: tuple[StreamAppend, int] | None = None
        for write in append.streams:
            if write.drafts and write.expected != ANY:
                place = self._place(write.stream, write.expected + 1)
                return self._match(append.append_id, index, place)
            if write.drafts and unconditional is None:
                unconditional = (write, index)
            index += len(write.drafts)
        if unconditional is None or append.since is None:
            return None
        return self._search(append.append_id, *unconditional, append.since)

    def _search(self, append_id: bytes, write: StreamAppend, index: int, since: int) -> int | None:
        """Walk a stream back to the position where the append was first tried."""
        for version in range(self._head(write.stream).version, 0, -1):
            place = self._place(write.stream, version)
            if place is None or place <= since:
                return None
            first = self._match(append_id, index, place)
            if first is not None:
                return first
        return None

    def _match(self, append_id: bytes, index: int, place: int | None) -> int | None:
        header = None if place is None else self._header(place)
        if place is None or header is None or header.append != append_id or header.index != index:
            return None
        return place - index

    def _head(self, stream: bytes) -> Head:
        head = self.heads.get(stream) or self._seen.get(stream)
        if head is None:
            head = self._seen[stream] = self._source.head(stream)
        return head

    def _place(self, stream: bytes, version: int) -> int | None:
        return self.places.get(stream + NUMBER.pack(version)) or self._source.place(stream, version)

    def _record(self, position: int) -> bytes:
        if position >= self.first:
            return self.events[position - self.first] if position <= self.position else b""
        return self._source.record(position) or b""

    def _header(self, position: int) -> Header | None:
        record = self._record(position)
        return Header._make(HEADER.unpack_from(record)) if record else None
