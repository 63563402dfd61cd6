"""Values to bytes and back: exact, or refused before anything is stored.

What comes back is equal and of the same type, recursively; what cannot is an `UnsupportedTypeError` whose
path names the part (law L7). Decoding builds nothing outside the closed registry and imports nothing that a
value names (law L9). Equal values of the same types have the same bytes in every process.

Plain data costs one call of ormsgpack (encode) or msgspec (decode). What they do not know arrives in a hook,
whose payloads are packed one level deeper. Whatever the fast path refuses goes to `walk`.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from typing import Any

from msgspec import MsgspecError
from msgspec.msgpack import Decoder
from ormsgpack import Ext

from ..errors import MalformedValue, UnsupportedTypeError
from . import format as f
from .containers import Unpack
from .opaque import Opaque
from .registry import BASE, TypeRegistry
from .tagged import Types, scalar_encoder
from .walk import Walk, opaque_ext

_MALFORMED = (MsgspecError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, struct.error)

_interrupts: dict[int, BaseException] = {}
"""What interrupted a hook, by thread: ormsgpack turns it into a TypeError, and it must not get lost."""
_refusals: set[int] = set()
"""The threads in which a hook itself refused a value."""
_HOOK_FAILED = "Type is not msgpack serializable"
"""How ormsgpack's TypeError begins when the hook raised, whatever it was."""


class Serializer:
    """Encodes and decodes values under one registry. Safe to share between threads.

        serializer = Serializer(BASE.extended([Application]))
        serializer.decode(serializer.encode({"case": Application(7), "seen": {1, 2}}))

    Types registered later, also with a parent registry, are seen.
    """

    def __init__(self, registry: TypeRegistry | None = None) -> None:
        self.registry = BASE if registry is None else registry
        self._types = Types(self.registry)
        self.unknown = self._types.unknown
        """Names of types that this serializer met in stored values and could only read as `Opaque`."""
        self._root = _Level(self._types, 0)
        self._hook = self._root.tag
        self._decode = self._root.decode

    def encode(self, value: Any) -> bytes:
        """Return the stored form of a value; raises UnsupportedTypeError naming the path of what has none."""
        if _refusals:
            # One of a call that an interrupt left: it would hide an interrupt of this one.
            _refusals.discard(threading.get_ident())
        try:
            return f.pack_exact(value, self._hook)
        except TypeError as error:
            thread = threading.get_ident()
            if interrupt := _interrupts.pop(thread, None):
                raise interrupt from None
            if thread not in _refusals and _is_hook_failure(error):
                self._look_for_a_lost_interrupt(value)
            _refusals.discard(thread)
            return Walk(self._types).encode(value)

    def decode(self, data: bytes) -> Any:
        """Return the value that was encoded; raises MalformedValue, and nothing else, for bytes of no value.

        A value of numpy's raises MissingExtra where numpy is not installed. Memory stays a small multiple of `data`.
        An unregistered type becomes `Opaque`.
        """
        try:
            return self._decode(data)
        except RecursionError:
            return self._decode_elsewhere(data)
        except _MALFORMED as error:
            raise MalformedValue(f"{len(data)} bytes are no stored value: {error}") from error

    def encode_elements(self, value: list[Any]) -> list[bytes]:
        """Return the stored form of each element: `format.join_array` of it is `encode(value)`."""
        if type(value) is not list:
            raise UnsupportedTypeError(f"only a list has elements, not {type(value).__qualname__}")
        return f.split_array(self.encode(value))

    def split_elements(self, data: bytes) -> list[bytes]:
        """Return the stored form of each element of a stored list, or raise MalformedValue."""
        try:
            return f.split_array(data)
        except (MsgspecError, RecursionError) as error:
            raise MalformedValue(f"{len(data)} bytes are no stored list: {error}") from error

    def _look_for_a_lost_interrupt(self, value: Any) -> None:
        """Raise `KeyboardInterrupt` when a hook failed that refused nothing, and now does not fail, or refuses.

        A signal's handler runs at the entry of a Python function, before any `try` of it: what it raises there is
        known to nobody but ormsgpack, which forgets it.
        """
        thread = threading.get_ident()
        try:
            f.pack_exact(value, self._hook)
        except TypeError as error:
            if interrupt := _interrupts.pop(thread, None):
                raise interrupt from None
            if thread not in _refusals and _is_hook_failure(error):
                return
        _refusals.discard(thread)
        raise KeyboardInterrupt("while a value was encoded")

    def _decode_elsewhere(self, data: bytes) -> Any:
        """Decode on a thread of its own: the caller's stack is nearly used up, or the bytes nest too deep."""
        outcome: list[Any] = []

        def run() -> None:
            try:
                outcome.append(self._decode(data))
            except (*_MALFORMED, RecursionError) as error:
                outcome.extend((None, error))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if len(outcome) == 1:
            return outcome[0]
        raise MalformedValue(f"{len(data)} bytes are no stored value: they nest too deep") from outcome[1]


class _Level:
    """The hooks for values within `depth` tagged values. Each makes the next when first needed."""

    def __init__(self, types: Types, depth: int) -> None:
        self._types = types
        self._depth = depth
        self._next: _Level | None = None
        self._taggers: dict[type, Callable[[Any], Ext]] = {}
        self._builders = types.builders
        self._unpack: Unpack = self._first_unpack
        self.decode = Decoder(ext_hook=self.build).decode

    def tag(self, value: object) -> Ext:
        """Return the extension of a value that ormsgpack does not know; TypeError sends all to the walk."""
        try:
            return (self._taggers.get(type(value)) or self._tagger(type(value)))(value)
        except Exception as error:
            try:
                if not _is_hook_failure(error):
                    _refusals.add(threading.get_ident())
            except BaseException as interrupt:
                _interrupts[threading.get_ident()] = interrupt
                raise
            raise
        except BaseException as interrupt:
            _interrupts[threading.get_ident()] = interrupt
            raise

    def build(self, code: int, payload: memoryview) -> Any:
        """Return the value of an extension."""
        builder = self._builders.get(code)
        if builder is None:
            raise ValueError(f"extension code {code} is unknown to this version of Lithograph")
        return builder(payload, self._unpack)

    def _tagger(self, cls: type) -> Callable[[Any], Ext]:
        """Return what makes extensions of the values of a class, and keep it."""
        made = self._scalar_tagger(cls) or self._codec_tagger(cls)
        if made is None:
            raise TypeError("left to the walk")
        # A class of exceptions may be registered later, and is then stored otherwise.
        if not issubclass(cls, BaseException):
            self._taggers[cls] = made
        return made

    def _scalar_tagger(self, cls: type) -> Callable[[Any], Ext] | None:
        if cls is Opaque:
            return opaque_ext
        known = scalar_encoder(cls)
        if known is None:
            return None
        code, encode = known

        # The payload comes first, as in `_codec_tagger`.
        def tagged(value: Any) -> Ext:
            payload = encode(value)
            return Ext(code, payload)

        return tagged

    def _codec_tagger(self, cls: type) -> Callable[[Any], Ext] | None:
        codec = self._types.codec(cls)
        if codec is None:
            return None
        code, head, explode = codec.code, codec.head, codec.explode
        tag = self._deeper(f.FAST_TAGGED_DEPTH).tag

        def pack(parts: list[Any]) -> bytes:
            data = f.pack_exact(parts, tag)
            if f.too_deep(parts, data):
                raise TypeError("left to the walk")
            return data

        # The payload comes first: a class that is about to be called has a reference more (`count_references`).
        def tagged(value: Any) -> Ext:
            payload = head + pack(explode(value))
            return Ext(code, payload)

        def tagged_sorted(value: Any) -> Ext:
            payload = codec.payload(explode(value), pack)
            return Ext(code, payload)

        return tagged_sorted if codec.sort else tagged

    def _first_unpack(self, payload: memoryview) -> Any:
        self._unpack = self._deeper(f.TAGGED_DEPTH).decode
        return self._unpack(payload)

    def _deeper(self, limit: int) -> _Level:
        if self._depth >= limit:
            raise TypeError(f"more than {limit} tagged values within one another")
        if self._next is None:
            self._next = _Level(self._types, self._depth + 1)
        return self._next


def _is_hook_failure(error: Exception) -> bool:
    """Tell whether an error says no more than that a hook one level deeper failed."""
    return type(error) is TypeError and str(error).startswith(_HOOK_FAILED)
