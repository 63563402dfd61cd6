"""The benchmarks run, keep what every figure must be printed with, and draw their charts."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from benchmarks import figures
from benchmarks.report import RESULTS

ROOT = Path(__file__).parents[2]
PARTS = ("chain", "chat", "fold", "appenders", "forks")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which a quick run of all parts left its results."""
    folder = tmp_path_factory.mktemp("results")
    command = [sys.executable, "-m", "benchmarks", "--quick", "--out", str(folder)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return folder


@pytest.mark.parametrize("part", PARTS)
def test_each_part_keeps_what_its_figures_need(out: Path, part: str) -> None:
    """A result names machine, versions, fsync mode and the raw commit rate of the same run beside its rows."""
    result = json.loads((out / f"{part}.json").read_text())
    assert result["quick"]
    assert result["rows"]
    assert {"cpu", "cores", "load", "python", "versions", "fsync"} <= set(result["machine"])
    places = [result["raw"]] if "file_system" in result["raw"] else result["raw"].values()
    for place in places:
        assert place["lmdb_commits_per_s"] > 0
        assert place["fdatasync_4k_per_s"] > 0


def test_results_are_drawn(out: Path) -> None:
    """Each chart is well-formed SVG with a bar for each of ours, and none of its labels is lost."""
    charts = sorted(out.glob("*.svg"))
    assert [chart.stem for chart in charts] == ["chain-disk", "chain-memory", "chat-bytes", "chat-slowdown"]
    for chart in charts:
        texts = [node.text or "" for node in ElementTree.parse(chart).iter("{http://www.w3.org/2000/svg}text")]
        assert any(text.startswith("lithograph") for text in texts)


def test_committed_results_are_no_smoke_test() -> None:
    """What lies in `benchmarks/results` came from whole runs."""
    results = list((ROOT / "benchmarks" / "results").glob("*.json"))
    assert results
    assert not [path.name for path in results if json.loads(path.read_text())["quick"]]


def test_the_readme_shows_the_committed_results() -> None:
    """The table of figures is the one that the results make: nobody typed it in."""
    text = figures.README.read_text()
    assert figures.replaced(text, figures.table(RESULTS)) == text
