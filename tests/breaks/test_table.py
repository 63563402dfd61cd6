"""The table of breaks does not rot: each finds its text, and the tests that must notice it."""

from __future__ import annotations

from tests.tree_copy import ROOT

from .table import BREAKS


def test_every_text_is_there_once() -> None:
    """What a break replaces occurs exactly once in the code as it is, and something else takes its place."""
    for each in BREAKS:
        assert (ROOT / each.file).read_text().count(each.old) == 1, each.promise
        assert each.old != each.new, each.promise


def test_every_promise_names_tests() -> None:
    """Each break has a name of its own, and names test files that exist."""
    assert len({each.promise for each in BREAKS}) == len(BREAKS)
    for each in BREAKS:
        assert each.tests, each.promise
        for test in each.tests.split():
            assert (ROOT / test.partition("::")[0]).exists(), each.promise
