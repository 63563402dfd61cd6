"""What the codecs of registered classes share: the stored shape, and the attributes that are no fields.

Building never runs user code: no `__init__`, no `__post_init__`, no validator, no descriptor. Attributes are put back
where they were, in the instance's `__dict__` or in its slots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MemberDescriptorType
from typing import Any

from . import format as f
from .registry import Codec

CHANGED: Any = object()
"""What `rebuild` returns when a registered type no longer has what was stored: show it as `Opaque`."""

_NO_ATTRIBUTE = frozenset({"__orig_class__"})
"""What `typing` notes on an instance of `Box[int]`: no part of the value."""


def object_codec(
    cls: type,
    name: str,
    kind: str,
    names: list[str],
    explode: Callable[[Any], list[Any]],
    rebuild: Callable[[list[Any]], Any],
    *,
    labels: list[str] | None = None,
    open_ended: bool = False,
) -> Codec:
    """Make the codec of a registered class, whose decoded parts are checked for number."""
    count = len(names)

    def checked(parts: list[Any]) -> Any:
        if type(parts) is not list or not (open_ended or count <= len(parts) <= count + 1):
            raise ValueError(f"{name} has {count} fields")
        return rebuild(parts)

    shape = f"{kind} {','.join(names)}"
    return Codec(cls, f.OBJECT, explode, checked, label=_dotted(labels or names), name=name, shape=shape)


def _dotted(names: list[str]) -> Callable[[Any, int], str]:
    return lambda value, index: f".{names[index]}" if index < len(names) else ".__dict__"


def static(cls: type, name: str) -> Any:
    """Return what a class has under a name, as it lies there: no descriptor is asked. `None` when there is nothing."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def has_foreign_new(cls: type, base: type) -> bool:
    """Say whether a type written in C lies between a class and the base of which a blank instance would be made."""
    between = cls.__mro__[: cls.__mro__.index(base)]
    return any(isinstance(vars(each).get("__new__"), _C_FUNCTION) for each in between)


class Attributes:
    """What instances of a class hold beside their fields: further slots, and what is in `__dict__`."""

    def __init__(self, cls: type, fields: Iterable[str] = ()) -> None:
        self._fields = frozenset(fields)
        self._known = self._fields | _NO_ATTRIBUTE
        self._slots = {
            name: member
            for base in reversed(cls.__mro__)
            for name, member in vars(base).items()
            if type(member) is MemberDescriptorType and name not in self._fields and base.__flags__ & _HEAP_TYPE
        }

    def of(self, value: Any) -> dict[str, Any] | None:
        """Return them by name, or `None` when there are none."""
        own: dict[str, Any] = getattr(value, "__dict__", _NOTHING)
        if not self._slots and self._known.issuperset(own):
            return None
        found = {key: own[key] for key in own if key not in self._known}
        for name, member in self._slots.items():
            try:
                found[name] = member.__get__(value)
            except AttributeError:
                continue  # an empty slot
        return found or None

    def put(self, value: Any, attributes: dict[str, Any]) -> None:
        """Put attributes back where they were."""
        for name, part in attributes.items():
            if name in self._slots:
                self._slots[name].__set__(value, part)
            else:
                value.__dict__[name] = part


_NOTHING: dict[str, Any] = {}
_HEAP_TYPE = 1 << 9
_C_FUNCTION = type(object.__new__)
