"""The tree: the frontier grows to the same root as the definition, however the records come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lithograph.eventlog import merkle


@given(st.lists(st.integers(1, 40), max_size=8))
def test_frontier_gives_the_root(batches: list[int]) -> None:
    """In batches of any size the frontier stands for the tree over all records."""
    frontier: list[bytes] = []
    hashes: list[bytes] = []
    for size in batches:
        fresh = [bytes([len(hashes) % 256, at]) * 16 for at in range(size)]
        merkle.extend(frontier, len(hashes), fresh)
        hashes += fresh
    leaves = [merkle.leaf(position, record_hash) for position, record_hash in enumerate(hashes, 1)]
    assert merkle.root_of(frontier) == merkle.root(leaves)
    assert len(frontier) == len(hashes).bit_count()


def test_leaf_binds_position_and_hash() -> None:
    """The same record elsewhere is another leaf, and leaves cannot be taken for nodes."""
    assert merkle.leaf(1, bytes(32)) != merkle.leaf(2, bytes(32))
    assert merkle.leaf(0, bytes(56)) != merkle.node(bytes(32), bytes(32))


def test_order_matters() -> None:
    """Two records swapped give another root."""
    one, two = b"1" * 32, b"2" * 32
    first: list[bytes] = []
    second: list[bytes] = []
    merkle.extend(first, 0, [one, two])
    merkle.extend(second, 0, [two, one])
    assert merkle.root_of(first) != merkle.root_of(second)
