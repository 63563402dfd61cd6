"""A copy of the tree in which one file at a time is mutated and tested.

The tests that reach the mutated function come first, quick ones before slow ones; a mutant survives only when all
the others have passed as well.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.tree_copy import ROOT as ROOT
from tests.tree_copy import TreeCopy

from . import reach
from .sites import Mutant

ROOMS = ("eventlog", "projections", "store", "graph")
TESTS = (
    "tests/oracle/test_*.py",
    "tests/graph/test_differences*.py",
    "tests/graph/test_law_*.py",
    "tests/graph/test_async.py",
    "tests/laws/test_*.py",
)
"""The oracle tests and the laws."""
LIMIT_FACTOR, LIMIT_MIN_S = 10, 60.0
"""A test hangs when it takes this many times as long as the slowest without a mutant, and at least this long."""


class Bench:
    """One copy of the tree, in `home`. In `known` it shares what LangGraph did, and which test reaches what."""

    def __init__(self, home: Path, known: Path, *, deselect: Sequence[str] = ()) -> None:
        self.failed = ""
        """The first failed test of the last run."""
        self._known = known
        self._home = home
        self._copy = TreeCopy(home, ROOMS)
        self._tree = self._copy.tree
        self._deselect = tuple(deselect)

    def test(self) -> str:
        """Run the tests without any mutant; see which test reaches what, where that is not known."""
        return self._pytest({} if self._reach.exists() else {reach.KEEP: str(self._reach)})

    def try_mutant(self, mutant: Mutant) -> str:
        """Run the tests with a mutant made: `survived`, `killed` or `hung`."""
        known = json.loads(self._reach.read_text())
        slowest = max(test["seconds"] for test in known.values())
        order = self._home / "order.json"
        order.write_text(json.dumps(_order(known, f"{mutant.file}:{mutant.function}")))
        limit = max(LIMIT_MIN_S, LIMIT_FACTOR * slowest)
        path = self._tree / mutant.file
        source = path.read_text()
        path.write_text(mutant.apply(source))
        try:
            return self._pytest({reach.ORDER: str(order), reach.LIMIT_S: str(limit)})
        finally:
            path.write_text(source)

    @property
    def _reach(self) -> Path:
        return self._known / "reach.json"

    def _pytest(self, told: dict[str, str]) -> str:
        tests = [str(path.relative_to(self._tree)) for part in TESTS for path in sorted(self._tree.glob(part))]
        told = {"ORACLE_TRACES": str(self._known / "traces"), **told}
        deselected = [part for test in self._deselect for part in ("--deselect", test)]
        outcome = self._copy.pytest(["-p", "tests.mutation.reach", *tests, *deselected], told=told)
        self.failed = outcome.failed
        return {0: "survived", reach.HUNG: "hung"}.get(outcome.code, "killed")


def _order(known: dict[str, dict[str, object]], function: str) -> list[str]:
    """Return the tests, those that reach a function first, quick ones before slow ones, a law's file in one piece."""

    def key(id_: str) -> tuple[object, ...]:
        test = known[id_]
        functions = test["functions"]
        assert isinstance(functions, list)
        law = "/laws/" in id_
        return (
            function not in functions and "*" not in functions,
            law,
            id_.split("::")[0] if law else "",
            test["seconds"],
        )

    return sorted(known, key=key)
