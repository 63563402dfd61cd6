"""Codecs of classes with named fields: dataclasses, msgspec Structs, namedtuples, pydantic models."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from types import MemberDescriptorType
from typing import Any, cast

import msgspec

from .objects import Attributes, object_codec, static
from .registry import Codec


def dataclass_codec(cls: type[Any], name: str) -> Codec:
    """Return the codec of a dataclass: with slots or not, frozen or not, whatever its `__init__` takes.

    A field that a data descriptor covers (a property, say) has no value of its own: what the descriptor keeps is
    stored as what it is, an attribute.
    """
    names = [field.name for field in dataclasses.fields(cls) if not _is_covered(static(cls, field.name))]
    slots = {key: member for key in names if type(member := static(cls, key)) is MemberDescriptorType}
    in_dict = [(place, key) for place, key in enumerate(names) if key not in slots]
    in_slots = [(place, slots[key]) for place, key in enumerate(names) if key in slots]
    new: Any = object.__new__
    count, get, rest = len(names), _getter(names), Attributes(cls, names)

    def explode(value: Any) -> list[Any]:
        parts = get(value)
        more = rest.of(value)
        if more is not None:
            parts.append(more)
        return parts

    def rebuild(parts: list[Any]) -> Any:
        value = new(cls)
        if in_dict:
            own = value.__dict__
            for place, key in in_dict:
                own[key] = parts[place]
        for place, member in in_slots:
            member.__set__(value, parts[place])
        if len(parts) > count:
            rest.put(value, parts[count])
        return value

    return object_codec(cls, name, "dataclass", names, explode, rebuild)


def struct_codec(cls: type[Any], name: str) -> Codec:
    """Return the codec of a msgspec Struct."""
    names: list[str] = list(cls.__struct_fields__)
    members = [static(cls, key) for key in names]
    get, rest = _getter(names), Attributes(cls, names)
    template, copy = _blank_struct(cls), cast(Any, msgspec.Struct).__copy__

    def explode(value: Any) -> list[Any]:
        parts = get(value)
        more = rest.of(value)
        return parts if more is None else [*parts, more]

    def rebuild(parts: list[Any]) -> Any:
        value = copy(template)
        for member, part in zip(members, parts, strict=False):
            member.__set__(value, part)
        if len(parts) > len(names):
            rest.put(value, parts[-1])
        return value

    return object_codec(cls, name, "struct", names, explode, rebuild)


def _blank_struct(cls: type[Any]) -> Any:
    """Return an instance that no `__post_init__` has seen: there is no other way to a Struct than its constructor."""
    maker: Any = cls
    if hasattr(cls, "__post_init__"):
        meta: Any = type(cls)
        maker = meta(cls.__name__, (cls,), {"__post_init__": _nothing, "__module__": cls.__module__})
    blank: Any = maker(**dict.fromkeys(cls.__struct_fields__))
    vars(object)["__class__"].__set__(blank, cls)
    return blank


def _nothing(_self: Any) -> None:
    """Stand for a class's own `__post_init__`."""


def namedtuple_codec(cls: type[Any], name: str) -> Codec:
    """Return the codec of a namedtuple."""
    names: list[str] = list(cls._fields)
    rest = Attributes(cls)
    new: Any = cast(Any, tuple).__new__
    plain: Any = cast(Any, tuple).__getitem__

    def explode(value: Any) -> list[Any]:
        more = rest.of(value)
        parts = list(plain(value, slice(None)))
        return parts if more is None else [*parts, more]

    def rebuild(parts: list[Any]) -> Any:
        value = new(cls, parts[: len(names)])
        if len(parts) > len(names):
            rest.put(value, parts[-1])
        return value

    return object_codec(cls, name, "namedtuple", names, explode, rebuild)


def pydantic_codec(cls: type[Any], name: str) -> Codec:
    """Return the codec of a pydantic v2 model: its fields, which of them were set, extra and private attributes."""
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

    return object_codec(cls, name, "pydantic", names, explode, rebuild, labels=labels, open_ended=True)


def _getter(names: list[str]) -> Callable[[Any], list[Any]]:
    if len(names) > 1:
        get = attrgetter(*names)
        return lambda value: list(get(value))
    return lambda value: [getattr(value, name) for name in names]


def _is_covered(attribute: Any) -> bool:
    """Say whether what a class has under a field's name is a data descriptor other than a slot."""
    kind: Any = cast(Any, type(attribute))
    return hasattr(kind, "__set__") and kind is not MemberDescriptorType
