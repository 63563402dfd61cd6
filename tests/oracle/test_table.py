"""The corpus as a whole: enough graphs, all different, and a table that says so."""

from __future__ import annotations

from collections import Counter

from . import table
from .harness import SCENARIOS

GRAPHS_MIN = 44


def test_corpus_is_large_enough() -> None:
    """There are at least as many graphs as promised, and the seed's first example is the first."""
    assert len(SCENARIOS) >= GRAPHS_MIN
    assert next(iter(SCENARIOS)) == "seed_example"


def test_no_two_graphs_have_the_same_features() -> None:
    """Each graph joins a set of features that no other graph joins."""
    seen = Counter(case.features for case in SCENARIOS.values())
    assert not [sorted(features) for features, count in seen.items() if count > 1]


def test_every_graph_says_what_it_shows() -> None:
    """Each graph has a docstring and features."""
    assert not [case.name for case in SCENARIOS.values() if not case.summary or not case.features]


def test_table_is_current() -> None:
    """`docs/oracle-graphs.md` is what `python -m tests.oracle.table` would write."""
    assert table.PATH.read_text(encoding="utf-8") == table.render(list(SCENARIOS.values()))
