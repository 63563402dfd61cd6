"""Running digests: one salted digest of each channel's value at each commit, at the cost of the change.

Both forms are functions of the value alone, so that anybody who holds the value and the channel's key can check it:

    a list that grows     H(key, 0x02 ‖ encoded element ‖ encoded element ‖ …), in order
    any other value       H(key, 0x01 ‖ encoded value)

H is keyed BLAKE3. A hasher runs along the list that a cell shares with older ones, so an append hashes the tail, and a
whole list is checked in one go. The key is derived from the erasure scope's, so a destroyed scope leaves digests that
nobody can try guesses against; a fork shares the scope and so goes on with the digests it inherits.
"""

from __future__ import annotations

from typing import Any

from blake3 import blake3

from ..eventlog.events import ResultOp
from ..eventlog.serde.format import array_body, array_length
from .cells import Cell, ListCell, Values

_CONTEXT = "lithograph 2026 channel digest v0"


def channel_key(scope_key: bytes, namespace: str, channel: str) -> bytes:
    """Return the 32-byte key of a channel's digests."""
    name = f"{len(namespace)}:{namespace}{channel}".encode("utf-8", "surrogatepass")
    return blake3(scope_key + name, derive_key_context=_CONTEXT).digest()


class ListDigest:
    """The digest of a growing list, as far as it was told of it."""

    __slots__ = ("_hasher", "key", "length")

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.length = 0
        self._hasher = blake3(b"\x02", key=key)

    def extend(self, data: bytes) -> None:
        """Take further elements: an encoded list of them."""
        self._hasher.update(array_body(data))
        self.length += array_length(data)

    def copy(self) -> ListDigest:
        """Return a digest of the same elements that goes on by itself."""
        copy = ListDigest(self.key)
        copy.length, copy._hasher = self.length, self._hasher.copy()
        return copy

    def digest(self) -> bytes:
        """Return the digest of the list so far."""
        return self._hasher.digest()


def digest_after(key: bytes, op: int, data: Any, new: Cell, values: Values) -> bytes:
    """Return the digest of what a result made of a channel; `data` is what the log stores of it."""
    if op in (ResultOp.WHOLE, ResultOp.LAST) and isinstance(data, bytes) and not isinstance(new, ListCell):
        return whole_digest(key, data)
    return digest_of(key, new, values)


def digest_of(key: bytes, cell: Cell, values: Values) -> bytes:
    """Return the digest of a cell's value, going on from where the list it shares was hashed before."""
    if isinstance(cell, ListCell):
        return _list_digest(key, cell, values)
    return whole_digest(key, values.raw(cell.value))


def whole_digest(key: bytes, data: bytes) -> bytes:
    """Return the digest of an encoded value that is no growing list."""
    return blake3(b"\x01" + data, key=key).digest()


def _list_digest(key: bytes, cell: ListCell, values: Values) -> bytes:
    backing = cell.backing
    with backing.lock:
        running = backing.running
        if not isinstance(running, ListDigest) or running.key != key or running.length > cell.length:
            running = ListDigest(key)
        if running.length < cell.length:
            running.extend(values.raw(backing.items[running.length : cell.length]))
        if not isinstance(backing.running, ListDigest) or backing.running.length <= running.length:
            backing.running = running
        return running.digest()
