"""What the tests of the command line share: a log with a day's work in it, and a way to run a verb."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lithograph.cli.app import run
from lithograph.eventlog import EventLog
from lithograph.examples.applications import read_cases
from lithograph.examples.credit_day import take_in, work
from lithograph.examples.credit_desk import open_desk
from lithograph.examples.policy import Policy, assess, measure

DECIDED = 30
"""So many cases of the shared log are decided; one more waits for an officer."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command line came to."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The JSON objects that it printed, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


Lithograph = Callable[..., Ran]


@pytest.fixture
def lithograph(capfd: pytest.CaptureFixture[str]) -> Lithograph:
    """Return a function that runs a command line in this process."""

    def call(*arguments: object) -> Ran:
        capfd.readouterr()
        code = run([str(each) for each in arguments])
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return call


def _borderline(number: int) -> int:
    """Return the index of the first borderline case from `number` on."""
    for index, case in enumerate(read_cases()[number:], number):
        form = case.application
        if assess(form, measure(form), Policy())["route"] == "officer":
            return index
    raise AssertionError("the data has borderline cases everywhere")


@pytest.fixture(scope="session")
def shared_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a log with decided cases and one that waits. Only for reading."""
    path, cases = tmp_path_factory.mktemp("desk") / "desk.lithograph", read_cases()
    with EventLog(path) as log:
        work(log, [*cases[:DECIDED], cases[-1]])
        take_in(log, open_desk(log), cases[_borderline(DECIDED)])
    return path


@pytest.fixture
def own_log(shared_log: Path, tmp_path: Path) -> Path:
    """Return a copy of the shared log that a test may damage."""
    return Path(shutil.copytree(shared_log, tmp_path / "own.lithograph"))


@pytest.fixture(scope="session")
def officer_thread(shared_log: Path) -> str:
    """Return a thread of the shared log that an officer decided."""
    with EventLog(shared_log, read_only=True) as log:
        from lithograph.projections import snapshot

        for case in read_cases(DECIDED):
            values = snapshot(log, {"configurable": {"thread_id": case.application_id}}).values
            if values["decision"]["decided_by"] == "officer":
                return case.application_id
    raise AssertionError("some of the first cases are borderline")
