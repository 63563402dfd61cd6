"""The golden log: written once by the code of its day, read by the code of every later day.

`tour` wrote it, `make` replaces it, `telling` says what a reader is told. Until a format is declared it may be
replaced, but never in passing: the decision page must name what stands here.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.events import EVENTS, CheckpointCommitted, ResultOp
from lithograph.graph import Command

from tests.eventlog.serde.test_stored_form import STORED
from tests.eventlog.serde.values import identical, serializer
from tests.golden.make import GOLDEN, digest
from tests.golden.telling import tell
from tests.golden.tour import (
    BLOB,
    GRAPHS,
    accidents_graph,
    cached_graph,
    config_of,
    operations_graph,
    questions_graph,
    values_graph,
)

PAGE = Path(__file__).parents[2] / "docs/decisions/0009-a-golden-log.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of the golden log, which lies without views."""
    return Path(shutil.copytree(GOLDEN, tmp_path / "golden"))


@pytest.fixture(params=["read-only", "writable"])
def log(folder: Path, request: pytest.FixtureRequest) -> Iterator[EventLog]:
    """Open the copy in either way."""
    with EventLog(folder, read_only=request.param == "read-only") as log:
        yield log


def test_it_is_the_one_that_was_decided_on() -> None:
    """The files are those that the decision page names: nobody replaces them without a word."""
    assert digest() in PAGE.read_text()


def test_nothing_in_it_is_wrong(log: EventLog) -> None:
    """`verify` finds nothing, in the whole and in short."""
    assert log.verify().findings == []
    assert log.verify(quick=True).findings == []


def test_it_tells_what_it_told(log: EventLog) -> None:
    """Every record, checkpoint, task and item reads as on the day it was written; a second time, over views, too."""
    told = json.loads((GOLDEN / "told.json").read_text())
    for _ in range(2):
        now = json.loads(json.dumps(tell(log)))
        for part in told:
            assert now[part] == told[part], part
        assert list(now) == list(told)


def test_it_holds_one_of_everything(log: EventLog) -> None:
    """No kind of event, operation or type of value is missing: who adds one adds it here."""
    events = [record.event for page in log.scan() for record in page]
    assert {type(event) for event in events} == set(EVENTS.values())
    results = [result.op for event in events if isinstance(event, CheckpointCommitted) for result in event.results]
    assert {*results} == {op for name, op in vars(ResultOp).items() if name.isupper()}
    kept = values_graph(log).get_state(config_of("values")).values["kept"]
    assert {*kept} == {stored for _, stored in STORED}


def test_values_of_every_type_are_what_they_were(log: EventLog) -> None:
    """Each comes back equal, of the same type, and with the same bytes; so does the one that lies in chunks.

    A message comes back as the class of whichever library is installed.
    """
    values = values_graph(log).get_state(config_of("values")).values
    expected = {stored: value for value, stored in STORED}
    for stored, value in values["kept"].items():
        assert identical(value, expected[stored]) or hasattr(value, "content"), (stored, value)
        assert serializer().encode(value).hex() == stored
    assert values["large"] == BLOB


def test_reducers_of_today_make_of_its_writes_what_was_recorded(log: EventLog) -> None:
    """Folded with the graph's own reducers every checkpoint is as recorded: those of `add_messages` and our own too."""
    looked = 0
    for thread, make in GRAPHS.items():
        graph = make(log)
        for entry in graph.get_state_history(config_of(thread)):
            again: Any = graph.get_state(entry.config, fold="reducers")
            assert identical(again.values, entry.values), (thread, entry.config)
            looked += 1
    assert looked > 50


def test_its_threads_go_on(folder: Path) -> None:
    """Open questions are answered, failed steps tried again, conversations continued; nothing is wrong then."""
    with EventLog(folder) as log:
        questions = questions_graph(log)
        asked = questions.get_state(config_of("asked")).interrupts
        done = questions.invoke(Command(resume={question.id: "yes" for question in asked}), config_of("asked"))
        assert done["answers"] == [("income", "yes"), ("debts", "yes")]
        assert done["packets"] == ["routed", {"sent": 1}, {"sent": 2}]

        failed = accidents_graph(log, fails=True)
        with pytest.raises(ValueError, match="no such applicant"):
            failed.invoke(None, config_of("failed"))

        cached = cached_graph(log)
        assert cached.get_state(config_of("found")).next == ("take", "take")
        assert asyncio.run(cached.ainvoke(None, config_of("found")))["found"] == ["rated", {"sent": 1}, {"sent": 2}]

        operations = operations_graph(log)
        for thread in ("operations sync", "operations exit", "a fork of the head", "stopped at left"):
            before = operations.get_state(config_of(thread)).values
            after = operations.invoke({"last": "a turn of today"}, config_of(thread))
            assert after["listed"][: len(before["listed"])] == before["listed"]
            assert after["last"] == "done"
        assert log.verify().findings == []
