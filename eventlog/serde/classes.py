"""Which classes can be registered, and as what: dataclass, pydantic model, Struct, Enum, namedtuple, exception …

The shape of a class begins with its kind and lists the fields, so a class whose fields changed is another type
and its old values read as `Opaque`. How each kind is taken apart and built is in `records`, `enums` and `bases`.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from enum import Enum, Flag
from typing import Any

import msgspec

from . import bases, enums, records
from .objects import CHANGED, has_foreign_new
from .registry import Codec

__all__ = ["CHANGED", "class_codec", "is_registrable", "kind_name"]

Build = Callable[[type[Any], str], Codec]


def class_codec(cls: type, name: str) -> Codec:
    """Return the codec of a registrable class; raises TypeError for any other."""
    build = _kind(cls)
    if build is None:
        raise TypeError(
            f"{cls!r} cannot be registered: only dataclasses, pydantic v2 models, msgspec Structs, Enums, namedtuples, "
            f"exception classes and subclasses of built-in types can"
        )
    return build(cls, name)


def is_registrable(cls: Any) -> bool:
    """Say whether a class is of a kind that can be registered."""
    return isinstance(cls, type) and _kind(cls) is not None


def kind_name(cls: type) -> str:
    """Return what a class is, for messages: `dataclass`, `Enum` …, or an empty string."""
    build = _kind(cls)
    return "" if build is None else _KIND_NAMES[build]


def _kind(cls: type[Any]) -> Build | None:
    if issubclass(cls, BaseException):
        return bases.exception_codec
    if issubclass(cls, Enum):
        return enums.flag_codec if issubclass(cls, Flag) else enums.enum_codec
    if tuple in cls.__mro__ and isinstance(getattr(cls, "_fields", None), tuple):
        return records.namedtuple_codec
    if bases.builtin_base(cls) is not None:
        return bases.subclass_codec
    if issubclass(cls, msgspec.Struct):
        return records.struct_codec if cls is not msgspec.Struct else None
    if _is_pydantic(cls):
        return None if _is_message(cls) else records.pydantic_codec
    return records.dataclass_codec if dataclasses.is_dataclass(cls) and not has_foreign_new(cls, object) else None


def _is_pydantic(cls: type) -> bool:
    module = sys.modules.get("pydantic")
    base = None if module is None else getattr(module, "BaseModel", None)
    return base is not None and issubclass(cls, base) and cls is not base


def _is_message(cls: type) -> bool:
    from ..messages import is_message_class

    return is_message_class(cls)


_KIND_NAMES: dict[Build, str] = {
    records.dataclass_codec: "dataclass",
    records.struct_codec: "msgspec Struct",
    records.namedtuple_codec: "namedtuple",
    records.pydantic_codec: "pydantic model",
    enums.enum_codec: "Enum",
    enums.flag_codec: "Enum",
    bases.exception_codec: "exception class",
    bases.subclass_codec: "subclass of a built-in type",
}
