"""`EventLog`: what an application is promised, on both engines."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from lithograph.eventlog import ANY, NO_ID, EventLog, ManualClock, StreamName, StreamWrite
from lithograph.eventlog.codec import decode_body
from lithograph.eventlog.engine import Append, Appended, Conflict, Page
from lithograph.eventlog.engines.memory import MemoryEngine
from lithograph.eventlog.errors import (
    ActorRequired,
    ConflictError,
    IntegrityError,
    LimitExceeded,
    LogClosed,
    LogError,
    LogGap,
    NotALog,
    OutcomeUnknown,
    ReadOnlyLog,
    StreamCollision,
)
from lithograph.eventlog.events import ItemDeleted, ItemPut, Recorded
from lithograph.eventlog.reading import told_stream

from .conftest import Put, put_into

A = StreamName("thread", "a")


def test_what_is_appended_is_read(log: EventLog) -> None:
    """An event comes back equal, with its time, run, actor, reason and the name of its stream."""
    event = ItemPut(("users", "7"), "color", b"blue")
    with log.as_actor("alice", reason="asked"):
        log.append([StreamWrite(A, 0, [log.stamp(event, run=b"r" * 16, time_us=77)])])
    record = log.read()[0]
    body = record.body
    assert record.event == event
    assert (record.header.time_us, record.header.run) == (77, b"r" * 16)
    assert (body.actor, body.reason) == ("alice", "asked")
    assert log.stream_name(log.stream_id(A)) == A
    assert record.hash == log.head(log.stream_id(A)).hash


def test_actor_ends_with_its_block(log: EventLog) -> None:
    """`as_actor` holds within its block, nests, and does not reach other threads that were there before."""

    def acting() -> tuple[str | None, str | None]:
        made = log.stamp(Recorded("t", b""))
        body = decode_body(made.kind, made.schema, made.body)
        return body.actor, body.reason

    with log.as_actor("alice"):
        with log.as_actor("bob", reason="r"):
            assert acting() == ("bob", "r")
        assert acting() == ("alice", None)
        seen: list[object] = []
        thread = threading.Thread(target=lambda: seen.append(acting()))
        thread.start()
        thread.join()
        assert seen == [(None, None)]
    assert acting() == (None, None)


def test_actor_may_be_demanded() -> None:
    """With `require_actor` a manual act without an actor is refused, in words that say how to name one."""
    with EventLog.in_memory(require_actor=True) as log:
        with pytest.raises(ActorRequired, match="as_actor"):
            log.demand_actor("update")
        log.demand_actor("update", actor="alice")
        with log.as_actor("alice"):
            log.demand_actor("update")
    with EventLog.in_memory() as log:
        log.demand_actor("update")


def test_conflict_names_stream_and_versions(log: EventLog, put: Put) -> None:
    """A conflict tells the stream as the user named it, what was expected, what is, and what to do."""
    put("a", 0, b"1", b"2")
    with pytest.raises(ConflictError, match="read the stream again") as caught:
        put("a", 1, b"3")
    assert (caught.value.stream, caught.value.expected, caught.value.actual) == ("a", 1, 2)
    assert log.log_head().position == 2


def test_append_is_idempotent(log: EventLog, put: Put) -> None:
    """An append repeated under its id is answered as before and lies in the log once."""
    first = put("a", 0, b"1", append_id=b"i" * 16)
    put("a", 1, b"2")
    assert put("a", 0, b"1", append_id=b"i" * 16) == first._replace(replayed=True)
    assert log.log_head().position == 2


def test_name_is_in_the_first_record_only(log: EventLog, put: Put) -> None:
    """A stream's name is stored once, and found again whatever it is."""
    names = [StreamName("thread", name) for name in ("", b"", "\0", b"\0", "\ud800", "x" * 9000, b"\xff" * 600)]
    for name in names:
        log.append([StreamWrite(name, ANY, [log.stamp(Recorded("t", b""))] * 2)])
        log.append([StreamWrite(name, 2, [log.stamp(Recorded("t", b""))])])
    assert sorted(map(repr, (log.stream_name(stream) for stream, _ in log.streams()))) == sorted(map(repr, names))
    assert [record.body.name is not None for record in log.read()] == [True, False, False] * len(names)
    with pytest.raises(LimitExceeded, match="name"):
        put("x" * 70_000, 0, b"1")
    with pytest.raises(LogError, match="no stream"):
        log.stream_name(b"?" * 16)


def test_colliding_names_are_refused(tmp_path: Path) -> None:
    """Two names with one id never share a stream: the second is refused and nothing is written."""
    with EventLog(tmp_path / "log") as log:
        put_into(log)("a", 0, b"1")
        position = log.log_head().position
    with EventLog(tmp_path / "log") as log:
        log._writer._stream_id = lambda name: log.stream_id(A)  # type: ignore[assignment]
        with pytest.raises(StreamCollision):
            put_into(log)("b", ANY, b"2")
        assert log.log_head().position == position


def test_reading_by_position_and_by_stream(log: EventLog, put: Put) -> None:
    """`read` and `read_stream` give what they are asked for, `scan` and `scan_stream` all of it in pages."""
    for turn in range(30):
        put("a", turn * 2, b"a", b"b")
        put("b", turn, b"c")
    stream = log.stream_id(A)
    assert [record.position for record in log.read(10, 5)] == [11, 12, 13, 14, 15]
    assert [record.header.version for record in log.read_stream(stream, 10, 5)] == [11, 12, 13, 14, 15]
    assert log.read(90) == log.read(0, 0) == log.read_stream(stream, 0, 0) == []
    pages = list(log.scan(7, page=10))
    assert [record.position for page in pages for record in page] == list(range(8, 91))
    assert max(map(len, pages)) == 10
    versions = [record.header.version for page in log.scan_stream(stream, 3, 50, page=7) for record in page]
    assert versions == list(range(4, 51))
    told = [told for page in log.scan_events(stream, 3, 50, page=7) for told in page]
    records = log.read_stream(stream, 3, 47)
    assert told == [(r.event, r.header.version, r.header.time_us, r.header.run) for r in records]


def test_read_fills_its_limit_over_engine_pages(log: EventLog, put: Put) -> None:
    """`read` returns as many records as asked, though the engine's pages are bounded in bytes."""
    for turn in range(4):
        put("a", turn * 20, *[bytes(200_000)] * 20)
    assert len(log.read(0, 70)) == 70
    assert len(log.read_stream(log.stream_id(A), 0, 70)) == 70


def test_read_only_log_refuses_to_write(tmp_path: Path) -> None:
    """A log opened read-only reads, sees what others append, and raises `ReadOnlyLog` for every write."""
    with pytest.raises(NotALog):
        EventLog(tmp_path / "log", read_only=True)
    with EventLog(tmp_path / "log") as log:
        put_into(log)("a", 0, b"1")
    with EventLog(tmp_path / "log", read_only=True) as reader:
        for write in (
            lambda: put_into(reader)("a", 1, b"2"),
            lambda: reader.put_blob(A, b"x"),
            lambda: reader.scope_of(A),
            lambda: reader.record("t", b""),
        ):
            with pytest.raises(ReadOnlyLog):
                write()
        with EventLog(tmp_path / "log") as writer:
            put_into(writer)("a", 1, b"2")
            assert [record.position for record in reader.read()] == [1, 2]
        assert len(reader.read()) == 2


def test_closed_log_says_so(log: EventLog, put: Put) -> None:
    """After `close` appending and reading raise `LogClosed`."""
    put("a", 0, b"1")
    log.close()
    for call in (lambda: put("a", 1, b"2"), log.read, log.log_head, lambda: log.head(b"s" * 16)):
        with pytest.raises(LogClosed):
            call()


def test_application_events_are_in_the_same_chain(log: EventLog) -> None:
    """`record` appends an application's event to the stream of its topic."""
    log.record("approved", b"1")
    log.record("approved", {"by": "alice"})
    events = [record.event for record in log.read_stream(log.stream_id(StreamName("app", "approved")))]
    assert events == [Recorded("approved", b"1"), Recorded("approved", {"by": "alice"})]


def test_new_streams_draw_keys_in_batches(log: EventLog, put: Put) -> None:
    """Each new stream has a scope of its own, and the next scopes are drawn already."""
    scopes = [put(f"s{at}", 0, b"1").heads[log.stream_id(StreamName("thread", f"s{at}"))].scope for at in range(10)]
    assert scopes == list(range(1, 11))
    assert log.engine.key(64) is not None
    assert log.engine.key(65) is None


def test_scope_is_remembered_until_the_first_append(log: EventLog, put: Put) -> None:
    """`scope_of` a new stream is the scope that its first append uses; a write may name another's scope."""
    scope = log.scope_of(A)
    assert scope == log.scope_of(A)
    put("b", 0, b"1")
    put("a", 0, b"1")
    assert log.head(log.stream_id(A)).scope == scope == log.scope_of(A)
    fork = StreamName("thread", "fork")
    log.append([StreamWrite(fork, 0, [log.stamp(Recorded("t", b""))], scope=scope)])
    assert log.read()[-1].header.scope == log.scope_of(fork) == scope


def test_a_run_can_be_repeated_to_the_byte() -> None:
    """With the same clock the same appends make the same log, keys and identity included."""

    def made() -> list[bytes]:
        with EventLog.in_memory(clock=ManualClock()) as log:
            put_into(log)("a", 0, b"1", b"2")
            log.record("t", b"x")
            return [record.data for record in log.read()]

    assert made() == made()


class Uncertain(MemoryEngine):
    """An engine that commits and then says that it does not know."""

    doubts = 0

    def commit(self, appends: list[Append]) -> list[Appended | Conflict]:  # type: ignore[override]
        """Commit; raise while doubts are left."""
        outcomes = super().commit(appends)
        if self.doubts:
            self.doubts -= 1
            raise OutcomeUnknown("who knows")
        return outcomes


@pytest.mark.parametrize("expected", [0, ANY])
def test_unknown_outcome_is_settled_by_the_log(expected: int) -> None:
    """An append whose outcome is unknown is tried again and lies in the log once, on an empty log too."""
    engine = Uncertain()
    with EventLog.over(engine) as log:
        put = put_into(log)
        engine.doubts = 2
        done = put("a", expected, b"1", b"2")
        assert (done.first, done.last, done.replayed) == (1, 2, True)
        engine.doubts = 1
        assert put("a", expected and ANY, b"3").last == 3 if expected == ANY else put("a", 2, b"3").last == 3
        engine.doubts = 100
        with pytest.raises(OutcomeUnknown):
            put("a", 3, b"4")
        assert log.log_head().position == 4


def test_changed_content_is_found_when_decoded(log: EventLog, put: Put) -> None:
    """A record with changed content raises `IntegrityError` when it is decoded."""
    put("a", 0, b"1")
    record = log.read()[0]
    changed = record._replace(data=record.data[:-1] + bytes([record.data[-1] ^ 1]))
    with pytest.raises(IntegrityError, match="digest"):
        _ = changed.event
    page = Page([(1, changed.data)], {record.header.stream: record.hash}, 1)
    with pytest.raises(IntegrityError, match="digest"):
        told_stream(page, record.header.stream, 0)


@pytest.mark.parametrize("at", [0, 40, 60, 120])
def test_changed_header_is_found_when_read(at: int) -> None:
    """A changed byte in a header breaks the chain for reads by position and by stream."""
    engine = MemoryEngine()
    with EventLog.over(engine) as log:
        put_into(log)("a", 0, b"1", b"2", b"3")
        stream = log.stream_id(A)
        record = bytearray(engine._events[1])
        record[at] ^= 1
        engine._events[1] = bytes(record)
        for read in (lambda: log.read(0, 9), lambda: log.read_stream(stream, 0, 9)):
            with pytest.raises((IntegrityError, LogGap)):
                read()


def test_missing_record_is_a_gap() -> None:
    """A record that is missing is `LogGap`, never skipped, at the end of the log too."""
    engine = MemoryEngine()
    with EventLog.over(engine) as log:
        put_into(log)("a", 0, b"1", b"2", b"3")
        page = engine.read(0, 9)
        engine.read = lambda after, limit: page._replace(records=[page.records[0], page.records[2]])  # type: ignore[method-assign]
        with pytest.raises(LogGap, match="position 2"):
            log.read()
        engine.read = lambda after, limit: page._replace(records=[], tails={})  # type: ignore[method-assign]
        with pytest.raises(LogGap, match="position 1"):
            log.read()


def test_stamp_takes_the_clock(log: EventLog) -> None:
    """Events stamped without a time get the clock's, and no run."""
    first, second = log.stamp(ItemDeleted((), "k")), log.stamp(ItemDeleted((), "k"))
    assert second.time_us == first.time_us + 1
    assert first.run == NO_ID
