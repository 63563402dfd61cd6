"""What the store holds and what can be asked of it: items and operations, under LangGraph's names.

Plain values without behaviour. `base` has the methods that build operations from arguments, `event_store`
carries them out.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias

NamespacePath: TypeAlias = tuple[str, ...]
"""A namespace, or a pattern of one in which the label `*` stands for any one label."""

NamespaceMatchType: TypeAlias = Literal["prefix", "suffix"]
"""Which end of a namespace a pattern is held against."""


class Item:
    """One remembered thing: a dict under a key in a namespace, with the times of its first and last put.

    `created_at` is the time of the first put since the key was last deleted; both times are aware, in UTC.
    Every read gives a new object with a new value: changing it changes nothing in the store.
    """

    __slots__ = ("created_at", "key", "namespace", "updated_at", "value")

    def __init__(
        self,
        *,
        value: builtins.dict[str, Any],
        key: str,
        namespace: tuple[str, ...],
        created_at: datetime | str,
        updated_at: datetime | str,
    ) -> None:
        self.value = value
        self.key = key
        self.namespace = tuple(namespace)
        self.created_at = _as_datetime(created_at)
        self.updated_at = _as_datetime(updated_at)

    def __eq__(self, other: object) -> bool:
        """Compare everything but a search's score."""
        if not isinstance(other, Item):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((self.namespace, self.key))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.dict().items())
        return f"{type(self).__name__}({fields})"

    def dict(self) -> builtins.dict[str, Any]:
        """Return the fields as a dict, the namespace as a list and the times as ISO 8601 text."""
        return {
            "namespace": list(self.namespace),
            "key": self.key,
            "value": self.value,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }

    def _identity(self) -> tuple[Any, ...]:
        return self.namespace, self.key, self.value, self.created_at, self.updated_at


class SearchItem(Item):
    """An item found by a search; `score` says how near it is to the query, `None` without one."""

    __slots__ = ("score",)

    def __init__(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: builtins.dict[str, Any],
        created_at: datetime | str,
        updated_at: datetime | str,
        score: float | None = None,
    ) -> None:
        super().__init__(value=value, key=key, namespace=namespace, created_at=created_at, updated_at=updated_at)
        self.score = score

    def dict(self) -> builtins.dict[str, Any]:
        """Return the fields as a dict, the score among them."""
        return {**super().dict(), "score": self.score}


class GetOp(NamedTuple):
    """Read one item."""

    namespace: tuple[str, ...]
    key: str
    refresh_ttl: bool = True
    """Ignored: this release has no expiry."""


class SearchOp(NamedTuple):
    """Find items whose namespace begins with `namespace_prefix`; `filters` states the filter language."""

    namespace_prefix: tuple[str, ...]
    filter: dict[str, Any] | None = None
    limit: int = 10
    """At most this many items: the newest ones, by first put."""
    offset: int = 0
    """Leave out this many of the newest matches: the next page lies towards older items."""
    query: str | None = None
    """Refused unless empty: semantic search comes in a later release."""
    refresh_ttl: bool = True
    """Ignored: this release has no expiry."""


class PutOp(NamedTuple):
    """Write one item, or delete it when `value` is `None`."""

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any] | None
    index: Literal[False] | list[str] | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
    """Which fields a later semantic index is to cover: kept with the item."""
    ttl: float | None = None
    """Minutes until the item expires; refused unless `None`: expiry comes in a later release."""


class MatchCondition(NamedTuple):
    """A pattern that a namespace's beginning or end must match, label by label."""

    match_type: NamespaceMatchType
    path: NamespacePath


class ListNamespacesOp(NamedTuple):
    """List the namespaces that hold at least one item, sorted, cut to `max_depth` labels."""

    match_conditions: tuple[MatchCondition, ...] | None = None
    max_depth: int | None = None
    limit: int = 100
    offset: int = 0


Op: TypeAlias = GetOp | SearchOp | PutOp | ListNamespacesOp
"""Anything that `batch` takes."""

Result: TypeAlias = Item | list[Item] | list[SearchItem] | list[tuple[str, ...]] | None
"""Anything that `batch` gives back, one for each operation, in their order."""


def _as_datetime(value: datetime | str) -> datetime:
    return datetime.fromisoformat(value) if isinstance(value, str) else value
