"""The generator of mutants: deterministic, valid, and bounded by function; and what was written down of a run."""

from __future__ import annotations

import ast
import json
from collections import Counter

from . import table
from .bench import ROOT
from .equivalents import key_of
from .run import TARGETS
from .sites import PER_FUNCTION_MAX, draw, mutants

SOURCE = '''
def order(items, ä):
    """A docstring."""
    if items and not ä:
        items.append(sorted(items)[0] + 1)
    return items[1:] + [ä] if ä == 2 else max(items)
'''


def test_every_mutant_is_a_change_that_parses() -> None:
    """Each mutant of a small function makes another, valid program; each kind of change is among them."""
    found = mutants("f.py", SOURCE)
    texts = [mutant.apply(SOURCE) for mutant in found]
    assert len(set(texts)) == len(texts)
    assert SOURCE not in texts
    for text in texts:
        ast.parse(text)
    assert {"comparison", "and/or", "dropped call", "order", "operator", "constant"} <= {m.kind for m in found}


def test_a_seed_draws_the_same_mutants_again() -> None:
    """A draw depends on the source and the seed alone, and takes at most two mutants of a function."""
    candidates = [mutant for name in TARGETS for mutant in mutants(name, (ROOT / name).read_text())]
    drawn = draw(candidates, seed=1, count=20)
    assert drawn == draw(list(candidates), seed=1, count=20)
    assert drawn != draw(candidates, seed=2, count=20)
    assert len(set(drawn)) == 20
    assert max(Counter((mutant.file, mutant.function) for mutant in drawn).values()) <= PER_FUNCTION_MAX


def test_every_mutant_of_the_real_files_parses() -> None:
    """Each change of the loop, the tasks and the fold is a valid program: none dies of its syntax."""
    for name in TARGETS:
        source = (ROOT / name).read_text()
        for mutant in mutants(name, source):
            ast.parse(mutant.apply(source))


def test_a_proof_is_about_one_mutant() -> None:
    """No proof speaks for two places: where a function has a text twice, the proof names the line."""
    sources = {name: (ROOT / name).read_text() for name in TARGETS}
    keys = [key_of(mutant, source) for name, source in sources.items() for mutant in mutants(name, source)]
    found = Counter(key for key in keys if key is not None)
    assert found
    assert [key for key, count in found.items() if count > 1] == []


def test_no_mutant_survived_the_last_whole_run() -> None:
    """The report that is kept is of three seeds with twenty mutants each, all killed or proven equivalent."""
    results = json.loads(table.RESULTS.read_text())
    assert len(results["seeds"]) == 3
    for entry in results["seeds"].values():
        assert [mutant["status"] for mutant in entry["mutants"]].count("survived") == 0
        assert entry["drawn"] == len(entry["mutants"]) == 20


def test_the_page_is_current() -> None:
    """`README.md` is what `python -m tests.mutation.table` would write."""
    assert table.PATH.read_text() == table.render(json.loads(table.RESULTS.read_text()))
