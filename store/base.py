"""`BaseStore`: what a node may ask of a memory, whoever keeps it.

Every method exists twice on the same object, blocking and `a…` for asyncio; both build the same operation
and hand it to `batch` or `abatch`, so a store implements those two. Names, arguments and defaults are
LangGraph's.
Read `event_store` for the store that keeps everything in the log.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, cast

from ..projections.errors import NotSupportedYet
from .items import (
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    NamespacePath,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from .namespaces import checked_for_put, checked_labels


class NotProvided:
    """The type of `NOT_PROVIDED`: an argument that was left out, where `None` means something."""

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return "NOT_PROVIDED"


NOT_PROVIDED: Final = NotProvided()


class BaseStore(ABC):
    """A memory shared by all threads: dicts under keys in namespaces.

    >>> store.put(("users", "ada"), "pet", {"kind": "cat"})
    >>> store.get(("users", "ada"), "pet").value
    {'kind': 'cat'}
    """

    __slots__ = ("__weakref__",)

    supports_ttl: bool = False
    """Whether `ttl` is understood; when not, giving one raises."""

    @abstractmethod
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out several operations and return their results, in the operations' order.

        All reads see the store as it was before the batch's writes; of several writes to one key the last
        wins; the writes happen all or none.
        """

    @abstractmethod
    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `batch` does without blocking the event loop."""

    def get(self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """Return the item under a key, or `None` when there is none."""
        return cast("Item | None", self.batch([_get(namespace, key, refresh_ttl)])[0])

    async def aget(self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """Do what `get` does without blocking the event loop."""
        return cast("Item | None", (await self.abatch([_get(namespace, key, refresh_ttl)]))[0])

    def search(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """Return the items below a prefix that meet a filter (the module `filters` states its language).

        Without a query they come in the order of their first put, oldest first; `limit` takes the newest of
        them and `offset` pages towards older ones.
        """
        op = _search(namespace_prefix, filter, limit, offset, query, refresh_ttl)
        return cast("list[SearchItem]", self.batch([op])[0])

    async def asearch(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """Do what `search` does without blocking the event loop."""
        op = _search(namespace_prefix, filter, limit, offset, query, refresh_ttl)
        return cast("list[SearchItem]", (await self.abatch([op]))[0])

    def put(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Write an item; one that is there already keeps its place and its `created_at`.

        `index` names the fields that a semantic index covers. Raises `InvalidNamespaceError` for an empty or
        reserved namespace and for a label that is not allowed.
        """
        self.batch([self._put(namespace, key, value, index, ttl)])

    async def aput(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Do what `put` does without blocking the event loop."""
        await self.abatch([self._put(namespace, key, value, index, ttl)])

    def delete(self, namespace: tuple[str, ...], key: str) -> None:
        """Delete an item; nothing happens when there is none."""
        self.batch([PutOp(checked_labels(namespace), _key(key), None)])

    async def adelete(self, namespace: tuple[str, ...], key: str) -> None:
        """Do what `delete` does without blocking the event loop."""
        await self.abatch([PutOp(checked_labels(namespace), _key(key), None)])

    def list_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        """Return the namespaces that hold an item, sorted; the label `*` in a pattern matches any one label.

        With `max_depth` longer namespaces are cut to that many labels, and each appears once.
        """
        op = _list_namespaces(prefix, suffix, max_depth, limit, offset)
        return cast("list[tuple[str, ...]]", self.batch([op])[0])

    async def alist_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        """Do what `list_namespaces` does without blocking the event loop."""
        op = _list_namespaces(prefix, suffix, max_depth, limit, offset)
        return cast("list[tuple[str, ...]]", (await self.abatch([op]))[0])

    def _put(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None,
        ttl: float | NotProvided | None,
    ) -> PutOp:
        minutes = None if isinstance(ttl, NotProvided) else ttl
        if minutes is not None and not self.supports_ttl:
            raise no_ttl(type(self).__name__)
        return PutOp(checked_for_put(namespace), _key(key), value, index, minutes)


def no_ttl(store: str) -> NotSupportedYet:
    """Return the error for a `ttl` that the store cannot honour."""
    return NotSupportedYet(
        f"TTL is not supported by {store} in this release: items do not expire. Leave `ttl` out, or set ttl=None."
    )


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    raise TypeError(f"An item's key must be a str, not {type(key).__name__}: {key!r}. Nothing was read or stored.")


def _get(namespace: tuple[str, ...], key: str, refresh_ttl: bool | None) -> GetOp:
    return GetOp(checked_labels(namespace), _key(key), refresh_ttl is not False)


def _search(
    prefix: tuple[str, ...],
    conditions: dict[str, Any] | None,
    limit: int,
    offset: int,
    query: str | None,
    refresh_ttl: bool | None,
) -> SearchOp:
    return SearchOp(checked_labels(prefix), conditions, limit, offset, query, refresh_ttl is not False)


def _list_namespaces(
    prefix: NamespacePath | None,
    suffix: NamespacePath | None,
    max_depth: int | None,
    limit: int,
    offset: int,
) -> ListNamespacesOp:
    conditions: list[MatchCondition] = []
    if prefix:
        conditions.append(MatchCondition("prefix", checked_labels(prefix)))
    if suffix:
        conditions.append(MatchCondition("suffix", checked_labels(suffix)))
    return ListNamespacesOp(tuple(conditions), max_depth, limit, offset)
