"""Law L10: every graph of the corpus behaves on Lithograph as it does on LangGraph.

LangGraph is the extra `test`; without it these tests are skipped, which `tests/conftest.py` makes a failure
on CI. The same traces feed `table.py`, which writes `docs/oracle-graphs.md`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from . import api, harness

HAVE_ORACLE = True
try:
    import langgraph.graph  # noqa: F401
except ImportError:
    HAVE_ORACLE = False

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not HAVE_ORACLE, reason="needs LangGraph: pip install '.[test]'"),
    pytest.mark.filterwarnings("ignore"),
]

if HAVE_ORACLE:
    from . import corpus  # noqa: F401

CASES = [
    pytest.param(name, face, id=f"{name}-{face.name}")
    for name, case in harness.SCENARIOS.items()
    for face in harness.FACES
    if case.exit or face.durability != "exit"
]


@cache
def _theirs(name: str, face: harness.Face) -> list[harness.Entry]:
    return harness.perform(api.langgraph(), harness.SCENARIOS[name], face)


@pytest.mark.parametrize(("name", "face"), CASES)
def test_lithograph_equals_langgraph(name: str, face: harness.Face, tmp_path: Path) -> None:
    """Results, chunks, snapshots, history, and a second reading of it all after reopening are the same."""
    ours = harness.perform(api.lithograph(), harness.SCENARIOS[name], face, tmp_path / "log")
    assert not (diff := harness.difference(_theirs(name, face), ours)), f"\n{diff}"
