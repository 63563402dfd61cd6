"""What changed between two values, decided on encoded bytes: never on identity, never on `==`.

So an element edited in place is seen, and `1`, `1.0` and `True` are three values. The outcome is the smallest of a
splice (kept prefix and suffix), entries (keys removed and set) and the whole value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    whole = values.encode(new)
    if old is None or not isinstance(whole, bytes):
        return ResultOp.WHOLE, whole
    change = None
    if type(new) is list and type(old.value) is list:
        change = _splice_lists(old.value, new, values)
    elif type(new) is str and type(old.value) is str:
        change = _splice_texts(old.value, new, values)
    elif type(new) is dict and type(old.value) is dict:
        change = _entries(old.value, new, values)
    if change is None or change[1] + _OVERHEAD >= len(whole):
        return ResultOp.WHOLE, whole
    return change[0]


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


def _splice_lists(old: list[Any], new: list[Any], values: Values) -> tuple[Change, int] | None:
    before, after = values.encode_elements(old), values.encode_elements(new)
    prefix, suffix = common_ends(before, after)
    middle = values.encode(new[prefix : len(new) - suffix])
    return ((ResultOp.SPLICE, [prefix, suffix, middle]), len(middle)) if isinstance(middle, bytes) else None


def _splice_texts(old: str, new: str, values: Values) -> tuple[Change, int] | None:
    prefix, suffix = common_ends(old, new)
    middle = values.encode(new[prefix : len(new) - suffix])
    return ((ResultOp.SPLICE, [prefix, suffix, middle]), len(middle)) if isinstance(middle, bytes) else None


def _entries(old: dict[Any, Any], new: dict[Any, Any], values: Values) -> tuple[Change, int] | None:
    before, after = _encoded_items(old, values), _encoded_items(new, values)
    removed = [key for part, key in _keys(old, values) if part not in after]
    kept = [part for part in before if part in after]
    # Setting keeps a key's place and adds new keys at the end; any other order needs the whole value.
    if list(after)[: len(kept)] != kept:
        return None
    changed = [[key, new[key]] for part, key in _keys(new, values) if before.get(part) != after[part]]
    gone, put = values.encode(removed), values.encode(changed)
    if not isinstance(gone, bytes) or not isinstance(put, bytes):
        return None
    return (ResultOp.ENTRIES, [gone, put]), len(gone) + len(put)


def _keys(table: dict[Any, Any], values: Values) -> list[tuple[bytes, Any]]:
    return list(zip(values.encode_elements(list(table)), table, strict=True))


def _encoded_items(table: dict[Any, Any], values: Values) -> dict[bytes, bytes]:
    keys = values.encode_elements(list(table))
    return dict(zip(keys, values.encode_elements(list(table.values())), strict=True))
