"""`EventLogCache`: a cache whose values are events: they outlive the process, and all who open the log share them.

One stream a namespace, and one for what clears all of them. What is good now is a fold of these: the last value of each
key behind the last clearing. The events may be skipped by readers that do not know them, for nothing depends on a
cache.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import ormsgpack

from ..eventlog.beside import beside
from ..eventlog.blobs import BLOB_THRESHOLD, lift_blob
from ..eventlog.engine import ANY
from ..eventlog.events import CacheCleared, CacheStored, Event
from ..eventlog.log import EventLog
from ..eventlog.serde import SerializerProtocol
from ..eventlog.streams import StreamName
from ..eventlog.writing import StreamWrite
from .cache import BaseCache, FullKey, Namespace, ValueT, ends

STREAMS = "cache"
"""The kind of the streams that hold it."""
_ALL = StreamName(STREAMS, "")


class _Kept(NamedTuple):
    """A value as the log has it: where, its serde's tag, its bytes or the reference to a blob, when it ends."""

    position: int
    tag: str
    data: Any
    ends_us: int | None


class _Space:
    """What one namespace's stream holds, up to a version."""

    def __init__(self) -> None:
        self.version = 0
        self.cleared = 0
        """Position of the last clearing."""
        self.kept: dict[str, _Kept] = {}

    def apply(self, event: Event, position: int) -> None:
        """Fold one event; what this version does not know changes nothing."""
        if isinstance(event, CacheStored):
            self.kept[event.key] = _Kept(position, event.tag, event.value, event.ends_us)
        elif isinstance(event, CacheCleared):
            self.cleared = position
            self.kept.clear()


class EventLogCache(BaseCache[ValueT]):
    """A cache kept in an event log: the one that the graph writes to, or another.

    When `set` or `clear` returns, it is durable; that is a flush for each step in which a cached node ran. Times are
    those of the log's clock.

    >>> graph = builder.compile(checkpointer=log, cache=EventLogCache(log))
    """

    def __init__(self, log: EventLog, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self._log = log
        self._lock = threading.Lock()
        self._spaces: dict[StreamName, _Space] = {}

    @property
    def log(self) -> EventLog:
        """The log that holds everything."""
        return self._log

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """Return the values of those keys that have one, other processes' too."""
        if not keys:
            return {}
        now_us = self._log.clock.now_us()
        found: dict[FullKey, _Kept] = {}
        with self._lock:
            cleared = self._now(_ALL).cleared
            spaces = {namespace: self._now(_stream(namespace)) for namespace in {tuple(space) for space, _ in keys}}
            for namespace, key in keys:
                kept = spaces[tuple(namespace)].kept.get(key)
                if kept is not None and kept.position > cleared and (kept.ends_us is None or now_us < kept.ends_us):
                    found[(tuple(namespace), key)] = kept
        return {full: self.serde.loads_typed((kept.tag, self._bytes(kept))) for full, kept in found.items()}

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """Do what `get` does beside the event loop."""
        return await beside(self.get, keys)

    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Keep values, all or none."""
        now_us = self._log.clock.now_us()
        writes: dict[StreamName, list[Event]] = {}
        for (namespace, key), (value, ttl) in pairs.items():
            stream = _stream(namespace)
            tag, data = self.serde.dumps_typed(value)
            stored = self._log.put_blob(stream, data) if len(data) > BLOB_THRESHOLD else data
            event = CacheStored(tuple(namespace), key, tag, stored, ends(now_us, ttl))
            writes.setdefault(stream, []).append(event)
        self._append(writes)

    async def aset(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Do what `set` does beside the event loop."""
        await beside(self.set, pairs)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget all values of some namespaces, or of all: one event each."""
        if namespaces is None:
            self._append({_ALL: [CacheCleared(None)]})
        else:
            self._append({_stream(each): [CacheCleared(tuple(each))] for each in namespaces})

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Do what `clear` does beside the event loop."""
        await beside(self.clear, namespaces)

    def _append(self, writes: Mapping[StreamName, Sequence[Event]]) -> None:
        if writes:
            stamp = self._log.stamp
            self._log.append([StreamWrite(name, ANY, [*map(stamp, events)]) for name, events in writes.items()])

    def _now(self, name: StreamName) -> _Space:
        """Return what a stream holds at its end."""
        space = self._spaces.setdefault(name, _Space())
        stream = self._log.stream_id(name)
        if self._log.head(stream).version > space.version:
            for page in self._log.scan_stream(stream, space.version):
                for record in page:
                    space.apply(record.event, record.position)
                    space.version = record.header.version
        return space

    def _bytes(self, kept: _Kept) -> bytes:
        return kept.data if isinstance(kept.data, bytes) else self._log.get_blob(lift_blob(kept.data))


def _stream(namespace: Namespace) -> StreamName:
    return StreamName(STREAMS, ormsgpack.packb(list(namespace)))
