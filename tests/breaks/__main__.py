"""Breaks promises on purpose and sees that a test fails: `python -m tests.breaks [--only NAME…] [--json FILE]`.

Each break of the table is made in a copy of the tree, whose tests have passed before: then they must fail, or hang.
NAME is a theme or a part of a promise. The file keeps what came of each break; what was not run this time stays in it,
so a run may be made in parts. The exit code is 1 when a break was not noticed, or does not fit the code. Not part of
the ordinary test run: it takes minutes.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.tree_copy import ROOT, TreeCopy

from .entry import Break
from .table import BREAKS, THEMES

ROOMS = ("eventlog", "projections", "store", "graph", "testing", "cli")
RESULTS = ROOT / "tests" / "nightly_results" / "breaks.json"
LIMIT_FACTOR, LIMIT_MIN_S = 4, 40.0
"""Tests hang when they take so many times as long as without a break, and this much longer."""
_UNBROKEN_LIMIT_S = 600.0


class Bench:
    """One copy of the tree, and how long its tests take."""

    def __init__(self, home: Path) -> None:
        self._copy = TreeCopy(home, ROOMS)
        self._seconds: dict[str, float] = {}

    def unbroken(self, promise: Break) -> str:
        """Run a break's tests as the code is, where that was not done yet; return what failed."""
        for name in promise.tests.split():
            if name in self._seconds:
                continue
            began = time.monotonic()
            outcome = self._copy.pytest([name], limit_s=_UNBROKEN_LIMIT_S)
            if outcome.code:
                return outcome.failed or f"{name} hangs"
            self._seconds[name] = time.monotonic() - began
        return ""

    def broken(self, promise: Break) -> str:
        """Run the tests with a break made; return which of them noticed it, empty when none did."""
        path = self._copy.tree / promise.file
        source = path.read_text()
        tests = promise.tests.split()
        limit = LIMIT_MIN_S + LIMIT_FACTOR * sum(self._seconds[test] for test in tests)
        path.write_text(source.replace(promise.old, promise.new))
        try:
            outcome = self._copy.pytest(tests, limit_s=limit)
        finally:
            path.write_text(source)
        if outcome.hung:
            return f"hangs: {promise.tests}"
        return "" if outcome.code == 0 else outcome.failed

    def fits(self, promise: Break) -> bool:
        """Tell whether what a break replaces is there exactly once."""
        return (self._copy.tree / promise.file).read_text().count(promise.old) == 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Make each break in turn; 0 when all were noticed, 1 when one was not, 2 when the tests fail as they are."""
    parser = argparse.ArgumentParser(prog="python -m tests.breaks", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help=f"{', '.join(THEMES)}, or words of one")
    parser.add_argument("--json", type=Path, default=RESULTS, help="keeps what came of each break")
    options = parser.parse_args(arguments)
    chosen = [each for each in BREAKS if not options.only or _is_asked(each, options.only)]
    if not chosen:
        parser.error("there is no such break")
    with tempfile.TemporaryDirectory(prefix="breaks-") as home:
        bench = Bench(Path(home))
        for number, each in enumerate(chosen, 1):
            if failed := bench.unbroken(each):
                print(f"the tests do not pass as the code is: {failed}", file=sys.stderr)
                return 2
            result = _run(bench, each)
            print(f"{number}/{len(chosen)} {result['noticed by'] or 'NOT NOTICED'} | {each.promise}", flush=True)
            _keep(options.json, result)
    return 0 if json.loads(options.json.read_text())["passed"] else 1


def _is_asked(promise: Break, names: Sequence[str]) -> bool:
    return any(promise in THEMES.get(name, ()) or name in promise.promise for name in names)


def _run(bench: Bench, promise: Break) -> dict[str, Any]:
    began = time.monotonic()
    noticed = bench.broken(promise) if bench.fits(promise) else ""
    return {
        "test": promise.promise,
        "passed": bool(noticed),
        "noticed by": noticed,
        "file": promise.file,
        "duration_s": round(time.monotonic() - began, 1),
        "commit": _git("rev-parse", "HEAD"),
    }


def _keep(path: Path, result: dict[str, Any]) -> None:
    """Write down what came of a break, beside what is known of the others that are still in the table."""
    known = json.loads(path.read_text())["tests"] if path.exists() else []
    results = {each["test"]: each for each in [*known, result]}
    tests = [results[each.promise] for each in BREAKS if each.promise in results]
    report = {
        "part": "breaks",
        "commit": result["commit"],
        "changed beside it": bool(_git("status", "--porcelain", "--untracked-files=no", "--", *ROOMS, "tests/*.py")),
        "python": platform.python_version(),
        "passed": all(each["passed"] for each in tests),
        "duration_s": round(sum(each["duration_s"] for each in tests), 1),
        "counts": {"breaks": len(BREAKS), "run": len(tests), "noticed": sum(each["passed"] for each in tests)},
        "tests": tests,
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
