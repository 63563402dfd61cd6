"""`TreeCopy`: a copy of the tree in which code is changed and tested, with `lithograph` leading to the copy."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Outcome(NamedTuple):
    """What came of a run of tests."""

    code: int
    """pytest's exit code."""
    failed: str
    """The first test that failed; where pytest itself was ended, how."""
    hung: bool
    """Whether it was ended because it took too long."""


class TreeCopy:
    """One copy, in a folder of its own."""

    def __init__(self, home: Path, rooms: Sequence[str]) -> None:
        self.tree = home / "tree"
        self._site = home / "site"
        for name in (*rooms, "tests", "docs"):
            shutil.copytree(ROOT / name, self.tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", self.tree)
        package = self._site / "lithograph"
        package.mkdir(parents=True)
        for room in rooms:
            (package / room).symlink_to(self.tree / room)

    def pytest(
        self, arguments: Sequence[str], *, limit_s: float | None = None, told: Mapping[str, str] | None = None
    ) -> Outcome:
        """Run pytest in the copy up to the first failure; `told`: further environment variables."""
        # A fixed seed: what the laws draw must not decide whether a change is noticed.
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "--hypothesis-seed=0"]
        process = subprocess.Popen(
            [*command, "-p", "no:cacheprovider", *arguments],
            cwd=self.tree,
            env={**os.environ, "PYTHONPATH": str(self._site), "PYTHONDONTWRITEBYTECODE": "1", **(told or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            return Outcome(-1, "", hung=True)
        finally:
            _end(process)
        failed = [line.split(" - ")[0] for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return Outcome(process.returncode, failed[0] if failed else _ended(process.returncode), hung=False)


def _ended(code: int) -> str:
    """Say how pytest ended that named no test; nothing of what it printed, which names folders of this machine."""
    if code < 0:
        return f"pytest was killed by {signal.Signals(-code).name}"
    return f"pytest ended with exit code {code}"


def _end(process: subprocess.Popen[str]) -> None:
    """End a run and the children that it left in its middle."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
