"""Which codec a value or a stored extension belongs to: Python's own compound types, messages, the registry.

`Types` is the closed list in one place: encoding asks `codec(cls)`, decoding asks `build(code, payload)`.
Neither imports anything that a stored value names. Read `registry` for user classes, `scalars` for leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from . import classes, scalars
from . import format as f
from .opaque import Opaque, StoredError, describe_error
from .registry import Codec, TypeRegistry

Unpack = Callable[[bytes], Any]
"""Decodes the payload of an extension, one level deeper."""


class Types:
    """The codecs of one serializer: Python's compound types, and a registry's."""

    def __init__(self, registry: TypeRegistry) -> None:
        self.registry = registry
        self._known = dict(_COMPOUND)

    def codec(self, cls: type, value: Any) -> Codec | None:
        """Return how a value of exactly this class is stored, or `None` when it is not."""
        known = self._known.get(cls) or self.registry.codec(cls)
        if known is not None:
            return known
        return ERROR if isinstance(value, BaseException) else self._message(cls)

    def _message(self, cls: type) -> Codec | None:
        from ..messages import message_codec

        codec = message_codec(cls)
        if codec is not None:
            self._known[cls] = codec
        return codec

    def advice(self, cls: type) -> str:
        """Return why a class has no stored form, and what to do about it."""
        kind = classes.kind_name(cls)
        if kind:
            return (
                f"this {kind} is not registered; name it in the graph's annotations or call "
                f"registry.register({cls.__qualname__})"
            )
        base = next((base for base in cls.__mro__[1:] if base in _CONVERTIBLE), None)
        if base is not None:
            return f"a subclass of {base.__name__} would come back as {base.__name__}; convert it yourself"
        return "the type has no stored form; store data made of built-in types, or a registered dataclass"

    def build(self, code: int, payload: bytes, unpack: Unpack) -> Any:
        """Return the value of a stored extension; what the registry does not know becomes `Opaque`."""
        scalar = scalars.DECODERS.get(code)
        if scalar is not None:
            return _scalar(code, payload, scalar)
        if code == f.OBJECT:
            return self._object(payload, unpack)
        if code == f.SET or code == f.FROZENSET or code == f.MAPPING or code == f.TUPLE:
            return _COLLECTIONS[code](unpack(payload))
        if code == f.MESSAGE:
            return _message(unpack(payload))
        if code == f.STORED_ERROR:
            return _stored_error(unpack(payload))
        if code == f.BUILTIN_ERROR:
            return _builtin_error(unpack(payload))
        if f.NATIVE_FIRST <= code <= f.NATIVE_LAST:
            codec = self.registry.native(code)
            parts = unpack(payload)
            if codec is not None:
                return codec.rebuild(parts)
            return Opaque(f"native {code}", parts, bytes((code,)) + payload)
        raise ValueError(f"extension code {code} is unknown")

    def _object(self, payload: bytes, unpack: Unpack) -> Any:
        name, shape, parts = unpack(payload)
        codec = self.registry.named(name, shape)
        built = classes.CHANGED if codec is None else codec.rebuild(parts)
        if built is not classes.CHANGED:
            return built
        return Opaque(name, _by_name(shape, parts), bytes((f.OBJECT,)) + payload)


def _scalar(code: int, payload: bytes, decode: Callable[[bytes], Any]) -> Any:
    try:
        return decode(payload)
    except scalars.UnknownZone as error:
        return Opaque(f"value in time zone {error}", [payload], bytes((code,)) + payload)


def _by_name(shape: str, parts: Any) -> Any:
    """Return the fields of an unregistered class: a dict where its shape names them all, else the list."""
    names = shape.partition(" ")[2].split(",")
    if not isinstance(parts, list):
        return parts
    listed = cast("list[Any]", parts)
    return dict(zip(names, listed, strict=True)) if len(names) == len(listed) else listed


def _unique(kind: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    def build(members: list[Any]) -> Any:
        built = kind(members)
        if type(members) is not list or len(built) != len(members):
            raise ValueError("a set's members are a list and differ")
        return built

    return build


def _tuple(members: list[Any]) -> tuple[Any, ...]:
    if type(members) is not list:
        raise ValueError("a tuple's members are a list")
    return tuple(members)


def _mapping(flat: list[Any]) -> dict[Any, Any]:
    built = dict(zip(flat[::2], flat[1::2], strict=True))
    if type(flat) is not list or 2 * len(built) != len(flat):
        raise ValueError("a mapping's keys differ")
    return built


def _message(parts: list[Any]) -> Any:
    from ..messages import rebuild_message

    return rebuild_message(parts)


def _stored_error(parts: Any) -> StoredError:
    name, text, shown, args = parts
    return StoredError(name, text, shown, None if args is None else tuple(args))


def _builtin_error(parts: Any) -> BaseException:
    name, args, *own = parts
    error = _BUILTIN_ERRORS[name](*args)
    if own:
        error.__dict__.update(own[0])
    return error


def _explode_builtin(error: Any) -> list[Any]:
    args = list(error.__reduce__()[1])  # OSError keeps a file name there that is not in its args
    own = error.__dict__
    return [type(error).__name__, args, own] if own else [type(error).__name__, args]


def _explode_error(error: BaseException) -> list[Any]:
    return [*describe_error(error), list(error.args)]


def _explode_stored(error: StoredError) -> list[Any]:
    return [error.type_name, error.text, error.repr, None if error.args is None else list(error.args)]


def _key_label(value: Any, index: int) -> str:
    return ".<member>"


def _error_label(value: Any, index: int) -> str:
    return (".type", ".text", ".repr", ".args")[index]


def _builtin_label(value: Any, index: int) -> str:
    return (".type", ".args", ".__dict__")[index]


_COLLECTIONS: dict[int, Callable[[list[Any]], Any]] = {
    f.TUPLE: _tuple,
    f.SET: _unique(set),
    f.FROZENSET: _unique(frozenset),
    f.MAPPING: _mapping,
}

_CONVERTIBLE = (bool, int, float, str, bytes, bytearray, list, tuple, dict, set, frozenset)

_BUILTIN_ERRORS: dict[str, type[BaseException]] = {
    cls.__name__: cls
    for cls in (
        ArithmeticError, AssertionError, AttributeError, BlockingIOError, BrokenPipeError, BufferError,
        ChildProcessError, ConnectionAbortedError, ConnectionError, ConnectionRefusedError,
        ConnectionResetError, EOFError, Exception, FileExistsError, FileNotFoundError, FloatingPointError,
        ImportError, IndexError, InterruptedError, IsADirectoryError, KeyError, KeyboardInterrupt,
        LookupError, MemoryError, ModuleNotFoundError, NameError, NotADirectoryError, NotImplementedError,
        OSError, OverflowError, PermissionError, ProcessLookupError, RecursionError, ReferenceError,
        RuntimeError, StopAsyncIteration, StopIteration, SystemExit, TimeoutError, TypeError,
        UnboundLocalError, UnicodeDecodeError, UnicodeEncodeError, UnicodeError, UnicodeTranslateError,
        ValueError, ZeroDivisionError, UserWarning, RuntimeWarning, DeprecationWarning, Warning,
    )
}  # fmt: skip
"""The closed list of exceptions that come back as what they were, whatever Python reads them."""

ERROR = Codec(BaseException, f.STORED_ERROR, _explode_error, _stored_error, label=_error_label)
"""Any exception that is neither in the list nor registered."""

_COMPOUND: dict[type, Codec] = {
    tuple: Codec(tuple, f.TUPLE, list, _tuple),
    set: Codec(set, f.SET, list, set, label=_key_label, sort=True),
    frozenset: Codec(frozenset, f.FROZENSET, list, frozenset, label=_key_label, sort=True),
    StoredError: Codec(StoredError, f.STORED_ERROR, _explode_stored, _stored_error, label=_error_label),
} | {
    cls: Codec(cls, f.BUILTIN_ERROR, _explode_builtin, _builtin_error, label=_builtin_label)
    for cls in _BUILTIN_ERRORS.values()
}
