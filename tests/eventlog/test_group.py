"""Group commit: appenders share commits, and no interrupted leader leaves anybody waiting."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Sequence

import pytest
from lithograph.eventlog import ANY, EventLog, StreamName
from lithograph.eventlog import group as group_module
from lithograph.eventlog.chain import NO_HEAD
from lithograph.eventlog.engine import Append, Appended, Conflict, Draft, StreamAppend
from lithograph.eventlog.engines.memory import MemoryEngine
from lithograph.eventlog.errors import LimitExceeded, OutcomeUnknown
from lithograph.eventlog.group import GroupCommit, _Ticket
from lithograph.eventlog.record import NO_ID

from .conftest import put_into


class Slow(MemoryEngine):
    """An engine whose first commit waits for a sign, and that may be struck before or after a commit."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.sizes: list[int] = []
        self.before: Callable[[int], None] = lambda commit: None
        self.after: Callable[[int], None] = lambda commit: None

    def commit(self, appends: Sequence[Append]) -> list[Appended | Conflict]:
        """Commit when told to."""
        self.sizes.append(len(appends))
        number = len(self.sizes)
        if number == 1:
            assert self.go.wait(10)
        self.before(number)
        outcomes = super().commit(appends)
        self.after(number)
        return outcomes


def append_to(name: int, *, time_us: int = 1, size: int = 10) -> Append:
    """An append of one record to a stream of its own."""
    draft = Draft(12, 1, time_us, NO_ID, bytes(size))
    return Append(name.to_bytes(16, "big"), [StreamAppend(name.to_bytes(16, "big"), 0, (draft,), 1, bytes(32))])


def run_all(engine: Slow, group: GroupCommit, appends: Sequence[Append]) -> list[object]:
    """Submit each append on its own thread: the first leads and waits, the others queue."""
    results: list[object] = [None] * len(appends)

    def submit(at: int) -> None:
        try:
            results[at] = group.submit(appends[at])
        except BaseException as error:  # noqa: BLE001
            results[at] = error

    threads = [threading.Thread(target=submit, args=(at,)) for at in range(len(appends))]
    threads[0].start()
    while not engine.sizes:
        time.sleep(0.001)
    for thread in threads[1:]:
        thread.start()
    while len(group._queue) < len(appends) - 1:
        time.sleep(0.001)
    engine.go.set()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    return results


def test_followers_share_a_commit() -> None:
    """Appends that come while another commits are committed together, each with its own answer."""
    engine = Slow()
    group = GroupCommit(engine)
    results = run_all(engine, group, [append_to(at) for at in range(12)])
    assert engine.sizes == [1, 11]
    assert sorted(result.first for result in results if isinstance(result, Appended)) == list(range(1, 13))


def test_lone_appender_pays_no_hand_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """An appender alone makes no ticket: no lock is made, nobody is waited for."""
    monkeypatch.setattr(group_module, "_Ticket", None)
    group = GroupCommit(MemoryEngine())
    assert [group.submit(append_to(at)).heads for at in range(3)]  # type: ignore[union-attr]


def test_interrupt_before_the_commit_is_retried_by_followers() -> None:
    """A leader interrupted before its commit began fails alone; its followers commit without it."""
    engine = Slow()

    class Interrupted(GroupCommit):
        def _take(self, own: object, batch: list[object]) -> None:  # type: ignore[override]
            super()._take(own, batch)  # type: ignore[arg-type]
            if len(batch) == 11:
                raise KeyboardInterrupt

    results = run_all(engine, Interrupted(engine), [append_to(at) for at in range(12)])
    assert sum(isinstance(result, KeyboardInterrupt) for result in results) == 1
    assert sum(isinstance(result, Appended) for result in results) == 11
    assert engine.log_head().position == 11


@pytest.mark.parametrize("written", [False, True])
def test_interrupt_during_the_commit_is_unknown_to_followers(written: bool) -> None:
    """Followers of a leader interrupted in or after its commit get `OutcomeUnknown`."""
    engine = Slow()

    def strike(commit: int) -> None:
        if commit == 2:
            raise KeyboardInterrupt

    if written:
        engine.after = strike
    else:
        engine.before = strike
    results = run_all(engine, GroupCommit(engine), [append_to(at) for at in range(12)])
    assert sum(isinstance(result, KeyboardInterrupt) for result in results) == 1
    assert sum(isinstance(result, OutcomeUnknown) for result in results) == 10
    assert engine.log_head().position == (12 if written else 1)


def test_log_retries_what_an_interrupted_leader_left_open() -> None:
    """Above the group, followers of an interrupted leader come through, and nothing is in the log twice."""
    engine = Slow()
    engine.go.set()
    strikes: list[int] = []

    def strike(commit: int) -> None:
        if engine.sizes[-1] > 1 and len(strikes) < 3:
            strikes.append(commit)
            raise KeyboardInterrupt

    engine.after = strike
    done: list[int] = []
    interrupted: list[int] = []
    with EventLog.over(engine) as log:
        put = put_into(log)

        def work(at: int) -> None:
            for turn in range(40):
                try:
                    put(f"s{at}", turn, b"%d" % turn)
                except KeyboardInterrupt:
                    interrupted.append(at)
                    return
            done.append(at)

        threads = [threading.Thread(target=work, args=(at,)) for at in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        assert len(done) + len(interrupted) == 8
        assert len(interrupted) == len(strikes)
        assert log.verify().ok


def test_guilty_append_fails_alone() -> None:
    """An append that the engine cannot store fails alone; the rest of its batch is stored."""
    engine = Slow()
    appends = [append_to(at) for at in range(12)]
    appends[5] = append_to(5, time_us=1 << 80)
    results = run_all(engine, GroupCommit(engine), appends)
    assert [at for at, result in enumerate(results) if not isinstance(result, Appended)] == [5]
    assert engine.head((5).to_bytes(16, "big")) == NO_HEAD
    assert engine.log_head().position == 11


def test_too_large_append_is_refused_before_it_queues() -> None:
    """An append over the limits is refused on its own thread."""
    engine = MemoryEngine()
    with pytest.raises(LimitExceeded):
        GroupCommit(engine).submit(append_to(1, size=engine.limits.record_bytes))


def test_too_large_append_is_refused_while_others_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    """An append over the limits never waits, and is in nobody's batch."""
    engine = MemoryEngine()
    group = GroupCommit(engine)
    monkeypatch.setattr(_Ticket, "wait", _interrupted)
    with group._lead, pytest.raises(LimitExceeded):
        group.submit(append_to(1, size=engine.limits.record_bytes))


def test_who_is_interrupted_while_it_waits_has_not_appended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A follower that leaves takes its append with it: the next leader does not commit it."""
    engine = MemoryEngine()
    group = GroupCommit(engine)
    with monkeypatch.context() as patch, group._lead:
        patch.setattr(_Ticket, "wait", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            group.submit(append_to(1))
    assert isinstance(group.submit(append_to(2)), Appended)
    assert engine.head((1).to_bytes(16, "big")) == NO_HEAD
    assert engine.log_head().position == 1


def _interrupted(_ticket: _Ticket) -> None:
    raise KeyboardInterrupt


def test_a_batch_that_was_not_begun_is_as_if_nobody_had_taken_it() -> None:
    """Followers of a leader struck while it marks its batch lie in the queue, in order, and get plain outcomes."""
    group = GroupCommit(MemoryEngine())
    dying, marked, unmarked = (_Ticket(append_to(at)) for at in range(3))
    dying.taken = marked.taken = True
    group._abandon(dying, [dying, marked, unmarked])
    assert [*group._queue] == [marked, unmarked]
    group._run_queued(marked)
    assert isinstance(marked.outcome, Appended)
    assert isinstance(unmarked.outcome, Appended)


def test_lost_wake_up_costs_patience_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a leader is gone without having woken the next one, followers lead by themselves."""
    monkeypatch.setattr(group_module, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(GroupCommit, "_wake", lambda self: None)
    engine = Slow()
    results = run_all(engine, GroupCommit(engine), [append_to(at) for at in range(12)])
    assert all(isinstance(result, Appended) for result in results)


def test_many_threads_on_either_engine(log: EventLog) -> None:
    """Appends of many threads are all there, dense and in order within each stream."""
    put = put_into(log)

    def work(at: int) -> None:
        for turn in range(15):
            put(f"s{at}", turn * 3, b"1", b"2", b"3")

    threads = [threading.Thread(target=work, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [record.position for record in log.read(0, 1000)] == list(range(1, 8 * 45 + 1))
    assert len(log.streams()) == 8
    assert all(head.version == 45 for _, head in log.streams())


def _interrupt_at_random(log: EventLog, seconds: float) -> tuple[int, int]:
    """Append on this thread while a timer interrupts it; return how often, and how many appends came through."""
    dice, put = random.Random(1), put_into(log)
    interrupted = appended = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            try:
                # It strikes once a turn, so the `finally` is either struck or left alone.
                signal.setitimer(signal.ITIMER_REAL, dice.uniform(0.00005, 0.004))
                for _ in range(50):
                    put("main", ANY, b"x")
                    appended += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interrupted += 1
    return interrupted, appended


@pytest.mark.parametrize("seconds", [0.7, pytest.param(20, marks=pytest.mark.nightly)])
def test_interrupts_anywhere_hang_nobody(log: EventLog, seconds: float) -> None:
    """`KeyboardInterrupt` at any instant of an append leaves other threads working and the log intact."""
    done, stop = [0] * 4, threading.Event()
    put = put_into(log)

    def work(at: int) -> None:
        while not stop.is_set():
            put(f"s{at}", done[at], b"1", b"2")
            done[at] += 2

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    threads = [threading.Thread(target=work, args=(at,)) for at in range(len(done))]
    for thread in threads:
        thread.start()
    try:
        interrupted, appended = _interrupt_at_random(log, seconds)
    finally:
        signal.signal(signal.SIGALRM, before)
        stop.set()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    assert interrupted > 10
    heads = [log.head(log.stream_id(StreamName("thread", f"s{at}"))).version for at in range(len(done))]
    assert heads == done
    assert log.head(log.stream_id(StreamName("thread", "main"))).version >= appended
    assert log.verify().ok
