"""Run drawn mutants against the oracle and law tests: `python -m tests.mutation.run --seed 1 --seed 2 --seed 3`.

Each mutant is made in a copy of the tree (`bench.py`); the tests there must fail or hang. A survivor that is not
proven equivalent (`equivalents.py`) makes the exit code 1. Not part of the ordinary test run: it takes minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue

from .bench import ROOT, Bench
from .equivalents import PROOFS, key_of
from .sites import Mutant, draw, mutants

TARGETS = (
    *(f"graph/{name}.py" for name in ("loop", "tasks", "writes", "rules", "begin", "update", "interrupts")),
    *(f"graph/{name}.py" for name in ("ahead", "answering", "run_input", "commits", "journal", "step_record")),
    *(f"graph/{name}.py" for name in ("outcomes", "at_exit", "ending", "stream", "driver", "async_driver")),
    *(f"projections/{name}.py" for name in ("fold", "channels", "cells", "state", "snapshot", "thread", "splices")),
)
"""The loop, the tasks and the fold."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, run and report; 0 when nothing survived, 1 for survivors, 2 when the tests fail unmutated."""
    options = _parse(arguments)
    started = time.monotonic()
    commit = _git("rev-parse", "HEAD")
    changed = bool(_git("status", "--porcelain", "--", *TARGETS))
    candidates = [mutant for name in TARGETS for mutant in mutants(name, (ROOT / name).read_text())]
    drawn = {seed: draw(candidates, seed=seed, count=options.count) for seed in options.seed}
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        known = Path(options.keep or folder)
        benches = [Bench(Path(folder, str(number)), known, deselect=options.deselect) for number in range(options.jobs)]
        if (status := benches[0].test()) != "survived":
            print(f"the tests fail or hang without any mutation ({status}): {benches[0].failed}", file=sys.stderr)
            return 2
        tried = list(dict.fromkeys(mutant for some in drawn.values() for mutant in some))
        known_outcomes = _killed_in(options.after)
        outcomes = {mutant: known_outcomes[_key(mutant)] for mutant in tried if _key(mutant) in known_outcomes}
        outcomes |= _try_all(benches, [mutant for mutant in tried if mutant not in outcomes])
    report = {
        "commit": commit + (" with changes" if changed else ""),
        "candidates": len(candidates),
        "seconds": round(time.monotonic() - started),
        "seeds": {
            seed: {
                **Counter(str(outcomes[mutant]["status"]) for mutant in some),
                "drawn": len(some),
                "mutants": [{**outcomes[mutant], **asdict(mutant)} for mutant in some],
            }
            for seed, some in drawn.items()
        },
    }
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(Counter(str(outcomes[mutant]["status"]) for some in drawn.values() for mutant in some)))
    return 1 if any(outcome["status"] == "survived" for outcome in outcomes.values()) else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.run", description=__doc__)
    parser.add_argument("--seed", type=int, action="append", required=True, help="a seed; may be given again")
    parser.add_argument("--count", type=int, default=20, help="mutants a seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants tried side by side")
    parser.add_argument("--keep", help="a folder that keeps what LangGraph did and which test reaches what")
    parser.add_argument("--after", help="an earlier report: what was killed there is not tried again")
    parser.add_argument("--json", help="write the whole report here")
    parser.add_argument("--deselect", action="append", default=[], help="a test id to leave out")
    return parser.parse_args(arguments)


def _key(mutant: Mutant) -> tuple[object, ...]:
    return mutant.file, mutant.function, mutant.start, mutant.before, mutant.after


def _killed_in(report: str | None) -> dict[tuple[object, ...], dict[str, object]]:
    """Return the outcomes of the mutants that an earlier run killed: tests are added between runs, not taken away.

    A mutant is known by its place too, for a function may have the same text twice: what moved is tried again.
    """
    if report is None:
        return {}
    seeds = json.loads(Path(report).read_text())["seeds"].values()
    return {
        (known["file"], known["function"], known["start"], known["before"], known["after"]): {
            name: known[name] for name in ("status", "seconds", "killer", "proof")
        }
        for seed in seeds
        for known in seed["mutants"]
        if known["status"] in ("killed", "hung")
    }


def _try_all(benches: Sequence[Bench], tried: Sequence[Mutant]) -> dict[Mutant, dict[str, object]]:
    """Try mutants side by side, one in each bench."""
    free: SimpleQueue[Bench] = SimpleQueue()
    for bench in benches:
        free.put(bench)

    def try_one(mutant: Mutant) -> dict[str, object]:
        bench = free.get()
        try:
            return _try(bench, mutant)
        finally:
            free.put(bench)

    with ThreadPoolExecutor(len(benches)) as pool:
        return dict(zip(tried, pool.map(try_one, tried), strict=True))


def _try(bench: Bench, mutant: Mutant) -> dict[str, object]:
    key = key_of(mutant, (ROOT / mutant.file).read_text())
    proof = None if key is None else PROOFS[key]
    started = time.monotonic()
    status = "equivalent" if proof else bench.try_mutant(mutant)
    seconds = round(time.monotonic() - started, 1)
    place = f"{mutant.file}:{mutant.line} {mutant.function}"
    killer = bench.failed if status in ("killed", "hung") else ""
    print(
        f"{status:10} {seconds:5}s {place}: {mutant.before!r} -> {mutant.after!r} [{killer}]",
        file=sys.stderr,
        flush=True,
    )
    return {"status": status, "seconds": seconds, "killer": killer, "proof": proof}


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
