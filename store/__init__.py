"""Cross-thread memory: dicts under keys in namespaces, every change an event in the log."""

from __future__ import annotations

from .base import NOT_PROVIDED, BaseStore, NotProvided
from .errors import InvalidItemError, InvalidNamespaceError, InvalidSearchError, StoreError
from .event_store import EventLogStore, InMemoryStore
from .items import (
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    NamespaceMatchType,
    NamespacePath,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

__all__ = [
    "BaseStore",
    "EventLogStore",
    "InMemoryStore",
    "Item",
    "SearchItem",
    "Op",
    "GetOp",
    "SearchOp",
    "PutOp",
    "ListNamespacesOp",
    "Result",
    "MatchCondition",
    "NamespacePath",
    "NamespaceMatchType",
    "NotProvided",
    "NOT_PROVIDED",
    "StoreError",
    "InvalidNamespaceError",
    "InvalidSearchError",
    "InvalidItemError",
]
