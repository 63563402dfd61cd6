"""The exact walk: encodes what the fast path cannot, and names the part that has no stored form.

The serializer tries ormsgpack first and comes here when that refuses: for dicts with keys that are not str,
for bytearrays and lone surrogates, for deep nesting, and for values that cannot be stored, whose path is then
known. Its bytes are those of the fast path wherever that succeeds. About ten times slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from ormsgpack import Ext, packb

from ..errors import UnsupportedTypeError
from . import format as f
from . import scalars
from .containers import pair_steps
from .opaque import Opaque, type_name
from .registry import Codec
from .tagged import ERROR, Types, scalar_encoder

_INT_MIN = -(1 << 63)
_INT_MAX = (1 << 64) - 1
_PLAIN_COST = 1
_TAGGED_COST = 4
_STEPS_SHOWN = 40
_KEY_SHOWN = 60
_AS_IT_IS = frozenset({type(None), bool, float, bytes})


class Walk:
    """One walk over one value: where it is, what it is inside of, how deep.

    The path is kept as steps and rendered only for a refusal: an int is an index, a 1-tuple a dict's key, a
    2-tuple the key itself as a part, a str a label.
    """

    def __init__(self, types: Types) -> None:
        self._types = types
        self._path: list[Any] = []
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
            return value if _is_unicode(value) else Ext(f.SURROGATES, scalars.text_bytes(cast(str, value)))
        if cls is int:
            return value if _INT_MIN <= cast(int, value) <= _INT_MAX else self._scalar(scalars.ENCODERS[int], value)
        if cls is list:
            items = cast("list[Any]", value)
            return self._parts(value, _PLAIN_COST, range(len(items)), items)
        if cls is dict:
            return self._dict(cast("dict[Any, Any]", value))
        scalar = scalar_encoder(cls)
        if scalar is not None:
            return self._scalar(scalar, value)
        if cls is Opaque:
            return opaque_ext(cast(Opaque, value))
        codec = self._types.codec(cls)
        if codec is None:
            raise self._refusal(value, self._types.advice(cls))
        if isinstance(value, BaseException):
            return self._error(codec, value)
        return Ext(codec.code, codec.payload(self._tagged_parts(codec, value), self._pack))

    def _dict(self, value: dict[Any, Any]) -> Any:
        keys, items = list(value), list(value.values())
        steps = [(key,) for key in keys]
        if all(type(key) is str and _is_unicode(key) for key in keys):
            return dict(zip(keys, self._parts(value, _PLAIN_COST, steps, items), strict=True))
        flat = [part for pair in zip(keys, items, strict=True) for part in pair]
        return Ext(f.MAPPING, self._pack(self._parts(value, _TAGGED_COST, pair_steps(flat), flat)))

    def _tagged_parts(self, codec: Codec, value: Any, parts: list[Any] | None = None) -> list[Any]:
        """Return the lowered parts of a value that has a codec; `parts` replaces what it is made of."""
        try:
            parts = codec.explode(value) if parts is None else parts
        except (AttributeError, KeyError) as error:
            raise self._refusal(value, f"it has a field without a value: {error}") from error
        except ValueError as error:
            raise self._refusal(value, str(error)) from error
        return self._parts(value, _TAGGED_COST, codec.steps(value, parts), parts)

    def _parts(self, value: object, cost: int, steps: Iterable[Any], parts: list[Any]) -> list[Any]:
        """Lower the parts of a value, knowing that it is not inside of itself nor too deep."""
        if id(value) in self._open:
            raise self._refusal(value, "it contains itself")
        self._open.add(id(value))
        self._depth += cost
        self._tagged += cost == _TAGGED_COST
        if self._depth > f.DEPTH_BUDGET or self._tagged > f.TAGGED_DEPTH:
            raise self._refusal(value, "it is nested too deep")
        lowered: list[Any] = []
        for step, part in zip(steps, parts, strict=True):
            self._path.append(step)
            lowered.append(self._lower(part))
            self._path.pop()
        self._depth -= cost
        self._tagged -= cost == _TAGGED_COST
        self._open.discard(id(value))
        return lowered

    def _error(self, codec: Codec, error: BaseException) -> Ext:
        """Lower an exception, which is never refused: arguments without a stored form are left out."""
        depth, tagged, inside, steps = self._depth, self._tagged, set(self._open), len(self._path)
        for attempt in (codec, ERROR):
            try:
                return Ext(attempt.code, attempt.payload(self._tagged_parts(attempt, error), self._pack))
            except (UnsupportedTypeError, RecursionError):
                self._depth, self._tagged, self._open = depth, tagged, set(inside)
                del self._path[steps:]
        parts = [*ERROR.explode(error)[:-1], None]
        return Ext(ERROR.code, ERROR.payload(self._tagged_parts(ERROR, error, parts), self._pack))

    def _scalar(self, encoder: tuple[int, Callable[[Any], bytes]], value: Any) -> Ext:
        code, encode = encoder
        try:
            return Ext(code, encode(value))
        except UnsupportedTypeError as error:
            raise self._refusal(value, str(error)) from error

    def _refusal(self, value: object, why: str) -> UnsupportedTypeError:
        path = _rendered(self._path)
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


def _rendered(path: list[Any]) -> str:
    steps = [_step(step) for step in path]
    if len(steps) > _STEPS_SHOWN:
        steps[_STEPS_SHOWN // 2 : -_STEPS_SHOWN // 2] = [" … "]
    text = "".join(steps)
    return text[1:] if text.startswith(".") else f"${text}"


def _step(step: Any) -> str:
    if type(step) is not tuple:
        return step if type(step) is str else f"[{step}]"
    key, *is_key = cast("tuple[Any, ...]", step)
    if type(key) is str and not is_key and key.isidentifier() and len(key) <= _KEY_SHOWN:
        return f".{key}"
    text = _shown(key)
    return f".<key {text}>" if is_key else f"[{text}]"


def _shown(key: Any) -> str:
    """Return a key for people; its own repr may be a user's, and fail."""
    try:
        text = repr(key)
    except Exception as failure:  # noqa: BLE001  what fails is no reason to hide what was refused
        text = f"{type(key).__qualname__} without repr: {type(failure).__qualname__}"
    return text if len(text) <= _KEY_SHOWN else text[: _KEY_SHOWN - 1] + "…"
