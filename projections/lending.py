"""What is lent out of a state: to nodes, routers and callers, who may change it down to the last element.

Cells, and the caches of folded threads, share one object for each value. So whatever leaves them is the receiver's own:
containers are copied at every depth. Texts, numbers and other things that nobody can change are shared. The messages of
a growing list are copied once: all receivers share those copies, which are to be replaced and not edited, for a
conversation is read at each turn, and copying it would make a turn cost its length (`docs/decisions/0007`). What a run
without a log passes on, and untracked values, are no part of this.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from enum import EnumMeta
from typing import Any, cast
from uuid import UUID

from ..eventlog.errors import ValueEncodingError
from ..eventlog.messages import is_message_class
from .cells import Cell, ListCell, Shapes, Values, own, own_input

_SAFE: frozenset[type] = frozenset(
    {
        *(type(None), bool, int, float, complex, str, bytes, range, UUID, Decimal),
        *(dt.datetime, dt.date, dt.time, dt.timedelta, dt.timezone),
    }
)
"""Types whose values nobody can change."""
_COPIED: frozenset[type] = frozenset({list, dict, set})
_messages: set[type] = set()
"""Classes of messages that were met."""


class UntrackedCell(Cell):
    """A value that is never stored, and so never copied either: nodes share the object itself."""

    __slots__ = ()

    def get(self) -> Any:
        """Return the value itself."""
        return self.value


def lent(cell: Cell, values: Values) -> Any:
    """Return a cell's value for somebody who may change it. Costs its containers; a list of texts is only copied."""
    value = cell.get()
    if type(value) in _SAFE or values.plain or isinstance(cell, UntrackedCell):
        return value
    try:
        if isinstance(cell, ListCell):
            return _lent_list(cell, value, values)
        return _with_own_parts(value, values) if type(value) in _COPIED else _copy(value, values)
    except RecursionError:
        return values.decode(values.raw(cell.value))


def lent_input(value: Any, values: Values) -> Any:
    """Return what was sent to a node, for the node to change."""
    return own_input(value) if values.plain else copied(value, values)


def copied(value: Any, values: Values) -> Any:
    """Return a copy of a value down to the last element; what could not be stored is returned as it is."""
    if type(value) in _SAFE or values.plain:
        return own(value)
    try:
        return _copy(value, values)
    except ValueEncodingError:
        # A node's result before it was looked at: it is refused, with the node's name, when it is to be stored.
        return own(value)
    except RecursionError:
        return values.decode(values.raw(value))


def _lent_list(cell: ListCell, value: list[Any], values: Values) -> list[Any]:
    """Make the elements of a list the receiver's own. What was found out of the first ones is not looked up again."""
    shapes = cell.backing.shapes
    if shapes.known < len(value):
        with cell.backing.lock:
            _learn(shapes, value, values)
    if shapes.deep:
        return _with_own_parts(value, values)
    if shapes.lent is not None:
        value = shapes.lent[: len(value)]
    return [part.copy() if type(part) in _COPIED else part for part in value] if shapes.flat else value


def _learn(shapes: Shapes, value: list[Any], values: Values) -> None:
    """Find out what the elements are that are not known yet, and copy the messages among them."""
    if shapes.known >= len(value):
        return
    tail = value[shapes.known :]
    kinds: set[type[Any]] = {type(part) for part in tail}
    if not _SAFE.issuperset(kinds):
        shapes.deep = shapes.deep or not all(map(_is_flat, tail))
        shapes.flat = shapes.flat or not all(map(_is_safe, kinds))
    if shapes.lent is None and any(_is_message(kind) for kind in kinds - _SAFE):
        shapes.lent = value[: shapes.known]
    if shapes.lent is not None:
        shapes.lent += [_copy(part, values) if part.__class__ in _messages else part for part in tail]
    shapes.known = len(value)


def _is_safe(kind: type) -> bool:
    return kind in _SAFE or _is_message(kind)


def _is_flat(part: Any) -> bool:
    """Tell whether a shallow copy of a part, or the part itself, shares nothing that can be changed."""
    kind = cast("type[Any]", type(part))
    if kind is dict:
        table = cast("dict[Any, Any]", part)
        return _SAFE.issuperset(map(type, table)) and _SAFE.issuperset(map(type, table.values()))
    return _SAFE.issuperset(map(type, part)) if kind in (list, tuple, set) else _is_safe(kind)


def _is_message(kind: type) -> bool:
    if kind in _messages:
        return True
    if is_message_class(kind):
        _messages.add(kind)
        return True
    return False


def _copy(value: Any, values: Values) -> Any:
    kind = cast("type[Any]", type(value))
    if kind in _COPIED:
        return _with_own_parts(own(value), values)
    if kind is tuple:
        parts = cast("tuple[Any, ...]", value)
        if _SAFE.issuperset(map(type, parts)):
            return parts
        return tuple(_copy(part, values) for part in parts)
    if kind in _SAFE or isinstance(kind, EnumMeta):
        return value
    return values.decode(values.raw(value))


def _with_own_parts(value: Any, values: Values) -> Any:
    """Return a container that is the receiver's already, with parts of its own; keys can have parts, and members."""
    if type(value) is list:
        items = cast("list[Any]", value)
        if not _SAFE.issuperset(map(type, items)):
            items[:] = [_copy(part, values) for part in items]
    elif type(value) is dict:
        _make_own(cast("dict[Any, Any]", value), values)
    elif type(value) is set:
        members = cast("set[Any]", value)
        if not _SAFE.issuperset(map(type, members)):
            copies = [_copy(member, values) for member in members]
            members.clear()
            members.update(copies)
    return cast("Any", value)


def _make_own(table: dict[Any, Any], values: Values) -> None:
    """Give a table parts of its own."""
    if not _SAFE.issuperset(map(type, table)):
        entries = [(_copy(key, values), part) for key, part in table.items()]
        table.clear()
        table.update(entries)
    if not _SAFE.issuperset(map(type, table.values())):
        for key, part in table.items():
            table[key] = _copy(part, values)
