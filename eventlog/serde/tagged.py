"""Which codec a value or a stored extension belongs to: Python's own compound types, messages, the registry.

`Types` is the closed list in one place: encoding asks `codec(cls)`, decoding looks into `builders`.
Neither imports anything that a stored value names. Read `registry` for user classes, `scalars` for leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, cast

import msgspec

from . import arrays, classes, containers, library, scalars
from . import format as f
from .containers import Builder, Unpack
from .opaque import Opaque, StoredError, describe_error
from .registry import Codec, TypeRegistry


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
            **{code: partial(self._leaf, code, decode) for code, decode in _DECODERS.items()},
            **_BUILDERS,
            f.OBJECT: self._object,
            f.MARKED: self._marked,
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
                f"this {kind} is not registered. Name the class in the graph's state, or add the line "
                f"`register({cls.__name__})` (from lithograph.eventlog.serde import register)"
            )
        base = next((base for base in cls.__mro__[1:] if base in _CONVERTIBLE), None)
        if base is not None:
            return f"a subclass of {base.__name__} would come back as {base.__name__}; convert it yourself"
        return (
            "the type has no stored form. Store data made of built-in types, make it a dataclass and add the line "
            f"`register({cls.__name__})` (from lithograph.eventlog.serde import register), or give the saver a serde"
        )

    def _object(self, payload: memoryview, unpack: Unpack) -> Any:
        """Build an instance of a registered class; one that is not, or no longer, is `Opaque`."""
        name, shape, parts = unpack(payload)
        codec = self._named.get((name, shape))
        if codec is None:
            codec = self._registry.named(name, shape)
            if codec is None:
                return self._shown(name, _by_name(shape, parts), f.OBJECT, payload)
            self._named[name, shape] = codec
        built = codec.rebuild(parts)
        if built is classes.CHANGED:
            return self._shown(name, _by_name(shape, parts), f.OBJECT, payload)
        return built

    def _native(self, code: int, payload: memoryview, unpack: Unpack) -> Any:
        codec = self._registry.native(code)
        parts = unpack(payload)
        return self._shown(f"native {code}", parts, code, payload) if codec is None else codec.rebuild(parts)

    def _leaf(self, code: int, decode: Callable[[bytes], Any], payload: memoryview, unpack: Unpack) -> Any:
        """Build a value without parts; one that this machine cannot have is `Opaque`."""
        data = bytes(payload)
        try:
            return decode(data)
        except scalars.NotHere as error:
            return self._shown(str(error.args[0]), [data], code, payload)

    def _marked(self, payload: memoryview, unpack: Unpack) -> Opaque:
        tag, data = marked_parts(unpack(payload))
        return self._shown(_marked_name(tag), {"tag": tag, "data": data}, f.MARKED, payload)

    def _shown(self, name: str, fields: Any, code: int, payload: memoryview) -> Opaque:
        """Return what stands for a value that cannot be built here, and note its name: nodes are not run on it."""
        self.unknown.add(name)
        return Opaque(name, fields, bytes((code,)) + payload)


def _message_codec(cls: type) -> Codec | None:
    from ..messages import message_codec

    return message_codec(cls)


def _by_name(shape: str, parts: Any) -> Any:
    """Return the fields of an unregistered class: a dict where its shape names them all, else the list."""
    names = shape.partition(" ")[2].split(",")
    if not isinstance(parts, list):
        return parts
    listed = cast("list[Any]", parts)
    return dict(zip(names, listed, strict=True)) if len(names) == len(listed) else listed


def scalar_encoder(cls: type) -> tuple[int, Callable[[Any], bytes]] | None:
    """Return the code of a type without parts and how its values are written, or `None`."""
    return scalars.ENCODERS.get(cls) or library.encoder(cls) or arrays.encoder(cls)


def _unset(payload: memoryview, unpack: Unpack) -> Any:
    if unpack(payload) != []:
        raise ValueError("UNSET has no parts")
    return msgspec.UNSET


def marked(tag: str, data: bytes) -> Opaque:
    """Return what another serde stored, under its tag: encoded as such a part, loaded only with that serde."""
    return Opaque(_marked_name(tag), {"tag": tag, "data": data}, bytes((f.MARKED,)) + f.pack_exact([tag, data], None))


def _marked_name(tag: str) -> str:
    return f"{tag} data"


def marked_parts(parts: Any) -> tuple[str, bytes]:
    """Return the tag and the bytes of what another serde stored."""
    tag, data = parts
    if type(tag) is not str or type(data) is not bytes:
        raise ValueError("a marked part has a tag and bytes")
    return tag, data


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


def _error_label(value: Any, index: int) -> str:
    return (".type", ".text", ".repr", ".args")[index]


def _builtin_label(value: Any, index: int) -> str:
    return (".type", ".args", ".__dict__")[index]


_CONVERTIBLE = (*containers.CODECS, bool, int, float, str, bytes, bytearray, list, dict, *scalars.ENCODERS)

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
    **containers.CODECS,
    type(msgspec.UNSET): Codec(type(msgspec.UNSET), f.UNSET, lambda value: []),
    StoredError: Codec(StoredError, f.STORED_ERROR, _explode_stored, label=_error_label),
} | {cls: Codec(cls, f.BUILTIN_ERROR, _explode_builtin, label=_builtin_label) for cls in _BUILTIN_ERRORS.values()}

_DECODERS: dict[int, Callable[[bytes], Any]] = {**scalars.DECODERS, **library.DECODERS, **arrays.DECODERS}

_BUILDERS: dict[int, Builder] = {
    **containers.BUILDERS,
    f.UNSET: _unset,
    f.MESSAGE: _message,
    f.BUILTIN_ERROR: _builtin_error,
    f.STORED_ERROR: _stored_error,
}
