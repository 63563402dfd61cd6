"""Which codec a value or a stored extension belongs to: Python's own compound types, messages, the registry.

`Types` is the closed list in one place: encoding asks `codec(cls)`, decoding looks into `builders`.
Neither imports anything that a stored value names. Read `registry` for user classes, `scalars` for leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, cast

from . import classes, scalars
from . import format as f
from .opaque import Opaque, StoredError, describe_error
from .registry import Codec, TypeRegistry

Unpack = Callable[[memoryview], Any]
"""Decodes the payload of an extension, one level deeper."""

Builder = Callable[[memoryview, Unpack], Any]
"""Builds a value from its payload."""


class Types:
    """The codecs of one serializer: Python's compound types, messages, and a registry's.

    Encoding asks `codec`, decoding looks into `builders`: extension code to what builds the value from its
    payload. How a class is stored never changes once it is known, so callers may keep what they got.
    """

    def __init__(self, registry: TypeRegistry) -> None:
        self._registry = registry
        self._named: dict[tuple[str, str], Codec] = {}
        self.unknown: set[str] = set()
        """Names of types that were met in stored values and are not registered."""
        self.builders: dict[int, Builder] = {
            **_BUILDERS,
            f.OBJECT: self._object,
            **{code: partial(self._native, code) for code in range(f.NATIVE_FIRST, f.NATIVE_LAST + 1)},
        }

    def codec(self, cls: type[Any]) -> Codec | None:
        """Return how a value of exactly this class is stored, or `None` when it is not."""
        known = _COMPOUND.get(cls) or self._registry.codec(cls)
        if known is not None:
            return known
        return ERROR if BaseException in cls.__mro__ else _message_codec(cls)

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

    def _object(self, payload: memoryview, unpack: Unpack) -> Any:
        """Build an instance of a registered class; one that is not, or no longer, is `Opaque`."""
        name, shape, parts = unpack(payload)
        codec = self._named.get((name, shape))
        if codec is None:
            codec = self._registry.named(name, shape)
            if codec is None:
                self.unknown.add(name)
                return Opaque(name, _by_name(shape, parts), _raw(f.OBJECT, payload))
            self._named[name, shape] = codec
        built = codec.rebuild(parts)
        if built is classes.CHANGED:
            self.unknown.add(name)
            return Opaque(name, _by_name(shape, parts), _raw(f.OBJECT, payload))
        return built

    def _native(self, code: int, payload: memoryview, unpack: Unpack) -> Any:
        codec = self._registry.native(code)
        parts = unpack(payload)
        return Opaque(f"native {code}", parts, _raw(code, payload)) if codec is None else codec.rebuild(parts)


def _raw(code: int, payload: memoryview) -> bytes:
    return bytes((code,)) + payload


def _message_codec(cls: type) -> Codec | None:
    from ..messages import message_codec

    return message_codec(cls)


def _scalar(code: int, decode: Callable[[bytes], Any]) -> Builder:
    def build(payload: memoryview, unpack: Unpack) -> Any:
        data = bytes(payload)
        try:
            return decode(data)
        except scalars.UnknownZone as error:
            return Opaque(f"value in time zone {error}", [data], _raw(code, payload))

    return build


def _by_name(shape: str, parts: Any) -> Any:
    """Return the fields of an unregistered class: a dict where its shape names them all, else the list."""
    names = shape.partition(" ")[2].split(",")
    if not isinstance(parts, list):
        return parts
    listed = cast("list[Any]", parts)
    return dict(zip(names, listed, strict=True)) if len(names) == len(listed) else listed


def _set(payload: memoryview, unpack: Unpack) -> set[Any]:
    members = _listed(payload, unpack)
    built = set(members)
    if len(built) != len(members):
        raise ValueError("a set's members differ")
    return built


def _frozenset(payload: memoryview, unpack: Unpack) -> frozenset[Any]:
    return frozenset(_set(payload, unpack))


def _tuple(payload: memoryview, unpack: Unpack) -> tuple[Any, ...]:
    return tuple(_listed(payload, unpack))


def _mapping(payload: memoryview, unpack: Unpack) -> dict[Any, Any]:
    flat = _listed(payload, unpack)
    built = dict(zip(flat[::2], flat[1::2], strict=True))
    if 2 * len(built) != len(flat):
        raise ValueError("a mapping's keys differ")
    return built


def _listed(payload: memoryview, unpack: Unpack) -> list[Any]:
    members = unpack(payload)
    if type(members) is not list:
        raise ValueError("the members of a collection are a list")
    return cast("list[Any]", members)


def _message(payload: memoryview, unpack: Unpack) -> Any:
    return _message_builder()(unpack(payload))


@cache
def _message_builder() -> Callable[[list[Any]], Any]:
    from ..messages import rebuild_message

    return rebuild_message


def _stored_error(payload: memoryview, unpack: Unpack) -> StoredError:
    name, text, shown, args = unpack(payload)
    if not (isinstance(name, str) and isinstance(text, str) and isinstance(shown, str)):
        raise ValueError("a stored exception is described in words")
    if args is not None and type(args) is not list:
        raise ValueError("a stored exception's arguments are a list")
    return StoredError(name, text, shown, None if args is None else tuple(cast("list[Any]", args)))


def _builtin_error(payload: memoryview, unpack: Unpack) -> BaseException:
    name, args, *own = unpack(payload)
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


def _member_label(value: Any, index: int) -> str:
    return ".<member>"


def _error_label(value: Any, index: int) -> str:
    return (".type", ".text", ".repr", ".args")[index]


def _builtin_label(value: Any, index: int) -> str:
    return (".type", ".args", ".__dict__")[index]


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

ERROR = Codec(BaseException, f.STORED_ERROR, _explode_error, label=_error_label)
"""Any exception that is neither in the list nor registered."""

_COMPOUND: dict[type, Codec] = {
    tuple: Codec(tuple, f.TUPLE, list),
    set: Codec(set, f.SET, list, label=_member_label, sort=True),
    frozenset: Codec(frozenset, f.FROZENSET, list, label=_member_label, sort=True),
    StoredError: Codec(StoredError, f.STORED_ERROR, _explode_stored, label=_error_label),
} | {cls: Codec(cls, f.BUILTIN_ERROR, _explode_builtin, label=_builtin_label) for cls in _BUILTIN_ERRORS.values()}

_BUILDERS: dict[int, Builder] = {
    **{code: _scalar(code, decode) for code, decode in scalars.DECODERS.items()},
    f.TUPLE: _tuple,
    f.SET: _set,
    f.FROZENSET: _frozenset,
    f.MAPPING: _mapping,
    f.MESSAGE: _message,
    f.BUILTIN_ERROR: _builtin_error,
    f.STORED_ERROR: _stored_error,
}
