"""The seam: what a storage engine owes, and nothing else. Pages cross it; cursors and transactions never do.

`MemoryEngine` is the executable specification, `LmdbEngine` the embedded default; `testing.engine_suite` is
the conformance suite that both pass. An engine stores bytes: it reads of a record only the header's fixed
fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

ANY = -1
"""Expected version: append whatever the stream's version is."""


class Limits(NamedTuple):
    """What one append may be at most; the same for every engine."""

    record_bytes: int = 960 * 1024
    append_records: int = 512
    append_bytes: int = 4 * 1024 * 1024
    name_bytes: int = 64 * 1024


class Identity(NamedTuple):
    """Which log this is. `secret` keys the stream ids."""

    log_id: bytes
    epoch: int
    secret: bytes
    format: int
    floor: int


class Head(NamedTuple):
    """The end of a stream: version (0: no such stream), last position, last record's hash, scope."""

    version: int
    position: int
    hash: bytes
    scope: int


class LogHead(NamedTuple):
    """The end of the log: last position and the tree's frontier there."""

    position: int
    frontier: tuple[bytes, ...]


class Draft(NamedTuple):
    """A record before it has a place: what the header and erasable part are made of."""

    kind: int
    schema: int
    time_us: int
    run: bytes
    body: bytes
    """The encoded `Body`, without salt."""


class StreamAppend(NamedTuple):
    """Drafts for one stream. `expected` is a version or `ANY`; no drafts: checked only."""

    stream: bytes
    expected: int
    drafts: Sequence[Draft]
    scope: int
    """Number of the scope key for these records."""
    scope_key: bytes


class Append(NamedTuple):
    """One atomic append over one or several streams (each at most once)."""

    append_id: bytes
    streams: Sequence[StreamAppend]
    since: int | None = None
    """For a retry of an append with `ANY`: the log's head at the first try. `None`: a first try."""


class Appended(NamedTuple):
    """Where an append lies: first and last position, and each stream's head after it."""

    first: int
    last: int
    heads: dict[bytes, Head]
    replayed: bool


class Conflict(NamedTuple):
    """A stream was not at the version that the append expected; nothing of the append was written."""

    stream: bytes
    expected: int
    actual: int


class Page(NamedTuple):
    """Records in order, and for the last record of each stream among them the hash that vouches for it.

    `tails[stream]` is the previous-hash stored in the stream's next record, or the hash in the stream's head,
    read in the same snapshot; it must equal the hash of the stream's last record on this page.
    """

    records: list[tuple[int, bytes]]
    """(position, record bytes)."""
    tails: dict[bytes, bytes]
    end: int
    """The log's last position, or the stream's last version, in the same snapshot: a page may be shorter than
    asked (it holds a few MiB at most), but an empty one means that `after` was the end."""


@runtime_checkable
class Rows(Protocol):
    """An engine's tables as stored, for `verify` alone: nothing is checked on the way."""

    def rows(self, table: str, after: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """Return rows of a table in bytewise order of key, beginning after `after` (empty: at the first)."""
        ...

    def lookup(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of rows by key."""
        ...

    def inspect(self) -> list[str]:
        """Return what is wrong below the rows: with files, with the storage's own bookkeeping."""
        ...


class Engine(Protocol):
    """Append, read, wait. Every call is self-contained; none returns anything that must be closed."""

    limits: Limits

    def identity(self) -> Identity:
        """Return which log this is."""
        ...

    def commit(self, appends: Sequence[Append]) -> list[Appended | Conflict]:
        """Write several appends in one durable transaction, each accepted or refused on its own, in order.

        When it returns, what was accepted is durable. An append already in the log (same id) is answered with
        `replayed=True` and not written again. Raises `OutcomeUnknown` when it cannot be known whether
        something was written; after any other `Exception` nothing was, `Unavailable` meaning that it may be
        tried again.
        """
        ...

    def log_head(self) -> LogHead:
        """Return the end of the log."""
        ...

    def head(self, stream: bytes) -> Head:
        """Return the end of a stream; version 0 when there is none."""
        ...

    def read(self, after: int, limit: int) -> Page:
        """Return the records at positions `after + 1` …, at most `limit`."""
        ...

    def read_stream(self, stream: bytes, after: int, limit: int) -> Page:
        """Return the records of a stream at versions `after + 1` …, at most `limit`."""
        ...

    def streams(self, after: bytes, limit: int) -> list[tuple[bytes, Head]]:
        """Return streams with their heads, in bytewise order of id, beginning after `after`."""
        ...

    def wait(self, after: int, timeout: float) -> int:
        """Return the head position as soon as it is past `after`, or after `timeout` seconds in any case."""
        ...

    def draw_keys(self, count: int) -> tuple[int, list[bytes]]:
        """Make `count` new scope keys durable and return the first one's number (from 1) and the keys."""
        ...

    def key(self, number: int) -> bytes | None:
        """Return a scope key, or `None` when it was destroyed."""
        ...

    def destroy_key(self, number: int) -> None:
        """Destroy a scope key for ever."""
        ...

    def close(self) -> None:
        """Release everything; further calls raise `LogClosed`."""
        ...
