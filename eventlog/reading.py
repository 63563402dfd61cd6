"""Records as read: what is checked on every page, and what is checked when a record is decoded.

On every page: positions (or versions) are dense, and each header's hash is the one that its successor in the
stream names, on the page or behind it. When a record is decoded: the digest of its erasable part. So what
`verify` looks for in a whole log, a reader finds in what it reads. Read `engine.Page` for where the tails
come from.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from blake3 import blake3

from .codec import decoder
from .engine import Page
from .errors import CorruptionError, IntegrityError, LogGap, NewerFormat
from .events import Body, Event
from .record import FORMAT_VERSION, HEADER, HEADER_SIZE, NO_HASH, SALT_SIZE, Header, record_hash

_BODY_AT = HEADER_SIZE + SALT_SIZE
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
        return decoder(header.kind, header.schema)(data[_BODY_AT:])

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


def checked(page: Page, after: int) -> list[Record]:
    """Return the records of a page of the log that begins after position `after`."""
    records: list[Record] = []
    links: dict[bytes, bytes] = {}
    unpack, join, known = HEADER.unpack_from, records.append, links.get
    position = after
    try:
        for position, data in page.records:
            after += 1
            header = _new(Header, unpack(data))
            stream = header[4]
            link = known(stream)
            if position != after or header[1] > FORMAT_VERSION or (link or header[0]) != header[0]:
                raise _finding(position, after, header)
            if link is None and header[5] == 1 and header[0] != NO_HASH:
                raise _broken(position)
            links[stream] = blake3(data[:HEADER_SIZE]).digest()
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
    records: list[Record] = []
    unpack, join = HEADER.unpack_from, records.append
    link = _NO_LINK if after else NO_HASH
    position = 0
    try:
        for position, data in page.records:
            after += 1
            header = _new(Header, unpack(data))
            if header[4] != stream or header[5] != after:
                raise LogGap(f"version {after} of stream {stream.hex()} is not where the index says; run verify")
            if header[1] > FORMAT_VERSION or (link or header[0]) != header[0]:
                raise _finding(position, position, header)
            link = blake3(data[:HEADER_SIZE]).digest()
            join(_new(Record, (position, header, data)))
    except struct.error as error:
        raise CorruptionError(f"the record at position {position} is cut short; run verify") from error
    if records and page.tails.get(stream) != link:
        raise _broken(position)
    if not records and after < page.end:
        raise LogGap(f"version {after + 1} is missing from a stream of {page.end}; run verify")
    return records


def told_stream(page: Page, stream: bytes, after: int) -> list[Told]:
    """Return what the records of a page of one stream tell: `checked_stream` and `bodies` in one pass, for folds."""
    told: list[Told] = []
    unpack, join, known = HEADER.unpack_from, told.append, decoder
    link = _NO_LINK if after else NO_HASH
    position = 0
    try:
        for position, data in page.records:
            after += 1
            previous, format_, schema, kind, of, version, time_us, run, _append, _index, _scope, digest = unpack(data)
            if of != stream or version != after or format_ > FORMAT_VERSION or (link or previous) != previous:
                checked_stream(page, stream, after - 1 - len(told))  # says what is wrong
                raise _broken(position)
            link = blake3(data[:HEADER_SIZE]).digest()
            erasable = data[HEADER_SIZE:]
            if blake3(erasable).digest() != digest:
                raise _changed(position)
            join((known(kind, schema)(erasable[SALT_SIZE:]).event, version, time_us, run))
    except struct.error as error:
        raise CorruptionError(f"the record at position {position} is cut short; run verify") from error
    if told and page.tails.get(stream) != link:
        raise _broken(position)
    if not told and after < page.end:
        raise LogGap(f"version {after + 1} is missing from a stream of {page.end}; run verify")
    return told


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
