"""Erasure scopes as an appender sees them: which key covers a stream.

A stream's scope is that of its first record. A new stream gets a key from a pool drawn ahead in batches, so
that a new stream costs no flush; which one, is remembered until its first append. Two processes that begin
the same stream may pick two keys: the first append decides, the other is a conflict or carries its own scope
in its records.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from .engine import Engine
from .errors import ScopeErased

_BATCH = 64
_CACHED_KEYS = 4096


class ScopeKeys:
    """The scope keys in use by one open log. Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._pool: list[tuple[int, bytes]] = []
        self._pending: dict[bytes, int] = {}
        self._cached: OrderedDict[int, bytes] = OrderedDict()

    def reserve(self, stream: bytes) -> int:
        """Return the scope for a stream that does not exist yet: the same one until it does."""
        with self._lock:
            number = self._pending.get(stream)
            if number is None:
                number = self._pending[stream] = self._draw()
            return number

    def settle(self, stream: bytes) -> None:
        """Forget a reservation: the stream exists now."""
        if stream in self._pending:
            with self._lock:
                self._pending.pop(stream, None)

    def key(self, number: int) -> bytes:
        """Return a scope's key; raises `ScopeErased` when it was destroyed."""
        key = self._cached.get(number)
        if key is None:
            key = self._engine.key(number)
            if key is None:
                raise ScopeErased(f"scope {number} was erased, or its key is not here: nothing can be added to it")
            self._remember(number, key)
        return key

    def _draw(self) -> int:
        if not self._pool:
            first, keys = self._engine.draw_keys(_BATCH)
            self._pool = list(enumerate(keys, first))[::-1]
        number, key = self._pool.pop()
        self._remember(number, key)
        return number

    def _remember(self, number: int, key: bytes) -> None:
        self._cached[number] = key
        while len(self._cached) > _CACHED_KEYS:
            self._cached.popitem(last=False)
