"""Run drawn mutants against the oracle and law tests: `python -m tests.mutation.run --seed 1 --count 20`.

Each mutant is made in a copy of the tree; the tests there must fail or hang. A survivor that is not proven
equivalent (`equivalents.py`) makes the exit code 1. Not part of the ordinary test run: it takes minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .equivalents import PROOFS
from .sites import Mutant, draw, mutants

ROOT = Path(__file__).parents[2]
ROOMS = ("eventlog", "projections", "store", "graph")
TARGETS = (
    *(f"graph/{name}.py" for name in ("loop", "tasks", "writes", "rules", "begin", "update", "interrupts")),
    *(f"graph/{name}.py" for name in ("journal", "at_exit", "stream", "driver")),
    *(f"projections/{name}.py" for name in ("fold", "channels", "cells", "state", "snapshot", "thread", "splices")),
)
"""The loop, the tasks and the fold."""
TESTS = (
    "tests/oracle/test_*.py",
    "tests/graph/test_differences*.py",
    "tests/graph/test_law_*.py",
    "tests/laws/test_*.py",
)
"""The oracle tests and the laws; the quickest to fail come first."""
TIMEOUT_FACTOR, TIMEOUT_MIN_S = 3, 60
"""A mutant hangs when it takes this many times as long as no mutant at all, and at least this long."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, run and report; 0 when nothing survived, 1 for survivors, 2 when the tests fail unmutated."""
    options = _parse(arguments)
    files = [name for name in TARGETS if (ROOT / name).exists()]
    candidates = [mutant for name in files for mutant in mutants(name, (ROOT / name).read_text())]
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        bench = Bench(Path(folder), deselect=options.deselect)
        if (status := bench.test()) != "survived":
            print(f"the tests fail or hang without any mutation ({status}): {bench.failed}", file=sys.stderr)
            return 2
        report = [
            _try(bench, seed, mutant)
            for seed in options.seed
            for mutant in draw(candidates, seed=seed, count=options.count)
        ]
    survivors = [entry for entry in report if entry["status"] == "survived"]
    text = json.dumps({"drawn": len(report), "survivors": survivors, "all": report}, indent=1)
    if options.json:
        Path(options.json).write_text(text)
    print(json.dumps({"drawn": len(report), "survivors": survivors}, indent=1))
    return 1 if survivors else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.run", description=__doc__)
    parser.add_argument("--seed", type=int, action="append", required=True, help="a seed; may be given again")
    parser.add_argument("--count", type=int, default=20, help="mutants a seed")
    parser.add_argument("--json", help="write the whole report here")
    parser.add_argument("--deselect", action="append", default=[], help="a test id to leave out")
    return parser.parse_args(arguments)


def _try(bench: Bench, seed: int, mutant: Mutant) -> dict[str, object]:
    proof = PROOFS.get((mutant.file, mutant.function, mutant.before, mutant.after))
    started = time.monotonic()
    status = "equivalent" if proof else bench.test(mutant)
    seconds = round(time.monotonic() - started, 1)
    place = f"{mutant.file}:{mutant.line} {mutant.function}"
    print(
        f"seed {seed} {status:10} {seconds:5}s {place}: {mutant.before!r} -> {mutant.after!r}",
        file=sys.stderr,
    )
    killer = bench.failed if status == "killed" else ""
    return {"seed": seed, "status": status, "killer": killer, "proof": proof, **asdict(mutant)}


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


class Bench:
    """A copy of the tree in which one file at a time is mutated and tested."""

    def __init__(self, folder: Path, *, deselect: Sequence[str] = ()) -> None:
        self.tree = folder / "tree"
        self.failed = ""
        """The first failed test of the last run."""
        self._deselect = tuple(deselect)
        self._timeout_s: float | None = None
        self._traces = folder / "traces"
        ignored = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")
        shutil.copytree(ROOT, self.tree, ignore=ignored)
        package = folder / "site" / "lithograph"
        package.mkdir(parents=True)
        for room in ROOMS:
            (package / room).symlink_to(self.tree / room)
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(package.parent),
            "PYTHONDONTWRITEBYTECODE": "1",
            "ORACLE_TRACES": str(self._traces),
        }

    def test(self, mutant: Mutant | None = None) -> str:
        """Run the tests with `mutant` made, or none: `survived`, `killed` or `hung`.

        The run with none comes first: it keeps the oracle's traces, and a second one tells what time is normal.
        """
        if mutant is None:
            status = self._pytest()
            started = time.monotonic()
            self._pytest()
            self._timeout_s = max(TIMEOUT_MIN_S, TIMEOUT_FACTOR * (time.monotonic() - started))
            return status
        path = self.tree / mutant.file
        source = path.read_text()
        path.write_text(mutant.apply(source))
        try:
            return self._pytest()
        finally:
            path.write_text(source)

    def _pytest(self) -> str:
        tests = [str(path) for pattern in TESTS for path in sorted(self.tree.glob(pattern))]
        # A fixed seed: what the laws draw must not decide whether a mutant lives.
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "--hypothesis-seed=0"]
        command += ["-p", "no:cacheprovider", *tests]
        command += [part for test in self._deselect for part in ("--deselect", test)]
        process = subprocess.Popen(
            command,
            cwd=self.tree,
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=self._timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return "hung"
        failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        self.failed = failed[0] if failed else output[-400:]
        return "survived" if process.returncode == 0 else "killed"


if __name__ == "__main__":
    sys.exit(main())
