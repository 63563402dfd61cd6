"""The stored form of values: plain MessagePack, and one extension code for each type beyond it.

None, bool, 64-bit int, float, str, bytes, list and dict with str keys are MessagePack as it is. Everything
else is an extension whose payload is either a fixed layout (`scalars`) or MessagePack again, so tagged values
nest. Codes are for ever. The same value has the same bytes in every process: dict order is part of the value,
sets are sorted by their encoded members.

Two guards live here. `hides_buffers` finds what ormsgpack packs without asking (a bytearray would silently
become bytes). `too_deep` keeps the nesting of tagged values so low that whatever was encoded can be decoded.
Read `serializer` next.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from sys import getrefcount
from typing import Any

import msgspec

_WAS_LOADED = "ormsgpack" in sys.modules
"""Whether somebody may hold objects of ormsgpack's that were made before we counted."""

import ormsgpack  # noqa: E402
from ormsgpack import Ext, Fragment, packb  # noqa: E402

TUPLE = 1
SET = 2
FROZENSET = 3
MAPPING = 4
"""A dict with any key that is not a str: key, value, key, value …"""
BYTEARRAY = 5
BIG_INT = 6
SURROGATES = 7
"""A str with lone surrogates."""
DATETIME = 8
DATE = 9
TIME = 10
TIMEDELTA = 11
ZONE = 12
"""A `zoneinfo.ZoneInfo`, or a `datetime.timezone`."""
UUID = 13
DECIMAL = 14
OBJECT = 15
"""An instance of a registered class: name, shape, fields."""
BUILTIN_ERROR = 16
"""One of Python's own exceptions: name, arguments, attributes."""
STORED_ERROR = 17
"""Any other exception, as data: type name, str, repr, arguments."""
MESSAGE = 18
COMPLEX = 19
RANGE = 20
FRACTION = 21
PATH = 22
"""One of the four classes of `pathlib` that have instances."""
PATTERN = 23
"""A compiled regular expression."""
IP = 24
"""One of the six classes of `ipaddress`."""
DEQUE = 25
ORDERED_DICT = 26
DEFAULTDICT = 27
COUNTER = 28
ARRAY = 29
"""A numpy array."""
ARRAY_SCALAR = 30
"""A numpy scalar."""
UNSET = 31
"""`msgspec.UNSET`."""
MARKED = 32
"""What a saver's own serde stored: its tag, its bytes."""
NATIVE_FIRST = 64
NATIVE_LAST = 127
"""Codes that other rooms give to their own types with `TypeRegistry.register_native`."""

PLAIN_DEPTH = 254
"""How many lists and dicts may lie within one another; ormsgpack's own limit."""
TAGGED_PLAIN_DEPTH = 64
"""The same within a tagged value, on the fast path."""
FAST_TAGGED_DEPTH = 8
"""How many tagged values may lie within one another before the exact walk takes over."""
TAGGED_DEPTH = 96
"""How many tagged values may lie within one another at all."""
DEPTH_BUDGET = 760
"""Plain levels plus four for each tagged one: what Python's default recursion limit can decode."""

OPTIONS = (
    ormsgpack.OPT_PASSTHROUGH_BIG_INT
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
"""Everything that ormsgpack would turn into something else is passed to our hook instead."""

Pack = Callable[[list[Any]], bytes]

_BUFFERS = frozenset({bytearray, memoryview, Ext, Fragment})
_CONTAINERS = frozenset({list, dict})
_PLAIN = _CONTAINERS | {str, int, float, bool, bytes, type(None)}
"""What `gc.get_referents` leads from to values only; a class instance leads to its class."""
_LONG = 1 << 15
_NEAR_LEVELS = 2
"""From how many bytes on, and how deep, it pays to look at a value before looking at its bytes."""
_HEADS = bytes([*range(0x80, 0xA0), 0xDC, 0xDD, 0xDE, 0xDF])
_references = (0, 0)
"""How many references there are to `Fragment` and `Ext` while neither has an instance."""
_RAW_LIST = msgspec.msgpack.Decoder(list[msgspec.Raw])


def array_header(length: int) -> bytes:
    """Return the MessagePack header of an array of `length` elements."""
    if length < 16:
        return bytes((0x90 | length,))
    if length < 1 << 16:
        return b"\xdc" + length.to_bytes(2, "big")
    return b"\xdd" + length.to_bytes(4, "big")


def split_array(data: bytes) -> list[bytes]:
    """Return the encoded elements of an encoded list; raises msgspec's errors on anything else."""
    return [bytes(element) for element in _RAW_LIST.decode(data)]


def join_array(parts: Iterable[bytes]) -> bytes:
    """Return the encoding of a list, made of its encoded elements."""
    parts = list(parts)
    return array_header(len(parts)) + b"".join(parts)


def array_body(data: bytes) -> memoryview:
    """Return an encoded list without its header: the encodings of its elements, one behind the other."""
    first = data[0]
    return memoryview(data)[1 if first < 0xDC else 3 if first == 0xDC else 5 :]


def array_length(data: bytes) -> int:
    """Return how many elements an encoded list has, as its header says."""
    first = data[0]
    if first < 0xDC:
        return first & 0x0F
    return int.from_bytes(data[1 : 3 if first == 0xDC else 5], "big")


def pack_exact(value: Any, hook: Callable[[Any], Ext] | None) -> bytes:
    """Pack a value whose every part is MessagePack's own or known to `hook`; raises TypeError otherwise."""
    fragments, extensions = _references
    spliced = getrefcount(Fragment) > fragments or getrefcount(Ext) > extensions
    data = packb(value, hook, OPTIONS)
    if not spliced and len(data) <= _LONG and not _may_hold_buffers(data):
        return data
    if hides_buffers(value, None if spliced else data):
        raise TypeError("a buffer would become bytes")
    return data


def _may_hold_buffers(data: bytes) -> bool:
    """Say whether packed bytes contain a byte that could head a `bin`."""
    return 0xC4 in data or 0xC5 in data or 0xC6 in data


def count_references() -> None:
    """Count references to the classes whose instances ormsgpack writes as they are, whatever bytes they hold.

    Called once, when this package is imported. Each instance is one reference more, so while there are no more nobody
    needs to look for one in every value. A reference that is none costs that look and nothing else.

    Where somebody loaded ormsgpack before us there may be instances already, whose going would make room for others in
    the count; and without its lock Python does not count references to classes. In both cases every value is looked at.
    """
    global _references
    counts = not _WAS_LOADED and getattr(sys, "_is_gil_enabled", lambda: True)()
    _references = (getrefcount(Fragment), getrefcount(Ext)) if counts else (0, 0)


def hides_buffers(value: Any, data: bytes | None = None) -> bool:
    """Say whether lists and dicts hold, at any depth, what ormsgpack packs as something else.

    Levels of the tree go through the garbage collector's C code, in about the time of packing. `data` are the packed
    bytes, when they tell: they do where no object can put bytes of its own among ours. They are asked only when the
    value does not end near its root, as a list of long texts does, which takes less time than to look at its bytes.
    """
    level = [value]
    near = _NEAR_LEVELS
    while True:
        types = set(map(type, level))
        if not types.isdisjoint(_BUFFERS):
            return True
        if types.isdisjoint(_CONTAINERS):
            return False
        if not near and data is not None and not _may_hold_buffers(data):
            return False
        near -= 1
        if not types <= _PLAIN:
            level = [item for item in level if type(item) in _CONTAINERS]
        level = gc.get_referents(*level)


def too_deep(fields: list[Any], data: bytes) -> bool:
    """Say whether `fields`, packed as `data`, nest lists and dicts deeper than the fast path allows."""
    if len(data) <= TAGGED_PLAIN_DEPTH or len(data) - len(data.translate(None, _HEADS)) <= TAGGED_PLAIN_DEPTH:
        return False
    level: list[Any] = fields
    for _ in range(TAGGED_PLAIN_DEPTH):
        level = gc.get_referents(*[item for item in level if type(item) is list or type(item) is dict])
        if not level:
            return False
    return True
