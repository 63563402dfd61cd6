"""The way of an append: from events to drafts, through group commit, to an answer or a conflict.

What a caller's thread can do before the transaction it does here: encoding, ids, names, scope keys. An append
whose outcome is unknown is tried again with the same append id, so it lies in the log once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .clock import Clock
from .codec import encode_body, with_name
from .engine import ANY, Append, Appended, Conflict, Draft, Engine, StreamAppend
from .errors import ConflictError, LimitExceeded, OutcomeUnknown, StreamCollision
from .events import Event
from .group import GroupCommit
from .scopes import ScopeKeys
from .streams import StreamName, encode_name

_TRIES = 5
_PAUSE_SECONDS = 0.05
_CACHED_STREAMS = 65_536
_new: Any = tuple.__new__  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
"""A named tuple's own constructor is Python code."""


def draft(event: Event, time_us: int, run: bytes, actor: str | None, reason: str | None) -> Draft:
    """Return an event, encoded, with when, in which run, by whom and why."""
    return _new(Draft, (event.kind, event.schema, time_us, run, encode_body(event, actor, reason)))


class StreamWrite(NamedTuple):
    """Events for one stream, which must be at version `expected` (`ANY`: wherever it is; no events: checked
    only).

    `scope` is the erasure scope; `None` is the stream's own, or a new one for a new stream. A fork passes its
    source's.
    """

    name: StreamName
    expected: int
    events: Sequence[Draft]
    scope: int | None = None


class Writer:
    """Appends for one open log. Thread-safe."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        stream_id: Callable[[StreamName], bytes],
        first_name: Callable[[bytes], StreamName],
    ) -> None:
        self.scopes = ScopeKeys(engine)
        self._engine = engine
        self._clock = clock
        self._group = GroupCommit(engine)
        self._stream_id = stream_id
        self._first_name = first_name
        self._known: dict[StreamName, int] = {}
        """The scopes of streams that exist and were made sure to be the ones meant."""
        self._lock = threading.Lock()

    def append(self, writes: Sequence[StreamWrite], append_id: bytes | None, since: int | None) -> Appended:
        """Append and return where; raises `ConflictError` with the stream's name."""
        streams = [self._stream_append(write) for write in writes]
        outcome = self._submit(Append(append_id or self._clock.random(16), streams, since))
        if isinstance(outcome, Conflict):
            raise _conflict_error(outcome, writes[[s.stream for s in streams].index(outcome.stream)].name)
        for write, stream in zip(writes, streams, strict=True):
            if write.expected == 0 and write.events:
                # Made by this very append, so its first record need not be read to know whose it is.
                self._remember(write.name, stream.scope)
            self.scopes.settle(stream.stream)
        return outcome

    def scope_of(self, name: StreamName) -> int:
        """Return the scope of a stream, drawing one when the stream is new."""
        stream = self._stream_id(name)
        known = self._existing_scope(stream, name)
        return self.scopes.reserve(stream) if known is None else known

    def _stream_append(self, write: StreamWrite) -> StreamAppend:
        name, expected, events, scope = write
        stream = self._stream_id(name)
        if not events:
            return StreamAppend(stream, expected, (), 0, b"")
        known = self._existing_scope(stream, name)
        if scope is None:
            scope = self.scopes.reserve(stream) if known is None else known
        if known is None or expected == 0:
            # The stream's first record carries its name.
            first = events[0]
            events = [first._replace(body=with_name(first.body, self._encoded(name))), *events[1:]]
        return StreamAppend(stream, expected, events, scope, self.scopes.key(scope))

    def _existing_scope(self, stream: bytes, name: StreamName) -> int | None:
        """Return the scope of a stream that exists, after making sure that it is the one meant."""
        scope = self._known.get(name)
        if scope is None:
            head = self._engine.head(stream)
            if not head.version:
                return None
            if encode_name(self._first_name(stream)) != encode_name(name):
                raise StreamCollision(
                    f"stream {name!r} has the id of another one; nothing was written; use another name for it"
                )
            scope = head.scope
            self._remember(name, scope)
        return scope

    def _remember(self, name: StreamName, scope: int) -> None:
        with self._lock:
            if len(self._known) >= _CACHED_STREAMS:
                self._known.clear()
            self._known[name] = scope

    def _encoded(self, name: StreamName) -> bytes:
        encoded = encode_name(name)
        limit = self._engine.limits.name_bytes
        if len(encoded) > limit:
            raise LimitExceeded(f"a stream's name of {len(encoded):,} bytes is over the limit of {limit:,}")
        return encoded

    def _submit(self, append: Append) -> Appended | Conflict:
        if append.since is None and all(w.expected == ANY or not w.drafts for w in append.streams):
            since: int | None = self._engine.log_head().position
        else:
            since = append.since
        for attempt in range(_TRIES):
            try:
                return self._group.submit(append)
            except OutcomeUnknown:
                if attempt == _TRIES - 1:
                    raise
                append = append._replace(since=since)
                time.sleep(_PAUSE_SECONDS * attempt)
        raise AssertionError("unreachable")


def _conflict_error(conflict: Conflict, name: StreamName) -> ConflictError:
    return ConflictError(
        f"{name.kind} {name.name!r} is at version {conflict.actual}, not at {conflict.expected}: "
        "somebody else appended first and nothing of this append was written; "
        "read the stream again and decide anew, or fork",
        stream=name.name,
        expected=conflict.expected,
        actual=conflict.actual,
    )
