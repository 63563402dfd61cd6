"""Readers, writers and their slots, with real processes: who is killed holds nobody up, and readers wait for no one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lithograph.eventlog import ANY, EventLog, StreamName, environments
from lithograph.eventlog.engines.tree import TABLES
from lithograph.eventlog.environments import Environment, open_environment
from lithograph.eventlog.errors import Unavailable

from .children import Child, stopped
from .conftest import put_into
from .flips import in_child

pytestmark = pytest.mark.crash
NONE = "(no active readers)"
SOON_SECONDS = 5.0


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    """A log with some records, open in this process."""
    with EventLog(tmp_path / "log") as made:
        put = put_into(made)
        for turn in range(20):
            put(f"s{turn % 3}", ANY, b"1", b"2")
        yield made


def environment_of(log: EventLog) -> Environment:
    """The environment of `log/`."""
    engine: Any = log.engine
    return engine._log


def slots(log: EventLog) -> int:
    """How many reader slots are taken, by anybody."""
    env = environment_of(log)._env
    assert env is not None
    said = env.readers().strip()
    return 0 if said == NONE else len(said.splitlines()) - 1


def reader(path: Path) -> Callable[[Callable[[], None]], None]:
    """A child that stops in the middle of a transaction that reads."""

    def work(stop: Callable[[], None]) -> None:
        with EventLog(path) as log:
            environment_of(log).read(lambda transaction: (transaction.get(b"head"), stop()))

    return work


def writer(path: Path) -> Callable[[Callable[[], None]], None]:
    """A child that stops in the middle of a transaction, after it has written an event."""

    def work(stop: Callable[[], None]) -> None:
        environment = open_environment(path / "log", TABLES)
        events = environment.tables["events"]
        environment.write(lambda transaction: (transaction.put(b"\0" * 7 + b"\xff", b"half", db=events), stop()))

    return work


def test_more_readers_at_once_than_lmdb_has_slots_for_by_itself(log: EventLog) -> None:
    """Two hundred transactions that read at the same time are none too many."""
    inside, done = threading.Barrier(201), list[int]()

    def read() -> None:
        environment_of(log).read(lambda transaction: inside.wait(SOON_SECONDS))
        done.append(1)

    threads = [threading.Thread(target=read) for _ in range(200)]
    for thread in threads:
        thread.start()
    inside.wait(SOON_SECONDS)
    for thread in threads:
        thread.join()
    assert len(done) == 200
    assert slots(log) == 0


def test_a_reader_keeps_no_slot_between_calls(log: EventLog) -> None:
    """After each call, in the middle of a scan and of a follow, no slot is taken, so no page is kept from reuse."""
    stream = log.stream_id(StreamName("thread", "s1"))
    following, scanning, backwards = log.follow(), log.scan(page=5), log.backwards(stream)
    for call in (
        log.read,
        log.log_head,
        log.streams,
        lambda: log.read_stream(stream),
        lambda: log.head(stream),
        lambda: log.engine.wait(0, 0.01),
        lambda: next(following),
        lambda: next(scanning),
        lambda: next(backwards),
        lambda: put_into(log)("s1", ANY, b"x"),
        log.verify,
    ):
        call()
        assert slots(log) == 0


def test_a_process_keeps_no_slot_between_calls(log: EventLog) -> None:
    """Seen from outside, a process that has read and waits takes no slot; one within a transaction takes one."""

    def work(stop: Callable[[], None]) -> None:
        assert log.path is not None
        with EventLog(log.path) as own:
            assert own.read()
            stop()
            environment_of(own).read(lambda transaction: stop())

    with stopped(work) as child:
        assert slots(log) == 0
        child.go_on()
        child.stopped()
        assert slots(log) == 1


def test_slots_of_killed_readers_come_back_at_open(tmp_path: Path) -> None:
    """Slots of readers that were killed are free again when the log is opened."""
    path = tmp_path / "log"
    EventLog(path).close()
    with EventLog(path) as watching:
        for _ in range(3):
            with stopped(reader(path)) as child:
                child.kill()
        assert slots(watching) == 1, "each child that opened the log swept the one before"
    with EventLog(path) as again:
        assert slots(again) == 0


def test_slots_of_killed_readers_come_back_when_there_is_none_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that finds no slot takes that of a killed one; when all others live, it is told to try again."""
    monkeypatch.setattr(environments, "_MAX_READERS", 3)
    path = tmp_path / "log"
    with EventLog(path) as log:
        put_into(log)("a", 0, b"1")
        children = [Child(reader(path)) for _ in range(3)]
        for child in children:
            child.stopped()
        with pytest.raises(Unavailable, match="READERS_FULL"):
            log.read()
        for child in children:
            child.kill()
        assert slots(log) == 3
        assert len(log.read()) == 1
        assert slots(log) == 0
        for child in children:
            child.__exit__(None, None, None)


def test_a_killed_reader_does_not_keep_pages_for_ever(tmp_path: Path) -> None:
    """A log that stays open gives back what a killed reader kept: its file does not grow faster than without one."""
    sizes = []
    for killed in (False, True):
        path = tmp_path / f"log {killed}"
        with EventLog(path) as log:
            put = put_into(log)
            put("a", 0, b"1")
            if killed:
                with stopped(reader(path)) as child:
                    child.kill()
                assert slots(log) == 1
            for turn in range(600):
                put("a", turn + 1, b"1")
            assert slots(log) == 0
            for turn in range(600):
                put("a", turn + 601, b"1")
        sizes.append((path / "log" / "data.mdb").stat().st_size)
    # Until it is swept, at its 256th write, every commit of five pages or so takes new ones.
    assert sizes[1] < sizes[0] + 300 * 8 * 4096


def test_a_full_map_looks_for_killed_readers_before_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a killed reader keeps the pages of a full map, they are taken back, and the map stays as it is."""
    monkeypatch.setattr(environments, "LARGEST_MAP", 1 << 20)
    path = tmp_path / "env"
    environment = open_environment(path, ["a"])
    table = environment.tables["a"]

    def put(turn: int) -> None:
        environment.write(lambda transaction: transaction.put(b"k", bytes([turn]) * 50_000, db=table))

    def work(stop: Callable[[], None]) -> None:
        own = open_environment(path, ["a"])
        own.read(lambda transaction: (transaction.get(b"k", db=own.tables["a"]), stop()))

    put(0)
    with stopped(work) as child:
        child.kill()
    for turn in range(100):
        put(turn)
    assert environment._map_size == 1 << 20
    environment.close()


def test_a_killed_writer_leaves_nothing_and_holds_nobody_up(log: EventLog) -> None:
    """What a writer wrote that was killed before its commit is nowhere; the next append does not wait."""
    assert log.path is not None
    head = log.log_head()
    for turn in range(5):
        with stopped(writer(log.path)) as child:
            child.kill()
        began = time.monotonic()
        put_into(log)("after", turn, b"1")
        assert time.monotonic() - began < SOON_SECONDS
    assert log.log_head().position == head.position + 5
    assert log.verify().findings == []


def test_reads_do_not_wait_for_a_writer(log: EventLog) -> None:
    """While another process is in the middle of a transaction that writes, every read answers at once."""
    assert log.path is not None
    path, stream = log.path, log.stream_id(StreamName("thread", "s1"))

    def opened() -> str:
        with EventLog(path, read_only=True) as own:
            return f"{len(own.read())}"

    def opened_elsewhere() -> None:
        assert in_child(opened) == "40"

    calls: list[Callable[[], object]] = [
        log.read,
        log.log_head,
        log.streams,
        opened_elsewhere,
        lambda: log.read_stream(stream),
        lambda: log.head(stream),
        lambda: log.engine.key(1),
        lambda: list(log.scan()),
        lambda: log.engine.wait(39, 10),
        lambda: next(log.follow()),
    ]
    for call in calls:
        call()
    with stopped(writer(path)) as child:
        times = []
        for call in calls * 10:
            began = time.monotonic()
            call()
            times.append(time.monotonic() - began)
        assert max(times) < 1.0, "somebody waited for the writer, who stays"
        assert sorted(times)[len(times) // 2] < 0.01
        appender = threading.Thread(target=lambda: put_into(log)("s1", ANY, b"x"))
        appender.start()
        appender.join(0.1)
        assert appender.is_alive(), "the writer is there, and whoever writes waits for it"
        assert len(log.read()) == 40
        child.kill()
        appender.join(SOON_SECONDS)
        assert not appender.is_alive()
    assert log.log_head().position == 41


def test_readers_go_on_while_others_grow_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While this process and another one grow the file again and again, readers see a prefix at every moment."""
    monkeypatch.setattr(environments, "LARGEST_MAP", 1 << 20)
    path = tmp_path / "log"
    troubles: list[BaseException] = []
    over = threading.Event()

    def work(stop: Callable[[], None]) -> None:
        with EventLog(path) as own:
            stop()
            for _ in range(30):
                own.record("theirs", bytes(100_000))

    with EventLog(path) as log:

        def read() -> None:
            try:
                while not over.is_set():
                    records = log.read(0, 100)
                    assert [record.position for record in records] == list(range(1, len(records) + 1))
            except BaseException as error:  # noqa: BLE001
                troubles.append(error)

        with stopped(work) as child:
            threads = [threading.Thread(target=read) for _ in range(3)]
            for thread in threads:
                thread.start()
            child.go_on()
            for _ in range(30):
                log.record("ours", bytes(100_000))
            assert child.wait() == 0
        over.set()
        for thread in threads:
            thread.join(SOON_SECONDS)
        assert troubles == []
        assert len(log.read()) == 60
        assert environment_of(log)._map_size > 4 << 20
