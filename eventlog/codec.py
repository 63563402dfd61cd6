"""Events to bytes and back: the body behind a record's salt.

Encoding is msgspec's msgpack of the `Body` struct. Decoding goes by the kind and schema in the header through the
closed table in `events`: nothing is imported or called that is not named there.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .errors import MalformedValue, NewerFormat
from .events import EVENTS, SKIPPABLE, Body, Event

_ENCODER = msgspec.msgpack.Encoder()


class UnknownEvent(Event):
    """An event of a skippable kind that this version does not know, kept as it was stored."""

    number: int
    version: int
    raw: bytes


class _RawBody(msgspec.Struct, frozen=True, array_like=True):
    event: msgspec.Raw
    actor: str | None = None
    reason: str | None = None
    name: bytes | None = None


_DECODERS: dict[int, tuple[int, msgspec.msgpack.Decoder[Any]]] = {}
"""Schema and decoder by kind; made at first use, because a decoder costs 50 µs."""
_RAW_DECODER = msgspec.msgpack.Decoder(_RawBody)


def encode_body(event: Event, actor: str | None, reason: str | None, name: bytes | None) -> bytes:
    """Return the encoded body: the event, who and why, and on a stream's first record its full name."""
    return _ENCODER.encode(Body(event, actor, reason, name))


def decode_body(kind: int, schema: int, data: bytes) -> Body[Event]:
    """Return the body encoded in `data`.

    Raises `NewerFormat` for a kind or schema that this version does not know, unless the kind is skippable, when the
    event is an `UnknownEvent`; `MalformedValue` when the bytes are no body of that kind.
    """
    entry = _DECODERS.get(kind) or _decoder(kind)
    if entry is None:
        return _decode_unknown(kind, schema, data)
    if schema > entry[0]:
        raise NewerFormat(
            f"an event of kind {kind} has schema {schema}, this version reads {entry[0]}: upgrade"
        )
    try:
        return entry[1].decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedValue(f"the body of an event of kind {kind} cannot be read: {error}") from error


def _decoder(kind: int) -> tuple[int, msgspec.msgpack.Decoder[Any]] | None:
    cls = EVENTS.get(kind)
    if cls is None:
        return None
    entry = _DECODERS[kind] = (cls.schema, msgspec.msgpack.Decoder(Body[cls]))
    return entry


def _decode_unknown(kind: int, schema: int, data: bytes) -> Body[Event]:
    if not kind & SKIPPABLE:
        raise NewerFormat(f"an event has kind {kind}, which this version does not know: upgrade Lithograph")
    try:
        body = _RAW_DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedValue(f"the body of an event of kind {kind} cannot be read: {error}") from error
    return Body(UnknownEvent(kind, schema, bytes(body.event)), body.actor, body.reason, body.name)
