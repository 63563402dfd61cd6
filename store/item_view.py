"""The items view: what is remembered now, folded from the log's `ItemPut` and `ItemDeleted` events.

One view a log and process, in memory, brought up to the log's end before each read: that gives
read-your-writes and shows what other processes wrote. The fold looks at headers and decodes item events only.
An item's place is the position of its first put since it was last deleted; a later put changes value and
`updated_at` in place. `ItemRows` is the pure state, `current_items` the way to it; a view kept on disk would
take the place of the second.
"""

from __future__ import annotations

import heapq
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ..eventlog.codec import demand_known
from ..eventlog.events import EVENTS, Event, ItemDeleted, ItemPut
from ..eventlog.log import EventLog
from ..eventlog.reading import Record

Namespace = tuple[str, ...]

_KINDS = frozenset((ItemPut.kind, ItemDeleted.kind))
STREAMS = "items"
"""The kind of the streams that hold them, one a namespace."""


class Row(NamedTuple):
    """One item as the log has it: the value still encoded, times in microseconds since the Unix epoch."""

    namespace: Namespace
    key: str
    place: int
    """Position of its first put: what searches are ordered by."""
    created_us: int
    updated_us: int
    value: Any
    """The encoded value: `bytes`, or the array of a blob reference."""


class ItemRows:
    """All items at one position of the log. Within a namespace the rows lie in the order of their places."""

    def __init__(self) -> None:
        self._spaces: dict[Namespace, dict[str, Row]] = {}

    def apply(self, event: Event, position: int, time_us: int) -> None:
        """Fold one event; others than `ItemPut` and `ItemDeleted` change nothing."""
        if isinstance(event, ItemPut):
            rows = self._spaces.setdefault(event.namespace, {})
            old = rows.get(event.key)
            place, created_us = (position, time_us) if old is None else (old.place, old.created_us)
            rows[event.key] = Row(event.namespace, event.key, place, created_us, time_us, event.value)
        elif isinstance(event, ItemDeleted):
            rows = self._spaces.get(event.namespace, {})
            rows.pop(event.key, None)
            if not rows:
                self._spaces.pop(event.namespace, None)

    def get(self, namespace: Namespace, key: str) -> Row | None:
        """Return an item's row, or `None`."""
        rows = self._spaces.get(namespace)
        return None if rows is None else rows.get(key)

    def newest_first(self, prefix: Namespace, *, stop: int | None = None) -> list[Row]:
        """Return the rows below a prefix, newest place first, at most `stop` of them."""
        below = (rows for name, rows in self._spaces.items() if name[: len(prefix)] == prefix)
        merged = heapq.merge(*(reversed(rows.values()) for rows in below), key=lambda row: row.place, reverse=True)
        return list(islice(merged, stop))

    def namespaces(self) -> list[Namespace]:
        """Return the namespaces that hold an item, in no particular order."""
        return list(self._spaces)


def _concerns_items(log: EventLog, record: Record) -> bool:
    """Say whether a record changes what is remembered; raises `NewerFormat` when only a later version knows."""
    kind, schema = record.header.kind, record.header.schema
    if kind not in EVENTS and log.stream_name(record.header.stream).kind == STREAMS:
        demand_known(kind, schema)
    return kind in _KINDS


class _View:
    """The rows of one log, the position they stand at, and the lock that guards both."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.rows = ItemRows()
        self.position = 0

    def catch_up(self, log: EventLog) -> None:
        """Fold what the log has gained. A page that fails to decode is folded again by the next read."""
        if log.log_head().position == self.position:
            return
        for page in log.scan(after=self.position):
            for record in page:
                if _concerns_items(log, record):
                    self.rows.apply(record.event, record.position, record.header.time_us)
            if page:
                self.position = page[-1].position


_views: WeakKeyDictionary[EventLog, _View] = WeakKeyDictionary()
_views_lock = threading.Lock()


def _after_fork() -> None:
    """Forget the views: a thread of the parent may have held a lock of theirs, and is not here to give it back."""
    global _views_lock
    _views_lock = threading.Lock()
    _views.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def current_items(log: EventLog) -> Generator[ItemRows]:
    """Give the items as of the log's end, unchanging within the block; keep the block short.

    Costs one look at the log's head, and the fold of what was appended since the last read.
    """
    with _views_lock:
        view = _views.setdefault(log, _View())
    with view.lock:
        view.catch_up(log)
        yield view.rows
