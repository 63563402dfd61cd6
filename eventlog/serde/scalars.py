"""Types without parts of their own: each to a fixed layout of bytes and back.

Numbers are big-endian. A time zone is a tail: nothing (naive), `z` and a zone key, `o` and an offset in
microseconds, `n` and the same with a name. An unknown zone key is no malformed value: the reader's machine
lacks it, and the caller shows the value as `Opaque`. Types of modules that need not be imported are in `library`.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from decimal import Decimal
from struct import Struct
from typing import Any, cast
from uuid import UUID, SafeUUID

from ..errors import UnsupportedTypeError
from . import format as f

_DATETIME = Struct(">HBBBBBIB")
_DATE = Struct(">HBB")
_TIME = Struct(">BBBIB")
_TIMEDELTA = Struct(">iII")
_OFFSET = Struct(">q")
_COMPLEX = Struct(">dd")
_MICROSECOND = dt.timedelta(microseconds=1)


class NotHere(LookupError):
    """A stored value that this machine cannot have: its time zone data lacks the zone, its Python the syntax …"""


def _int_bytes(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


def _int_from(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def integer_bytes(*values: int) -> bytes:
    """Return whole numbers of any size, each behind its length."""
    return b"".join(len(data).to_bytes(4, "big") + data for data in map(_int_bytes, values))


def integers_from(data: bytes, count: int) -> list[int]:
    """Return exactly `count` whole numbers; raises ValueError on anything else."""
    found: list[int] = []
    place = 0
    while place < len(data) and len(found) < count:
        end = place + 4 + int.from_bytes(data[place : place + 4], "big")
        found.append(_int_from(data[place + 4 : end]))
        place = end
    if place != len(data) or len(found) != count:
        raise ValueError(f"these are not {count} whole numbers")
    return found


def text_bytes(value: str) -> bytes:
    """Return any text as bytes, lone surrogates too."""
    return value.encode("utf-8", "surrogatepass")


def text_from(data: bytes) -> str:
    """Return the text of `text_bytes`."""
    return data.decode("utf-8", "surrogatepass")


def _datetime_bytes(value: dt.datetime) -> bytes:
    head = _DATETIME.pack(
        value.year,
        value.month,
        value.day,
        value.hour,
        value.minute,
        value.second,
        value.microsecond,
        value.fold,
    )
    return head if value.tzinfo is None else head + zone_bytes(value.tzinfo)


def _datetime_from(data: bytes) -> dt.datetime:
    year, month, day, hour, minute, second, microsecond, fold = _DATETIME.unpack_from(data)
    zone = _zone_from(data[_DATETIME.size :])
    return dt.datetime(year, month, day, hour, minute, second, microsecond, zone, fold=fold)


def _date_bytes(value: dt.date) -> bytes:
    return _DATE.pack(value.year, value.month, value.day)


def _date_from(data: bytes) -> dt.date:
    return dt.date(*_DATE.unpack(data))


def _time_bytes(value: dt.time) -> bytes:
    head = _TIME.pack(value.hour, value.minute, value.second, value.microsecond, value.fold)
    return head if value.tzinfo is None else head + zone_bytes(value.tzinfo)


def _time_from(data: bytes) -> dt.time:
    hour, minute, second, microsecond, fold = _TIME.unpack_from(data)
    return dt.time(hour, minute, second, microsecond, _zone_from(data[_TIME.size :]), fold=fold)


def _timedelta_bytes(value: dt.timedelta) -> bytes:
    return _TIMEDELTA.pack(value.days, value.seconds, value.microseconds)


def _timedelta_from(data: bytes) -> dt.timedelta:
    return dt.timedelta(*_TIMEDELTA.unpack(data))


def zone_bytes(zone: dt.tzinfo) -> bytes:
    """Return a time zone of the two kinds that have a stored form, as the tail of a time or alone."""
    if type(zone) is dt.timezone:
        offset, *name = zone.__getinitargs__()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
        count = _OFFSET.pack(offset // _MICROSECOND)
        return b"n" + count + text_bytes(cast(str, name[0])) if name else b"o" + count
    key = getattr(zone, "key", None)
    if _is_zone_info(type(zone)) and type(key) is str:
        return b"z" + text_bytes(key)
    name = f"{type(zone).__module__}.{type(zone).__qualname__}"
    raise UnsupportedTypeError(f"time zone {name} has no stored form: use zoneinfo.ZoneInfo", type_name=name)


def _zone_from(data: bytes) -> dt.tzinfo | None:
    if not data:
        return None
    if data[:1] == b"z":
        return _zone_info(text_from(data[1:]))
    if data[:1] not in (b"o", b"n"):
        raise ValueError("no time zone")
    (offset,) = _OFFSET.unpack_from(data, 1)
    name = data[1 + _OFFSET.size :]
    delta = dt.timedelta(microseconds=offset)
    return dt.timezone(delta, text_from(name)) if data[:1] == b"n" else dt.timezone(delta)


def _zone_value_from(data: bytes) -> dt.tzinfo:
    zone = _zone_from(data)
    if zone is None:
        raise ValueError("no time zone")
    return zone


def _zone_info(key: str) -> dt.tzinfo:
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(key)
    except (zoneinfo.ZoneInfoNotFoundError, OSError, ImportError) as error:
        raise NotHere(f"value in time zone {key}") from error


def _is_zone_info(cls: type) -> bool:
    module = sys.modules.get("zoneinfo")
    return module is not None and cls is module.ZoneInfo


def _uuid_bytes(value: UUID) -> bytes:
    safe = value.is_safe
    if safe is SafeUUID.unknown:
        return value.bytes
    return value.bytes + (b"\x01" if safe is SafeUUID.safe else b"\x00")


def _uuid_from(data: bytes) -> UUID:
    if len(data) == 16:
        return UUID(bytes=data)
    return UUID(bytes=data[:16], is_safe={b"\x01": SafeUUID.safe, b"\x00": SafeUUID.unsafe}[data[16:]])


def _decimal_bytes(value: Decimal) -> bytes:
    return str(value).encode()


def _decimal_from(data: bytes) -> Decimal:
    return Decimal(data.decode())


def _complex_bytes(value: complex) -> bytes:
    return _COMPLEX.pack(value.real, value.imag)


def _complex_from(data: bytes) -> complex:
    return complex(*_COMPLEX.unpack(data))


def _range_bytes(value: range) -> bytes:
    return integer_bytes(value.start, value.stop, value.step)


def _range_from(data: bytes) -> range:
    return range(*integers_from(data, 3))


ENCODERS: dict[type, tuple[int, Callable[[Any], bytes]]] = {
    int: (f.BIG_INT, _int_bytes),
    bytearray: (f.BYTEARRAY, bytes),
    dt.datetime: (f.DATETIME, _datetime_bytes),
    dt.date: (f.DATE, _date_bytes),
    dt.time: (f.TIME, _time_bytes),
    dt.timedelta: (f.TIMEDELTA, _timedelta_bytes),
    dt.timezone: (f.ZONE, zone_bytes),
    UUID: (f.UUID, _uuid_bytes),
    Decimal: (f.DECIMAL, _decimal_bytes),
    complex: (f.COMPLEX, _complex_bytes),
    range: (f.RANGE, _range_bytes),
}
"""The exact type: its code and how it is written; str is in `walk`."""

DECODERS: dict[int, Callable[[bytes], Any]] = {
    f.BIG_INT: _int_from,
    f.BYTEARRAY: bytearray,
    f.SURROGATES: text_from,
    f.DATETIME: _datetime_from,
    f.DATE: _date_from,
    f.TIME: _time_from,
    f.TIMEDELTA: _timedelta_from,
    f.ZONE: _zone_value_from,
    f.UUID: _uuid_from,
    f.DECIMAL: _decimal_from,
    f.COMPLEX: _complex_from,
    f.RANGE: _range_from,
}
