"""What a caller gives: how it is stored, and the step that an input makes."""

from __future__ import annotations

from typing import Any, cast

from ..eventlog.events import ChannelResult, ResultOp
from ..eventlog.record import NO_ID
from ..eventlog.texts import checked_text
from ..projections.cells import Values, Written
from ..projections.types import INPUT, START
from ..projections.values import encoded_for
from .loop import Loop
from .rules import Closed, Finished
from .tasks import unchanged


def input_entries(given: Any, values: Values) -> list[tuple[str, Written]]:
    """Return an input as it is stored: key by key for a dict, else whole under `__start__`."""
    if type(given) is dict and all(type(key) is str for key in cast("dict[Any, Any]", given)):
        pairs: list[tuple[str, Any]] = list(cast("dict[str, Any]", given).items())
        for key, _value in pairs:
            checked_text(key, "the input's key")
    else:
        pairs = [(START, given)]
    return stored_once(pairs, NO_ID, (), values)


def stored_once(
    pairs: list[tuple[str, Any]], checkpoint: bytes, path: tuple[Any, ...], values: Values
) -> list[tuple[str, Written]]:
    """Encode what a caller gives to channels, and decode it again: from here on all see what a reader will see."""
    stored = values.fit([encoded_for(channel, value, values) for channel, value in pairs])
    written: list[tuple[str, Written]] = []
    for place, ((channel, value), data) in enumerate(zip(pairs, stored, strict=True)):
        decoded = value if values.plain else values.decode(data)
        written.append((channel, Written(data, (checkpoint, path, channel, place), values.decode, decoded)))
    return written


def close_input(loop: Loop, given: Any, entries: list[tuple[str, Written]], *, abandon: bool = True) -> Closed:
    """Return the step that an input makes: `__start__` holds it, and pending tasks are given up."""
    base = loop.state
    pending = loop.planned() if base is not None and abandon else ()
    abandoned = [Finished(task.name, task.path, task.triggers, ()) for task in pending]
    as_keys = type(given) is dict and (len(entries) != 1 or entries[0][0] != START)
    value = {key: written.value for key, written in entries} if as_keys else entries[0][1].value
    written = Written(None, (NO_ID, (), START, 0), unchanged, value)
    started = Finished(INPUT, (), (), ((START, written),))
    closed = loop.rules.close(loop.cells, loop.untracked, loop.versions(), [*abandoned, started], loop.values)
    if not as_keys:
        return closed
    keys = [key for key, _written in entries]
    results = [
        ChannelResult(START, ResultOp.INPUT, keys, b"") if change.channel == START else change
        for change in closed.results
    ]
    return closed._replace(results=results)
