"""Large values: chunked into records of a stream of their own, named by a digest keyed with their erasure
scope's key.

The stream's name is (scope, digest), so a value is stored once within its scope, whoever stores it, in
whatever process; two scopes never share bytes, and destroying a scope's key leaves nothing that could be
guessed from a digest. A value whose storing was cut short is continued where it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from blake3 import blake3
from msgspec import Struct

from .engine import Conflict
from .errors import IntegrityError, MalformedValue, ScopeErased
from .events import BlobChunk, Event
from .reading import Record
from .streams import StreamName

BLOB_THRESHOLD = 64 * 1024
"""Values longer than this are meant to be stored as blobs."""
CHUNK_BYTES = 128 * 1024
_CHUNKS_PER_APPEND = 24


class BlobRef(Struct, frozen=True, array_like=True):
    """Where a large value lies; in an event it is stored as an array and lifted back with `lift_blob`."""

    digest: bytes
    """Keyed with the scope's key, so it says nothing without it."""
    size: int
    position: int
    """Where its first chunk lies in the log."""


def lift_blob(value: Any) -> BlobRef:
    """Return the `BlobRef` that an event's field holds, as it was stored (a list) or as it is.

    Raises `MalformedValue` when it is neither.
    """
    if isinstance(value, BlobRef):
        return value
    match value:
        case [bytes() as digest, int() as size, int() as position]:
            return BlobRef(digest, size, position)
        case _:
            raise MalformedValue(f"expected a reference to a blob, found {type(value).__name__}")


def blob_digest(scope_key: bytes, data: bytes) -> bytes:
    """Return the name of a value within an erasure scope."""
    return blake3(data, key=scope_key).digest()


def blob_stream(scope: int, digest: bytes) -> StreamName:
    """Return the stream in which a value of a scope is stored."""
    return StreamName("blob", scope.to_bytes(8, "big") + digest)


def store_blob(
    data: bytes,
    digest: bytes,
    *,
    stored: Callable[[], int],
    append: Callable[[int, Sequence[Event]], Conflict | None],
) -> None:
    """Append the chunks of a value that are not stored yet.

    `stored()` returns how many chunks are there, `append(expected, chunks)` adds some or reports a conflict:
    somebody else is storing the same value, and what it stored counts.
    """
    total = chunk_count(len(data))
    while (done := stored()) < total:
        until = min(done + _CHUNKS_PER_APPEND, total)
        append(done, [_chunk(data, digest, index) for index in range(done, until)])


def join_blob(ref: BlobRef, scope_key: bytes | None, records: Iterator[Record]) -> bytes:
    """Return a value from its chunks' records; raises `IntegrityError` when it is not `ref`'s."""
    if scope_key is None:
        raise ScopeErased(f"the value at position {ref.position} was erased with its scope")
    parts: list[bytes] = []
    for record in records:
        event = record.event
        if not isinstance(event, BlobChunk) or event.digest != ref.digest or event.index != len(parts):
            raise IntegrityError(f"position {record.position} does not hold a piece of the blob it should; run verify")
        parts.append(event.data)
    data = b"".join(parts)
    if len(data) != ref.size or blob_digest(scope_key, data) != ref.digest:
        raise IntegrityError(f"the blob at position {ref.position} does not match its digest; run verify")
    return data


def chunk_count(size: int) -> int:
    """Return in how many chunks a value of `size` bytes is stored."""
    return max(1, -(-size // CHUNK_BYTES))


def _chunk(data: bytes, digest: bytes, index: int) -> BlobChunk:
    return BlobChunk(digest, index, data[index * CHUNK_BYTES : (index + 1) * CHUNK_BYTES])
