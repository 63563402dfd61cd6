"""The page about the mutants, `tests/mutation/README.md`: `python -m tests.mutation.table` writes it.

Made from `results.json`, the report of the last whole run, and from `equivalents.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .equivalents import PROOFS

PATH = Path(__file__).parent / "README.md"
RESULTS = Path(__file__).parent / "results.json"

_HEAD = """# Mutants

A generator with a seed changes the loop, the tasks and the fold in one place: an operator, a condition, a constant, an
order, a call that is dropped; at most two changes a function, each function being as likely as any other. Each mutant
must make an oracle or a law test fail, or hang, or be proven equivalent below.

    python -m tests.mutation.run --seed 1 --seed 2 --seed 3 --json tests/mutation/results.json
    python -m tests.mutation.table

What a seed draws depends on the source, so other mutants are drawn after every change of those files.
"""


def render(results: dict[str, Any]) -> str:
    """Return the page as Markdown."""
    seeds = "\n".join(_row(seed, entry) for seed, entry in results["seeds"].items())
    proofs = "\n".join(
        f"| `{file}` `{function}` | {_code(before)} | {_code(after)} | {_cell(why)} |"
        for (file, function, before, after), why in sorted(PROOFS.items())
    )
    return f"""{_HEAD}
## The last whole run

At commit `{results["commit"]}`, drawn from {results["candidates"]:,} possible mutants.
{results.get("note", "")}

| seed | drawn | killed | hung | equivalent | survived |
|---|---|---|---|---|---|
{seeds}

## Equivalent mutants

No test can tell these from the original.

| where | before | after | why nothing changes |
|---|---|---|---|
{proofs}
"""


def _row(seed: str, entry: dict[str, Any]) -> str:
    counts = [entry.get(status, 0) for status in ("drawn", "killed", "hung", "equivalent", "survived")]
    return f"| {seed} | {' | '.join(map(str, counts))} |"


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    PATH.write_text(render(json.loads(RESULTS.read_text())))
