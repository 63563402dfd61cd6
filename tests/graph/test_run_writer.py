"""`RunWriter`: the fence, what each durability waits for, how long the queue may grow, who flushes behind a run."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import pytest
from lithograph.eventlog import Appended, EventLog, Record, StreamName, StreamWrite
from lithograph.eventlog.errors import ConflictError, LimitExceeded, Unavailable
from lithograph.eventlog.events import (
    ChannelResult,
    ChannelWritten,
    CheckpointCommitted,
    Recorded,
    ResultOp,
    RunStarted,
)
from lithograph.graph.run_writer import MAX_QUEUED_BYTES, MAX_QUEUED_STEPS, Flusher, RunWriter

from .chains import ONE, Log, chain, stamp

THREAD = StreamName("thread", "1")


class CountingLog(EventLog):
    """A log that remembers how many records each append brought, and can be told to refuse."""

    def __init__(self) -> None:
        raise AssertionError("made by `over`")

    appends: list[int]
    fails_at: int | None = None
    """Which append is refused, counted from 0."""

    def append(
        self, writes: Sequence[StreamWrite], *, append_id: bytes | None = None, since: int | None = None
    ) -> Appended:
        """Append and remember."""
        if self.fails_at == len(self.appends):
            raise Unavailable("the disk is full")
        appended = super().append(writes, append_id=append_id, since=since)
        self.appends.append(sum(len(write.events) for write in writes))
        return appended


@pytest.fixture
def log() -> Iterator[CountingLog]:
    """A log in memory that counts."""
    with EventLog.in_memory() as plain, CountingLog.over(plain.engine) as counting:
        assert isinstance(counting, CountingLog)
        counting.appends = []
        yield counting


def _writer(log: EventLog, durability: str, version: int = 0) -> RunWriter:
    return RunWriter(log, THREAD, version, bytes(16), durability=durability)


def _put(writer: RunWriter, *data: bytes) -> int:
    return writer.append([Recorded("test", item) for item in data], 1)


def _commit(results: tuple[ChannelResult, ...]) -> CheckpointCommitted:
    return CheckpointCommitted(
        id=bytes(16),
        parent=None,
        parent_version=0,
        namespace="",
        step=1,
        source="loop",
        metadata=None,
        parents={},
        graph=bytes(32),
        tasks=(),
        applied=(),
        results=results,
        version=1,
        consumed=(),
        seen=(),
        updated=None,
    )


def _records(log: EventLog) -> list[Record]:
    return log.read_stream(log.stream_id(THREAD), 0, 100_000)


def _data(log: EventLog) -> list[bytes]:
    return [record.event.data for record in _records(log) if isinstance(record.event, Recorded)]


# Durabilities


def test_sync_waits_for_each_step(log: CountingLog) -> None:
    """In `sync` what was appended is on the log when the step is done: one append a step."""
    writer = _writer(log, "sync")
    for number in range(3):
        assert _put(writer, b"write", b"commit") == 2 * number + 1
        writer.step_done()
        assert len(_records(log)) == 2 * number + 2
    assert log.appends == [2, 2, 2]


def test_async_queues_at_most_so_many_steps(log: CountingLog) -> None:
    """In `async` steps queue until there are 64; then they are written, in order, in one append."""
    writer = _writer(log, "async")
    for number in range(MAX_QUEUED_STEPS - 1):
        _put(writer, b"%d" % number)
        writer.step_done()
    assert log.appends == []
    _put(writer, b"last")
    writer.step_done()
    assert log.appends == [MAX_QUEUED_STEPS]
    assert _data(log) == [b"%d" % number for number in range(MAX_QUEUED_STEPS - 1)] + [b"last"]


def test_async_queues_at_most_so_many_bytes(log: CountingLog) -> None:
    """In `async` large writes are written before 64 steps: when 4 MiB wait."""
    writer = _writer(log, "async")
    part = b"x" * (MAX_QUEUED_BYTES // 20)
    for number in range(1, 21):
        writer.append([ChannelWritten(bytes(16), "", bytes(16), "a", (), (("items", part),))], 1)
        writer.step_done()
        assert len(_records(log)) == (20 if number == 20 else 0)


def test_async_counts_what_checkpoints_hold(log: CountingLog) -> None:
    """Large results are bytes that wait too: as much of them as one append holds is never exceeded."""
    writer = _writer(log, "async")
    part = b"x" * (MAX_QUEUED_BYTES // 80)
    for data in (part, [0, 0, part]):
        results = tuple(ChannelResult(channel, ResultOp.WHOLE, data, b"") for channel in "abcd")
        for _ in range(20):
            writer.append([_commit(results)], 1)
            writer.step_done()
        writer.drain()
    assert len(_records(log)) == 40
    assert len(log.appends) >= 4


def test_exit_writes_nothing_before_the_end(log: CountingLog) -> None:
    """In `exit` no step is waited for: everything comes with the drain, in one append."""
    writer = _writer(log, "exit")
    for _ in range(3 * MAX_QUEUED_STEPS):
        _put(writer, b"step")
        writer.step_done()
    assert log.appends == []
    writer.drain()
    assert log.appends == [3 * MAX_QUEUED_STEPS]


def test_a_run_in_exit_is_two_appends(log: CountingLog) -> None:
    """A run in `exit` claims its thread, and appends once at its end: a kill between leaves the state before it."""
    graph = chain(a=stamp("a"), b=stamp("b"), c=stamp("c")).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE, durability="exit")
    log.appends.clear()
    log.fails_at = 1
    with pytest.raises(Unavailable):
        graph.invoke({"n": 2, "log": []}, ONE, durability="exit")
    log.fails_at = None
    state = chain(a=stamp("a")).compile(checkpointer=EventLog.over(log.engine)).get_state(ONE)
    assert (state.values["n"], state.values["log"]) == (1, ["a", "b", "c"])


def test_a_long_edit_is_there_whole_or_not_at_all(log: CountingLog) -> None:
    """`bulk_update_state` of many supersteps is one append; when it is too much for one, none of them happened."""
    graph = chain(a=stamp("a")).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    log.appends.clear()
    graph.bulk_update_state(ONE, [[(Log(n=number, log=[]), "a")] for number in range(200)])
    assert len(log.appends) == 1
    before = graph.get_state(ONE).config
    with pytest.raises(LimitExceeded):
        graph.bulk_update_state(ONE, [[(Log(n=number, log=[]), "a")] for number in range(600)])
    assert graph.get_state(ONE).config == before


# The fence


def test_a_writer_that_was_overtaken_adds_nothing(log: CountingLog) -> None:
    """After somebody else appended, the queue is not written, and every later call says who is where."""
    writer = _writer(log, "async")
    _put(writer, b"mine")
    writer.drain()
    _put(writer, b"queued")
    rival = _writer(log, "sync", version=1)
    _put(rival, b"theirs")
    rival.step_done()
    with pytest.raises(ConflictError) as caught:
        writer.drain()
    assert (caught.value.expected, caught.value.actual, caught.value.stream) == (1, 2, "1")
    with pytest.raises(ConflictError):
        _put(writer, b"more")
    assert writer.conflict is caught.value
    assert _data(log) == [b"mine", b"theirs"]


def test_a_failed_append_ends_the_writer(log: CountingLog) -> None:
    """What could not be written is raised then and at every later call: nothing is left out in between."""
    writer = _writer(log, "sync")
    log.fails_at = 0
    _put(writer, b"first")
    with pytest.raises(Unavailable):
        writer.step_done()
    log.fails_at = None
    with pytest.raises(Unavailable):
        _put(writer, b"second")
    assert writer.conflict is None
    assert _data(log) == []


def test_a_long_queue_is_written_in_order(log: CountingLog) -> None:
    """A queue of more records than one append should hold is written in several, in order, none twice."""
    writer = _writer(log, "async")
    data = [b"%d" % number for number in range(1000)]
    _put(writer, *data)
    writer.drain()
    assert _data(log) == data
    assert max(log.appends) <= 256


# Behind the run


def _wait_for(count: int, log: EventLog) -> None:
    deadline = time.monotonic() + 10
    while len(_records(log)) < count and time.monotonic() < deadline:
        time.sleep(0.005)
    assert len(_records(log)) == count


def test_the_flusher_writes_what_waits(log: CountingLog) -> None:
    """A running `async` run's queue is written a moment later without anybody asking."""
    writer = _writer(log, "async")
    writer.run_behind()
    try:
        _put(writer, b"one", b"two")
        _wait_for(2, log)
        _put(writer, b"three")
        _wait_for(3, log)
    finally:
        writer.release()


def test_only_async_runs_are_flushed_behind(log: CountingLog) -> None:
    """Neither `exit` nor a released writer is written by the flusher."""
    at_exit, released = _writer(log, "exit"), _writer(log, "async")
    at_exit.run_behind()
    released.run_behind()
    released.release()
    _put(at_exit, b"exit")
    _put(released, b"released")
    time.sleep(10 * Flusher.INTERVAL_SECONDS)
    assert _records(log) == []
    at_exit.release()


def test_a_forked_child_has_a_flusher_of_its_own(log: CountingLog) -> None:
    """A child whose parent's flusher was at work is not held up by it: runs there are flushed behind as anywhere."""
    parents = Flusher.of_process()
    with parents._lock:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                signal.alarm(10)
                writer = _writer(log, "async")
                writer.run_behind()
                _put(writer, b"one")
                _wait_for(1, log)
                code = 0
            finally:
                os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert Flusher.of_process() is parents


def test_what_the_flusher_met_the_run_meets(log: CountingLog) -> None:
    """A failure behind the run is raised by the run's next append, not lost in a thread."""
    writer = _writer(log, "async")
    writer.run_behind()
    try:
        log.fails_at = 0
        _put(writer, b"lost")
        time.sleep(10 * Flusher.INTERVAL_SECONDS)
        with pytest.raises(Unavailable):
            _put(writer, b"after")
    finally:
        writer.release()


def test_flushing_from_two_sides_keeps_the_order(log: CountingLog) -> None:
    """The run's own drains and the flusher behind it write each event once, in order."""
    writer = _writer(log, "async")
    stop = threading.Event()

    def flush() -> None:
        while not stop.is_set():
            writer.flush_behind()

    behind = threading.Thread(target=flush)
    behind.start()
    data = [b"%d" % number for number in range(2000)]
    for number, item in enumerate(data):
        _put(writer, item)
        if number % 97 == 0:
            writer.drain()
    writer.drain()
    stop.set()
    behind.join(10)
    assert _data(log) == data


@pytest.mark.parametrize(
    ("around", "given", "expected"),
    [
        (None, ("alice", "payslip"), ("alice", "payslip")),
        (("bob", None), ("alice", "payslip"), ("bob", None)),
        (("bob", None), (None, "asked by phone"), ("bob", "asked by phone")),
        (("bob", "his own"), ("bob", "of the config"), ("bob", "his own")),
        (("bob", None), ("bob", "of the config"), ("bob", "of the config")),
    ],
)
def test_nobodys_reason_is_given_to_another(
    around: tuple[str, str | None] | None, given: tuple[str | None, str | None], expected: tuple[str, str | None]
) -> None:
    """Who acts in the context goes before the config's actor; a reason stays with the one who gave it."""
    log = EventLog.in_memory()
    graph = chain(Log, a=lambda state: {"n": 2}).compile(checkpointer=log)
    config: Any = {**ONE, "metadata": {"actor": given[0], "reason": given[1]}}
    with log.as_actor(around[0], reason=around[1]) if around else nullcontext():
        graph.invoke({"n": 1}, config)
    bodies = [record.body for record in log.read() if record.header.kind == RunStarted.kind]
    assert [(body.actor, body.reason) for body in bodies] == [expected]
