"""How rows of the tables are laid out, and the checksums that let a changed byte be seen.

Records vouch for themselves (`record`, `chain`). Everything else that is stored (identity, end of the log,
heads of streams, scope keys) carries a checksum over its key and value, so a row moved to another key is
found too. Both engines use these layouts: the memory engine to show its rows to `verify`, LMDB to store them.
"""

from __future__ import annotations

from struct import Struct

from blake3 import blake3

from ..engine import Head, Identity, LogHead
from ..errors import IntegrityError

HEAD = b"\xff" * 8
"""In the table `streams`, in the place of a version: the stream's head, right behind its last version."""
IDENTITY = b"identity"
LOG_HEAD = b"head"
LOG_ID = b"log_id"

NUMBER = Struct(">Q")
_HEAD = Struct(">QQ32sQ")
_IDENTITY = Struct(">H16sQ32sQ")
_LOG_HEAD = Struct(">QQ")
_HEAD_CHECK = 8
_CHECK = 16
_LIVE, _DESTROYED = b"\x01", b"\x00"


def seal(key: bytes, value: bytes) -> bytes:
    """Return a row's value with the checksum over key and value behind it."""
    return value + blake3(key + value).digest(_CHECK)


def unseal(key: bytes, stored: bytes, what: str) -> bytes:
    """Return a row's value; raise `IntegrityError` when its checksum does not match."""
    value = stored[:-_CHECK]
    if len(stored) < _CHECK or blake3(key + value).digest(_CHECK) != stored[-_CHECK:]:
        raise IntegrityError(f"{what} does not match its checksum: stored bytes were changed; restore a backup")
    return value


def pack_identity(identity: Identity) -> bytes:
    """Return the row under `IDENTITY`. Its layout and checksum stay the same in every format."""
    log_id, epoch, secret, format_version, floor = identity
    return seal(IDENTITY, _IDENTITY.pack(format_version, log_id, epoch, secret, floor))


def unpack_identity(stored: bytes) -> Identity:
    """Return the identity from its row."""
    value = unseal(IDENTITY, stored, "the log's identity")
    format_version, log_id, epoch, secret, floor = _IDENTITY.unpack(value)
    return Identity(log_id, epoch, secret, format_version, floor)


def pack_log_head(head: LogHead, transaction: int) -> bytes:
    """Return the row under `LOG_HEAD`. `transaction` is the id of the storage transaction that writes it."""
    return seal(LOG_HEAD, _LOG_HEAD.pack(head.position, transaction) + b"".join(head.frontier))


def unpack_log_head(stored: bytes) -> tuple[LogHead, int]:
    """Return the end of the log and the id of the transaction that wrote it."""
    value = unseal(LOG_HEAD, stored, "the end of the log")
    position, transaction = _LOG_HEAD.unpack_from(value)
    hashes = value[_LOG_HEAD.size :]
    frontier = tuple(hashes[at : at + 32] for at in range(0, len(hashes), 32))
    if len(frontier) != position.bit_count():
        raise IntegrityError("the end of the log has a frontier of another size; restore a backup")
    return LogHead(position, frontier), transaction


def transaction_of(stored: bytes | None) -> int | None:
    """Return the transaction that a `LOG_HEAD` row names, whatever else is wrong with the row."""
    return _LOG_HEAD.unpack_from(stored)[1] if stored and len(stored) >= _LOG_HEAD.size else None


def pack_head(stream: bytes, head: Head) -> bytes:
    """Return the row of a stream's head."""
    value = _HEAD.pack(*head)
    return value + blake3(stream + value).digest(_HEAD_CHECK)


def unpack_head(stream: bytes, stored: bytes) -> Head:
    """Return a stream's head from its row."""
    value = stored[: _HEAD.size]
    if len(stored) != _HEAD.size + _HEAD_CHECK or blake3(stream + value).digest(_HEAD_CHECK) != stored[_HEAD.size :]:
        raise IntegrityError(
            f"the head of stream {stream.hex()} does not match its checksum: bytes were changed; run verify"
        )
    return Head._make(_HEAD.unpack(value))


def pack_key(number: int, key: bytes | None) -> bytes:
    """Return the row of a scope key; `None` marks a destroyed one."""
    return seal(NUMBER.pack(number), _DESTROYED if key is None else _LIVE + key)


def unpack_key(number: int, stored: bytes) -> bytes | None:
    """Return a scope key from its row, or `None` when it was destroyed."""
    value = unseal(NUMBER.pack(number), stored, f"scope key {number}")
    return None if value == _DESTROYED else value[1:]
