"""LMDB environments: shared in a process, refused after a fork, grown, never read past their end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lmdb
import pytest
from lithograph.eventlog import EventLog, StreamName, environments
from lithograph.eventlog.engines import folder, rows
from lithograph.eventlog.engines.tree import TABLES
from lithograph.eventlog.environments import open_environment
from lithograph.eventlog.errors import (
    CorruptionError,
    ForkedError,
    LogClosed,
    LogLocked,
    NetworkFileSystem,
    NewerFormat,
    NotALog,
    ReadOnlyLog,
)

from .conftest import put_into
from .flips import ask_for_too_much, findings

BIG_APPENDER = """
import sys
from lithograph.eventlog import EventLog
with EventLog(sys.argv[1]) as log:
    for turn in range(int(sys.argv[2])):
        log.record("big", bytes(200_000))
"""


def in_child(work: Callable[[], None]) -> int:
    """Run `work` in a forked child and return its exit code."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_one_environment_per_file(tmp_path: Path) -> None:
    """The same file opened again, also through a link, is the same environment until the last close."""
    path = tmp_path / "env"
    first = open_environment(path, ["a"])
    (tmp_path / "link").symlink_to(path)
    second = open_environment(tmp_path / "link", ["a", "b"])
    assert second is first
    assert set(first.tables) == {"a", "b"}
    first.close()
    second.write(lambda transaction: transaction.put(b"k", b"v", db=second.tables["b"]))
    second.close()
    with pytest.raises(LogClosed):
        second.read(lambda transaction: None)
    again = open_environment(path, ["b"], read_only=True)
    assert again is not first
    assert again.read(lambda transaction: transaction.get(b"k", db=again.tables["b"])) == b"v"
    with pytest.raises(ReadOnlyLog):
        again.write(lambda transaction: None)
    again.close()


def test_a_reader_waits_while_its_file_is_opened_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is open to be read, and is wanted for writing, is opened anew: readers wait, and do not fail."""
    path = tmp_path / "env"
    open_environment(path, ["a"]).close()
    reader = open_environment(path, ["a"], read_only=True)
    closed, go_on, seen = threading.Event(), threading.Event(), list[int]()
    really_open = environments.Environment._open

    def slowly(environment: environments.Environment) -> Any:
        closed.set()
        go_on.wait(10)
        return really_open(environment)

    monkeypatch.setattr(environments.Environment, "_open", slowly)
    upgrade = threading.Thread(target=lambda: open_environment(path, ["a"]).close())
    upgrade.start()
    assert closed.wait(10)
    look = threading.Thread(target=lambda: seen.extend((reader.last_transaction(), reader.read(lambda _: 7))))
    look.start()
    look.join(0.05)
    assert look.is_alive()
    go_on.set()
    upgrade.join(10)
    look.join(10)
    assert seen[1:] == [7]
    reader.close()


def test_readers_go_on_when_their_file_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wants to write a file that others read, and may not, is refused; the readers notice nothing."""
    path = tmp_path / "env"
    writer = open_environment(path, ["a"])
    writer.write(lambda transaction: transaction.put(b"k", b"v", db=writer.tables["a"]))
    writer.close()
    reader = open_environment(path, ["a"], read_only=True)
    really_open = environments.Environment._open

    def unless_written(environment: environments.Environment) -> Any:
        if not environment.read_only:
            raise LogLocked("the file system is read-only")
        return really_open(environment)

    monkeypatch.setattr(environments.Environment, "_open", unless_written)
    with pytest.raises(LogLocked):
        open_environment(path, ["a"])
    assert reader.read(lambda transaction: transaction.get(b"k", db=reader.tables["a"])) == b"v"
    with pytest.raises(ReadOnlyLog):
        reader.write(lambda transaction: None)
    reader.close()


def test_two_logs_on_one_folder(tmp_path: Path) -> None:
    """Two `EventLog`s on one folder in one process see each other's appends and close on their own."""
    with EventLog(tmp_path / "log") as one:
        with EventLog(tmp_path / "log") as two:
            put_into(one)("a", 0, b"1")
            put_into(two)("a", 1, b"2")
        put_into(one)("a", 2, b"3")
        assert len(one.read()) == 3


def test_a_closed_log_is_closed_whoever_else_has_it_open(tmp_path: Path) -> None:
    """A closed log says so though another one shares its files, and closing it again takes nothing from that one."""
    with EventLog(tmp_path / "log") as one:
        two = EventLog(tmp_path / "log")
        put_into(two)("a", 0, b"1")
        two.close()
        two.close()
        for use in (two.read, two.log_head, two.streams, lambda: put_into(two)("a", 1, b"2")):
            with pytest.raises(LogClosed):
                use()
        with pytest.raises(LogClosed):
            two.record("topic", b"2")
        put_into(one)("a", 1, b"2")
        assert len(one.read()) == 2
        assert one.verify().ok


def test_child_of_a_fork_must_open_anew(tmp_path: Path) -> None:
    """After `fork` the parent's log is `ForkedError` in the child, which may open its own."""
    with EventLog(tmp_path / "log") as log:
        put_into(log)("a", 0, b"1")

        def child() -> None:
            with pytest.raises(ForkedError):
                log.read()
            with pytest.raises(ForkedError):
                put_into(log)("a", 1, b"2")
            with EventLog(tmp_path / "log") as own:
                put_into(own)("a", 1, b"2")

        assert in_child(child) == 0
        put_into(log)("a", 2, b"3")
        assert len(log.read()) == 3
        assert log.verify().ok


def test_full_map_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full map is doubled, as often as it takes; the append that met its end is written once."""
    monkeypatch.setattr(environments, "LARGEST_MAP", 1 << 20)
    with EventLog(tmp_path / "log") as log:
        put = put_into(log)
        for turn in range(5):
            put("a", turn * 10, *[bytes([turn]) * 100_000] * 10)
        assert log.log_head().position == 50
        assert log.verify().ok


def test_growth_by_another_process_is_adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When another process has grown the file, reads and appends here go on."""
    monkeypatch.setattr(environments, "LARGEST_MAP", 1 << 20)
    with EventLog(tmp_path / "log") as log:
        put_into(log)("a", 0, b"1")
        subprocess.run([sys.executable, "-c", BIG_APPENDER, str(tmp_path / "log"), "20"], check=True)
        assert len(log.read()) == 21
        put_into(log)("a", 1, b"2")
        assert log.log_head().position == 22


def test_refused_map_is_halved(tmp_path: Path) -> None:
    """Where the system refuses a large map a smaller one is taken."""
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30));"
        "from lithograph.eventlog import EventLog; log = EventLog(sys.argv[1]);"
        "log.record('t', b''); log.close()"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "log")], check=True)


@pytest.mark.parametrize("part", ["log", "keys"])
def test_cut_file_is_found_at_open(tmp_path: Path, part: str) -> None:
    """A cut or emptied file is `CorruptionError` at open, not a crash later."""
    with EventLog(tmp_path / "log") as log:
        for _turn in range(20):
            log.record("t", bytes(50_000))
            log.engine.draw_keys(50)
    data = tmp_path / "log" / part / "data.mdb"
    size = data.stat().st_size
    for left in (size - 4096, size // 2, 5000, 100):
        os.truncate(data, left)
        with pytest.raises(CorruptionError):
            EventLog(tmp_path / "log")
    os.truncate(data, 0)
    if part == "log":
        with pytest.raises(CorruptionError):
            EventLog(tmp_path / "log")


@pytest.mark.parametrize("part", ["log", "keys"])
def test_file_that_asks_for_an_impossible_map_is_damaged(tmp_path: Path, part: str) -> None:
    """A last page beyond all memory, as a flipped byte can make it, is `CorruptionError` at open and a finding."""
    with EventLog(tmp_path / "log") as log:
        put_into(log)("a", 0, b"1")
    ask_for_too_much(tmp_path / "log" / part)
    assert findings(tmp_path / "log")
    with pytest.raises(CorruptionError, match="pages"):
        EventLog(tmp_path / "log")


def test_file_cut_under_an_open_log_is_found_at_the_next_page(tmp_path: Path) -> None:
    """A file that is cut while it is open is `CorruptionError` at the next page of reads."""
    with EventLog(tmp_path / "log") as log:
        for _ in range(20):
            log.record("t", bytes(50_000))
        data = tmp_path / "log" / "log" / "data.mdb"
        os.truncate(data, data.stat().st_size // 2)
        with pytest.raises(CorruptionError):
            log.read()
        with pytest.raises(CorruptionError):
            log.read_stream(b"s" * 16)
        assert not log.verify().ok


def test_missing_keys_are_never_drawn_again(tmp_path: Path) -> None:
    """A log with records whose `keys/` is gone can be read, and is not given new keys under old numbers."""
    with EventLog(tmp_path / "log") as log:
        log.record("t", b"1")
    for file in (tmp_path / "log" / "keys").iterdir():
        file.unlink()
    with pytest.raises(CorruptionError, match="keys"):
        EventLog(tmp_path / "log")
    with EventLog(tmp_path / "log", read_only=True) as log:
        assert len(log.read()) == 1


def test_keys_of_another_log_are_refused(tmp_path: Path) -> None:
    """`keys/` that belong to another log are refused."""
    for name in ("one", "two"):
        with EventLog(tmp_path / name) as log:
            log.record("t", b"1")
    (tmp_path / "one" / "keys").rename(tmp_path / "gone")
    (tmp_path / "two" / "keys").rename(tmp_path / "one" / "keys")
    with pytest.raises(CorruptionError, match="another log"):
        EventLog(tmp_path / "one")


def test_path_that_is_no_log_says_what_it_is(tmp_path: Path) -> None:
    """A file, a SQLite file, a folder with other things: each has its own advice, none is touched."""
    (tmp_path / "file").write_bytes(b"hello")
    (tmp_path / "sqlite.db").write_bytes(b"SQLite format 3\x00" + bytes(100))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.txt").write_text("hello")
    for name, word in (("file", "is a file"), ("sqlite.db", "SQLite"), ("folder", "notes.txt")):
        with pytest.raises(NotALog, match=word):
            EventLog(tmp_path / name)
    assert sorted(entry.name for entry in (tmp_path / "folder").iterdir()) == ["notes.txt"]
    (tmp_path / "empty").mkdir()
    with EventLog(tmp_path / "empty") as log:
        log.record("t", b"")


def test_newer_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of a newer format is `NewerFormat`, which says to upgrade."""
    with monkeypatch.context() as patch:
        patch.setattr("lithograph.eventlog.engines.lmdb.FORMAT_VERSION", 7)
        EventLog(tmp_path / "log").close()
    with pytest.raises(NewerFormat, match="upgrade"):
        EventLog(tmp_path / "log")


@pytest.mark.parametrize("read_only", [True, False])
def test_a_newer_format_is_looked_at_and_left_alone(tmp_path: Path, read_only: bool) -> None:
    """A format may have other tables: it is recognised before any is looked for, and none is made."""
    EventLog(tmp_path / "log").close()
    with lmdb.open(str(tmp_path / "log" / "log"), max_dbs=8) as env, env.begin(write=True) as transaction:
        for table in TABLES:
            transaction.drop(env.open_db(table.encode(), txn=transaction, create=False))
        identity = rows.unpack_identity(transaction.get(rows.IDENTITY))
        transaction.put(rows.IDENTITY, rows.pack_identity(identity._replace(format=7)))
    with pytest.raises(NewerFormat, match="upgrade"):
        EventLog(tmp_path / "log", read_only=read_only)
    with lmdb.open(str(tmp_path / "log" / "log"), max_dbs=8, readonly=True) as env, env.begin() as transaction:
        assert [key for key, _ in transaction.cursor()] == [rows.LOG_HEAD, rows.IDENTITY]


def test_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path on a network file system is refused unless forced."""
    mounts = tmp_path / "mounts"
    mounts.write_text(f"1 0 8:1 / / rw - ext4 /dev/x rw\n2 1 0:9 / {tmp_path} rw shared:1 - nfs4 server:/x rw\n")
    monkeypatch.setattr(folder, "_MOUNTS", mounts)
    with pytest.raises(NetworkFileSystem, match="force_network"):
        EventLog(tmp_path / "log")
    EventLog(tmp_path / "log", force_network=True).close()


def test_append_behind_stray_records_is_refused(tmp_path: Path) -> None:
    """Records behind the end of the log are never overwritten: the append is refused."""
    with EventLog(tmp_path / "log") as log:
        put_into(log)("a", 0, b"1")
        environment = open_environment(tmp_path / "log" / "log", TABLES)
        environment.write(
            lambda transaction: transaction.put((5).to_bytes(8, "big"), b"?", db=environment.tables["events"])
        )
        with pytest.raises(CorruptionError, match="after its last position"):
            put_into(log)("a", 1, b"2")
        environment.close()
        assert log.log_head().position == 1


def test_append_over_a_stray_place_is_refused(tmp_path: Path) -> None:
    """A place in a stream's index that no record has is never written over: the append is refused."""
    with EventLog(tmp_path / "log") as log:
        put_into(log)("a", 0, b"1")
        stream = log.stream_id(StreamName("thread", "a"))
        environment = open_environment(tmp_path / "log" / "log", TABLES)
        stray = stream + (2).to_bytes(8, "big")
        environment.write(lambda transaction: transaction.put(stray, bytes(8), db=environment.tables["streams"]))
        with pytest.raises(CorruptionError, match="after its last position"):
            put_into(log)("a", 1, b"2")
        environment.close()
        assert log.log_head().position == 1


def test_child_is_told_even_when_the_parent_was_committing(tmp_path: Path) -> None:
    """A child forked while another thread of the parent commits gets `ForkedError` and waits for nobody."""
    with EventLog(tmp_path / "log") as log:
        put = put_into(log)
        put("a", 0, b"1")
        put("a", 1, b"2")

        def child() -> None:
            with pytest.raises(ForkedError):
                put("a", 2, b"3")
            with pytest.raises(ForkedError):
                log.read()

        engine: Any = log.engine
        with log._writer._group._lead:
            assert engine._log._gate.alone(lambda: in_child(child)) == 0


FULL_DISK = """
import resource, sys
from lithograph.eventlog import ANY, EventLog, StreamName, StreamWrite
from lithograph.eventlog.errors import Unavailable
from lithograph.eventlog.events import Recorded
log = EventLog(sys.argv[1])
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
name = StreamName("thread", "a")
def put(expected, data):
    return log.append([StreamWrite(name, expected, [log.stamp(Recorded("t", data))])])
put(0, b"1")
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, most))
try:
    put(1, bytes(200_000))
    raise SystemExit("the append should have been refused")
except Unavailable:
    pass
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
put(1, b"2")
assert [record.event.data for record in log.read()] == [b"1", b"2"]
assert log.verify().ok
"""


def test_full_disk_writes_nothing(tmp_path: Path) -> None:
    """When the file cannot grow the append is `Unavailable`, nothing is written, later ones go on."""
    subprocess.run([sys.executable, "-c", FULL_DISK, str(tmp_path / "log")], check=True)
