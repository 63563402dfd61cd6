"""The bytes of one record: previous hash, fixed header, erasable part.

    offset  size  field
    0       32    hash of the previous record of the stream (zeros for the first)
    32      1     format version
    33      1     schema version of the event's kind
    34      2     kind
    36      16    stream: keyed hash of the stream's name
    52      8     version: 1, 2, 3 … within the stream
    60      8     time: microseconds since the Unix epoch
    68      16    run id (zeros outside a run)
    84      16    append id
    100     4     index of the record within its append
    104     8     scope: number of the erasure scope's key
    112     32    digest: BLAKE3 of the erasable part
    144     …     erasable part: 16-byte salt, then the encoded `Body`

The header holds nothing a user typed. The record hash is BLAKE3 over the first 144 bytes, so an erased part
leaves a chain that still verifies. The salt makes the digest useless for guessing what was erased. Position
is not in the record: the tree binds it.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple, NewType

from blake3 import blake3

FORMAT_VERSION = 0
HEADER = Struct(">32sBBH16sQq16s16sIQ32s")
HEADER_SIZE = HEADER.size
SALT_SIZE = 16
NO_HASH = bytes(32)
NO_ID = bytes(16)

Position = NewType("Position", int)
"""Place of a record in the log: 1, 2, 3 …, dense, in commit order."""


class Header(NamedTuple):
    """The fixed part of a record, in stored order; nothing in it was typed by a user."""

    previous: bytes
    format: int
    schema: int
    kind: int
    stream: bytes
    version: int
    time_us: int
    run: bytes
    append: bytes
    index: int  # pyright: ignore[reportIncompatibleMethodOverride] (a tuple's own `index` is not needed)
    scope: int
    digest: bytes


def record_hash(record: bytes) -> bytes:
    """Return the hash of a stored record: 32 bytes over its header as stored."""
    return blake3(record[:HEADER_SIZE]).digest()


def derive_salts(scope_key: bytes, append_id: bytes, index: int, count: int) -> bytes:
    """Return the salts of `count` records of an append from record `index` on, one behind the other.

    They are a stretch of one keyed BLAKE3 output stream, so that a retry gets the same bytes.
    """
    return blake3(append_id, key=scope_key).digest(count * SALT_SIZE, seek=index * SALT_SIZE)
