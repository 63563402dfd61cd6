"""Events to bytes and back: the body behind a record's salt.

Encoding is msgspec's msgpack of the `Body` struct. Decoding goes by the kind and schema in the header through
the closed table in `events`: nothing is imported or called that is not named there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import msgspec

from .errors import MalformedValue, NewerFormat
from .events import EVENTS, SKIPPABLE, Body, Event, RawBody
from .upcast import lifting_decoder

_ENCODER = msgspec.msgpack.Encoder()
_NO_NAME = _ENCODER.encode(None)


class UnknownEvent(Event, frozen=True):
    """An event of a skippable kind that this version does not know, kept as it was stored."""

    number: int
    version: int
    raw: bytes


_RAW_DECODER = msgspec.msgpack.Decoder(RawBody)
_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError)
"""What msgspec raises for bytes that are no such body."""


def encode_body(event: Event, actor: str | None, reason: str | None, name: bytes | None = None) -> bytes:
    """Return the encoded body: the event, who and why, and on a stream's first record its full name."""
    return _ENCODER.encode(Body(event, actor, reason, name))


def with_name(body: bytes, name: bytes) -> bytes:
    """Return an encoded body that has no name as `encode_body` gives it with one: the name is its last part."""
    assert body.endswith(_NO_NAME), "a body without a name ends with none"
    return body[: -len(_NO_NAME)] + _ENCODER.encode(name)


def decode_body(kind: int, schema: int, data: bytes) -> Body[Event]:
    """Return the body encoded in `data`.

    Raises `NewerFormat` for a kind or schema that this version does not know, unless the kind is skippable:
    such an event is an `UnknownEvent`. Raises `MalformedValue` for bytes that are no body of that kind.
    """
    decode = _decoder(kind, schema)
    try:
        return decode(data)
    except _ERRORS as error:
        raise _malformed(kind, error) from error


def decode_events(kinds: Sequence[int], schemas: Sequence[int], bodies: Sequence[bytes]) -> list[Event]:
    """Return the events in many encoded bodies; raises as `decode_body` does, at the first that is wrong."""
    forms = [*zip(kinds, schemas, strict=True)]
    decoders = {form: _decoder(*form) for form in dict.fromkeys(forms)}
    events: list[Event] = []
    try:
        for form, body in zip(forms, bodies, strict=True):
            events.append(decoders[form](body).event)
    except _ERRORS as error:
        raise _malformed(kinds[len(events)], error) from error
    return events


def demand_known(kind: int, schema: int) -> None:
    """Raise `NewerFormat` for an event that this version neither knows nor may skip: for who looks at headers only."""
    _decoder(kind, schema)


def is_known(kind: int, schema: int) -> bool:
    """Say whether this version knows an event, or may skip it."""
    try:
        demand_known(kind, schema)
    except NewerFormat:
        return False
    return True


@cache
def _decoder(kind: int, schema: int) -> Callable[[bytes], Body[Event]]:
    """Return the function that decodes bodies of a kind and schema, made once, because making one costs 50 µs."""
    cls = EVENTS.get(kind)
    if cls is not None and schema <= cls.schema:
        return lifting_decoder(cls, schema) or _decoder_of(cls)
    if kind & SKIPPABLE:
        return _decoder_of_unknown(kind, schema)
    raise NewerFormat(
        f"an event has kind {kind} and schema {schema}, which this version does not know: upgrade Lithograph"
    )


def _decoder_of(cls: type[Event]) -> Callable[[bytes], Body[Event]]:
    # msgspec wants the type as a value here, which is not how type checkers see one.
    body: Any = Body
    return msgspec.msgpack.Decoder[Any](body[cls]).decode


def _decoder_of_unknown(kind: int, schema: int) -> Callable[[bytes], Body[Event]]:
    def decode(data: bytes) -> Body[Event]:
        body = _RAW_DECODER.decode(data)
        return Body(UnknownEvent(kind, schema, bytes(body.event)), body.actor, body.reason, body.name)

    return decode


def _malformed(kind: int, error: Exception) -> MalformedValue:
    return MalformedValue(f"the body of an event of kind {kind} cannot be read: {error}")
