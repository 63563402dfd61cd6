"""Runs every part in a process of its own, then draws the charts: `python -m benchmarks [--quick] [--out FOLDER]`.

Each part takes less than ten minutes and writes its own JSON, so a run that was stopped goes on with `--missing`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from . import charts
from .report import RESULTS

PARTS = ("chain", "chat", "fold", "appenders", "forks")


def main() -> int:
    """Run the parts; return how many failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Runs the benchmarks.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="a smoke test: shows that it runs, not how fast")
    parser.add_argument("--missing", action="store_true", help="only parts that have no result yet")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder for results and charts")
    asked = parser.parse_args()
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    failed = 0
    for part in asked.parts or PARTS:
        if asked.missing and (asked.out / f"{part}.json").exists():
            continue
        began = time.monotonic()
        command = [sys.executable, "-m", f"benchmarks.{part}", "--out", str(asked.out)]
        failed += subprocess.run([*command, "--quick"] if asked.quick else command, check=False).returncode != 0
        print(f"   ({part}: {time.monotonic() - began:.0f} s)", flush=True)
    charts.draw(asked.out)
    return failed


if __name__ == "__main__":
    sys.exit(main())
