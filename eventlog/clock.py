"""Time and ids come in through here, and nowhere else.

A `Clock` gives microseconds since the epoch and random bytes. Tests inject a `ManualClock`; everything that
needs a time or an id asks the log's clock, so a run can be repeated exactly.
"""

from __future__ import annotations

import os
import threading
import time
from typing import NewType, Protocol
from uuid import UUID

CheckpointId = NewType("CheckpointId", bytes)
"""A version-6 UUID as 16 bytes: a name, never an order."""

# 100 ns intervals between the UUID epoch (1582-10-15) and the Unix epoch (RFC 9562, section 5.6).
_UUID_EPOCH_OFFSET = 0x01B21DD213814000


class Clock(Protocol):
    """Where time and randomness come from."""

    def now_us(self) -> int:
        """Return microseconds since the Unix epoch."""
        ...

    def random(self, size: int) -> bytes:
        """Return `size` random bytes."""
        ...


class _RandomPool:
    """The operating system's randomness, fetched 4 KiB at a time: a call for each id would cost more than the id."""

    _SIZE = 4096

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bytes = b""
        self._used = 0

    def take(self, size: int) -> bytes:
        """Return `size` bytes that nobody else gets; large requests go to the operating system."""
        if size > self._SIZE // 16:
            return os.urandom(size)
        with self._lock:
            if self._used + size > len(self._bytes):
                self._bytes, self._used = os.urandom(self._SIZE), 0
            taken = self._bytes[self._used : self._used + size]
            self._used += size
            return taken

    def forget(self) -> None:
        """Begin anew: a forked child must not hand out what its parent will."""
        self._lock = threading.Lock()
        self._bytes, self._used = b"", 0


_POOL = _RandomPool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOL.forget)


class SystemClock:
    """The machine's wall clock and the operating system's randomness."""

    def now_us(self) -> int:
        """Return microseconds since the Unix epoch."""
        return time.time_ns() // 1000

    def random(self, size: int) -> bytes:
        """Return `size` random bytes, fit for keys."""
        return _POOL.take(size)


class ManualClock:
    """A clock for tests: starts where told, steps at each look, random bytes from a counter."""

    def __init__(self, start_us: int = 1_700_000_000_000_000, *, step_us: int = 1) -> None:
        self._now_us = start_us
        self._step_us = step_us
        self._count = 0

    def now_us(self) -> int:
        """Return the current time and advance it."""
        self._now_us += self._step_us
        return self._now_us

    def random(self, size: int) -> bytes:
        """Return the next value of a counter, `size` bytes long."""
        self._count += 1
        return self._count.to_bytes(max(size, 8), "big")[-size:]


class CheckpointIds:
    """Makes checkpoint ids: version-6 UUIDs, strictly increasing here, step in the clock field."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0
        self._lock = threading.Lock()

    def next(self, step: int, *, now_us: int | None = None) -> CheckpointId:
        """Return a new id for a checkpoint of superstep `step` (layout: RFC 9562, section 5.6)."""
        ticks = (self._clock.now_us() if now_us is None else now_us) * 10 + _UUID_EPOCH_OFFSET
        with self._lock:
            ticks = self._last = max(ticks, self._last + 1)
        high = (ticks >> 12) << 16 | 0x6000 | (ticks & 0xFFF)
        sequence = 0x8000 | (step & 0x3FFF)
        return CheckpointId(high.to_bytes(8, "big") + sequence.to_bytes(2, "big") + self._clock.random(6))


_FOREIGN = bytes(17)
"""Marks an id that is no UUID: longer than any UUID, so the two never meet."""


def id_text(value: bytes) -> str:
    """Return the 8-4-4-4-12 text of a 16-byte id, or the text that `any_id` was given."""
    if value.startswith(_FOREIGN):
        return value[len(_FOREIGN) :].decode("utf-8", "surrogatepass")
    text = value.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def id_bytes(text: str) -> bytes | None:
    """Return the 16 bytes of an id's text, or `None` when it is no such text."""
    try:
        value = bytes.fromhex(text.replace("-", ""))
    except ValueError:
        return None
    return value if len(value) == 16 and id_text(value) == text else None


def any_id(given: object) -> bytes:
    """Return the bytes of any id's text: 16 for a UUID, else the marked text, as a foreign runtime may have it.

    A `UUID` counts as its text; anything else is a `TypeError`.
    """
    if not isinstance(given, str | UUID):
        raise TypeError(f"the id of a checkpoint must be a str or a UUID, not {type(given).__name__}: {given!r}")
    text = str(given)
    return id_bytes(text) or _FOREIGN + text.encode("utf-8", "surrogatepass")
