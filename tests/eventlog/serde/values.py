"""Values for the tests of the serializer: strategies, registered classes, what "exactly the same" means."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
import fractions
import ipaddress
import pathlib
import re
import struct
import uuid
from collections.abc import Hashable
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import numpy as np
from hypothesis import strategies as st
from lithograph.eventlog.serde import BASE, Opaque, Serializer, StoredError
from pydantic import BaseModel

from tests.eventlog.serde.arrays import ARRAYS, HASHABLE_SCALARS, SCALARS, same_array, same_scalar
from tests.eventlog.serde.classes import (
    BUILTIN_SUBCLASSES,
    CLASSES,
    Blob,
    Box,
    Buffer,
    Cents,
    Color,
    Currency,
    Fixed,
    Gauge,
    Half,
    Level,
    Loan,
    Loose,
    Lost,
    Made,
    Marks,
    Mode,
    Model,
    Names,
    Pair,
    Point,
    Ratio,
    Refused,
    Right,
    Table,
    Tags,
    Tree,
    Triple,
    Word,
)

__all__ = ["CLASSES", "VALUES", "Color", "Level", "Loan", "Model", "Pair", "Point", "Refused", "Right", "Word"]


def serializer() -> Serializer:
    """Return a serializer that knows `CLASSES`."""
    return Serializer(BASE.extended(CLASSES))


def identical(one: Any, other: Any) -> bool:
    """Say whether two values are equal and of one type in every part; NaN is itself, dicts have order."""
    if type(one) is not type(other):
        return False
    compare = next((compare for kind, compare in _COMPARED if isinstance(one, kind)), None)
    if compare is not None:
        return compare(one, other)
    if dataclasses.is_dataclass(one):
        return identical(_fields(one), _fields(other))
    return repr(one) == repr(other)


def _same_text(one: Any, other: Any) -> bool:
    return bool(one == other) and repr(one) == repr(other)


def _same_list(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(map(identical, one, other))


def _same_dict(one: Any, other: Any) -> bool:
    own = [getattr(each, "__dict__", None) for each in (one, other)]
    factories = [getattr(each, "default_factory", None) for each in (one, other)]
    pairs = [[*each.keys(), *each.values()] for each in (one, other)]
    return factories[0] is factories[1] and identical(*own) and identical(*pairs)


def _same_set(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(any(identical(a, b) for b in other) for a in one)


def _same_subclass(one: Any, other: Any) -> bool:
    base: Any = BUILTIN_SUBCLASSES[type(one)]
    plain = {Cents: int.__int__, Names: lambda v: list.__getitem__(v, slice(None))}.get(type(one), base)
    own = [[getattr(each, "__dict__", None), getattr(each, "owner", None)] for each in (one, other)]
    return identical(plain(one), plain(other)) and identical(*own)


def _same_bits(one: Any, other: Any) -> bool:
    return all(
        struct.pack(">d", a) == struct.pack(">d", b) for a, b in ((one.real, other.real), (one.imag, other.imag))
    )


_PYDANTIC = ("__dict__", "__pydantic_extra__", "__pydantic_fields_set__", "__pydantic_private__")


def _same_parts(*names: str) -> Any:
    return lambda one, other: all(identical(getattr(one, name), getattr(other, name)) for name in names)


_COMPARED: list[tuple[Any, Any]] = [
    (tuple(BUILTIN_SUBCLASSES), _same_subclass),
    (np.ndarray, same_array),
    (np.generic, same_scalar),
    ((float, complex), _same_bits),
    (enum.Enum, lambda one, other: one is other),
    (collections.deque, lambda one, other: one.maxlen == other.maxlen and _same_list(one, other)),
    ((list, tuple), _same_list),
    (dict, _same_dict),
    ((set, frozenset), _same_set),
    ((dt.datetime, dt.time), lambda one, other: repr(one) == repr(other) and one.fold == other.fold),
    (re.Pattern, lambda one, other: one == other and one.pattern == other.pattern and one.flags == other.flags),
    (range, _same_parts("start", "stop", "step")),
    (uuid.UUID, _same_parts("int", "is_safe")),
    (pathlib.PurePath, lambda one, other: _same_text(one, other) and one.parts == other.parts),
    (OSError, _same_parts("args", "filename", "filename2", "__dict__")),
    (BaseException, _same_parts("args", "__dict__")),
    (BaseModel, _same_parts(*_PYDANTIC)),
    (msgspec.Struct, lambda one, other: identical(_struct(one), _struct(other))),
    (StoredError, _same_parts(*StoredError.__slots__)),
    (Opaque, lambda one, other: one == other),
]
"""How values of each kind are compared; the others by their text."""


def _struct(value: Any) -> list[Any]:
    return [*(getattr(value, name) for name in value.__struct_fields__), getattr(value, "__dict__", None)]


def _fields(value: Any) -> dict[str, Any]:
    own = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    rest = {key: part for key, part in getattr(value, "__dict__", {}).items() if key != "__orig_class__"}
    return own | dict(sorted(rest.items()))


ZONES = [ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York"), dt.UTC]
FIXED = st.builds(
    dt.timezone,
    st.timedeltas(dt.timedelta(hours=-23), dt.timedelta(hours=23)),
)
NAMED = st.builds(dt.timezone, st.timedeltas(dt.timedelta(hours=-23), dt.timedelta(hours=23)), st.text(max_size=5))
TZ = st.none() | st.sampled_from(ZONES) | FIXED | NAMED
FOLDS = st.integers(0, 1)
TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
"""Text that may hold lone surrogates."""

DATETIMES = st.builds(lambda d, tz, fold: d.replace(tzinfo=tz, fold=fold), st.datetimes(), TZ, FOLDS)
TIMES = st.builds(lambda t, tz, fold: t.replace(tzinfo=tz, fold=fold), st.times(), TZ, FOLDS)


def brief(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return the same strategy with a short description: Hypothesis writes out those of all parts, again and again."""

    @st.composite
    def drawn(draw: st.DrawFn) -> Any:
        return draw(strategy)

    return drawn()


LEAVES = brief(st.deferred(lambda: HASHABLE_LEAVES))
KEYS = brief(st.deferred(lambda: HASHABLE))

PLAIN_LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=12)
PLAIN = st.recursive(
    PLAIN_LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=15,
)
"""What MessagePack has itself."""

PATTERNS = [
    re.compile(r"a+(b|c)?", re.IGNORECASE | re.DOTALL),
    re.compile(r"(?x) \\d  # a digit"),
    re.compile("(?a)é\0\ud800[\U0001f600-\U0001f64f]"),
    re.compile(rb"[\x00-\xff]", re.LOCALE | re.MULTILINE),
    re.compile(b""),
]
WINDOWS = ["c:/x", "c:x", "//server/share/a", ".", "", "a b\\C", "\0", "\ud800", "con"]
INTEGERS = st.integers(-(2**70), 2**70)
LIBRARY = (
    st.builds(complex, st.floats(), st.floats())
    | st.builds(range, INTEGERS, INTEGERS, INTEGERS.filter(bool))
    | st.fractions()
    | st.builds(fractions.Fraction, INTEGERS, st.integers(1, 2**200))
    | st.builds(lambda cls, parts: cls(*parts), st.sampled_from([pathlib.PurePosixPath, pathlib.Path]), st.lists(TEXT))
    | st.sampled_from(WINDOWS).map(pathlib.PureWindowsPath)
    | st.sampled_from(PATTERNS)
    | st.ip_addresses()
    | st.builds(lambda a, n: ipaddress.ip_network((a, n), strict=False), st.ip_addresses(), st.integers(0, 32))
    | st.builds(lambda a, n: ipaddress.ip_interface((a, n)), st.ip_addresses(), st.integers(0, 32))
    | st.sampled_from(["fe80::1%eth0", "::1%1"]).map(ipaddress.IPv6Address)
)
"""Values of the standard library's types whose modules need not be imported, and of other types without parts."""

HASHABLE_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**90), 2**90)
    | st.integers(-3, 3)
    | st.floats()
    | TEXT
    | st.binary(max_size=8)
    | DATETIMES
    | st.dates()
    | TIMES
    | st.timedeltas()
    | st.uuids()
    | st.decimals(allow_nan=True).filter(lambda number: not number.is_snan())
    | st.sampled_from([*Color, *Level, *Word, *Right, Right.READ | Right.WRITE, *Mode, Mode(0), Mode.X | Mode.R])
    | st.sampled_from([*ZONES, msgspec.UNSET])
    | LIBRARY
    | TEXT.map(Currency)
    | st.integers(-3, 2**70).map(Cents)
    | st.floats().map(Ratio)
    | st.binary(max_size=5).map(Blob)
    | HASHABLE_SCALARS
)


def _hashable(inner: Any) -> Any:
    return (
        st.lists(inner, max_size=3).map(tuple)
        | st.frozensets(inner, max_size=3)
        | st.builds(Point, inner, inner)
        | st.builds(Pair, inner, inner)
        | st.builds(Fixed, x=inner)
        | st.builds(Triple, inner, inner, inner)
        | st.frozensets(inner, max_size=2).map(Marks)
    )


HASHABLE: st.SearchStrategy[Hashable] = st.recursive(
    LEAVES,
    lambda inner: _hashable(brief(inner)),
    max_leaves=6,
)


def _set_secret(model: Model, secret: Any) -> Model:
    model._secret = secret
    return model


MODELS = st.builds(
    _set_secret,
    st.fixed_dictionaries({"a": LEAVES}, optional={"b": LEAVES, "c": LEAVES}).map(lambda fields: Model(**fields)),
    LEAVES,
)
ERRORS = (
    st.builds(lambda cls, args: cls(*args), st.sampled_from([ValueError, KeyError, RuntimeError]), st.lists(PLAIN))
    | st.builds(Refused, LEAVES, st.integers(0, 9))
    | st.builds(Lost, st.integers(0, 9), st.text(max_size=3), st.none() | st.text(max_size=3))
)


def _attributed(value: Any, attributes: dict[str, Any], owner: Any) -> Any:
    value.__dict__.update(attributes)
    if type(value) is Names:
        value.owner = owner
    return value


def _made(given: Any, seed: Any, rest: Any) -> Made:
    made = Made(given, seed)
    if rest is not None:
        made.rest = rest
    return made


FACTORIES = st.sampled_from([None, int, list, dict, set, str, collections.Counter, collections.deque])
ATTRIBUTES = st.dictionaries(st.sampled_from(["note", "x"]), LEAVES, max_size=1)


def _containers(inner: Any) -> Any:
    """Return Python's containers and subclasses of built-in types, of inner values."""
    few = st.lists(inner, max_size=3)
    table = st.dictionaries(KEYS, inner, max_size=3)
    attributed = (
        few.map(Names)
        | table.map(Table)
        | st.sets(KEYS, max_size=2).map(Tags)
        | st.binary(max_size=4).map(Buffer)
        | table.map(collections.OrderedDict)
        | st.builds(Cents, st.integers())
    )
    return (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
        | table
        | st.sets(KEYS, max_size=3)
        | few.map(tuple)
        | st.builds(collections.deque, few, st.none() | st.integers(3, 5))
        | st.builds(collections.defaultdict, FACTORIES, table)
        | table.map(collections.Counter)
        | st.builds(_attributed, attributed, ATTRIBUTES, inner)
    )


def _objects(inner: Any) -> Any:
    """Return objects of every registered class with fields, of inner values."""
    return (
        st.builds(Loan, inner, inner)
        | st.builds(Pair, inner, inner)
        | st.builds(_made, inner, inner, inner)
        | st.builds(Half, inner, half=inner)
        | inner.map(Box)
        | inner.map(lambda content: Box[int](content))
        | st.builds(Tree, LEAVES, st.lists(st.builds(Tree, inner), max_size=2), st.builds(Tree.Leaf, inner))
        | st.builds(Gauge, LEAVES.filter(lambda value: type(value) is int), inner)
        | st.builds(lambda more, own: _attributed(Loose(1, more=more), own, None), inner, ATTRIBUTES)
    )


VALUES = st.recursive(
    KEYS | st.binary(max_size=8).map(bytearray) | brief(MODELS | ERRORS) | ARRAYS | SCALARS,
    lambda inner: _containers(brief(inner)) | _objects(brief(inner)),
    max_leaves=10,
)
"""Every type that the serializer stores, nested."""
