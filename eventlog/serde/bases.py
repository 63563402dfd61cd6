"""Codecs of classes that derive from Python's own: exceptions, and subclasses of built-in types.

A subclass of a built-in type is stored as the plain value and what its instances hold beside it. Both are taken and
put back by the built-in type's own methods, whatever the subclass makes of `__iter__`, `__new__` or `__setitem__`.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, cast

from .objects import Attributes, has_foreign_new, object_codec
from .registry import Codec

_WHOLE = slice(None)
_list, _tuple, _dict, _set, _frozenset = cast("tuple[Any, ...]", (list, tuple, dict, set, frozenset))
_PLAIN: dict[type[Any], Callable[[Any], Any]] = {
    int: int.__index__,
    float: float.__float__,
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, _WHOLE),
    bytearray: lambda value: bytearray(memoryview(value)),
    list: lambda value: _list.__getitem__(value, _WHOLE),
    tuple: lambda value: _tuple.__getitem__(value, _WHOLE),
    dict: lambda value: _dict(_dict.items(value)),
    set: lambda value: _set(_set.__iter__(value)),
    frozenset: lambda value: _frozenset(_frozenset.__iter__(value)),
}
"""How the plain value of a subclass's instance is taken, without asking the subclass."""
_FILLED: dict[type[Any], Callable[[Any, Any], Any]] = {
    list: _list.extend,
    dict: _dict.update,
    set: _set.update,
    bytearray: bytearray.extend,
}
"""How one that can change gets it back; the others are made with it."""
_OTHER_LAYOUT = (OrderedDict, defaultdict)


def builtin_base(cls: type[Any]) -> type[Any] | None:
    """Return the built-in type that a class is a storable subclass of, or `None`."""
    base = next((each for each in cls.__mro__ if each in _PLAIN), None)
    if base is None or base is cls or cls.__module__ == "collections" or issubclass(cls, _OTHER_LAYOUT):
        return None
    if hasattr(cls, "__required_keys__") or has_foreign_new(cls, base):
        return None  # a TypedDict has no instances; a type written in C may have anything beside the plain value
    return base


def subclass_codec(cls: type[Any], name: str) -> Codec:
    """Return the codec of a subclass of a built-in type."""
    base = cast("type[Any]", builtin_base(cls))
    plain, fill, new = _PLAIN[base], _FILLED.get(base), cast(Any, base).__new__
    rest = Attributes(cls)

    def explode(value: Any) -> list[Any]:
        more = rest.of(value)
        return [plain(value)] if more is None else [plain(value), more]

    def rebuild(parts: list[Any]) -> Any:
        if type(parts[0]) is not base:
            raise ValueError(f"a subclass of {base.__name__} is made of one")
        if fill is None:
            value = new(cls, parts[0])
        else:
            value = new(cls)
            fill(value, parts[0])
        if len(parts) > 1:
            rest.put(value, parts[1])
        return value

    return object_codec(cls, name, base.__name__, ["value"], explode, rebuild)


def exception_codec(cls: type[Any], name: str) -> Codec:
    """Return the codec of an exception class: its arguments, and what was put on it."""
    base: Any = next(base for base in cls.__mro__ if base.__module__ == "builtins")
    args: Any = vars(BaseException)["args"]

    def explode(error: Any) -> list[Any]:
        own = error.__dict__
        given = list(base.__reduce__(error)[1])  # OSError keeps a file name there that is not in its args
        return [given, own] if own else [given]

    def rebuild(parts: list[Any]) -> Any:
        error = base.__new__(cls, *parts[0])  # not the class's own methods, which are user code
        base.__init__(error, *parts[0])
        if not issubclass(base, OSError):
            args.__set__(error, tuple(parts[0]))
        if len(parts) > 1:
            error.__dict__.update(parts[1])
        return error

    return object_codec(cls, name, "exception", ["args", "__dict__"], explode, rebuild, open_ended=True)
