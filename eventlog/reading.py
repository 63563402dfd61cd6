"""Records as read: what is checked on every page, and what is checked when a record is decoded.

On every page: positions (or versions) are dense, and each header's hash is the one that its successor in the
stream names, on the page or behind it. When a record is decoded: the digest of its erasable part. So what
`verify` looks for in a whole log, a reader finds in what it reads. Read `engine.Page` for where the tails
come from.
"""

from __future__ import annotations

import itertools
import struct
from typing import Any, NamedTuple

from blake3 import blake3

from .codec import decode_body, decode_events
from .engine import Page
from .errors import CorruptionError, IntegrityError, LogGap, NewerFormat
from .events import Body, Event
from .record import FORMAT_VERSION, HEADER, HEADER_SIZE, NO_HASH, SALT_SIZE, Header, record_hash

_BODY_AT = HEADER_SIZE + SALT_SIZE
_FOLDED = struct.Struct(">32sBBH16sQq16s28x32s")
"""The header without what no fold looks at: append id, index in the append, scope."""
_NO_LINK = b""
_new: Any = tuple.__new__  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
"""A named tuple's own constructor is Python code and costs as much as the hash."""


class Record(NamedTuple):
    """One record of the log. The header is at hand, `body` and `event` are decoded at each use."""

    position: int
    header: Header
    data: bytes
    """The record as stored."""

    @property
    def body(self) -> Body[Event]:
        """The event with who and why; raises `IntegrityError` when it is not what was appended."""
        data, header = self.data, self.header
        if blake3(data[HEADER_SIZE:]).digest() != header.digest:
            raise _changed(self.position)
        return decode_body(header.kind, header.schema, data[_BODY_AT:])

    @property
    def event(self) -> Event:
        """The event; raises as `body` does."""
        return self.body.event

    @property
    def hash(self) -> bytes:
        """The record's hash."""
        return record_hash(self.data)


Told = tuple[Event, int, int, bytes]
"""What a fold needs of a record: the event, its version, its time (microseconds since the Unix epoch), its run."""

Columns = tuple[tuple[Any, ...], ...]
"""Fields of many headers, in stored order: the values of one field lie together."""


def checked(page: Page, after: int) -> list[Record]:
    """Return the records of a page of the log that begins after position `after`."""
    records: list[Record] = []
    links: dict[bytes, bytes] = {}
    unpack, join, known = HEADER.unpack_from, records.append, links.get
    hashes = _hashes_of([data[:HEADER_SIZE] for _, data in page.records])
    position = after
    try:
        for (position, data), found in zip(page.records, hashes, strict=True):
            after += 1
            header = _new(Header, unpack(data))
            stream = header[4]
            link = known(stream)
            if position != after or header[1] > FORMAT_VERSION or (link or header[0]) != header[0]:
                raise _finding(position, after, header)
            if link is None and header[5] == 1 and header[0] != NO_HASH:
                raise _broken(position)
            links[stream] = found
            join(_new(Record, (position, header, data)))
    except struct.error as error:
        raise CorruptionError(f"the record at position {position} is cut short; run verify") from error
    if links != page.tails:
        raise _broken_tail(records, links, page.tails)
    if not records and after < page.end:
        raise LogGap(f"position {after + 1} is missing from a log of {page.end}; run verify")
    return records


def checked_stream(page: Page, stream: bytes, after: int) -> list[Record]:
    """Return the records of a page of one stream that begins after version `after`."""
    records = [data for _, data in page.records]
    headers = zip(*_checked_columns(page, records, stream, after, HEADER), strict=True)
    return [
        _new(Record, (position, _new(Header, header), data))
        for (position, data), header in zip(page.records, headers, strict=True)
    ]


def told_stream(page: Page, stream: bytes, after: int) -> list[Told]:
    """Return what the records of a page of one stream tell: their headers and contents checked, for folds."""
    records = [data for _, data in page.records]
    columns = _checked_columns(page, records, stream, after, _FOLDED)
    if not columns:
        return []
    _, _, schemas, kinds, _, versions, times, runs, digests = columns
    contents = [data[HEADER_SIZE:] for data in records]
    found = _hashes_of(contents)
    if found != [*digests]:
        raise _changed(next(at for (at, _), is_, was in zip(page.records, found, digests, strict=True) if is_ != was))
    events = decode_events(kinds, schemas, [content[SALT_SIZE:] for content in contents])
    return [*zip(events, versions, times, runs, strict=True)]


def _checked_columns(page: Page, records: list[bytes], stream: bytes, after: int, header: struct.Struct) -> Columns:
    """Return the header fields of a page of one stream, field by field; nothing when the stream ends at `after`.

    Whole columns are compared at once, so that a record costs its hash and little else.
    """
    try:
        headers = [*map(header.unpack_from, records)]
    except struct.error as error:
        position = next(position for position, data in page.records if len(data) < HEADER_SIZE)
        raise CorruptionError(f"the record at position {position} is cut short; run verify") from error
    if not headers:
        if after < page.end:
            raise LogGap(f"version {after + 1} is missing from a stream of {page.end}; run verify")
        return ()
    columns: Columns = (*zip(*headers, strict=True),)
    previous, formats, streams, versions = columns[0], columns[1], columns[4], columns[5]
    hashes = _hashes_of([data[:HEADER_SIZE] for data in records])
    if (
        versions != (*range(after + 1, after + 1 + len(headers)),)
        or streams.count(stream) != len(headers)
        or max(formats) > FORMAT_VERSION
        or previous != (previous[0] if after else NO_HASH, *hashes[:-1])
        or page.tails.get(stream) != hashes[-1]
    ):
        raise _finding_in_stream(page, stream, after, hashes)
    return columns


def _hashes_of(parts: list[bytes]) -> list[bytes]:
    """Return the hash of each part. One hasher serves them all: making one costs as much as hashing a header."""
    hasher = blake3()
    update, digest, reset = hasher.update, hasher.digest, hasher.reset
    hashes: list[bytes] = []
    for part in parts:
        update(part)
        hashes.append(digest())
        reset()
    return hashes


def _finding_in_stream(page: Page, stream: bytes, after: int, hashes: list[bytes]) -> CorruptionError | NewerFormat:
    """Return what is wrong with a page of a stream, at the first record where it shows."""
    link = _NO_LINK if after else NO_HASH
    for version, (position, data), found in zip(itertools.count(after + 1), page.records, hashes, strict=False):
        header = Header(*HEADER.unpack_from(data))
        if header.stream != stream or header.version != version:
            return LogGap(f"version {version} of stream {stream.hex()} is not where the index says; run verify")
        if header.format > FORMAT_VERSION or (link or header.previous) != header.previous:
            return _finding(position, position, header)
        link = found
    return _broken(page.records[-1][0])


def _finding(position: int, expected: int, header: Header) -> CorruptionError | NewerFormat:
    if position != expected:
        return LogGap(f"position {expected} is missing: the record after it is at {position}; run verify")
    if header.format > FORMAT_VERSION:
        return NewerFormat(f"the record at position {position} has format {header.format}: upgrade Lithograph")
    return _broken(position)


def _changed(position: int) -> IntegrityError:
    return IntegrityError(f"the content of the record at position {position} does not match its digest; run verify")


def _broken(position: int) -> IntegrityError:
    return IntegrityError(
        f"the chain is broken at position {position}: the hashes of two records do not match; run verify"
    )


def _broken_tail(records: list[Record], links: dict[bytes, bytes], tails: dict[bytes, bytes]) -> IntegrityError:
    broken = {stream for stream, link in links.items() if tails.get(stream) != link}
    return _broken(max((record.position for record in records if record.header.stream in broken), default=0))
