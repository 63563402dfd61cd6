"""The tree over the whole log: an RFC 9162-shaped Merkle tree whose leaves bind position and record hash.

Only its frontier is kept: the hashes of the perfect subtrees that the binary digits of the size name, largest
first (at most 64). It grows in the transaction of each append and is enough to compute the root. `root` is
the plain definition, for tests and for whoever holds all leaves. Read `chain` for where record hashes come
from.
"""

from __future__ import annotations

from collections.abc import Sequence

from blake3 import blake3

EMPTY_ROOT = blake3(b"").digest()


def leaf(position: int, record_hash: bytes) -> bytes:
    """Return the leaf of a record: it binds the record's hash to its place in the log."""
    return blake3(b"\x00" + position.to_bytes(8, "big") + record_hash).digest()


def node(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node."""
    return blake3(b"\x01" + left + right).digest()


def extend(frontier: list[bytes], size: int, hashes: Sequence[bytes]) -> None:
    """Add the records with these hashes, at positions `size + 1` …, to a frontier of `size` leaves, in place.

    Costs one leaf and, on average, one node a record.
    """
    # `leaf` and `node`, written out: this is done for every record, and calls and hashers cost as much as the hashing.
    hasher = blake3()
    reset, update, digest = hasher.reset, hasher.update, hasher.digest
    push, pop = frontier.append, frontier.pop
    for record_hash in hashes:
        size += 1
        reset()
        update(b"\x00" + size.to_bytes(8, "big") + record_hash)
        grown = digest()
        digits = size
        while not digits & 1:
            reset()
            update(b"\x01" + pop() + grown)
            grown = digest()
            digits >>= 1
        push(grown)


def root_of(frontier: Sequence[bytes]) -> bytes:
    """Return the root of the tree that a frontier stands for."""
    if not frontier:
        return EMPTY_ROOT
    total = frontier[-1]
    for left in reversed(frontier[:-1]):
        total = node(left, total)
    return total


def root(leaves: Sequence[bytes]) -> bytes:
    """Return the root over leaves, straight from the definition (RFC 9162, section 2.1.1)."""
    if not leaves:
        return EMPTY_ROOT
    if len(leaves) == 1:
        return leaves[0]
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return node(root(leaves[:split]), root(leaves[split:]))
