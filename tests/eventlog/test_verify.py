"""`verify` finds every changed byte, and says what it cannot find."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from lithograph.eventlog import EventLog, StreamName, merkle
from lithograph.eventlog.engines.memory import MemoryEngine
from lithograph.eventlog.record import HEADER_SIZE

from .conftest import Put, put_into
from .flips import audited, build, copy, dumped, findings, flip_file, flip_row

SEED = int(os.environ.get("LITHOGRAPH_SEED", "2024"))


def test_intact_log_verifies(log: EventLog, put: Put) -> None:
    """An intact log has no findings; the report counts what is there and names what it cannot exclude."""
    for turn in range(20):
        put("a", turn * 2, b"1", b"2")
        put("b", turn, b"3")
    log.put_blob(StreamName("thread", "a"), bytes(300_000))
    seen: list[tuple[int, int]] = []
    report = log.verify(progress=lambda done, total: seen.append((done, total)))
    assert report.ok, report.findings
    assert (report.records, report.streams) == (63, 3)
    assert report.bytes == sum(len(record.data) for record in log.read())
    assert report.root == merkle.root_of(log.log_head().frontier)
    assert "elsewhere" in report.cannot_exclude
    assert seen[-1] == (63, 63)


def test_empty_log_verifies(log: EventLog) -> None:
    """A log without records has no findings."""
    assert log.verify()[:4] == (0, 0, 0, [])


def test_flip_is_found_by_verify_itself(tmp_path: Path) -> None:
    """A byte flipped in a record is a finding that names its position, and later flips are found as well."""
    build(tmp_path / "log")
    with EventLog(tmp_path / "log") as log:
        page = log.read()
        raw = bytearray(page[9].data)
        raw[HEADER_SIZE + 20] ^= 1
        environment = log.engine._log  # type: ignore[attr-defined]
        table = environment.tables["events"]
        environment.write(lambda transaction: transaction.put((10).to_bytes(8, "big"), bytes(raw), db=table))
        found = log.verify().findings
    assert [finding.position for finding in found if finding.position] == [10]
    assert "digest" in found[-1].what or "digest" in found[0].what


def _flips_in_rows(tmp_path: Path, count: int) -> None:
    build(tmp_path / "log")
    assert findings(copy(tmp_path / "log", tmp_path / "copy")) == []
    dice = random.Random(SEED)
    missed = []
    for _ in range(count):
        damaged = copy(tmp_path / "log", tmp_path / "copy")
        what = flip_row(damaged, dice)
        found = [finding for finding in findings(damaged) if "transaction" not in finding.what]
        if not found:
            missed.append(what)
    assert missed == [], f"seed {SEED}"


def test_flips_in_rows_are_found(tmp_path: Path) -> None:
    """Every one of 200 random flips, in keys and values of every table, is found."""
    _flips_in_rows(tmp_path, 200)


@pytest.mark.nightly
def test_many_flips_in_rows_are_found(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Every one of 1,000 random flips, in keys and values of every table, is found."""
    _flips_in_rows(tmp_path, 1000)
    record_property("seed", SEED)
    record_property("flips in rows, all found", 1000)


def _flips_in_files(tmp_path: Path, count: int) -> Counter[str]:
    build(tmp_path / "log", appends=25)
    intact = dumped(copy(tmp_path / "log", tmp_path / "copy"))
    assert audited(tmp_path / "copy") == "ok"
    dice = random.Random(SEED)
    sorted_flips: Counter[str] = Counter()
    missed = []
    for _ in range(count):
        damaged = copy(tmp_path / "log", tmp_path / "copy")
        what = flip_file(damaged, dice)
        inside = dumped(damaged) != intact
        verdict = audited(damaged)
        assert "raised" not in verdict, (what, verdict)
        assert "SIGALRM" not in verdict, (what, verdict)
        if inside and verdict == "ok":
            missed.append(what)
        sorted_flips["inside" if inside else "outside"] += 1
    assert missed == [], f"seed {SEED}"
    return sorted_flips


def test_flips_in_the_files_are_found(tmp_path: Path) -> None:
    """Of random flips in the raw files all that change what can be read are found; the rest lies outside."""
    assert _flips_in_files(tmp_path, 60)["inside"] > 5


@pytest.mark.nightly
def test_many_flips_in_the_files_are_found(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Of 1,000 random flips in the raw files all that change what can be read are found."""
    counts = _flips_in_files(tmp_path, 1000)
    record_property("seed", SEED)
    record_property("flips in the files that changed what can be read, all found", counts["inside"])
    record_property("flips in the files that changed nothing", counts["outside"])
    assert counts["inside"] > 200


def test_dropped_stream_is_found(tmp_path: Path) -> None:
    """A whole stream taken out of all tables leaves a gap in the positions; closing it breaks the tree."""
    engine = MemoryEngine()
    with EventLog.over(engine) as log:
        put = put_into(log)
        put("a", 0, b"1")
        put("b", 0, b"2")
        put("c", 0, b"3")
        dropped = log.stream_id(StreamName("thread", "b"))
        del engine._places[dropped], engine._heads[dropped], engine._events[1]
        engine._order.remove(dropped)
        engine._places[log.stream_id(StreamName("thread", "c"))] = [2]
        third = log.stream_id(StreamName("thread", "c"))
        engine._heads[third] = engine._heads[third]._replace(position=2)
        assert any("tree" in finding.what for finding in log.verify().findings)


def test_swapped_records_are_found() -> None:
    """Two records of different streams that change places are found, though both chains are intact."""
    engine = MemoryEngine()
    with EventLog.over(engine) as log:
        put = put_into(log)
        put("a", 0, b"1")
        put("b", 0, b"2")
        a, b = (log.stream_id(StreamName("thread", name)) for name in "ab")
        engine._events.reverse()
        engine._places = {a: [2], b: [1]}
        engine._heads = {
            a: engine._heads[a]._replace(position=2),
            b: engine._heads[b]._replace(position=1),
        }
        assert [finding for finding in log.verify().findings if "tree" in finding.what]


def test_killed_reader_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When reading the file kills the child that reads it, that is a finding and no crash here."""
    build(tmp_path / "log")
    with EventLog(tmp_path / "log") as log:
        death = "import os, signal; os.kill(os.getpid(), signal.SIGBUS)"
        monkeypatch.setattr("lithograph.eventlog.verify._CHILD", death)
        report = log.verify()
        assert not report.ok
        assert "SIGBUS" in report.findings[0].what
        monkeypatch.setattr("lithograph.eventlog.verify._CHILD", "raise SystemError('odd')")
        assert "odd" in log.verify().findings[0].what


def test_log_may_grow_while_it_is_verified(tmp_path: Path) -> None:
    """Appends during `verify` are no findings."""
    build(tmp_path / "log")
    with EventLog(tmp_path / "log") as log:
        put = put_into(log)
        put("growing", 0, b"0")
        version = 1

        def grow(done: int, total: int) -> None:
            nonlocal version
            put("growing", version, b"1", b"2")
            version += 2

        for _ in range(3):
            assert log.verify(progress=grow).findings == []
