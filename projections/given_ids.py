"""Ids for the messages in a write, so that the stream, the log and the state show the same one.

Objects of the caller are not changed: a message without an id is copied. Ids are drawn from the write's origin, in
order, and never those that a reducer mints from the same origin for what becomes a message only then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ..eventlog.errors import InvalidMessage
from ..eventlog.messages import coerce_message
from .cells import overwrite_of
from .ids import minted_ids
from .types import Overwrite

NewId = Callable[[], str]

_ROLES = frozenset({"user", "human", "assistant", "ai", "tool", "system", "function"})
_TYPES = frozenset({"human", "ai", "tool", "system", "function", "remove"})


def with_ids(value: Any, origin: tuple[Any, ...]) -> Any:
    """Return a message, or a list of them, with ids on message objects; anything else as it is."""
    return _each(value, _with_id, _source(origin))


def with_ids_for_delta(value: Any, origin: tuple[Any, ...]) -> Any:
    """Return a write to a `DeltaChannel` with ids on the messages in it, also on dicts that are messages.

    Its reducer is not told who wrote, so it could not give them ids that stay. In a list such a dict becomes a message.
    """
    mint = _source(origin)
    replaces, by = overwrite_of(value)
    if replaces:
        given = _each(by, _with_id, mint) if isinstance(by, list) else by
        return value if _all_same(given, by) else Overwrite(given)
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        return {**table, "id": mint()} if _is_message(table) and not table.get("id") else table
    return _each(value, _as_message, mint)


def _source(origin: tuple[Any, ...]) -> NewId:
    return minted_ids((*origin, "given"))


def _each(value: Any, to_message: Callable[[Any, NewId], Any], mint: NewId) -> Any:
    if isinstance(value, list):
        return [to_message(part, mint) for part in cast("list[Any]", value)]
    return to_message(value, mint)


def _all_same(given: Any, before: Any) -> bool:
    return given is before or all(a is b for a, b in zip(given, before, strict=True))


def _with_id(value: Any, mint: NewId) -> Any:
    copy = getattr(value, "model_copy", None)
    if copy is None or getattr(value, "id", "") is not None or not hasattr(value, "content"):
        return value
    return copy(update={"id": mint()})


def _as_message(value: Any, mint: NewId) -> Any:
    """Return a dict that is a message as one, with an id, and a message object with an id."""
    if not isinstance(value, dict) or not _is_message(cast("dict[str, Any]", value)):
        return _with_id(value, mint)
    try:
        return _with_id(coerce_message(value), mint)
    except InvalidMessage:
        # It only looks like one: the reducer says what it is.
        return cast("Any", value)


def _is_message(table: dict[str, Any]) -> bool:
    role, kind = table.get("role"), table.get("type")
    return (isinstance(role, str) and role in _ROLES) or (isinstance(kind, str) and kind in _TYPES)
