"""Names of streams, and their keyed ids.

A stream's name may have any length and content; its id is 16 bytes of BLAKE3 keyed with the log's secret, so
ids say nothing about names outside the log. The name is stored in the stream's first record and compared at
first use, so a collision cannot merge two streams.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from blake3 import blake3

from .errors import MalformedValue

_CACHED_IDS = 65_536
_TEXT, _BYTES = b"\x00", b"\x01"


class StreamName(NamedTuple):
    """What a stream is called: a kind (`thread`, `items`, `graph`, `app`, `blob` …), a name within it."""

    kind: str
    name: str | bytes


def encode_name(name: StreamName) -> bytes:
    """Return a stream's full name as bytes, one encoding a name."""
    kind = name.kind.encode()
    if not 0 < len(kind) < 256:
        raise ValueError(f"a stream's kind is a short word, not {name.kind!r}")
    if isinstance(name.name, str):
        # Lone surrogates are legal in Python strings, so they must be legal in names.
        text = name.name.encode("utf-8", "surrogatepass")
        return bytes([len(kind)]) + kind + _TEXT + text
    return bytes([len(kind)]) + kind + _BYTES + bytes(name.name)


def decode_name(data: bytes) -> StreamName:
    """Return the name that `encode_name` was given."""
    try:
        split = 1 + data[0]
        kind, form, rest = data[1:split].decode(), data[split : split + 1], data[split + 1 :]
        if form == _BYTES:
            return StreamName(kind, rest)
        if form == _TEXT:
            return StreamName(kind, rest.decode("utf-8", "surrogatepass"))
    except (IndexError, UnicodeDecodeError) as error:
        raise MalformedValue(f"a stream's name cannot be read: {error}") from error
    raise MalformedValue("a stream's name cannot be read: unknown form")


def stream_ids(secret: bytes) -> Callable[[StreamName], bytes]:
    """Return the function from names to ids of the log with this secret; it remembers recent ones."""

    @lru_cache(_CACHED_IDS)
    def stream_id(name: StreamName) -> bytes:
        return blake3(encode_name(name), key=secret).digest(16)

    return stream_id
