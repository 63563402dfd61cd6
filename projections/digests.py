"""Running digests: one salted digest of each channel's value at each commit, at the cost of the change.

Both forms are functions of the value alone, so that anybody who holds the value and the channel's key can check it:

    a list that grows     d0 = H(key, "list"); d = H(key, d ‖ encoded element), for each element in order
    any other value       H(key, 0x01 ‖ encoded value)

H is keyed BLAKE3. The key is derived from the erasure scope's, so a destroyed scope leaves digests that nobody
can try guesses against; a fork shares the scope and so goes on with the digests it inherits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from blake3 import blake3

from ..eventlog.events import ResultOp
from .cells import Cell, ListCell, Values

_LIST_SEED = b"list"
_CONTEXT = "lithograph 2026 channel digest v0"


def channel_key(scope_key: bytes, namespace: str, channel: str) -> bytes:
    """Return the 32-byte key of a channel's digests."""
    name = f"{len(namespace)}:{namespace}{channel}".encode("utf-8", "surrogatepass")
    return blake3(scope_key + name, derive_key_context=_CONTEXT).digest()


def digest_after(
    key: bytes, op: int, data: Any, old: Cell | None, old_digest: bytes, new: Cell, values: Values
) -> bytes:
    """Return the digest of `new`, going on from `old`'s where a list grew."""
    if isinstance(new, ListCell):
        if old_digest and new.extends(old):
            assert isinstance(old, ListCell)
            return run_on(key, old_digest, values.encode_elements(new.since(old.length)))
        return digest_of(key, new, values)
    if op in (ResultOp.WHOLE, ResultOp.LAST) and isinstance(data, bytes):
        return whole_digest(key, data)
    return digest_of(key, new, values)


def digest_of(key: bytes, cell: Cell, values: Values) -> bytes:
    """Return the digest of a cell's value, computed from the value alone."""
    if isinstance(cell, ListCell):
        return run_on(key, list_seed(key), values.encode_elements(cell.value))
    return whole_digest(key, values.raw(cell.value))


def whole_digest(key: bytes, data: bytes) -> bytes:
    """Return the digest of an encoded value that is no growing list."""
    return blake3(b"\x01" + data, key=key).digest()


def list_seed(key: bytes) -> bytes:
    """Return the digest of an empty list."""
    return blake3(_LIST_SEED, key=key).digest()


def run_on(key: bytes, digest: bytes, parts: Iterable[bytes]) -> bytes:
    """Return the digest of a list after encoded elements were appended to one with `digest`."""
    for part in parts:
        digest = blake3(digest + part, key=key).digest()
    return digest
