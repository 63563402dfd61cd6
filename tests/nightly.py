"""Runs the slow forms of the tests, part by part: `python -m tests.nightly [PART…] [--again]`.

Each part takes under an hour and leaves a JSON file in `tests/nightly_results`: the commit, what ran, seeds and counts,
how long it took. A part whose file says that it passed at the present commit is not run again, so a run that was cut
short goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "nightly_results"
PARTS = {
    "flips": ["tests/eventlog/test_verify.py"],
    "view_flips": ["tests/projections/test_view_damage.py"],
    "crash": ["tests/eventlog/test_crash.py", "tests/eventlog/test_kill_rounds.py", "tests/laws/test_kill.py"],
    "group": ["tests/eventlog/test_group.py"],
    "demo": ["tests/cli/test_demo.py"],
    "values": ["tests/eventlog/serde", "tests/laws/test_values.py"],
    "views": ["tests/projections/test_views.py"],
    "store": ["tests/store/test_model.py"],
}


def main() -> int:
    """Run the parts that were asked for, or all; return 1 when one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.nightly", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--again", action="store_true", help="run parts that passed at this commit, too")
    asked = parser.parse_args()
    unknown = [part for part in asked.parts if part not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    commit = _git("rev-parse", "HEAD")
    outcomes = [
        _passed(part, commit) if not asked.again and _passed(part, commit) else _run(part, commit)
        for part in asked.parts or PARTS
    ]
    return 0 if all(outcomes) else 1


def _run(part: str, commit: str) -> bool:
    """Run a part and keep what came of it."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-m", "nightly", "--tb=short", f"--junitxml={report}", *PARTS[part]]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        cases = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
    result = {
        "part": part,
        "commit": commit,
        "changed beside it": _changed(),
        "python": platform.python_version(),
        "passed": code == 0,
        "duration_s": round(time.monotonic() - began, 1),
        "tests": [_case(case) for case in cases],
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{part}.json").write_text(json.dumps(result, indent=1) + "\n")
    return code == 0


def _case(case: ElementTree.Element) -> dict[str, Any]:
    counts = {str(item.get("name")): item.get("value") for item in case.iter("property")}
    failed = any(case.find(kind) is not None for kind in ("failure", "error", "skipped"))
    return {
        "test": f"{case.get('classname')}::{case.get('name')}",
        "passed": not failed,
        "duration_s": round(float(case.get("time") or 0), 1),
        **({"counts": counts} if counts else {}),
    }


def _passed(part: str, commit: str) -> bool:
    file = RESULTS / f"{part}.json"
    if not file.exists():
        return False
    known = json.loads(file.read_text())
    return known["passed"] and known["commit"] == commit and not known["changed beside it"]


def _changed() -> bool:
    """Tell whether files differ from the commit, but for what these runs leave behind."""
    return bool(_git("status", "--porcelain", "--untracked-files=no", "--", ".", f":!{RESULTS.relative_to(ROOT)}"))


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
