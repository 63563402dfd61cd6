"""Draws the results as SVG: one chart of bars for each group of rows that the README shows. No drawing package.

python -m benchmarks.charts
"""

from __future__ import annotations

import json
import math
from html import escape
from pathlib import Path
from typing import NamedTuple

from .report import RESULTS

WIDTH, BAR, GAP, LEFT, RIGHT, TOP = 760, 22, 8, 270, 110, 58
OURS, OTHERS, INK, FAINT = "#b5532a", "#8a8f98", "#24292f", "#6b7280"
BOTTOM = 26


class Chart(NamedTuple):
    """Which rows of which part are drawn as bars, and what they say."""

    name: str
    part: str
    title: str
    unit: str
    rows: dict[str, str]
    """Label to row."""
    logarithmic: bool = False


def _chain_rows(place: str) -> dict[str, str]:
    names = (
        "lithograph, async",
        "lithograph, sync",
        "LangGraph + SqliteSaver, async",
        "LangGraph + SqliteSaver, sync",
        "LangGraph + InMemorySaver",
        "LangGraph, no checkpointer",
    )
    return {name: f"{place}: {name}, supersteps/s" for name in names}


_SIZE = "bytes of the whole folder after close"
_RIVALS = ("lithograph", "lithograph add_messages", "DeltaChannel", "SqliteSaver")

CHARTS = (
    Chart("chain-disk", "chain", "Chain of 10 nodes, on the disk", "supersteps/s, more is better", _chain_rows("disk")),
    Chart(
        "chain-memory",
        "chain",
        "Chain of 10 nodes, folder in memory",
        "supersteps/s, more is better",
        _chain_rows("memory"),
    ),
    Chart(
        "chat-bytes",
        "chat",
        "Chat of 500 turns, 2 KB a turn: the whole folder",
        "bytes, less is better, logarithmic",
        {name: f"{name}: {_SIZE}" for name in _RIVALS},
        logarithmic=True,
    ),
    Chart(
        "chat-slowdown",
        "chat",
        "The same: time of the last turns over the first",
        "times, 1 is best",
        {name: f"{name}: last turns / first turns" for name in _RIVALS},
    ),
)


def draw(folder: Path = RESULTS) -> list[Path]:
    """Draw the charts whose results are in `folder` and return the files."""
    drawn: list[Path] = []
    for chart in CHARTS:
        source = folder / f"{chart.part}.json"
        if not source.exists():
            continue
        result = json.loads(source.read_text())
        bars = {label: result["rows"][row] for label, row in chart.rows.items() if row in result["rows"]}
        path = folder / f"{chart.name}.svg"
        path.write_text(_svg(chart, bars, _footnote(result)))
        drawn.append(path)
    return drawn


def _footnote(result: dict[str, dict[str, object]]) -> str:
    facts = result["machine"]
    return f"{facts['cpu']}, {facts['cores']} cores, Python {facts['python']}, {str(result['when'])[:10]}"


def _svg(chart: Chart, bars: dict[str, float], footnote: str) -> str:
    height = TOP + len(bars) * (BAR + GAP) + BOTTOM
    most = max(bars.values(), default=1) or 1
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="13" role="img">',
        f"<title>{escape(chart.title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(16, 24, chart.title, size=16, weight=600),
        _text(16, 43, chart.unit, fill=FAINT),
    ]
    for number, (label, value) in enumerate(bars.items()):
        y = TOP + number * (BAR + GAP)
        width = max(_share(value, most, logarithmic=chart.logarithmic) * (WIDTH - LEFT - RIGHT), 2)
        color = OURS if label.startswith("lithograph") else OTHERS
        parts += [
            _text(LEFT - 10, y + 16, label, anchor="end"),
            f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" rx="3" fill="{color}"/>',
            _text(LEFT + width + 8, y + 16, f"{value:,.2f}" if value < 100 else f"{value:,.0f}"),
        ]
    parts += [_text(16, height - 9, footnote, fill=FAINT, size=11), "</svg>"]
    return "\n".join(parts) + "\n"


def _share(value: float, most: float, *, logarithmic: bool) -> float:
    return math.log10(max(value, 1)) / math.log10(max(most, 10)) if logarithmic else value / most


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", fill: str = INK, size: int = 13, weight: int = 400
) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{fill}" font-size="{size}" '
        f'font-weight="{weight}">{escape(text)}</text>'
    )


if __name__ == "__main__":
    draw()
