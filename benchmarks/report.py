"""Results: medians over alternating rounds, printed as a table, kept as JSON in `benchmarks/results`."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import machine

RESULTS = Path(__file__).parent / "results"


def alternate(rivals: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Let each rival run once a round, in an order that turns, and return each one's figures."""
    figures: dict[str, list[float]] = {name: [] for name in rivals}
    names = list(rivals)
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            figures[name].append(rivals[name]())
    return figures


def median(figures: list[float]) -> float:
    """Return the median, rounded to what it can mean."""
    value = statistics.median(figures)
    return round(value, 1) if value >= 10 else round(value, 6)


def options(doc: str | None) -> argparse.Namespace:
    """Read the options that each part has: `--quick` for a smoke test, `--out` for where results go."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few rounds only: shows that it runs, not how fast")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder for the JSON")
    return parser.parse_args()


def keep(name: str, rows: Mapping[str, Any], *, raw: Mapping[str, Any], asked: argparse.Namespace) -> None:
    """Print a part's rows and write them, with the machine and the raw commit rate of the same run."""
    result = {
        "part": name,
        "quick": asked.quick,
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": machine.describe(),
        "raw": dict(raw),
        "rows": dict(rows),
    }
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")
    facts = result["machine"]
    print(f"== {name}: {facts['cpu']}, {facts['cores']} cores, load {facts['load'][0]}, Python {facts['python']}")
    print("   " + ", ".join(f"{package} {version}" for package, version in facts["versions"].items()))
    for owner, mode in facts["fsync"].items():
        print(f"   {owner}: {mode}")
    print(f"   raw: {json.dumps(dict(raw))}")
    for row, value in rows.items():
        print(f"   {row:<58} {_text(value)}")


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
