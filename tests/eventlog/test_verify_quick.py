"""`verify(quick=True)`: it looks at the end of a log, finds what is wrong there, and says what it did not look at."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lithograph.eventlog import ANY, EventLog, merkle, writing
from lithograph.eventlog.audit import Finding
from lithograph.eventlog.engine import Engine
from lithograph.eventlog.engines import rows
from lithograph.eventlog.engines.memory import MemoryEngine
from lithograph.eventlog.environments import open_environment
from lithograph.eventlog.quick import QuickAudit
from lithograph.eventlog.record import HEADER_SIZE

from .conftest import put_into
from .flips import TABLES, build, copy, flip_row_of

RECORDS = 50


class Small(QuickAudit):
    """A quick audit of so few records that a short log is longer."""

    def __init__(self, *args: Any, records: int = RECORDS) -> None:
        super().__init__(*args, records=records)


def quick(engine: Engine, *, records: int = RECORDS) -> tuple[list[Finding], Small]:
    """Return what a quick audit finds, and the audit."""
    found: list[Finding] = []
    audit = Small(engine, found.append, lambda done, total: None, records=records)
    audit.run()
    return found, audit


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    """A log of 170 records in nine streams, one of which ended early."""
    engine = MemoryEngine()
    with EventLog.over(engine) as log:
        put = put_into(log)
        put("early", 0, b"1", b"2")
        for turn in range(84):
            put(f"s{turn % 8}", ANY, b"%d" % turn, b"more")
        yield engine


def test_an_intact_log_of_any_length(log: EventLog) -> None:
    """Nothing is found in an intact log, whatever its length; the root is the log's, and what was left out is said."""
    put = put_into(log)
    for turn in range(40):
        for records in (1, 7, 16, 1000):
            found, audit = quick(log.engine, records=records)
            assert found == []
            assert audit.records == min(records, log.log_head().position)
        put(f"s{turn % 3}", ANY, *[b"x"] * (1 + turn % 3))
    report = log.verify(quick=True)
    assert report.ok
    assert report.root == merkle.root_of(log.log_head().frontier) == log.verify().root
    assert "views/" in report.not_checked
    assert log.verify().not_checked == ""


def test_it_says_what_it_did_not_check(engine: MemoryEngine) -> None:
    """A log longer than its last records: the report counts those, and names what lies before."""
    _, audit = quick(engine)
    assert (audit.records, len(audit.streams)) == (RECORDS, 8)
    for part in ("the 120 records before position 121", "the first 128 records", "heads of streams", "views/"):
        assert part in audit.not_checked


def test_what_lies_before_is_not_looked_at(engine: MemoryEngine) -> None:
    """Damage before the last records is left to the full form, which finds it."""
    engine._events[10] = engine._events[10][:-1] + b"?"
    assert quick(engine)[0] == []
    with EventLog.over(engine) as log:
        assert [(finding.position, finding.kind) for finding in log.verify().findings] == [(11, "record")]


def test_the_files_are_looked_at(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the engine says of its files is a finding of the quick form, too."""
    monkeypatch.setattr(engine, "inspect", lambda: ["its meta pages cannot be"])
    assert quick(engine)[0] == [Finding(None, "its meta pages cannot be", kind="file")]


def _changed(at: int) -> Any:
    def change(engine: MemoryEngine) -> None:
        record = bytearray(engine._events[149])
        record[at] ^= 1
        engine._events[149] = bytes(record)

    return change


def _swap(engine: MemoryEngine) -> None:
    events = engine._events
    events[149], events[147] = events[147], events[149]


def _cut(engine: MemoryEngine) -> None:
    del engine._events[165:]


def _behind(engine: MemoryEngine) -> None:
    engine._events.append(engine._events[-1])


def _place(engine: MemoryEngine) -> None:
    stream = engine._events[149][36:52]
    engine._places[stream][-2:] = reversed(engine._places[stream][-2:])


def _head(engine: MemoryEngine) -> None:
    stream = engine._events[149][36:52]
    engine._heads[stream] = engine._heads[stream]._replace(hash=bytes(32))


def _frontier(engine: MemoryEngine) -> None:
    end = engine._log_head
    engine._log_head = end._replace(frontier=(*end.frontier[:-1], bytes(32)))


def _key(engine: MemoryEngine) -> None:
    engine._keys = [bytes(32)] * len(engine._keys)


@pytest.mark.parametrize(
    ("damage", "position", "kind"),
    [
        (_changed(HEADER_SIZE + 20), 150, "record"),
        (_changed(60), 165, "chain"),
        (_changed(10), 150, "chain"),
        (_swap, 148, "chain"),
        (_cut, 166, "order"),
        (_behind, 171, "order"),
        (_place, None, "place"),
        (_head, None, "head"),
        (_frontier, None, "tree"),
        (_key, None, "record"),
    ],
)
@pytest.mark.parametrize("full", [False, True])
def test_kind_and_position_of_a_finding(
    engine: MemoryEngine, damage: Any, position: int | None, kind: str, full: bool
) -> None:
    """Both forms say of each damage at the end of a log what it is, and where."""
    damage(engine)
    with EventLog.over(engine) as log:
        found = log.verify().findings if full else quick(engine)[0]
    wanted = [finding for finding in found if finding.kind == kind]
    assert wanted, found
    assert position is None or full or position in {finding.position for finding in found}


def test_a_place_too_many_is_found(engine: MemoryEngine) -> None:
    """An index that names each record, and one of them once more, is not the index that was written."""
    places = engine._places[engine._events[149][36:52]]
    places.append(places[-1])
    with EventLog.over(engine) as log:
        assert [finding.kind for finding in log.verify().findings] == ["place"]


def test_a_stream_that_is_not_named_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream's first record says what the stream is called: both forms miss it, and say where."""
    monkeypatch.setattr(writing, "with_name", lambda body, name: body)
    engine = MemoryEngine()
    with EventLog.over(engine) as log:
        put_into(log)("nameless", 0, b"x")
        found = [log.verify().findings, quick(engine)[0]]
    for findings in found:
        assert [(finding.position, finding.kind) for finding in findings] == [(1, "record")]


def test_flips_in_rows_of_a_short_log_are_found_by_the_quick_form(tmp_path: Path) -> None:
    """In a log no longer than its last records the quick form finds every flip in events, heads, end and identity."""
    build(tmp_path / "log", appends=25)
    dice, missed = random.Random(7), []
    for _ in range(60):
        damaged = copy(tmp_path / "log", tmp_path / "copy")
        what = flip_row_of(damaged / "log", dice.choice(TABLES["log"]), dice)
        found, _ = _audited(damaged)
        if not [finding for finding in found if "transaction" not in finding.what]:
            missed.append(what)
    # A row whose key was flipped may be one too many: those are counted by the full form alone.
    assert [what for what in missed if " key of " not in what] == []


def _audited(path: Path) -> tuple[list[Finding], object]:
    from lithograph.eventlog.verify import audit_folder

    found: list[Finding] = []
    return found, audit_folder(path, found.append, lambda done, total: None, quick=True)


def test_the_quick_form_reads_in_a_child_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damage that kills whoever reads it kills a child, and is a finding."""
    with EventLog(tmp_path / "log") as log:
        put_into(log)("a", 0, b"1", b"2")
        assert log.verify(quick=True)[:2] == (2, 1)
        environment = open_environment(tmp_path / "log" / "log", ["streams"])
        stream = log.streams()[0][0]
        environment.write(
            lambda transaction: transaction.put(stream + rows.HEAD, b"?", db=environment.tables["streams"])
        )
        (finding,) = [found for found in log.verify(quick=True).findings if "transaction" not in found.what]
        assert (finding.position, finding.kind, finding.derived) == (2, "head", False)
        environment.close()
        monkeypatch.setattr("lithograph.eventlog.verify._CHILD", "import os; os.abort()")
        assert "SIGABRT" in log.verify(quick=True).findings[0].what
