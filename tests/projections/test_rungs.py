"""Long lists in views: read once, held once."""

from __future__ import annotations

from typing import Any

import pytest
from lithograph.eventlog.serde import BASE, Serializer
from lithograph.projections.rungs import _Chain


def test_a_list_is_not_held_encoded_and_decoded() -> None:
    """While a chunk is decoded, those before it are held as their elements only; interrupted, the next look goes on."""
    serializer = Serializer(BASE)
    chunks = [serializer.encode([number, number + 1]) for number in range(0, 8, 2)]
    held: list[list[bytes]] = []
    interrupts = [KeyboardInterrupt]

    def decode(data: bytes) -> Any:
        held.append([chunk for chunk in chunks if type(chunk) is bytes])
        if len(held) == 3 and interrupts:
            raise interrupts.pop()
        return serializer.decode(data)

    encoded = chunks.copy()
    backing = _Chain(chunks, b"", decode).backing
    with pytest.raises(KeyboardInterrupt):
        _ = backing.items
    assert backing.items == list(range(8))
    assert held == [encoded, encoded[1:], encoded[2:], encoded[2:], encoded[3:]]
