"""Lifting events of older schemas to the one that the code knows.

A kind's schema rises when its fields change. Fields that were added at the end, with a default, need nothing here:
an older array is shorter and the defaults fill it. For any other change `LIFTS` holds a step from each version to
the next: a function from the fields as stored to the fields as the next version stores them. Steps are for ever,
like the logs they read. What is stored stays as it is: lifting is part of decoding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import msgspec

from .events import Body, Event, RawBody

Lift: TypeAlias = Callable[[list[Any]], list[Any]]

LIFTS: dict[tuple[int, int], Lift] = {}
"""The step that leads away from (kind, schema). Empty: every kind is still as it began."""

_FIELDS = msgspec.msgpack.Decoder(list[Any])
_RAW = msgspec.msgpack.Decoder(RawBody)


def lifting_decoder(cls: type[Event], schema: int) -> Callable[[bytes], Body[Event]] | None:
    """Return the function that decodes bodies of an older schema of a kind; `None` when its fields need no step."""
    steps = [lift for version in range(schema, cls.schema) if (lift := LIFTS.get((cls.kind, version)))]
    return partial(_lifted, cls, steps) if steps else None


def _lifted(cls: type[Event], steps: list[Lift], data: bytes) -> Body[Event]:
    body = _RAW.decode(data)
    fields = _FIELDS.decode(body.event)
    try:
        for lift in steps:
            fields = lift(fields)
    except (LookupError, TypeError, ValueError) as error:
        raise msgspec.ValidationError(f"its fields are not those of the schema it names: {error!r}") from error
    return Body(msgspec.convert(fields, cls), body.actor, body.reason, body.name)
