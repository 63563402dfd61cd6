"""A copy of the tree in which one file at a time is mutated and tested.

The tests that reach the mutated function come first, quick ones before slow ones; a mutant survives only when all
the others have passed as well.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from . import reach
from .sites import Mutant

ROOT = Path(__file__).parents[2]
ROOMS = ("eventlog", "projections", "store", "graph")
TESTS = (
    "tests/oracle/test_*.py",
    "tests/graph/test_differences*.py",
    "tests/graph/test_law_*.py",
    "tests/laws/test_*.py",
)
"""The oracle tests and the laws."""
LIMIT_FACTOR, LIMIT_MIN_S = 10, 60.0
"""A test hangs when it takes this many times as long as the slowest without a mutant, and at least this long."""


class Bench:
    """One copy of the tree, in `home`. In `known` it shares what LangGraph did, and which test reaches what."""

    def __init__(self, home: Path, known: Path, *, deselect: Sequence[str] = ()) -> None:
        self.failed = ""
        """The first failed test of the last run."""
        self._known = known
        self._home = home
        self._tree = home / "tree"
        self._deselect = tuple(deselect)
        self._copy()

    def _copy(self) -> None:
        ignored = shutil.ignore_patterns("__pycache__")
        for name in (*ROOMS, "tests", "docs"):
            shutil.copytree(ROOT / name, self._tree / name, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", self._tree)
        package = self._home / "site" / "lithograph"
        package.mkdir(parents=True)
        for room in ROOMS:
            (package / room).symlink_to(self._tree / room)

    def test(self) -> str:
        """Run the tests without any mutant; see which test reaches what, where that is not known."""
        return self._pytest({} if self._reach.exists() else {reach.KEEP: str(self._reach)})

    def try_mutant(self, mutant: Mutant) -> str:
        """Run the tests with a mutant made: `survived`, `killed` or `hung`."""
        known = json.loads(self._reach.read_text())
        slowest = max(test["seconds"] for test in known.values())
        order = self._home / "order.json"
        order.write_text(json.dumps(_order(known, f"{mutant.file}:{mutant.function}")))
        limit = max(LIMIT_MIN_S, LIMIT_FACTOR * slowest)
        path = self._tree / mutant.file
        source = path.read_text()
        path.write_text(mutant.apply(source))
        try:
            return self._pytest({reach.ORDER: str(order), reach.LIMIT_S: str(limit)})
        finally:
            path.write_text(source)

    @property
    def _reach(self) -> Path:
        return self._known / "reach.json"

    def _pytest(self, told: dict[str, str]) -> str:
        tests = [str(path.relative_to(self._tree)) for part in TESTS for path in sorted(self._tree.glob(part))]
        # A fixed seed: what the laws draw must not decide whether a mutant lives.
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "--hypothesis-seed=0"]
        command += ["-p", "no:cacheprovider", "-p", "tests.mutation.reach", *tests]
        command += [part for test in self._deselect for part in ("--deselect", test)]
        environment = {
            **os.environ,
            "PYTHONPATH": str(self._home / "site"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "ORACLE_TRACES": str(self._known / "traces"),
            **told,
        }
        process = subprocess.Popen(
            command,
            cwd=self._tree,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate()
        finally:
            _end(process)
        failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        self.failed = failed[0] if failed else output[-400:]
        return {0: "survived", reach.HUNG: "hung"}.get(process.returncode, "killed")


def _end(process: subprocess.Popen[str]) -> None:
    """End the children of a run that was ended in their middle."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def _order(known: dict[str, dict[str, object]], function: str) -> list[str]:
    """Return the tests, those that reach a function first, quick ones before slow ones, a law's file in one piece."""

    def key(id_: str) -> tuple[object, ...]:
        test = known[id_]
        functions = test["functions"]
        assert isinstance(functions, list)
        law = "/laws/" in id_
        return (
            function not in functions and "*" not in functions,
            law,
            id_.split("::")[0] if law else "",
            test["seconds"],
        )

    return sorted(known, key=key)
