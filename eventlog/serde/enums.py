"""Codecs of Enums: a member is stored with its value, and is only the same member while it has that value."""

from __future__ import annotations

from enum import Flag
from typing import Any, cast

from .objects import CHANGED, object_codec
from .registry import Codec

_missing: Any = vars(Flag)["_missing_"].__func__
"""What makes a combination of flags; a class's own `_missing_` is user code."""
_COMPARED = (type(None), bool, int, float, complex, str, bytes)


def enum_codec(cls: type[Any], name: str) -> Codec:
    """Return the codec of an Enum."""
    members = cls.__members__

    def rebuild(parts: list[Any]) -> Any:
        member = members.get(parts[0])
        return member if member is not None and _same(member._value_, parts[1]) else CHANGED

    return object_codec(cls, name, "enum", ["name", "value"], lambda member: [member._name_, member._value_], rebuild)


def flag_codec(cls: type[Any], name: str) -> Codec:
    """Return the codec of a Flag, whose members combine."""

    def rebuild(parts: list[Any]) -> Any:
        value = parts[0]
        if type(value) is not int:
            raise ValueError("a flag is an int")
        member = cls._value2member_map_.get(value)
        try:
            member = _missing(cls, value) if member is None else member
        except ValueError:
            return CHANGED
        # Some Pythons (3.11.2) drop the bits they do not know instead of refusing them; a flag may be told to.
        return member if type(member) is cls and member._value_ == value else CHANGED

    return object_codec(cls, name, "flag", ["value"], lambda member: [member._value_], rebuild)


def _same(one: Any, other: Any) -> bool:
    """Say whether a member still has the value that was stored with it; NaN is itself.

    Only built-in values are compared: the comparison of any other is user code.
    """
    if type(one) is not type(other):
        return False
    if type(one) in _COMPARED:
        return one == other or (one != one and other != other)
    if type(one) is tuple or type(one) is list:
        pairs = cast("tuple[Any, ...]", one), cast("tuple[Any, ...]", other)
        return len(pairs[0]) == len(pairs[1]) and all(map(_same, *pairs))
    return True
