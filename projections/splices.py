"""What changed between two values, decided on encoded bytes: never on identity, never on `==`.

So an element edited in place is seen, and `1`, `1.0` and `True` are three values. The outcome is the smallest of a
splice (kept prefix and suffix), entries (keys removed and set) and the whole value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from ..eventlog.events import ResultOp
from .cells import Cell, Values

Change = tuple[int, Any]
"""(operation, data) of a `ChannelResult`."""

# What a splice or an entries result costs beside its data, in bytes; below that the whole value is as good.
_OVERHEAD = 8


def describe_change(old: Cell | None, new: Any, values: Values) -> Change:
    """Return the recorded form of a channel's new value, given the cell it had before."""
    if values.plain:
        return ResultOp.WHOLE, new
    whole = values.raw(new)
    change = None if old is None else _smaller(old.value, new, values)
    if change is None or change.size + _OVERHEAD >= len(whole):
        return ResultOp.WHOLE, values.store(whole)
    return change.op, [*change.kept, *map(values.store, change.parts)]


class _Smaller(NamedTuple):
    """A change that may be shorter to record than the whole value."""

    op: int
    kept: tuple[int, ...]
    parts: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """How many bytes it takes, about."""
        return sum(map(len, self.parts))


def _smaller(old: Any, new: Any, values: Values) -> _Smaller | None:
    kind = cast("Any", type(new))
    if kind is not type(old):
        return None
    if kind is list:
        return _splice(new, values.encode_elements(old), values.encode_elements(new), values)
    if kind is str:
        return _splice(new, old, new, values)
    return _entries(old, new, values) if kind is dict else None


def common_ends(old: Sequence[Any], new: Sequence[Any]) -> tuple[int, int]:
    """Return the lengths of the longest common prefix and, in what is left, suffix."""
    shorter = min(len(old), len(new))
    prefix = 0
    while prefix < shorter and old[prefix] == new[prefix]:
        prefix += 1
    suffix = 0
    while suffix < shorter - prefix and old[-1 - suffix] == new[-1 - suffix]:
        suffix += 1
    return prefix, suffix


def _splice(new: Any, before: Sequence[Any], after: Sequence[Any], values: Values) -> _Smaller:
    """Return the splice between two lists or strings; `before` and `after` are what decides that parts are equal."""
    prefix, suffix = common_ends(before, after)
    middle = values.raw(new[prefix : len(new) - suffix])
    return _Smaller(ResultOp.SPLICE, (prefix, suffix), (middle,))


def _entries(old: dict[Any, Any], new: dict[Any, Any], values: Values) -> _Smaller | None:
    before, after = _encoded_items(old, values), _encoded_items(new, values)
    removed = [key for part, key in _keys(old, values) if part not in after]
    kept = [part for part in before if part in after]
    # Setting keeps a key's place and adds new keys at the end; any other order needs the whole value.
    if list(after)[: len(kept)] != kept:
        return None
    changed = [[key, new[key]] for part, key in _keys(new, values) if before.get(part) != after[part]]
    return _Smaller(ResultOp.ENTRIES, (), (values.raw(removed), values.raw(changed)))


def _keys(table: dict[Any, Any], values: Values) -> list[tuple[bytes, Any]]:
    return list(zip(values.encode_elements(list(table)), table, strict=True))


def _encoded_items(table: dict[Any, Any], values: Values) -> dict[bytes, bytes]:
    keys = values.encode_elements(list(table))
    return dict(zip(keys, values.encode_elements(list(table.values())), strict=True))
