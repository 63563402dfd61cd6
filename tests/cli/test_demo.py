"""`lithograph demo`: the desk at work, really killed, gone on with, and honest about what came out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lithograph.cli.crash import Proof, inspect_kill, prove, run_and_kill
from lithograph.cli.demo import new_path
from lithograph.eventlog import EventLog
from lithograph.examples.applications import read_cases
from lithograph.examples.credit_day import work

from .conftest import Lithograph


def test_the_demo_says_what_came_out(lithograph: Lithograph, tmp_path: Path) -> None:
    """The figures add up, the log verifies, and the next commands are there to paste."""
    path = tmp_path / "desk.lithograph"

    ran = lithograph("demo", "--log", path, "--limit", 60)

    assert (ran.code, ran.err) == (0, "")
    for part in ("applications", "agreement", "verify", "ok:", f"lithograph history {path} "):
        assert part in ran.out
    with EventLog(path, read_only=True) as log:
        assert f"{log.log_head().position:,}" in ran.out


def test_the_next_commands_can_be_pasted_from_where_the_demo_was_called(
    lithograph: Lithograph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Called by a path that the shell would not search, the demo names that path; odd folder names are quoted."""
    monkeypatch.setattr(sys, "argv", [".venv/bin/lithograph", "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))

    ran = lithograph("demo", "--log", tmp_path / "my desk", "--limit", 2)

    assert f"\n  .venv/bin/lithograph verify '{tmp_path / 'my desk'}'" in ran.out


def test_the_json_of_the_demo_adds_up(lithograph: Lithograph, tmp_path: Path) -> None:
    """Decisions and applications sent back make all; events and bytes are those of the log."""
    path = tmp_path / "desk.lithograph"

    (done,) = lithograph("demo", "--log", path, "--limit", 60, "--json").rows

    assert done["applications"] == 60
    assert done["approved"] + done["declined"] + done["incomplete"] == 60
    assert done["by_policy"] + done["by_officer"] == 60 - done["incomplete"]
    assert done["incomplete"] == 1
    assert done["by_officer"] > 0
    assert done["verified"] is True
    (counted,) = lithograph("stats", path, "--json").rows
    assert (counted["threads"], counted["events"]) == (60, done["events"])


def test_a_finished_demo_is_not_done_again(lithograph: Lithograph, tmp_path: Path) -> None:
    """On its own log the demo finds everything decided; with a higher limit it goes on with the rest."""
    path = tmp_path / "desk.lithograph"
    (first,) = lithograph("demo", "--log", path, "--limit", 20, "--json").rows

    (again,) = lithograph("demo", "--log", path, "--limit", 20, "--json").rows
    (more,) = lithograph("demo", "--log", path, "--limit", 30, "--json").rows

    assert again["new_events"] == 0
    assert (again["approved"], again["declined"]) == (first["approved"], first["declined"])
    assert more["applications"] == 30
    assert more["new_events"] > 0
    assert "none of them new" in lithograph("demo", "--log", path, "--limit", 30).out


@pytest.mark.crash
def test_two_demos_on_one_log_do_not_disturb_what_is_decided(tmp_path: Path) -> None:
    """Of two processes on the same applications whoever is overtaken says so in a line; then one of them can finish."""
    path = tmp_path / "desk.lithograph"
    command = [sys.executable, "-m", "lithograph.cli.main", "demo", "--log", str(path), "--limit", "60", "--json"]
    desks = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for desk in desks:
        _, errors = desk.communicate(timeout=60)
        assert desk.returncode == 0 or ("another program is at work" in errors and len(errors.splitlines()) == 1)

    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    with EventLog(path) as log:
        assert prove(log, read_cases(60)).undecided == []
        assert log.verify().ok


def test_a_new_demo_takes_a_new_folder(tmp_path: Path) -> None:
    """Without --log nothing that exists is touched: the next free name is taken."""
    first = new_path(tmp_path)
    first.mkdir()
    second = new_path(tmp_path)
    second.mkdir()

    assert [first.name, second.name, new_path(tmp_path).name] == [
        "credit-desk.lithograph",
        "credit-desk-2.lithograph",
        "credit-desk-3.lithograph",
    ]


def test_a_folder_that_cannot_be_written_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be written the log goes to a temporary folder."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    assert new_path(Path("somewhere")).parent.parent == tmp_path


@pytest.mark.crash
def test_the_crash_loses_nothing(lithograph: Lithograph, tmp_path: Path) -> None:
    """A child is killed half-way: all that it acknowledged is there, and all is decided once, as on paper."""
    path = tmp_path / "desk.lithograph"

    ran = lithograph("demo", "--log", path, "--limit", 60, "--crash", "--json")

    (done,) = ran.rows
    assert ran.code == 0
    assert done["crash"]["acknowledged"] >= 27
    assert {name: done["crash"][name] for name in ("lost", "undecided", "doubled", "different")} == {
        "lost": [],
        "undecided": [],
        "doubled": [],
        "different": [],
    }
    assert done["verified"] is True


@pytest.mark.crash
def test_the_child_is_really_killed(tmp_path: Path) -> None:
    """The child ends by SIGKILL before its work is done: applications are left that nobody began."""
    path, cases = tmp_path / "desk.lithograph", read_cases(80)

    acknowledged = run_and_kill(path, 80, kill_after=20, on_done=lambda: None)

    assert 20 <= len(acknowledged) < 80
    with EventLog(path, read_only=True) as log:
        killed = inspect_kill(log, cases, acknowledged)
        proof = prove(log, cases)
    assert killed.lost == []
    assert proof.undecided
    assert (proof.doubled, proof.different, proof.holds) == ([], [], False)


@pytest.mark.crash
@pytest.mark.parametrize("kills", [4, pytest.param(25, marks=pytest.mark.nightly)])
def test_killed_again_and_again_each_is_decided_once(tmp_path: Path, kills: int) -> None:
    """However often and whenever the child is killed, going on decides each application exactly once."""
    path, cases = tmp_path / "desk.lithograph", read_cases(100)
    for count in range(kills):
        acknowledged = run_and_kill(path, 100, kill_after=3 + 80 * count // kills, on_done=lambda: None)
        with EventLog(path) as log:
            assert inspect_kill(log, cases, acknowledged).lost == []
            assert log.verify().ok

    with EventLog(path) as log:
        work(log, cases)
        assert prove(log, cases) == Proof([], [], [])


def test_the_proof_notices_what_it_is_there_to_notice(tmp_path: Path) -> None:
    """A case decided twice, one never begun and one decided otherwise than on paper are all named."""
    from lithograph.examples.credit_day import config_of
    from lithograph.examples.credit_desk import open_desk

    cases = read_cases(4)
    with EventLog(tmp_path / "desk.lithograph") as log:
        work(log, cases[:3])
        desk = open_desk(log)
        desk.invoke({"application": cases[0].application}, config_of(cases[0]))
        desk.update_state(
            config_of(cases[1]), {"decision": {"outcome": "declined", "decided_by": "officer", "reasons": []}}
        )
        proof = prove(log, cases)
        lost = inspect_kill(log, cases, {cases[1].application_id: "approved", cases[3].application_id: "approved"})

    assert proof.doubled == [cases[0].application_id]
    assert proof.different == [cases[1].application_id]
    assert proof.undecided == [cases[3].application_id]
    assert lost.lost == [cases[1].application_id, cases[3].application_id]


@pytest.mark.crash
@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent differently there")
def test_an_interrupted_demo_says_how_to_go_on(tmp_path: Path) -> None:
    """Ctrl-C ends the demo with a line to paste, without a traceback, and the line works."""
    command = [sys.executable, "-m", "lithograph.cli.main", "demo", "--limit", "2381"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as demo:
        folder = tmp_path / "credit-desk.lithograph" / "log" / "data.mdb"
        deadline = time.monotonic() + 20
        while not folder.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        demo.send_signal(signal.SIGINT)
        _, said = demo.communicate(timeout=20)

    assert demo.returncode == 130
    assert said.splitlines() == ["stopped. Go on with: lithograph demo --log credit-desk.lithograph --limit 2381"]


@pytest.mark.nightly
def test_all_applications_in_a_minute(lithograph: Lithograph, tmp_path: Path) -> None:
    """The whole set takes less than 60 seconds and comes out as the tutorial says."""
    (done,) = lithograph("demo", "--log", tmp_path / "desk.lithograph", "--limit", 2381, "--json").rows

    assert done["seconds"] < 60
    assert (done["approved"], done["declined"], done["incomplete"]) == (2176, 204, 1)
    assert done["agreement"] == 0.9038
