"""The store's interface: LangGraph's names, arguments and defaults, so that a node need not change."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from lithograph import store as ours
from lithograph.eventlog.errors import LithographError
from lithograph.projections.errors import NotSupportedYet
from lithograph.store import BaseStore, GetOp, InvalidNamespaceError, Item, Op, PutOp, Result, SearchItem

METHODS = ["get", "search", "put", "delete", "list_namespaces", "batch"]
NOW = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


class Recorder(BaseStore):
    """A store that keeps the operations it was given and answers `None`."""

    def __init__(self) -> None:
        self.ops: list[Op] = []

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        self.ops += ops
        return [None]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return self.batch(ops)


def shape(function: Any) -> list[tuple[str, Any, Any]]:
    """Return name, kind and default of each parameter, the sentinel for a missing one reduced to its type."""
    parameters = inspect.signature(function).parameters.values()
    return [
        (p.name, p.kind, type(p.default).__name__ if "NotProvided" in repr(type(p.default)) else p.default)
        for p in parameters
    ]


@pytest.mark.oracle
@pytest.mark.parametrize("name", [*METHODS, *(f"a{name}" for name in METHODS)])
def test_methods_have_langgraphs_signatures(name: str) -> None:
    """Each method takes LangGraph's arguments: same names, same order, same defaults."""
    theirs = pytest.importorskip("langgraph.store.base")
    assert shape(getattr(BaseStore, name)) == shape(getattr(theirs.BaseStore, name))


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["GetOp", "SearchOp", "PutOp", "ListNamespacesOp", "MatchCondition"])
def test_operations_have_langgraphs_fields(name: str) -> None:
    """Each operation has LangGraph's fields and defaults, in the same order."""
    theirs = getattr(pytest.importorskip("langgraph.store.base"), name)
    mine = getattr(ours, name)
    assert (mine._fields, mine._field_defaults) == (theirs._fields, theirs._field_defaults)


@pytest.mark.oracle
def test_items_look_like_langgraphs() -> None:
    """Items are built with the same arguments and give the same dict."""
    theirs = pytest.importorskip("langgraph.store.base")
    fields: dict[str, Any] = {"value": {"a": 1}, "key": "k", "namespace": ("a", "b")}
    times: dict[str, Any] = {"created_at": NOW, "updated_at": NOW.isoformat()}
    assert Item(**fields, **times).dict() == theirs.Item(**fields, **times).dict()
    assert SearchItem(**fields, **times, score=0.5).dict() == theirs.SearchItem(**fields, **times, score=0.5).dict()


@pytest.mark.parametrize(
    ("call", "op"),
    [
        (("get", (("a",), "k"), {}), GetOp(("a",), "k")),
        (("get", (("a",), "5"), {"refresh_ttl": False}), GetOp(("a",), "5", False)),
        (("put", (("a",), "k", {"x": 1}), {}), PutOp(("a",), "k", {"x": 1})),
        (("put", (("a",), "k", {"x": 1}, ["x"]), {"ttl": None}), PutOp(("a",), "k", {"x": 1}, ["x"])),
        (("delete", (("a",), "k"), {}), PutOp(("a",), "k", None)),
        (("search", ((),), {"limit": 3, "offset": 1}), ours.SearchOp((), None, 3, 1)),
        (
            ("list_namespaces", (), {"prefix": ("a", "*"), "suffix": ("z",), "max_depth": 2}),
            ours.ListNamespacesOp(
                (ours.MatchCondition("prefix", ("a", "*")), ours.MatchCondition("suffix", ("z",))), 2
            ),
        ),
    ],
)
def test_both_twins_build_the_same_operation(call: tuple[str, Any, Any], op: Op) -> None:
    """A method and its async twin hand the same operation to `batch` and `abatch`."""
    name, arguments, options = call
    store = Recorder()
    getattr(store, name)(*arguments, **options)
    asyncio.run(getattr(store, f"a{name}")(*arguments, **options))
    assert store.ops == [op, op]


@pytest.mark.parametrize(
    "namespace", [(), ("",), ("a.b",), ("a", 1), ("a\x00",), ("langgraph", "a"), "users", ("\ud800",)]
)
def test_put_refuses_bad_namespaces(namespace: Any) -> None:
    """A namespace that no item can have is refused before `batch` sees it, as a `ValueError`."""
    store = Recorder()
    with pytest.raises(InvalidNamespaceError) as caught:
        store.put(namespace, "k", {})
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, LithographError)
    with pytest.raises(InvalidNamespaceError):
        asyncio.run(store.aput(namespace, "k", {}))
    assert store.ops == []


@pytest.mark.parametrize("name", ["get", "delete"])
def test_reads_and_deletes_check_labels_only(name: str) -> None:
    """The reserved root may be looked at, a bad label may not."""
    store = Recorder()
    getattr(store, name)(("langgraph",), "k")
    with pytest.raises(InvalidNamespaceError):
        getattr(store, name)(("a.b",), "k")
    with pytest.raises(InvalidNamespaceError):
        store.search(("a.b",))
    with pytest.raises(InvalidNamespaceError):
        store.list_namespaces(suffix=("",))


def test_ttl_is_refused_where_it_is_not_supported() -> None:
    """A time to live that nobody would honour is an error, and a `NotImplementedError` as in LangGraph."""
    with pytest.raises(NotSupportedYet, match="TTL is not supported by Recorder"):
        Recorder().put(("a",), "k", {}, ttl=5)
    assert issubclass(NotSupportedYet, NotImplementedError)


def test_the_mark_for_a_missing_argument() -> None:
    """The mark for an argument left out is false and says what it is."""
    assert not ours.NOT_PROVIDED
    assert repr(ours.NOT_PROVIDED) == "NOT_PROVIDED"


def test_items_compare_by_content() -> None:
    """Two items are equal when all their fields are, and can be put in a set."""
    fields: dict[str, Any] = {"key": "k", "namespace": ("a",), "created_at": NOW, "updated_at": NOW}
    one, same, other = (Item(value={"x": x}, **fields) for x in (1, 1, 2))
    assert one == same
    assert one != other
    assert one != "k"
    assert len({one, same}) == 1
    assert "value={'x': 1}" in repr(one)


@pytest.mark.parametrize("key", [5, None, b"k", ("k",)])
def test_a_key_is_text(key: Any) -> None:
    """A key of another type is a `TypeError` in each call, and nothing is stored under a text like it."""
    store = Recorder()
    for call in (
        lambda: store.put(("a",), key, {"v": 1}),
        lambda: store.get(("a",), key),
        lambda: store.delete(("a",), key),
    ):
        with pytest.raises(TypeError, match="key must be a str"):
            call()
    assert store.ops == []
