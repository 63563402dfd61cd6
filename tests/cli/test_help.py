"""`--help` and `--version`: complete, quick, and without loading the rooms."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version

from lithograph.cli.app import VERBS

from .conftest import Lithograph

HELP_SECONDS_MAX = 0.3
HEAVY = (
    "lmdb",
    "ormsgpack",
    "msgspec",
    "asyncio",
    "lithograph.eventlog.log",
    "lithograph.graph",
    "lithograph.examples.applications",
)


def test_help_names_every_verb(lithograph: Lithograph) -> None:
    """The overview lists each verb with its first sentence and ends with 0."""
    ran = lithograph("--help")

    assert (ran.code, ran.err) == (0, "")
    assert [verb.__name__ for verb in VERBS if f" {verb.__name__} " not in ran.out] == []


def test_without_arguments_the_help_is_shown(lithograph: Lithograph) -> None:
    """Somebody who types only `lithograph` is told what there is."""
    assert "Begin with: lithograph demo" in lithograph().out


def test_version(lithograph: Lithograph) -> None:
    """--version prints the installed version."""
    assert lithograph("--version").out == f"lithograph {version('lithograph')}\n"


def test_help_is_quick() -> None:
    """`lithograph --help` takes less than 300 ms of a processor: best of a few, for a machine may be busy."""
    command = [sys.executable, "-m", "lithograph.cli.main", "--help"]
    best = float("inf")
    for _ in range(8):
        before = os.times()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        best = min(best, used)
        if best < HELP_SECONDS_MAX:
            return
    raise AssertionError(f"--help took {best:.3f} s of a processor at best")


def test_help_loads_no_room() -> None:
    """Parsing a command line imports neither engines nor the runtime: rooms are imported inside verbs."""
    script = (
        "import sys; from lithograph.cli.app import run; run(['show', '--help']);"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert out.splitlines()[-1] == "LOADED []"
