"""`diff`: what differs between two checkpoints, channel by channel, down to the parts that differ.

Decided on stored bytes, never by `==`: so `1`, `1.0` and `True` are three values, and no code of a user's class runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, cast

from ..eventlog.log import EventLog
from ..eventlog.serde import Opaque, Serializer
from .cells import MISSING
from .queries import snapshot
from .splices import common_ends
from .types import ROOT

ADDED, REMOVED, CHANGED = "added", "removed", "changed"


class Change(NamedTuple):
    """One part that differs. `before` and `after` are `MISSING` where there is no such part."""

    path: tuple[Any, ...]
    """Keys, indexes and field names that lead to the part; empty for the whole value. An index is the old list's, for
    what was added the new one's; a member of a set is its own key."""
    kind: str
    """`added`, `removed` or `changed`."""
    before: Any
    after: Any


class ChannelDiff(NamedTuple):
    """What differs in one channel."""

    kind: str
    before: Any
    after: Any
    changes: tuple[Change, ...]


def diff(
    log: EventLog,
    config_a: Mapping[str, Any],
    config_b: Mapping[str, Any],
    *,
    serializer: Serializer | None = None,
) -> dict[str, ChannelDiff]:
    """Return what differs from one checkpoint to another, by channel, of one thread or of two; equal ones are left out.

    >>> diff(log, asked.config, answered.config)["decision"].changes

    A config without a checkpoint id means the thread as it stands. Raises `CheckpointNotFound`, `MissingThreadId`.
    """
    serializer = serializer or Serializer()
    before = _channels(snapshot(log, config_a, serializer=serializer).values)
    after = _channels(snapshot(log, config_b, serializer=serializer).values)
    found: dict[str, ChannelDiff] = {}
    for channel in {**before, **after}:
        old, new = before.get(channel, MISSING), after.get(channel, MISSING)
        changes = tuple(compare(old, new, serializer))
        if changes:
            found[channel] = ChannelDiff(_kind(old, new), old, new, changes)
    return found


def compare(old: Any, new: Any, serializer: Serializer, path: tuple[Any, ...] = ()) -> Iterator[Change]:
    """Yield the smallest parts in which two values differ, in the order of the old value, then of the new one."""
    if old is MISSING or new is MISSING:
        if old is not new:
            yield Change(path, _kind(old, new), old, new)
        return
    if serializer.encode(old) == serializer.encode(new):
        return
    parts = _parts(old, new, serializer)
    changes = [
        change for step, before, after in parts or () for change in compare(before, after, serializer, (*path, step))
    ]
    # Containers of the same parts may still differ, in order: then the whole is what changed.
    yield from changes or [Change(path, CHANGED, old, new)]


def _parts(old: Any, new: Any, serializer: Serializer) -> list[tuple[Any, Any, Any]] | None:
    """Return (step, old part, new part) of two values of one type, or `None` for values without parts."""
    if type(old) is not type(new):
        return None
    if type(old) is dict:
        return _entries(cast("dict[Any, Any]", old), cast("dict[Any, Any]", new), serializer)
    if type(old) in (list, tuple):
        return _elements([*cast("list[Any]", old)], [*cast("list[Any]", new)], serializer)
    if type(old) in (set, frozenset):
        return _members(old, new, serializer)
    if isinstance(old, Opaque):
        return _opaque_parts(old, new, serializer)
    if is_dataclass(old):
        names = [field.name for field in fields(cast("Any", old))]
        return [(name, getattr(old, name, MISSING), getattr(new, name, MISSING)) for name in names]
    return None


def _entries(old: dict[Any, Any], new: dict[Any, Any], serializer: Serializer) -> list[tuple[Any, Any, Any]]:
    before = {serializer.encode(key): (key, value) for key, value in old.items()}
    after = {serializer.encode(key): (key, value) for key, value in new.items()}
    gone = (MISSING, MISSING)
    return [
        ((before.get(part) or after[part])[0], before.get(part, gone)[1], after.get(part, gone)[1])
        for part in {**before, **after}
    ]


def _elements(old: list[Any], new: list[Any], serializer: Serializer) -> list[tuple[Any, Any, Any]]:
    prefix, suffix = common_ends(serializer.encode_elements(old), serializer.encode_elements(new))
    gone, come = old[prefix : len(old) - suffix], new[prefix : len(new) - suffix]
    longer = max(len(gone), len(come))
    gone += [MISSING] * (longer - len(gone))
    come += [MISSING] * (longer - len(come))
    return [(prefix + index, before, after) for index, (before, after) in enumerate(zip(gone, come, strict=True))]


def _members(old: Any, new: Any, serializer: Serializer) -> list[tuple[Any, Any, Any]]:
    before = {serializer.encode(member): member for member in cast("set[Any]", old)}
    after = {serializer.encode(member): member for member in cast("set[Any]", new)}
    removed = [(before[part], before[part], MISSING) for part in sorted(before) if part not in after]
    return removed + [(after[part], MISSING, after[part]) for part in sorted(after) if part not in before]


def _opaque_parts(old: Opaque, new: Opaque, serializer: Serializer) -> list[tuple[Any, Any, Any]] | None:
    before, after = old.fields, new.fields
    if old.name != new.name or type(before) is not dict or type(after) is not dict:
        return None
    return _entries(cast("dict[Any, Any]", before), cast("dict[Any, Any]", after), serializer)


def _channels(values: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", values) if type(values) is dict else {ROOT: values}


def _kind(old: Any, new: Any) -> str:
    return ADDED if old is MISSING else REMOVED if new is MISSING else CHANGED
