"""Law L10: every graph of the corpus behaves on Lithograph as it does on LangGraph.

LangGraph is the extra `test`; without it these tests are skipped, which `tests/conftest.py` makes a failure
on CI. The same traces feed `table.py`, which writes `docs/oracle-graphs.md`.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from . import api, corpus, harness, normal  # noqa: F401

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not api.HAVE_ORACLE, reason=api.NEEDED),
    pytest.mark.filterwarnings("ignore"),
]

CASES = [
    pytest.param(name, face, id=f"{name}-{face.name}")
    for name, case in harness.SCENARIOS.items()
    for face in harness.FACES
    if case.fits(face)
]


TRACES = os.environ.get("ORACLE_TRACES")
"""A folder in which LangGraph's traces are kept: they do not depend on our code, so mutants need not wait."""


@cache
def _theirs(name: str, face: harness.Face) -> list[str]:
    kept = Path(TRACES or ".") / f"{name}-{face.name}.txt"
    if TRACES and kept.exists():
        return kept.read_text(encoding="utf-8").split("\n")
    lines = harness.render(harness.perform(api.langgraph(), harness.SCENARIOS[name], face))
    if TRACES:
        kept.parent.mkdir(exist_ok=True)
        kept.write_text("\n".join(lines), encoding="utf-8")
    return lines


@pytest.mark.parametrize(("name", "face"), CASES)
def test_lithograph_equals_langgraph(name: str, face: harness.Face, tmp_path: Path) -> None:
    """Results, chunks, snapshots, history, and a second reading of it all after reopening are the same."""
    ours = harness.perform(api.lithograph(), harness.SCENARIOS[name], face, tmp_path / "log")
    assert not (diff := harness.difference(_theirs(name, face), harness.render(ours))), f"\n{diff}"


NEEDS_ITS_GRAPH = {
    *("root_scalar", "objects_in_state", "pydantic_schemas"),
    *(name for name in harness.SCENARIOS if name.startswith("functional_")),
}
"""Graphs whose values mean less to a reader who has not got them: registered classes, a root without a value."""


@pytest.mark.parametrize("name", [name for name in harness.SCENARIOS if name not in NEEDS_ITS_GRAPH])
def test_history_reads_the_same_without_the_graph(name: str) -> None:
    """Whoever has only the log sees the snapshots that the graph shows: values, next, tasks, interrupts."""
    from lithograph.projections import history

    with harness.opened(api.lithograph(), None) as home:
        case = harness.SCENARIOS[name]
        script = harness.Script(api.lithograph(), home, case.face)
        case.run(script.api, script)
        for thread in script.threads:
            config = script.config(thread)
            shown = [normal.plain(_without_places(snapshot)) for snapshot in script.graph.get_state_history(config)]
            assert [normal.plain(snapshot) for snapshot in history(home.checkpointer, config)] == shown


def _without_places(snapshot: Any) -> Any:
    """A snapshot that does not say which tasks run a graph inside: only the graph knows."""
    return snapshot._replace(tasks=tuple(task._replace(state=None) for task in snapshot.tasks))
