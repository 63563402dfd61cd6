"""Types of the standard library whose modules need not be imported: fractions, paths, patterns, addresses, zones.

A class is recognised by its name in a module that is imported already, so a program without paths never imports
`pathlib`. Reading such a value imports its module: these modules are part of the closed registry. What this machine
cannot have (a Windows path elsewhere than on Windows, a pattern that this Python does not compile) is `NotHere`, and
shown as `Opaque`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, cast

from ..errors import UnsupportedTypeError
from . import format as f
from .scalars import NotHere, integer_bytes, integers_from, text_bytes, text_from, zone_bytes

PATTERN_MAX = 1 << 16
"""How long a regular expression may be: compiled ones take up to a thousand times the memory of their text."""

_PATHS = ("PurePosixPath", "PureWindowsPath", "PosixPath", "WindowsPath")
_ADDRESSES = ("IPv4Address", "IPv6Address", "IPv4Network", "IPv6Network", "IPv4Interface", "IPv6Interface")
_FLAGS = 2 | 4 | 8 | 16 | 32 | 64 | 256
"""The flags of `re` that change what matches: I, L, M, S, U, X, A. DEBUG prints, TEMPLATE is gone."""


def encoder(cls: type) -> tuple[int, Callable[[Any], bytes]] | None:
    """Return the code of a class of these modules and how its instances are written, or `None`. Imports nothing."""
    known = _KNOWN.get(cls.__name__)
    if known is None or getattr(sys.modules.get(known[0]), cls.__name__, None) is not cls:
        return None
    return known[1:]


def _fraction_bytes(value: Any) -> bytes:
    return integer_bytes(value.numerator, value.denominator)


def _fraction_from(data: bytes) -> Any:
    from fractions import Fraction

    numerator, denominator = integers_from(data, 2)
    value = Fraction(numerator, denominator)
    if (value.numerator, value.denominator) != (numerator, denominator):
        raise ValueError("a fraction is in lowest terms")
    return value


def _path_bytes(value: Any) -> bytes:
    cls: Any = cast(Any, type(value))
    text = str(value)
    again = cls(text)
    if again != value or again.parts != value.parts:
        raise UnsupportedTypeError(f"Python reads the text of this path as another one, {again!r}")
    return bytes((_PATHS.index(cls.__name__),)) + text_bytes(text)


def _path_from(data: bytes) -> Any:
    import pathlib

    name, text = _PATHS[data[0]], text_from(data[1:])
    try:
        return getattr(pathlib, name)(text)
    except NotImplementedError as error:
        raise NotHere(f"{name} {text}") from error


def _pattern_bytes(value: Any) -> bytes:
    pattern, flags = value.pattern, value.flags
    if type(pattern) is not str and type(pattern) is not bytes:
        raise UnsupportedTypeError(f"its pattern is of type {type(pattern).__qualname__}; compile a str or bytes")
    if flags & ~_FLAGS:
        raise UnsupportedTypeError("it was compiled with a flag for debugging; compile it without")
    data = text_bytes(pattern) if type(pattern) is str else pattern
    if len(data) > PATTERN_MAX:
        raise UnsupportedTypeError(f"a regular expression has at most {PATTERN_MAX} bytes; store its parts")
    return (b"s" if type(pattern) is str else b"b") + flags.to_bytes(2, "big") + data


def _pattern_from(data: bytes) -> Any:
    import re

    kind, flags, pattern = data[:1], int.from_bytes(data[1:3], "big"), data[3:]
    if kind not in (b"s", b"b") or flags & ~_FLAGS or len(pattern) > PATTERN_MAX:
        raise ValueError("no regular expression")
    shown = text_from(pattern) if kind == b"s" else pattern
    try:
        return re.compile(shown, flags)
    except (re.error, Warning, OverflowError) as error:
        # Another Python compiled it, or this one was told that warnings are errors.
        raise NotHere(f"regular expression {pattern[:40]!r}") from error


def _address_bytes(value: Any) -> bytes:
    cls: Any = cast(Any, type(value))
    text = str(value)
    again = cls(text)
    if again != value or str(again) != text:
        raise UnsupportedTypeError(f"Python reads the text of this address as another one, {again!r}")
    return bytes((_ADDRESSES.index(cls.__name__),)) + text_bytes(text)


def _address_from(data: bytes) -> Any:
    import ipaddress

    return getattr(ipaddress, _ADDRESSES[data[0]])(text_from(data[1:]))


_KNOWN: dict[str, tuple[str, int, Callable[[Any], bytes]]] = {
    "ZoneInfo": ("zoneinfo", f.ZONE, zone_bytes),
    "Fraction": ("fractions", f.FRACTION, _fraction_bytes),
    "Pattern": ("re", f.PATTERN, _pattern_bytes),
    **dict.fromkeys(_PATHS, ("pathlib", f.PATH, _path_bytes)),
    **dict.fromkeys(_ADDRESSES, ("ipaddress", f.IP, _address_bytes)),
}

DECODERS: dict[int, Callable[[bytes], Any]] = {
    f.FRACTION: _fraction_from,
    f.PATH: _path_from,
    f.PATTERN: _pattern_from,
    f.IP: _address_from,
}
