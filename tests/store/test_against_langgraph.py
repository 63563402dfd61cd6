"""The store against LangGraph's `InMemoryStore`, wherever we do not differ on purpose."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lithograph import store as ours

pytestmark = pytest.mark.oracle

NAMESPACES = st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from("xyz")
VALUES = st.fixed_dictionaries({"n": st.integers(0, 4), "deep": st.fixed_dictionaries({"s": st.text("pq")})})
CHANGES = st.lists(st.tuples(NAMESPACES, KEYS, st.none() | VALUES), max_size=15)
SIGNS = st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"])
FILTERS = st.none() | st.one_of(
    st.fixed_dictionaries({"n": st.dictionaries(SIGNS, st.integers(0, 4), min_size=1, max_size=2)}),
    st.fixed_dictionaries({"deep": st.fixed_dictionaries({"s": st.text("pq")})}),
)
EVERYTHING = 1_000


def both(changes: list[tuple[tuple[str, ...], str, Any]]) -> tuple[Any, Any]:
    """Return our store and theirs after the same changes."""
    theirs = pytest.importorskip("langgraph.store.memory")
    stores = ours.InMemoryStore(), theirs.InMemoryStore()
    for store in stores:
        for namespace, key, value in changes:
            if value is None:
                store.delete(namespace, key)
            else:
                store.put(namespace, key, value)
    return stores


def contents(items: Any) -> list[tuple[Any, ...]]:
    return [(item.namespace, item.key, item.value, getattr(item, "score", None)) for item in items]


@settings(max_examples=60, deadline=None)
@given(CHANGES, st.lists(st.sampled_from("ab"), max_size=2).map(tuple), FILTERS)
def test_search_finds_the_same(changes: Any, prefix: tuple[str, ...], conditions: Any) -> None:
    """After the same changes a search with room for all finds the same items, in whatever order."""
    mine, theirs = both(changes)
    found, wanted = (contents(store.search(prefix, filter=conditions, limit=EVERYTHING)) for store in (mine, theirs))
    assert sorted(found, key=repr) == sorted(wanted, key=repr)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(KEYS, st.none() | VALUES), max_size=12))
def test_one_namespace_has_the_same_order(changes: Any) -> None:
    """Within one namespace the order is LangGraph's: by first put, and a new place after a deletion."""
    mine, theirs = both([(("a",), key, value) for key, value in changes])
    assert contents(mine.search(("a",))) == contents(theirs.search(("a",)))


@settings(max_examples=60, deadline=None)
@given(CHANGES, st.none() | st.integers(1, 3), st.none() | st.sampled_from([("a",), ("*", "b")]))
def test_namespaces_are_the_same(changes: Any, depth: int | None, pattern: Any) -> None:
    """Namespaces that hold an item are listed alike, for each pattern and depth."""
    mine, theirs = both([change for change in changes if change[2] is not None])
    for options in ({"prefix": pattern}, {"suffix": pattern}):
        assert mine.list_namespaces(max_depth=depth, **options) == theirs.list_namespaces(max_depth=depth, **options)


@settings(max_examples=60, deadline=None)
@given(CHANGES, NAMESPACES, KEYS)
def test_get_is_the_same(changes: Any, namespace: tuple[str, ...], key: str) -> None:
    """After the same changes each key holds the same."""
    mine, theirs = (store.get(namespace, key) for store in both(changes))
    assert (mine and mine.value) == (theirs and theirs.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.put((), "k", {}),
        lambda store: store.put(("a.b",), "k", {}),
        lambda store: store.put(("",), "k", {}),
        lambda store: store.put((1,), "k", {}),
        lambda store: store.put(("langgraph",), "k", {}),
        lambda store: store.get(("a.b",), "k"),
        lambda store: store.search(("a.b",)),
        lambda store: store.delete(("a.b",), "k"),
        lambda store: store.list_namespaces(prefix=("a.b",)),
        lambda store: store.put(("a",), "k", {}, ttl=1),
        lambda store: store.search(("a",), filter={"n": {"$in": [1]}}),
        lambda store: store.batch(["get"]),
    ],
)
def test_the_same_calls_are_refused(call: Any) -> None:
    """What LangGraph refuses we refuse, with an error that its `except` clause catches."""
    mine, theirs = both([(("a",), "k", {"n": 1})])
    with pytest.raises(Exception) as wanted:
        call(theirs)
    builtin = next(cls for cls in type(wanted.value).__mro__ if cls.__module__ == "builtins")
    with pytest.raises(builtin):
        call(mine)
