"""The exact walk: encodes what the fast path cannot, and names the part that has no stored form.

The serializer tries ormsgpack first and comes here when that refuses: for dicts with keys that are not str,
for bytearrays and lone surrogates, for deep nesting, and for values that cannot be stored, whose path is then
known. Its bytes are those of the fast path wherever that succeeds. About ten times slower.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from ormsgpack import Ext, packb

from ..errors import UnsupportedTypeError
from . import format as f
from . import scalars
from .opaque import Opaque, type_name
from .registry import Codec
from .tagged import ERROR, Types

_INT_MIN = -(1 << 63)
_INT_MAX = (1 << 64) - 1
_AS_IT_IS = frozenset({type(None), bool, float, bytes})


class Walk:
    """One walk over one value: where it is, what it is inside of, how deep."""

    def __init__(self, types: Types) -> None:
        self._types = types
        self._path: list[str] = ["$"]
        self._open: set[int] = set()
        self._depth = 0
        self._tagged = 0

    def encode(self, value: Any) -> bytes:
        """Return the stored form; raises UnsupportedTypeError with the path of the first refused part."""
        try:
            return self._pack(self._lower(value))
        except RecursionError as error:
            raise self._refusal(value, "it is nested too deep for the stack it is encoded on") from error

    def _pack(self, lowered: Any) -> bytes:
        try:
            return packb(lowered, None, f.OPTIONS)
        except TypeError as error:
            raise self._refusal(lowered, f"lists and dicts nest deeper than {f.PLAIN_DEPTH}") from error

    def _lower(self, value: object) -> Any:
        """Return what ormsgpack packs as the stored form of `value`, without asking anybody."""
        cls = type(value)
        if cls in _AS_IT_IS:
            return value
        if cls is str:
            return value if _is_unicode(value) else Ext(f.SURROGATES, scalars.surrogates_bytes(value))
        if cls is int:
            return value if _INT_MIN <= cast(int, value) <= _INT_MAX else self._scalar(cls, value)
        if cls is list:
            return self._inside(value, 1, self._list)
        if cls is dict:
            return self._inside(value, 1, self._dict)
        if cls in scalars.ENCODERS or scalars.is_zone_info(cls):
            return self._scalar(cls, value)
        if cls is Opaque:
            return opaque_ext(cast(Opaque, value))
        codec = self._types.codec(cls)
        if codec is None:
            raise self._refusal(value, self._types.advice(cls))
        return self._inside(value, 4, partial(self._tagged_value, codec))

    def _list(self, value: list[Any]) -> list[Any]:
        return [self._part(f"[{index}]", item) for index, item in enumerate(value)]

    def _dict(self, value: dict[Any, Any]) -> Any:
        if all(type(key) is str and _is_unicode(key) for key in value):
            return {key: self._part(f"[{key!r}]", item) for key, item in value.items()}
        flat: list[Any] = []
        for key, item in value.items():
            label = f"[{_short(key)}]"
            flat.append(self._part(f".<key {label[1:-1]}>", key))
            flat.append(self._part(label, item))
        return Ext(f.MAPPING, self._pack(flat))

    def _tagged_value(self, codec: Codec, value: Any) -> Ext:
        if isinstance(value, BaseException):
            return self._error(codec, value)
        try:
            parts = codec.explode(value)
        except (AttributeError, KeyError) as error:
            raise self._refusal(value, f"it has a field without a value: {error}") from error
        except ValueError as error:
            raise self._refusal(value, str(error)) from error
        return Ext(codec.code, self._payload(codec, value, parts))

    def _payload(self, codec: Codec, value: Any, parts: list[Any]) -> bytes:
        lowered = [self._part(codec.label(value, index), part) for index, part in enumerate(parts)]
        return codec.payload(lowered, self._pack)

    def _error(self, codec: Codec, value: BaseException) -> Ext:
        """Lower an exception, which is never refused: what has no stored form in it is left out."""
        mark = len(self._path), set(self._open), self._depth, self._tagged
        for attempt in (codec, ERROR):
            try:
                parts = attempt.explode(value)
                return Ext(attempt.code, self._payload(attempt, value, parts))
            except UnsupportedTypeError:
                length, self._open, self._depth, self._tagged = mark
                del self._path[length:]
                mark = length, set(self._open), self._depth, self._tagged
        parts = [*ERROR.explode(value)[:-1], None]
        return Ext(ERROR.code, self._payload(ERROR, value, parts))

    def _part(self, label: str, part: Any) -> Any:
        self._path.append(label)
        lowered = self._lower(part)
        self._path.pop()
        return lowered

    def _inside(self, value: Any, cost: int, lower: Any) -> Any:
        """Lower a value that has parts, knowing that it is not inside of itself nor too deep."""
        if id(value) in self._open:
            raise self._refusal(value, "it contains itself")
        self._open.add(id(value))
        self._depth += cost
        self._tagged += cost > 1
        if self._depth > f.DEPTH_BUDGET or self._tagged > f.TAGGED_DEPTH:
            raise self._refusal(value, "it is nested too deep")
        lowered = lower(value)
        self._depth -= cost
        self._tagged -= cost > 1
        self._open.discard(id(value))
        return lowered

    def _scalar(self, cls: type, value: Any) -> Ext:
        code, encode = scalars.ENCODERS.get(cls) or (f.ZONE, scalars.zone_bytes)
        try:
            return Ext(code, encode(value))
        except UnsupportedTypeError as error:
            raise self._refusal(value, str(error)) from error

    def _refusal(self, value: object, why: str) -> UnsupportedTypeError:
        path = _shown(self._path)
        cls = type(value)
        name = type_name(cls)
        return UnsupportedTypeError(f"cannot store {path}, of type {name}: {why}", path=path, type_name=name)


def opaque_ext(value: Opaque) -> Ext:
    """Return the extension that an opaque value came from."""
    return Ext(value.raw[0], value.raw[1:])


def _is_unicode(text: Any) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _short(key: Any) -> str:
    text = repr(key)
    return text if len(text) <= 60 else text[:57] + "…"


def _shown(path: list[str]) -> str:
    if len(path) <= 40:
        return "".join(path)
    return "".join([*path[:20], " … ", *path[-20:]])
