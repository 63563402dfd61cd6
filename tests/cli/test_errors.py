"""What the command line says when something is wrong: one line, what to do next, the right exit code."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import lithograph.cli.main as console_script
import pytest
from lithograph.cli.app import run
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import LogLocked

from .conftest import Lithograph, Ran

READERS = ("threads", "verify", "tail", "stats")
UNKNOWN_CHECKPOINT = "1ef663ba-28fe-6528-8002-5a559208592c"


@pytest.fixture
def small_log(tmp_path: Path) -> Path:
    """Return the folder of a log with three events and no thread."""
    path = tmp_path / "small.lithograph"
    with EventLog(path) as log:
        for _ in range(3):
            log.record("opened", b"by nobody")
    return path


def assert_one_line(ran: Ran, code: int, *parts: str) -> None:
    """Check that a command ended with a code and said one line on standard error, and nothing else."""
    assert ran.code == code, ran
    assert ran.out == ""
    (line,) = ran.err.splitlines()
    assert line.startswith("lithograph: ")
    assert [part for part in parts if part not in line] == [], line


def test_nothing_at_the_path(lithograph: Lithograph, tmp_path: Path) -> None:
    """A path that does not exist: the line names it and how to get a log; nothing is made there."""
    path = tmp_path / "absent"
    for verb in READERS:
        assert_one_line(lithograph(verb, path), 2, str(path), "lithograph demo")
    assert not path.exists()


def test_an_empty_folder(lithograph: Lithograph, tmp_path: Path) -> None:
    """A folder without a log is no log, and reading does not make one of it."""
    assert_one_line(lithograph("threads", tmp_path), 2, "no log", "LG101")
    assert list(tmp_path.iterdir()) == []


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "letter.txt").write_text("dear bank")


def _text(path: Path) -> None:
    path.write_text("dear bank")


def _sqlite(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\x00" + bytes(100))


@pytest.mark.parametrize(
    ("make", "says"),
    [(_folder, "letter.txt"), (_text, "is a file"), (_sqlite, "SQLite")],
    ids=["folder", "file", "db"],
)
def test_something_else_at_the_path(
    lithograph: Lithograph, tmp_path: Path, make: Callable[[Path], None], says: str
) -> None:
    """A folder of other things, a file, a database: each is named for what it is, to readers and to demo."""
    path = tmp_path / "thing"
    make(path)
    assert_one_line(lithograph("threads", path), 2, str(path), says, "LG101")
    assert_one_line(lithograph("demo", "--log", path, "--limit", 1, "--json"), 2, str(path), says)


def test_a_log_of_a_newer_format(lithograph: Lithograph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log written by a later version: the line says to upgrade."""
    path = tmp_path / "new.lithograph"
    with monkeypatch.context() as later:
        later.setattr("lithograph.eventlog.engines.lmdb.FORMAT_VERSION", 9)
        EventLog(path).close()

    assert_one_line(lithograph("tail", path), 2, str(path), "format 9", "upgrade", "LG102")


def test_a_file_that_was_cut(lithograph: Lithograph, small_log: Path) -> None:
    """A file shorter than its last page: the line says that it was cut, and to restore a backup."""
    os.truncate(small_log / "log" / "data.mdb", 9000)

    for verb in ("threads", "tail", "stats"):
        assert_one_line(lithograph(verb, small_log), 2, "cut to 9,000 bytes", "backup", "LG104")
    verified = lithograph("verify", small_log)
    assert verified.code == 1
    assert "cut to 9,000 bytes" in verified.out


def test_a_log_that_somebody_locked(lithograph: Lithograph, small_log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that the system does not let us open: the line has the engine's reason and its code."""

    def locked(*_: object, **__: object) -> None:
        raise LogLocked("held by another program; stop it first")

    monkeypatch.setattr("lithograph.eventlog.engines.folder.LmdbEngine", locked)

    assert_one_line(lithograph("stats", small_log), 2, str(small_log), "held by another program", "LG103")


@pytest.mark.skipif(os.name == "nt", reason="permissions are POSIX's")
def test_a_log_without_permission(lithograph: Lithograph, small_log: Path) -> None:
    """A folder that may not be read is told as such, to an ordinary user: root may read everything."""
    assert lithograph("verify", small_log).code == 0  # and all modules that are needed are loaded
    small_log.chmod(0)
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(65534)
        ran = lithograph("verify", small_log)
    finally:
        os.seteuid(user)
        small_log.chmod(0o700)

    assert_one_line(ran, 2, str(small_log), "ermission")


def test_a_log_without_threads_or_events(lithograph: Lithograph, small_log: Path, tmp_path: Path) -> None:
    """Nothing found is a finding: exit code 1, and no empty table."""
    empty = tmp_path / "empty.lithograph"
    EventLog(empty).close()

    assert_one_line(lithograph("threads", small_log), 1, "no thread yet")
    assert_one_line(lithograph("threads", small_log, "--waiting"), 1, "no thread waits")
    assert_one_line(lithograph("tail", empty), 1, "no event yet")
    assert lithograph("verify", empty).code == 0


@pytest.mark.parametrize("verb", ["history", "show", "diff", "tail"])
def test_an_unknown_thread(lithograph: Lithograph, shared_log: Path, verb: str) -> None:
    """A thread that is not there: exit code 1, and where threads are listed."""
    more = {"diff": ["nobody", UNKNOWN_CHECKPOINT, UNKNOWN_CHECKPOINT], "tail": ["--thread", "nobody"]}

    assert_one_line(
        lithograph(verb, shared_log, *more.get(verb, ["nobody"])),
        1,
        "no thread 'nobody'",
        "`threads` lists them",
    )


@pytest.mark.parametrize("checkpoint", [UNKNOWN_CHECKPOINT, "yesterday"])
def test_an_unknown_checkpoint(lithograph: Lithograph, shared_log: Path, checkpoint: str) -> None:
    """A checkpoint that is not there, or is no id at all: exit code 1, and where checkpoints are listed."""
    for verb, more in (("show", [checkpoint]), ("diff", [checkpoint, checkpoint])):
        ran = lithograph(verb, shared_log, "0001", *more)
        assert_one_line(ran, 1, f"no checkpoint {checkpoint}", "`history` lists them")


def test_an_unknown_namespace(lithograph: Lithograph, shared_log: Path) -> None:
    """A namespace that no subgraph used has no checkpoints."""
    ran = lithograph("history", shared_log, "0001", "--namespace", "nowhere")

    assert_one_line(ran, 1, "no checkpoint in namespace 'nowhere'")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show"], "Missing argument"),
        (["show", "a-log"], "Missing argument"),
        (["threads", "a-log", "--limit", "many"], "'--limit'"),
        (["demo", "--limit", "0"], "'--limit'"),
        (["threads", "a-log", "--sideways"], "--sideways"),
        (["carve"], "carve"),
    ],
)
def test_wrong_usage(lithograph: Lithograph, arguments: list[str], says: str) -> None:
    """A command line that makes no sense: exit code 2, and the help that would have told."""
    assert_one_line(lithograph(*arguments), 2, says, "--help")


def test_a_flipped_byte_is_found(lithograph: Lithograph, small_log: Path) -> None:
    """One changed byte in a stored record: verify says where, exit code 1, and JSON has the findings."""
    data = small_log / "log" / "data.mdb"
    stored = data.read_bytes()
    assert b"by nobody" in stored
    data.write_bytes(stored.replace(b"by nobody", b"By nobody"))

    ran = lithograph("verify", small_log)

    assert ran.code == 1
    assert "NOT as appended" in ran.out
    (report,) = lithograph("verify", small_log, "--json").rows
    assert report["ok"] is False
    assert report["findings"]
    (stream,) = {finding["stream"] for finding in report["findings"] if finding["kind"] == "record"}
    assert len(bytes.fromhex(stream)) == 16  # the record that names it is the one that was changed
    assert_one_line(lithograph("tail", small_log, "-n", 3, "--json"), 1, "verify")


def test_the_quick_form_of_verify_says_what_it_left_out(lithograph: Lithograph, small_log: Path) -> None:
    """`verify --quick` passes on an intact log, says what it did not look at, and finds damage at the log's end."""
    ran = lithograph("verify", small_log, "--quick")
    assert ran.code == 0
    assert "What was not checked: " in ran.out
    assert lithograph("verify", small_log, "--quick", "--json").rows[0]["not_checked"]
    assert lithograph("verify", small_log, "--json").rows[0]["not_checked"] == ""
    data = small_log / "log" / "data.mdb"
    data.write_bytes(data.read_bytes().replace(b"by nobody", b"By nobody"))
    ran = lithograph("verify", small_log, "--quick", "--json")
    assert ran.code == 1
    assert "record" in {finding["kind"] for finding in ran.rows[0]["findings"]}


def test_an_unexpected_error_is_one_line_too(
    lithograph: Lithograph, small_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A defect of ours is told in one line, which says how to get the traceback; and then one gets it."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("lithograph.cli.stats._count", broken)

    assert_one_line(lithograph("stats", small_log), 2, "ZeroDivisionError", "LITHOGRAPH_TRACEBACK=1")
    monkeypatch.setenv("LITHOGRAPH_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        run(["stats", str(small_log)])


def test_a_reader_that_goes_away_is_no_error(small_log: Path) -> None:
    """`lithograph tail LOG | head -1` ends quietly."""
    command = [sys.executable, "-m", "lithograph.cli.main", "tail", str(small_log), "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tail:
        assert tail.stdout is not None
        assert tail.stderr is not None
        assert "opened" in tail.stdout.readline()
        tail.stdout.close()
        with EventLog(small_log) as log:
            log.record("opened", b"again")
            log.record("opened", b"and again")
        said = tail.stderr.read()
        assert (tail.wait(timeout=20), said) == (0, "")


def test_follow_sees_what_another_process_appends(small_log: Path) -> None:
    """--follow prints each event once, in order, those there first and then those that come."""
    command = [sys.executable, "-m", "lithograph.cli.main", "tail", str(small_log), "-f", "-n", "1", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tail:
        assert tail.stdout is not None
        watchdog = threading.Timer(20, tail.kill)
        watchdog.start()
        first = tail.stdout.readline()
        with EventLog(small_log) as log:
            log.record("closed", b"")
            log.record("closed", b"")
        lines = [first, tail.stdout.readline(), tail.stdout.readline()]
        watchdog.cancel()
        tail.kill()

    assert ['"position": 3,' in lines[0], '"position": 4,' in lines[1], '"position": 5,' in lines[2]] == [True] * 3


def test_without_its_extra_the_script_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without typer or rich the console script is one line with the command to type, exit code 2."""
    monkeypatch.delitem(sys.modules, "lithograph.cli.app")
    monkeypatch.setitem(sys.modules, "typer", None)

    with pytest.raises(SystemExit) as ended:
        console_script.main()

    assert ended.value.code == 2
    assert capsys.readouterr().err == "lithograph: the command line is an extra: pip install 'lithograph[cli]'\n"
