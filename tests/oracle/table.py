"""The table of features and graphs, `docs/oracle-graphs.md`, made from the corpus.

`python -m tests.oracle.table` writes it; `test_table.py` checks that it is current and that no two graphs
have the same set of features.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from . import corpus  # noqa: F401
from .harness import SCENARIOS, Scenario

PATH = Path(__file__).parents[2] / "docs" / "oracle-graphs.md"

_HEAD = """# The graphs that are compared with LangGraph

Each graph below is written once and run on LangGraph and on Lithograph, through `invoke`, through `stream`
with all six modes at durability `sync`, and at durability `exit`, each on threads and on an event loop. Results,
stream chunks, snapshots, history, tasks and interrupts must be equal, and equal again after the log was
reopened; ids, times and the completion order of parallel tasks are the only things that may differ. Where
Lithograph differs on purpose is tested in `tests/graph/test_differences.py`. Made by
`python -m tests.oracle.table`; do not edit.
"""


def render(scenarios: Sequence[Scenario]) -> str:
    """The page as Markdown: the graphs by number, then each feature with its graphs."""
    features = sorted({feature for case in scenarios for feature in case.features}, key=str.lower)
    lines = [_HEAD, f"## {len(scenarios)} graphs\n", "| # | graph | what it shows |", "|---|---|---|"]
    lines += [f"| {number} | `{case.name}` | {case.summary} |" for number, case in enumerate(scenarios, 1)]
    lines += ["", f"## {len(features)} features\n", "| feature | graphs |", "|---|---|"]
    for feature in features:
        numbers = [str(number) for number, case in enumerate(scenarios, 1) if feature in case.features]
        lines.append(f"| {feature} | {', '.join(numbers)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(render(list(SCENARIOS.values())), encoding="utf-8")


if __name__ == "__main__":
    main()
