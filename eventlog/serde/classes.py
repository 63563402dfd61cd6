"""How registered classes are taken apart and built: dataclass, pydantic model, Enum, namedtuple, exception.

Building never runs user code: no `__init__`, no `__post_init__`, no validator; the attributes are put back as
they were. The shape begins with the kind and lists the fields, so a class whose fields changed is another
type and its old values read as `Opaque`.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from enum import Enum, Flag
from operator import attrgetter
from typing import Any, cast

from . import format as f
from .registry import Codec

CHANGED: Any = object()
"""What `rebuild` returns when a registered type no longer has what was stored: show it as `Opaque`."""

_BUILTINS = (int, float, str, bytes, bytearray, list, tuple, dict, set, frozenset)


def class_codec(cls: type, name: str) -> Codec:
    """Return the codec of a registrable class; raises TypeError for any other."""
    build = _kind(cls)
    if build is None:
        raise TypeError(
            f"{cls!r} cannot be registered: only dataclasses, pydantic v2 models, Enums, namedtuples and "
            f"exception classes can"
        )
    return build(cls, name)


def is_registrable(cls: Any) -> bool:
    """Say whether a class is of a kind that can be registered."""
    return isinstance(cls, type) and _kind(cls) is not None


def kind_name(cls: type) -> str:
    """Return what a class is, for messages: `dataclass`, `Enum` …, or an empty string."""
    build = _kind(cls)
    return "" if build is None else _KIND_NAMES[build]


def _kind(cls: type[Any]) -> Callable[[type, str], Codec] | None:
    if issubclass(cls, BaseException):
        return _exception
    if issubclass(cls, Enum):
        return _flag if issubclass(cls, Flag) else _enum
    if tuple in cls.__mro__ and isinstance(getattr(cls, "_fields", None), tuple):
        return _namedtuple
    if issubclass(cls, _BUILTINS):
        return None
    if _is_pydantic(cls):
        return None if _is_message(cls) else _pydantic
    return _dataclass if dataclasses.is_dataclass(cls) else None


def _is_pydantic(cls: type) -> bool:
    module = sys.modules.get("pydantic")
    base = None if module is None else getattr(module, "BaseModel", None)
    return base is not None and issubclass(cls, base) and cls is not base


def _is_message(cls: type) -> bool:
    from ..messages import is_message_class

    return is_message_class(cls)


def _dotted(names: list[str]) -> Callable[[Any, int], str]:
    return lambda value, index: f".{names[index]}" if index < len(names) else ".__dict__"


def _getter(names: list[str]) -> Callable[[Any], list[Any]]:
    if len(names) > 1:
        get = attrgetter(*names)
        return lambda value: list(get(value))
    return lambda value: [getattr(value, name) for name in names]


def _dataclass(cls: type[Any], name: str) -> Codec:
    names = [field.name for field in dataclasses.fields(cls)]
    count = len(names)
    known = frozenset(names)
    get = _getter(names)
    new: Any = object.__new__
    put: Any = object.__setattr__

    def explode(value: Any) -> list[Any]:
        parts = get(value)
        own = getattr(value, "__dict__", None)
        if own and not known.issuperset(own):
            parts.append({key: own[key] for key in own if key not in known})
        return parts

    def rebuild(parts: list[Any]) -> Any:
        value = new(cls)
        for key, part in zip(names, parts, strict=False):
            put(value, key, part)
        if len(parts) > count:
            value.__dict__.update(parts[count])
        return value

    return _object(cls, name, "dataclass", names, explode, rebuild)


def _namedtuple(cls: type[Any], name: str) -> Codec:
    names = list(cls._fields)
    new: Any = cast(Any, tuple).__new__

    def explode(value: Any) -> list[Any]:
        own = getattr(value, "__dict__", None)
        return [*value, own] if own else list(value)

    def rebuild(parts: list[Any]) -> Any:
        value = new(cls, parts[: len(names)])
        if len(parts) > len(names):
            value.__dict__.update(parts[len(names)])
        return value

    return _object(cls, name, "namedtuple", names, explode, rebuild)


def _enum(cls: type[Any], name: str) -> Codec:
    members = cls.__members__

    def rebuild(parts: list[Any]) -> Any:
        member = members.get(parts[0])
        return member if member is not None and _same(member._value_, parts[1]) else CHANGED

    return _object(cls, name, "enum", ["name", "value"], lambda member: [member._name_, member._value_], rebuild)


def _same(one: Any, other: Any) -> bool:
    """Say whether an Enum member still has the value that was stored with it; NaN is itself."""
    return type(one) is type(other) and (one == other or (one != one and other != other))


def _flag(cls: type[Any], name: str) -> Codec:
    def rebuild(parts: list[Any]) -> Any:
        if type(parts[0]) is not int:
            raise ValueError("a flag is an int")
        try:
            member = cls(parts[0])
        except ValueError:
            return CHANGED
        # Some Pythons (3.11.2) drop the bits they do not know instead of refusing them; a flag may be told to.
        return member if type(member) is cls and member._value_ == parts[0] else CHANGED

    return _object(cls, name, "flag", ["value"], lambda member: [member._value_], rebuild)


def _exception(cls: type[Any], name: str) -> Codec:
    base: Any = next(base for base in cls.__mro__ if base.__module__ == "builtins")

    def explode(error: Any) -> list[Any]:
        own = error.__dict__
        return [list(error.args), own] if own else [list(error.args)]

    def rebuild(parts: list[Any]) -> Any:
        error = base.__new__(cls, *parts[0])  # not the class's own __new__, which is user code
        error.args = tuple(parts[0])
        if len(parts) > 1:
            error.__dict__.update(parts[1])
        return error

    return _object(cls, name, "exception", ["args", "__dict__"], explode, rebuild, open_ended=True)


def _pydantic(cls: type[Any], name: str) -> Codec:
    names = list(cls.model_fields)
    known = frozenset(names)
    labels = [*names, "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__", "__dict__"]
    count = len(names)
    new: Any = object.__new__
    put: Any = object.__setattr__

    def explode(model: Any) -> list[Any]:
        own = model.__dict__
        parts = [own[key] for key in names]
        was_set = model.__pydantic_fields_set__
        parts.append(None if was_set == known else [key for key in names if key in was_set] + sorted(was_set - known))
        parts.append(model.__pydantic_extra__)
        parts.append(model.__pydantic_private__)
        parts.append({key: own[key] for key in own if key not in known} if len(own) > count else None)
        return parts

    def rebuild(parts: list[Any]) -> Any:
        *fields, was_set, extra, private, rest = parts
        if len(fields) != count:
            raise ValueError(f"{name} has {count} fields")
        own = dict(zip(names, fields, strict=True))
        if rest:
            own.update(rest)
        model = new(cls)
        put(model, "__dict__", own)
        put(model, "__pydantic_extra__", extra)
        put(model, "__pydantic_fields_set__", set(known) if was_set is None else set(was_set))
        put(model, "__pydantic_private__", private)
        return model

    codec = _object(cls, name, "pydantic", names, explode, rebuild, open_ended=True)
    codec.label = _dotted(labels)
    return codec


def _object(
    cls: type,
    name: str,
    kind: str,
    names: list[str],
    explode: Callable[[Any], list[Any]],
    rebuild: Callable[[list[Any]], Any],
    *,
    open_ended: bool = False,
) -> Codec:
    """Make the codec of a registered class, whose decoded parts are checked for number."""
    count = len(names)

    def checked(parts: list[Any]) -> Any:
        if type(parts) is not list or not (open_ended or count <= len(parts) <= count + 1):
            raise ValueError(f"{name} has {count} fields")
        return rebuild(parts)

    shape = f"{kind} {','.join(names)}"
    return Codec(cls, f.OBJECT, explode, checked, label=_dotted(names), name=name, shape=shape)


_KIND_NAMES: dict[Callable[[type, str], Codec], str] = {
    _dataclass: "dataclass",
    _namedtuple: "namedtuple",
    _enum: "Enum",
    _flag: "Enum",
    _exception: "exception class",
    _pydantic: "pydantic model",
}
