"""What only a machine can show: mounts, another user, a disk that is full, an address space that is small.

Root ignores the bits of a file's mode, so a file that may not be read or written is shown to another user, or lies on
a mount that is read-only. Where the tests may not mount or change the user they are skipped; on CI that is a failure.
"""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.environments import open_environment
from lithograph.eventlog.errors import LithographError, LogLocked, ReadOnlyLog, Unavailable

from .children import stopped
from .conftest import put_into
from .flips import in_child

pytestmark = pytest.mark.machine
NOBODY = 65534
GIB = 1 << 30


@contextmanager
def mounted(what: str | Path, where: Path, *options: str) -> Generator[Path]:
    """Mount something for the time of the block; skip the test where that is not allowed."""
    where.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *options, what, where], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this machine lets us mount nothing: {done.stderr.strip()}")
    try:
        yield where
    finally:
        subprocess.run(["umount", where], check=True)


@contextmanager
def read_only_mount(what: Path, where: Path) -> Generator[Path]:
    """Show a folder a second time, read-only."""
    with mounted(what, where, "--bind"):
        subprocess.run(["mount", "-o", "remount,ro,bind", where], check=True)
        yield where


@contextmanager
def disk(where: Path, size: str) -> Generator[Callable[[str], None]]:
    """Mount a disk of a few bytes; the block gets a function that makes it larger."""

    def resize(size: str) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", where], check=True)

    with mounted("tmpfs", where, "-t", "tmpfs", "-o", f"size={size}"):
        yield resize


def as_nobody(work: Callable[[], str]) -> str:
    """Return what a child says that runs as a user without rights."""
    if os.getuid() != 0:
        pytest.skip("only root may become another user")

    def become() -> str:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        return work()

    return in_child(become)


def refusal(work: Callable[[], object]) -> str:
    """Return which of our errors `work` raises, and what it says."""
    try:
        work()
    except LithographError as error:
        return f"{type(error).__name__}: {error}"
    return "done"


def opened(path: Path, *, read_only: bool = False) -> str:
    """Open and read a log; return how that went."""

    def work() -> None:
        with EventLog(path, read_only=read_only) as log:
            assert len(log.read()) == 3

    return refusal(work)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed log of three records, in a folder that anybody may enter."""
    folder = tmp_path
    while folder != folder.parent and folder.stat().st_uid == os.getuid():
        folder.chmod(folder.stat().st_mode | 0o055)
        folder = folder.parent
    (tmp_path / "disk").mkdir()
    with EventLog(tmp_path / "disk" / "log") as log:
        put_into(log)("a", 0, b"1", b"2", b"3")
    return tmp_path / "disk" / "log"


def test_one_environment_for_a_file_that_is_mounted_twice(path: Path, tmp_path: Path) -> None:
    """A log reached through a bind mount is the environment that is open already, not a second one."""
    with mounted(path.parent, tmp_path / "again", "--bind") as again:
        one = open_environment(path / "log", ["events"])
        two = open_environment(again / "log" / "log", ["events"])
        assert two is one
        one.close()
        two.close()
        with EventLog(path) as here, EventLog(again / "log") as there:
            put_into(here)("a", 3, b"4")
            put_into(there)("a", 4, b"5")
            assert len(here.read()) == 5


def test_a_log_on_a_read_only_mount_is_read(path: Path, tmp_path: Path) -> None:
    """A log on a read-only file system can be read and verified; writing says what to do."""
    with read_only_mount(path.parent, tmp_path / "read") as folder:
        with EventLog(folder / "log", read_only=True) as log:
            assert len(log.read()) == 3
            assert log.verify().findings == []
            with pytest.raises(ReadOnlyLog):
                log.record("t", b"")
        with pytest.raises(LogLocked, match="read_only=True"):
            EventLog(folder / "log")
        with pytest.raises(LogLocked):
            EventLog(folder / "new")


def test_a_log_is_not_read_without_locks_beside_a_writer(path: Path, tmp_path: Path) -> None:
    """A reader that can leave no sign is told when somebody else has the file open: its pages could change under it."""
    with read_only_mount(path.parent, tmp_path / "read") as folder:

        def write(stop: Callable[[], None]) -> None:
            with EventLog(path) as log:
                stop()
                log.record("t", b"4")

        def read() -> str:
            with EventLog(folder / "log", read_only=True) as log:
                assert len(log.read()) == 3
                with stopped(write) as writer:
                    said = refusal(log.read) + refusal(lambda: EventLog(folder / "log", read_only=True))
                    writer.go_on()
                    assert writer.wait() == 0
                assert len(log.read()) == 4
                return said

        said = in_child(read)
        assert said.count("LogLocked") == 2, said
        assert "another process" in said


def test_a_file_that_may_not_be_touched_says_so(path: Path) -> None:
    """Another user's log is `LogLocked`, with the path and what to look at, until its mode lets it be read."""
    (path / "log" / "data.mdb").chmod(0o600)
    said = as_nobody(lambda: opened(path, read_only=True))
    assert said.startswith("LogLocked"), said
    assert str(path) in said
    assert "permissions" in said
    (path / "log" / "data.mdb").chmod(0o644)
    for lock in path.glob("*/lock.mdb"):
        lock.chmod(0o644)
    said = as_nobody(lambda: opened(path, read_only=True))
    assert said.startswith("LogLocked"), said
    assert "lock.mdb may be written" in said
    for lock in path.glob("*/lock.mdb"):
        lock.chmod(0o666)
    assert as_nobody(lambda: opened(path, read_only=True)) == "done"
    assert as_nobody(lambda: opened(path)).startswith("LogLocked")
    path.chmod(0o700)
    assert as_nobody(lambda: opened(path, read_only=True)).startswith("LogLocked")


def _append_until_full(log: EventLog, size: int) -> int:
    for count in range(10_000):
        try:
            log.record("t", bytes(size))
        except Unavailable:
            return count
    raise AssertionError("the disk never was full")


def test_a_full_disk_writes_nothing_and_loses_nothing(tmp_path: Path) -> None:
    """On a full disk an append is `Unavailable` and leaves nothing; reads go on; with room again appends go on."""
    with disk(tmp_path / "disk", "3m") as resize, EventLog(tmp_path / "disk" / "log") as log:
        written = _append_until_full(log, 3000)
        assert written > 100
        for _ in range(5):
            with pytest.raises(Unavailable, match="nothing was written"):
                log.record("another topic", bytes(3000))
        assert log.log_head().position == written
        assert len(log.read(0, 10_000)) == written
        assert log.verify().findings == []
        resize("8m")
        log.record("another topic", bytes(3000))
        assert log.log_head().position == written + 1
        assert log.verify().findings == []
    assert not os.listdir(tmp_path / "disk")


def test_a_full_disk_draws_no_keys(tmp_path: Path) -> None:
    """When there is no room for scope keys, the append that needs one is `Unavailable`; none is drawn twice."""
    with disk(tmp_path / "disk", "3m") as resize, EventLog(tmp_path / "disk" / "log") as log:
        log.record("t", b"")
        drawn = log.engine.draw_keys(1)[0]
        with pytest.raises(Unavailable, match="nothing was appended"):
            log.engine.draw_keys(100_000)
        resize("8m")
        first, keys = log.engine.draw_keys(10)
        assert first == drawn + 1
        assert [log.engine.key(first + at) for at in range(10)] == keys
        assert log.verify().findings == []


@pytest.mark.parametrize("size", ["8k", "60k", "72k", "76k", "80k", "84k", "88k", "96k", "140k", "156k", "164k"])
def test_a_disk_that_is_full_from_the_start(tmp_path: Path, size: str) -> None:
    """A log that finds no room to be made says so; what it left behind becomes one when there is room."""
    with disk(tmp_path / "disk", size) as resize:
        said = refusal(lambda: EventLog(tmp_path / "disk" / "log").close())
        assert said == "done" or said.startswith(("Unavailable", "LogLocked")), said
        assert said != "done" or int(size[:-1]) > 150
        resize("3m")
        with EventLog(tmp_path / "disk" / "log") as log:
            log.record("t", b"1")
            assert log.verify().findings == []


def _map_sizes(path: Path, limit: float) -> str:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(limit * GIB), used + int(limit * GIB)))

    def work() -> None:
        with EventLog(path) as log:
            log.record("t", b"1")
            engine: Any = log.engine
            sizes.extend((engine._log._map_size // GIB, engine._keys.environment._map_size // GIB))

    sizes: list[int] = []
    said = refusal(work)
    return said if said != "done" else f"{sizes}"


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(40, "[16, 8]"), (7, "[2, 2]"), (4.5, "[2, 1]"), (3.5, "[1, 1]"), (2.5, "[1, 1]"), (1.5, "keys"), (0.5, "log")],
)
def test_a_small_address_space(tmp_path: Path, limit: float, expected: str) -> None:
    """The map is halved while the system refuses it, and leaves room for others; below 1 GiB it is `Unavailable`."""
    said = in_child(lambda: _map_sizes(tmp_path / "log", limit))
    if expected.startswith("["):
        assert said == expected
    else:
        assert said.startswith(f"Unavailable: {tmp_path / 'log' / expected}"), said
        with EventLog(tmp_path / "log") as log:
            log.record("t", b"1")
