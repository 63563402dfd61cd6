"""From drafts to finished records: salt, digest, header, and the link to the record before.

Every engine calls this inside its transaction, because a record contains the hash of its predecessor, which
only the transaction knows. All of it is a pure function of its arguments, so a retried append has the same
bytes. Read `record` for the layout and `engines.batch` for who calls this.
"""

from __future__ import annotations

from blake3 import blake3

from .engine import Append, Head, Limits, StreamAppend
from .errors import LimitExceeded
from .record import FORMAT_VERSION, HEADER, HEADER_SIZE, SALT_SIZE, derive_salts

NO_HEAD = Head(0, 0, bytes(32), 0)
"""The head of a stream that does not exist."""


def finish(
    write: StreamAppend, head: Head, *, append_id: bytes, index: int, position: int
) -> tuple[list[bytes], list[bytes], Head]:
    """Return the finished records of a stream's drafts, their hashes, and the stream's new head.

    `head` is the stream's end so far; `index` is the first record's place in the append and `position` its
    place in the log.
    """
    pack, scope, stream = HEADER.pack, write.scope, write.stream
    version, previous = head.version, head.hash
    records: list[bytes] = []
    hashes: list[bytes] = []
    salts = derive_salts(write.scope_key, append_id, index, len(write.drafts)) if write.drafts else b""
    # One hasher for all: making one costs as much as hashing a record.
    hasher = blake3()
    reset, update, digest = hasher.reset, hasher.update, hasher.digest
    for at, (kind, schema, time_us, run, body) in enumerate(write.drafts):
        version += 1
        erasable = salts[at * SALT_SIZE : (at + 1) * SALT_SIZE] + body
        reset()
        update(erasable)
        header = pack(
            previous,
            FORMAT_VERSION,
            schema,
            kind,
            stream,
            version,
            time_us,
            run,
            append_id,
            index + at,
            scope,
            digest(),
        )
        reset()
        update(header)
        previous = digest()
        records.append(header + erasable)
        hashes.append(previous)
    last = position + len(records) - 1 if records else head.position
    return records, hashes, Head(version, last, previous, scope if records else head.scope)


def check_limits(append: Append, limits: Limits) -> None:
    """Raise `LimitExceeded` for an append larger than the log allows, `ValueError` for a malformed one."""
    if len(append.append_id) != 16:
        raise ValueError(f"an append id has 16 bytes, not {len(append.append_id)}")
    if len({write.stream for write in append.streams}) != len(append.streams):
        raise ValueError("an append names a stream twice; give all its events in one write")
    count = size = 0
    for write in append.streams:
        for draft in write.drafts:
            length = HEADER_SIZE + SALT_SIZE + len(draft.body)
            if length > limits.record_bytes:
                raise LimitExceeded(
                    f"a record of {length:,} bytes is over the limit of {limits.record_bytes:,}; "
                    "store large values as blobs (log.put_blob) and name them"
                )
            size += length
        count += len(write.drafts)
    if count > limits.append_records or size > limits.append_bytes:
        raise LimitExceeded(
            f"an append of {count:,} records and {size:,} bytes is over the limit of "
            f"{limits.append_records:,} records and {limits.append_bytes:,} bytes; append in several steps"
        )
