"""Patterns of namespaces: prefix, suffix, and the label that stands for any."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lithograph.store import InvalidSearchError, MatchCondition
from lithograph.store.namespaces import check_condition, checked_labels, matches

LABELS = st.sampled_from(["a", "b", "*"])
PATHS = st.lists(LABELS, max_size=3).map(tuple)


@pytest.mark.parametrize(
    ("namespace", "kind", "path", "expected"),
    [
        (("a", "b", "c"), "prefix", ("a", "b"), True),
        (("a", "b", "c"), "prefix", ("a", "*", "c"), True),
        (("a", "b", "c"), "prefix", ("b",), False),
        (("a", "b", "c"), "suffix", ("b", "c"), True),
        (("a", "b", "c"), "suffix", ("b", "*"), True),
        (("a", "b", "c"), "suffix", ("a", "b"), False),
        (("a",), "suffix", ("a", "a"), False),
        (("a",), "prefix", (), True),
    ],
)
def test_patterns(namespace: tuple[str, ...], kind: str, path: tuple[str, ...], expected: bool) -> None:
    """A pattern is held against its end of the namespace, label by label."""
    assert matches(namespace, [MatchCondition(kind, path)]) is expected  # pyright: ignore[reportArgumentType]


@pytest.mark.oracle
@given(PATHS, st.sampled_from(["prefix", "suffix"]), PATHS)
def test_patterns_match_as_in_langgraph(namespace: tuple[str, ...], kind: str, path: tuple[str, ...]) -> None:
    """Every pattern matches exactly what it matches in LangGraph."""
    theirs = pytest.importorskip("langgraph.store.memory")
    condition = MatchCondition(kind, path)  # pyright: ignore[reportArgumentType]
    assert matches(namespace, [condition]) == theirs._does_match(condition, namespace)


def test_every_condition_must_hold() -> None:
    """Several conditions narrow each other."""
    both = [MatchCondition("prefix", ("a",)), MatchCondition("suffix", ("z",))]
    assert matches(("a", "b", "z"), both)
    assert not matches(("a", "b"), both)


def test_unknown_match_type() -> None:
    """A match type that does not exist is refused."""
    with pytest.raises(InvalidSearchError, match="middle"):
        check_condition(MatchCondition("middle", ("a",)))  # pyright: ignore[reportArgumentType]


def test_a_list_is_taken_as_a_namespace() -> None:
    """A namespace that came from JSON is a list; it means the same."""
    assert checked_labels(["a", "b"]) == ("a", "b")
