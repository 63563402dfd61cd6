"""`EventLogStore`: a memory store whose every change is an event in the log.

A batch is checked and encoded whole before anything is read or written; its reads see the log's end and come
before its writes; its writes are one atomic append, one stream a namespace. What is remembered is a fold of
those events (`item_view`), so the store holds nothing that the log does not. Actor and reason of the
surrounding `log.as_actor` are on each event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, TypeAlias, cast

from ..eventlog.beside import beside
from ..eventlog.blobs import BLOB_THRESHOLD, lift_blob
from ..eventlog.clock import Clock
from ..eventlog.engine import ANY
from ..eventlog.events import Event, ItemDeleted, ItemPut
from ..eventlog.log import EventLog
from ..eventlog.serde import Serializer
from ..eventlog.streams import StreamName
from ..eventlog.texts import is_text
from ..eventlog.writing import StreamWrite
from ..projections.errors import NotSupportedYet
from ..projections.filters import compile_filter
from .base import BaseStore, no_ttl
from .errors import InvalidItemError, InvalidSearchError
from .item_view import STREAMS, ItemRows, Namespace, Row, current_items
from .items import GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp
from .namespaces import check_condition, checked_for_put, checked_labels, matches

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_Answer: TypeAlias = Callable[[], Result]
_Read: TypeAlias = Callable[[ItemRows], _Answer]
"""Takes what it needs out of the rows at once, and gives the result when asked, with the rows let go."""


class EventLogStore(BaseStore):
    """A memory store kept in an event log.

    When a method returns, its change is durable. Values come back equal and of the same types, or are
    refused (`UnsupportedTypeError`) before anything is stored. Semantic search and expiry come in a later
    release: a `query` or a `ttl` raises `NotSupportedYet`; fields named by `index` are kept with the item.
    On a log with `require_actor` a deletion needs an actor, or raises `ActorRequired`; a put does not.

    >>> store = EventLogStore(EventLog("desk.lithograph"))
    >>> store.put(("notes", "4711"), "officer", {"text": "income confirmed by phone"})
    >>> store.search(("notes",), filter={"text": {"$ne": ""}})
    """

    __slots__ = ("_log", "_serializer")

    def __init__(self, log: EventLog, *, serializer: Serializer | None = None) -> None:
        self._log = log
        self._serializer = serializer or Serializer()

    @property
    def log(self) -> EventLog:
        """The log that holds everything."""
        return self._log

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out several operations: all reads first, then all writes in one atomic append.

        Of several writes to one key the last wins. Items that are new in one batch take their places
        namespace by namespace, in the order in which the batch first names them. Raises `LimitExceeded` for
        more writes than one append can hold, and `ActorRequired` for a deletion (a `PutOp` without a value) that
        nobody answers for, when the log was opened with `require_actor`; nothing was written then.
        """
        reads: list[_Read | None] = []
        writes: dict[Namespace, dict[str, ItemPut | ItemDeleted]] = {}
        for op in ops:
            if isinstance(op, PutOp):
                event = self._change(op)
                if isinstance(event, ItemDeleted):
                    self._log.demand_actor("deletion of an item")
                writes.setdefault(event.namespace, {})[event.key] = event
                reads.append(None)
            else:
                reads.append(self._read(op))
        answers, events = self._look(reads, [event for space in writes.values() for event in space.values()])
        results = [None if answer is None else answer() for answer in answers]
        self._append(events)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `batch` does, in another thread; the actor of the calling task is kept."""
        return await beside(self.batch, list(ops))

    def _look(
        self, reads: list[_Read | None], writes: list[ItemPut | ItemDeleted]
    ) -> tuple[list[_Answer | None], list[ItemPut | ItemDeleted]]:
        """Let the reads take what they need, and leave out deletions of what is not there."""
        if not any(reads) and not any(isinstance(event, ItemDeleted) for event in writes):
            return [None] * len(reads), writes
        with current_items(self._log) as rows:
            answers = [None if read is None else read(rows) for read in reads]
            events = [e for e in writes if isinstance(e, ItemPut) or rows.get(e.namespace, e.key)]
        return answers, events

    def _read(self, op: Op) -> _Read:
        """Return the reading of one operation, its arguments checked."""
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return _list_namespaces(op)
        raise InvalidItemError(
            f"Unknown operation type: {type(op).__name__}. Use GetOp, SearchOp, PutOp or ListNamespacesOp."
        )

    def _get(self, op: GetOp) -> _Read:
        namespace, key = checked_labels(op.namespace), _checked_key(op.key)

        def read(rows: ItemRows) -> _Answer:
            row = rows.get(namespace, key)
            return lambda: None if row is None else self._item(row)

        return read

    def _search(self, op: SearchOp) -> _Read:
        prefix, holds = checked_labels(op.namespace_prefix), compile_filter(op.filter)
        limit, offset = _checked_count(op.limit, "limit"), _checked_count(op.offset, "offset")
        if op.query:
            raise NotSupportedYet(
                "A search with a query needs a semantic index, which this release does not have. "
                "Search with a filter, or without arguments for the newest items."
            )

        def read(rows: ItemRows) -> _Answer:
            found = rows.newest_first(prefix, stop=limit + offset if holds is None else None)
            return lambda: self._page(found, holds, limit, offset)

        return read

    def _page(
        self, newest_first: list[Row], holds: Callable[[Any], bool] | None, limit: int, offset: int
    ) -> list[SearchItem]:
        """Return one page of the rows that meet a filter, oldest first; no more are decoded than it takes."""
        if holds is None:
            return [self._found(row) for row in reversed(newest_first[offset : offset + limit])]
        found = (item for row in newest_first if holds((item := self._found(row)).value))
        return list(islice(found, offset, offset + limit))[::-1]

    def _change(self, op: PutOp) -> ItemPut | ItemDeleted:
        """Return the event of a write, its arguments checked and its value encoded."""
        key = _checked_key(op.key)
        if op.ttl is not None:
            raise no_ttl(type(self).__name__)
        if op.value is None:
            return ItemDeleted(checked_labels(op.namespace), key)
        namespace, value = checked_for_put(op.namespace), cast("object", op.value)
        if not isinstance(value, Mapping):
            raise InvalidItemError(
                f"The value of {key!r} in {namespace} is a {type(value).__name__}; an item is a dict. "
                "Put it under a name of its own: {'value': …}."
            )
        encoded = self._serializer.encode(dict(cast("Mapping[Any, Any]", value)))
        return ItemPut(namespace, key, encoded, _checked_index(op.index))

    def _append(self, events: list[ItemPut | ItemDeleted]) -> None:
        """Append the events in one go, one write a namespace, in the order in which they stand."""
        if not events:
            return
        spaces: dict[Namespace, list[Event]] = {}
        for event in events:
            spaces.setdefault(event.namespace, []).append(self._with_blob(event))
        self._log.append(
            [
                StreamWrite(_stream(namespace), ANY, [self._log.stamp(event) for event in group])
                for namespace, group in spaces.items()
            ]
        )

    def _with_blob(self, event: ItemPut | ItemDeleted) -> Event:
        """Store a large value as a blob and let the event refer to it."""
        if isinstance(event, ItemDeleted) or len(event.value) <= BLOB_THRESHOLD:
            return event
        blob = self._log.put_blob(_stream(event.namespace), event.value)
        return ItemPut(event.namespace, event.key, blob, event.index)

    def _item(self, row: Row) -> Item:
        return Item(
            value=self._value(row),
            key=row.key,
            namespace=row.namespace,
            created_at=_time(row.created_us),
            updated_at=_time(row.updated_us),
        )

    def _found(self, row: Row) -> SearchItem:
        return SearchItem(row.namespace, row.key, self._value(row), _time(row.created_us), _time(row.updated_us))

    def _value(self, row: Row) -> dict[str, Any]:
        data = row.value if isinstance(row.value, bytes) else self._log.get_blob(lift_blob(row.value))
        return self._serializer.decode(data)


class InMemoryStore(EventLogStore):
    """A memory store on a log of its own that lives as long as this object; for tests and examples.

    `index` comes in a later release and raises `NotSupportedYet`.
    """

    __slots__ = ()

    def __init__(self, *, index: Any = None, clock: Clock | None = None) -> None:
        if index is not None:
            raise NotSupportedYet("A store with a semantic index comes in a later release; leave `index` out.")
        super().__init__(EventLog.in_memory(clock=clock))


def _stream(namespace: Namespace) -> StreamName:
    # Labels hold no full stop, so no two namespaces share a name.
    return StreamName(STREAMS, ".".join(namespace))


def _list_namespaces(op: ListNamespacesOp) -> _Read:
    conditions, depth = op.match_conditions or (), op.max_depth
    limit, offset = _checked_count(op.limit, "limit"), _checked_count(op.offset, "offset")
    for condition in conditions:
        check_condition(condition)
    if depth is not None and _checked_count(depth, "max_depth") == 0:
        raise InvalidSearchError("max_depth is 0: a namespace has at least one label. Leave it out for all.")

    def read(rows: ItemRows) -> _Answer:
        found = sorted({name[:depth] for name in rows.namespaces() if matches(name, conditions)})
        return lambda: found[offset : offset + limit]

    return read


def _checked_key(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidItemError(f"A key is a string, not {type(key).__name__}: {key!r}.")
    if not is_text(key):
        raise InvalidItemError(f"The key {key!r} holds a lone surrogate and cannot be written as text.")
    return key


def _checked_count(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidSearchError(f"{name} is {value!r}; it must be a whole number, 0 or more.")
    return value


def _checked_index(index: object) -> Any:
    if index is None or index is False:
        return index
    fields = cast("list[Any]", index)
    if isinstance(index, list) and all(isinstance(field, str) and is_text(field) for field in fields):
        return list(fields)
    raise InvalidItemError(f"index is {index!r}; it must be None, False or a list of field paths.")


def _time(time_us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=time_us)
