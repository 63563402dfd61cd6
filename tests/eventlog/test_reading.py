"""What a page of a stream is checked for, by those who want its records and by those who fold what it tells."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lithograph.eventlog import EventLog, StreamName
from lithograph.eventlog.engine import Page
from lithograph.eventlog.errors import CorruptionError, IntegrityError, LogGap, MalformedValue, NewerFormat
from lithograph.eventlog.reading import checked_stream, told_stream
from lithograph.eventlog.record import HEADER, HEADER_SIZE, SALT_SIZE, Header, record_hash

from .conftest import Put, put_into

Damage = Callable[[list[tuple[int, bytes]]], None]


def _page() -> tuple[Page, bytes]:
    """Return a page with the five records of a stream, and the stream."""
    with EventLog.in_memory() as log:
        put_into(log)("a", 0, b"1", b"2", b"3", b"4", b"5")
        stream = log.stream_id(StreamName("thread", "a"))
        return log.engine.read_stream(stream, 0, 10), stream


def _changed(at: int, **fields: object) -> Damage:
    """Return what puts other values into the header of one record."""

    def damage(records: list[tuple[int, bytes]]) -> None:
        position, data = records[at]
        header = Header(*HEADER.unpack_from(data))._replace(**fields)  # pyright: ignore[reportArgumentType]
        records[at] = (position, HEADER.pack(*header) + data[HEADER_SIZE:])

    return damage


def _cut(records: list[tuple[int, bytes]]) -> None:
    records[2] = (records[2][0], records[2][1][: HEADER_SIZE - 1])


def _left_out(records: list[tuple[int, bytes]]) -> None:
    del records[2]


@pytest.mark.parametrize(
    ("damage", "error", "words"),
    [
        (_changed(2, version=7), LogGap, "version 3 of stream"),
        (_changed(2, stream=b"s" * 16), LogGap, "version 3 of stream"),
        (_changed(2, format=9), NewerFormat, "position 3 has format 9"),
        (_changed(2, previous=b"p" * 32), IntegrityError, "broken at position 3"),
        (_changed(0, previous=b"p" * 32), IntegrityError, "broken at position 1"),
        (_changed(2, time_us=1), IntegrityError, "broken at position 4"),
        (_changed(4, append=b"x" * 16), IntegrityError, "broken at position 5"),
        (_cut, CorruptionError, "position 3 is cut short"),
        (_left_out, LogGap, "version 3 of stream"),
    ],
)
def test_both_readers_find_what_is_wrong_with_a_page(damage: Damage, error: type[Exception], words: str) -> None:
    """A page is refused at the first record where something is wrong, whether it is read as records or folded."""
    page, stream = _page()
    damage(page.records)
    for read in (checked_stream, told_stream):
        with pytest.raises(error, match=words):
            read(page, stream, 0)


def test_changed_content_is_found_at_its_record() -> None:
    """A fold names the first record whose content is not what was appended, wherever on the page it is."""
    page, stream = _page()
    for at in (3, 2):
        position, data = page.records[at]
        page.records[at] = (position, data[:-1] + bytes([data[-1] ^ 1]))
    assert len(checked_stream(page, stream, 0)) == 5
    with pytest.raises(IntegrityError, match="position 3 does not match its digest"):
        told_stream(page, stream, 0)


def test_content_that_is_no_event_is_refused_by_kind() -> None:
    """A record whose digest is right and whose body is none of its kind is `MalformedValue`, and says which kind."""
    from blake3 import blake3

    page, stream = _page()
    position, data = page.records[-1]
    content = data[HEADER_SIZE : HEADER_SIZE + SALT_SIZE] + b"\xc1"
    _changed(4, digest=blake3(content).digest())(page.records)
    page.records[-1] = (position, page.records[-1][1][:HEADER_SIZE] + content)
    page.tails[stream] = record_hash(page.records[-1][1])
    kind = Header(*HEADER.unpack_from(data)).kind
    with pytest.raises(MalformedValue, match=f"kind {kind} "):
        told_stream(page, stream, 0)


def test_a_page_tells_what_its_records_say() -> None:
    """What is told of a page is the event, version, time and run of each record, from any version on."""
    page, stream = _page()
    rest = page._replace(records=page.records[2:])
    records = checked_stream(rest, stream, 2)
    said = [(record.event, record.header.version, record.header.time_us, record.header.run) for record in records]
    assert told_stream(rest, stream, 2) == said
    assert [version for _, version, _, _ in said] == [3, 4, 5]


def test_records_side_by_side_and_scattered_ones_are_read_alike(log: EventLog, put: Put) -> None:
    """A stream whose records partly lie in a row, and partly between another's, is read whole and in order."""
    data = [b"%d" % number for number in range(400)]
    put("a", 0, *data[:150])
    for number in range(150, 250):
        put("a", number, data[number])
        put("b", number - 150, b"other")
    put("a", 250, *data[250:])
    stream = log.stream_id(StreamName("thread", "a"))
    for page in (64, 100, 400):
        told = [event for part in log.scan_events(stream, page=page) for event, *_ in part]
        assert [event.data for event in told] == data  # pyright: ignore[reportAttributeAccessIssue]
