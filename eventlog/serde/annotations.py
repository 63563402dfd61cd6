"""Which classes an annotation leads to: the types that a graph's values can be made of.

Follows generics, unions, `Annotated`, TypedDict, dataclass, namedtuple and pydantic fields, and string
annotations that resolve. What does not resolve is passed over: the value is then refused when it is met, with
the name of the class to register.
"""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Iterator
from typing import Any, cast

from .classes import is_registrable


def classes_in(annotation: Any) -> list[type]:
    """Return every registrable class that an annotation leads to, in the order in which they are met."""
    found: list[type] = []
    seen: set[int] = set()
    keep: list[Any] = []  # ids stay unique only while the objects live
    todo: list[Any] = [annotation]
    while todo:
        item = todo.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        keep.append(item)
        if is_registrable(item):
            found.append(item)
        todo.extend(_inner(item))
    return found


def _inner(item: Any) -> Iterator[Any]:
    """Yield what an annotation is made of, one step down."""
    origin = typing.get_origin(item)
    if origin is not None:
        yield origin
        yield from _arguments(item)
        return
    if isinstance(item, typing.TypeVar):
        yield from item.__constraints__ or (item.__bound__,)
    elif isinstance(item, typing.NewType):
        yield item.__supertype__
    elif hasattr(item, "__value__") and not isinstance(item, type):
        yield item.__value__  # a `type X = …` alias
    elif isinstance(item, type) and _has_fields(item):
        yield from _hints(item).values()
        yield from (field.annotation for field in getattr(item, "model_fields", {}).values())


def _arguments(item: Any) -> Iterator[Any]:
    if typing.get_origin(item) is typing.Literal:
        return iter([cast("type[Any]", type(value)) for value in typing.get_args(item)])
    return iter(argument for argument in typing.get_args(item) if not isinstance(argument, str))


def _has_fields(cls: type[Any]) -> bool:
    if cls.__module__.startswith("langchain_core.messages"):
        return False  # their fields hold nothing to register, and resolving them costs more than all else
    return (
        hasattr(cls, "__required_keys__")  # a TypedDict, typing's or typing_extensions'
        or dataclasses.is_dataclass(cls)
        or hasattr(cls, "_fields")
        or hasattr(cls, "model_fields")
    )


def _hints(cls: type) -> dict[str, Any]:
    """Return a class's resolved annotations; those that do not resolve are left out, one by one."""
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError):
        return {name: hint for base in reversed(cls.__mro__) for name, hint in _own_hints(base)}


def _own_hints(cls: type) -> Iterator[tuple[str, Any]]:
    names = vars(sys.modules.get(cls.__module__, typing)) | {cls.__name__: cls} | dict(vars(cls))
    for name, hint in vars(cls).get("__annotations__", {}).items():
        holder = type("Holder", (), {"__annotations__": {name: hint}, "__module__": cls.__module__})
        try:
            yield name, typing.get_type_hints(holder, localns=names, include_extras=True)[name]
        except (NameError, TypeError, AttributeError, SyntaxError):
            continue
