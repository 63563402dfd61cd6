"""Python's own containers beyond list and dict: how each is taken apart and built, and how its parts are named.

A mapping's parts are key, value, key, value …; what was put on an `OrderedDict` or a `Counter` as an attribute follows
as one more part. A `defaultdict` begins with the name of its factory, which is one of the types in `FACTORIES` or
`None`: anything else is code, and has no stored form. A `deque` begins with its `maxlen`.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, cast

from . import format as f
from .registry import Codec

Unpack = Callable[[memoryview], Any]
"""Decodes the payload of an extension, one level deeper."""

Builder = Callable[[memoryview, Unpack], Any]
"""Builds a value from its payload."""

FACTORIES: dict[str, Callable[[], Any]] = {
    cls.__name__: cls
    for cls in (
        *(bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset),
        *(deque, OrderedDict, Counter),
    )
}
"""What may make the missing values of a `defaultdict`, by its stored name."""


def pair_steps(parts: list[Any], start: int = 0) -> list[Any]:
    """Return what the walk calls the parts of a mapping: each key as a key, each value by its key."""
    steps: list[Any] = [".factory"] * start
    for place in range(start, len(parts) - 1, 2):
        steps += [(parts[place], None), (parts[place],)]
    return steps if len(steps) == len(parts) else [*steps, ".__dict__"]


def listed(payload: memoryview, unpack: Unpack) -> list[Any]:
    """Return the members of a stored collection."""
    members = unpack(payload)
    if type(members) is not list:
        raise ValueError("the members of a collection are a list")
    return cast("list[Any]", members)


def fill(built: Any, flat: list[Any]) -> Any:
    """Put keys and values into an empty mapping; raises ValueError when two keys are one."""
    for place in range(0, len(flat), 2):
        built[flat[place]] = flat[place + 1]
    if 2 * len(built) != len(flat):
        raise ValueError("a mapping's keys differ")
    return built


def _set(payload: memoryview, unpack: Unpack) -> set[Any]:
    members = listed(payload, unpack)
    built = set(members)
    if len(built) != len(members):
        raise ValueError("a set's members differ")
    return built


def _frozenset(payload: memoryview, unpack: Unpack) -> frozenset[Any]:
    return frozenset(_set(payload, unpack))


def _tuple(payload: memoryview, unpack: Unpack) -> tuple[Any, ...]:
    return tuple(listed(payload, unpack))


def _mapping(payload: memoryview, unpack: Unpack) -> dict[Any, Any]:
    flat = listed(payload, unpack)
    built = dict(zip(flat[::2], flat[1::2], strict=True))
    if 2 * len(built) != len(flat):
        raise ValueError("a mapping's keys differ")
    return built


def _deque(payload: memoryview, unpack: Unpack) -> deque[Any]:
    longest, *members = listed(payload, unpack)
    if longest is not None and (type(longest) is not int or len(members) > longest):
        raise ValueError("a deque holds no more than its maxlen")
    return deque(members, longest)


def _with_attributes(make: Callable[[], Any]) -> Builder:
    def build(payload: memoryview, unpack: Unpack) -> Any:
        flat = listed(payload, unpack)
        own = flat.pop() if len(flat) % 2 else None
        built = fill(make(), flat)
        if own is not None:
            built.__dict__.update(own)
        return built

    return build


def _defaultdict(payload: memoryview, unpack: Unpack) -> defaultdict[Any, Any]:
    name, *flat = listed(payload, unpack)
    if len(flat) % 2:
        raise ValueError("a mapping has a value for each key")
    return fill(defaultdict(None if name is None else FACTORIES[name]), flat)


def _flat(items: Iterable[tuple[Any, Any]]) -> list[Any]:
    return [part for pair in items for part in pair]


def _explode_deque(value: deque[Any]) -> list[Any]:
    return [value.maxlen, *value]


def _explode_with_attributes(value: Any) -> list[Any]:
    parts = _flat(value.items())
    return [*parts, value.__dict__] if value.__dict__ else parts


def _explode_defaultdict(value: defaultdict[Any, Any]) -> list[Any]:
    factory = value.default_factory
    name = getattr(factory, "__name__", "") if factory is not None else None
    if name is not None and FACTORIES.get(name) is not factory:
        raise ValueError(f"its default_factory is none of {', '.join(FACTORIES)}; use one of them, or a dict")
    return [name, *_flat(value.items())]


def _member_steps(value: Any, parts: list[Any]) -> list[Any]:
    return [".<member>"] * len(parts)


CODECS: dict[type, Codec] = {
    codec.cls: codec
    for codec in (
        Codec(tuple, f.TUPLE, list),
        Codec(set, f.SET, list, steps=_member_steps, sort=True),
        Codec(frozenset, f.FROZENSET, list, steps=_member_steps, sort=True),
        Codec(
            deque,
            f.DEQUE,
            _explode_deque,
            steps=lambda value, parts: [".maxlen", *range(len(parts) - 1)],
        ),
        Codec(
            OrderedDict,
            f.ORDERED_DICT,
            _explode_with_attributes,
            steps=lambda value, parts: pair_steps(parts),
        ),
        Codec(
            Counter,
            f.COUNTER,
            _explode_with_attributes,
            steps=lambda value, parts: pair_steps(parts),
        ),
        Codec(
            defaultdict,
            f.DEFAULTDICT,
            _explode_defaultdict,
            steps=lambda value, parts: pair_steps(parts, 1),
        ),
    )
}
"""How each is taken apart."""

BUILDERS: dict[int, Builder] = {
    f.TUPLE: _tuple,
    f.SET: _set,
    f.FROZENSET: _frozenset,
    f.MAPPING: _mapping,
    f.DEQUE: _deque,
    f.ORDERED_DICT: _with_attributes(OrderedDict),
    f.COUNTER: _with_attributes(Counter),
    f.DEFAULTDICT: _defaultdict,
}
"""How each is built."""
