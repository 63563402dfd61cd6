"""numpy's arrays and scalars: the dtype as words from a closed list, the elements as their bytes.

numpy is imported only by a stored value of its own. Every dtype without pointers has a stored form: numbers, bools,
text and bytes of fixed width, dates and spans, void, structures and subarrays of them, in any byte order. An array
comes back with its dtype, shape, memory order (C or Fortran; a strided view is stored as C) and elements, bit for bit;
it owns its memory, and is read-only exactly when it was. Bytes that are nobody's (padding) are stored as zeros.

A dtype is a str like `<f8`, `["s", itemsize, aligned, [[name, title, offset, dtype] …]]` or `["a", dtype, shape]`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, cast

from msgspec.msgpack import Decoder
from ormsgpack import packb

from ..errors import MissingExtra, UnsupportedTypeError
from . import format as f
from .scalars import NotHere, text_bytes, text_from

_DTYPE_DEPTH = 16
_EMPTY_ELEMENT_MAX = 1 << 20
"""numpy makes room for one element even where there is none."""
_PLAIN_DTYPE = re.compile(
    r"[<>|]?([?bBhHiIlLqQefdgFDG]|[biufc][1-9]\d?|[SUV]\d{1,9}|[mM]8(\[\d*(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?)"
)
"""Every dtype of numpy's own that holds no pointer, and nothing that makes numpy parse, import or allocate."""
_decode = Decoder().decode


def encoder(cls: type) -> tuple[int, Callable[[Any], bytes]] | None:
    """Return the code of a class of numpy's and how its instances are written, or `None`. Imports nothing."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if cls is getattr(numpy, "ndarray", None):
        return f.ARRAY, _array_bytes
    if cls.__module__ == "numpy" and issubclass(cls, getattr(numpy, "generic", ())):
        return f.ARRAY_SCALAR, _scalar_bytes
    return None


def _array_bytes(array: Any) -> bytes:
    dtype = array.dtype
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    spec = _dtype_parts(dtype, 0)
    if (not dtype.itemsize and array.size) or (not array.size and dtype.itemsize > _EMPTY_ELEMENT_MAX):
        raise UnsupportedTypeError(f"it has {array.size} elements of {dtype.itemsize} bytes each")
    data = _owned(dtype, array.tobytes(order))
    return packb([spec, list(array.shape), order, array.flags.writeable, data])


def _array_from(payload: bytes) -> Any:
    numpy = _numpy()
    spec, shape, order, writeable, data = _decode(payload)
    dtype = _dtype_from(numpy, spec, 0)
    if type(data) is not bytes or type(writeable) is not bool or order not in ("C", "F"):
        raise ValueError("no array")
    count = 1
    for length in cast("list[int]", shape):
        if type(length) is not int or length < 0:
            raise ValueError("the shape of an array is of whole numbers")
        count *= length
    if count * dtype.itemsize != len(data) or (count and not dtype.itemsize):
        raise ValueError("an array has as many bytes as its shape says")
    if not count and dtype.itemsize > _EMPTY_ELEMENT_MAX:
        raise ValueError("an array of nothing has small elements")
    array = numpy.ndarray(tuple(shape), dtype, data, order=order).copy(order="K")
    array.setflags(write=writeable)
    return array


def _scalar_bytes(scalar: Any) -> bytes:
    dtype = scalar.dtype
    if dtype.type is not type(scalar):
        raise UnsupportedTypeError("it is of a class of its own; use numpy's scalar")
    if dtype.char == "U":
        return packb(["U", text_bytes(str.__str__(scalar))])  # numpy's own str() drops trailing NULs
    if dtype.char == "S":
        return packb(["S", bytes.__getitem__(scalar, slice(None))])
    return packb([_dtype_parts(dtype, 0), _owned(dtype, scalar.tobytes())])


def _scalar_from(payload: bytes) -> Any:
    numpy = _numpy()
    spec, data = _decode(payload)
    if type(data) is not bytes:
        raise ValueError("no scalar")
    if spec == "U":
        return numpy.str_(text_from(data))
    if spec == "S":
        return numpy.bytes_(data)
    dtype = _dtype_from(numpy, spec, 0)
    if dtype.char in "US" or dtype.itemsize != len(data):
        raise ValueError("a scalar has as many bytes as its dtype says")
    if not data:
        return numpy.zeros((), dtype)[()]
    return numpy.ndarray((), dtype, data).copy()[()]


def _dtype_parts(dtype: Any, depth: int) -> Any:
    """Return a dtype as plain data; raises UnsupportedTypeError for one that would come back as another."""
    if dtype.hasobject:
        raise UnsupportedTypeError(f"its dtype {dtype} holds pointers; use a dtype of numbers, text or bytes")
    if depth > _DTYPE_DEPTH:
        raise UnsupportedTypeError("its dtype is nested too deep")
    if dtype.metadata:
        raise UnsupportedTypeError(f"its dtype {dtype} has metadata, which is not stored; use a dtype without")
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return ["a", _dtype_parts(base, depth + 1), list(shape)]
    if dtype.names is not None:
        parts = ["s", dtype.itemsize, dtype.isalignedstruct, _fields(dtype, depth)]
    else:
        parts = _plain_dtype(dtype)
    # A class of its own (numpy.record), or a dtype of another package, is another dtype when it comes back.
    again = _dtype_from(sys.modules["numpy"], parts, depth)
    if again != dtype or again.type is not dtype.type or again.char != dtype.char:
        raise UnsupportedTypeError(f"its dtype {dtype!r} has no stored form; use one of numpy's own")
    return parts


def _plain_dtype(dtype: Any) -> str:
    text = dtype.str
    if not _PLAIN_DTYPE.fullmatch(text):
        raise UnsupportedTypeError(f"its dtype {dtype!r} has no stored form; use one of numpy's own")
    # Two C types of one size are two dtypes: `l` and `q`.
    return text if sys.modules["numpy"].dtype(text).char == dtype.char else text[0] + dtype.char


def _fields(dtype: Any, depth: int) -> list[Any]:
    found: list[Any] = []
    for name in dtype.names:
        part, offset, *title = dtype.fields[name]
        if title and type(title[0]) is not str:
            raise UnsupportedTypeError("a title in its dtype is no str")
        found.append([text_bytes(name), text_bytes(title[0]) if title else None, offset, _dtype_parts(part, depth + 1)])
    return found


def _dtype_from(numpy: Any, spec: Any, depth: int) -> Any:
    """Return the dtype of plain data; raises ValueError, TypeError or NotHere and builds nothing else."""
    if depth > _DTYPE_DEPTH:
        raise ValueError("a dtype is nested too deep")
    if type(spec) is str:
        if not _PLAIN_DTYPE.fullmatch(spec):
            raise ValueError("no dtype")
        try:
            return numpy.dtype(spec)
        except TypeError as error:
            raise NotHere(f"array of {spec}") from error
    kind, *parts = spec
    if kind == "a":
        base, shape = parts
        return numpy.dtype((_dtype_from(numpy, base, depth + 1), tuple(shape)))
    size, aligned, fields = parts
    if kind != "s" or type(size) is not int or type(aligned) is not bool:
        raise ValueError("no dtype")
    formats = [_dtype_from(numpy, field[3], depth + 1) for field in fields]
    made: dict[str, Any] = {
        "names": [text_from(field[0]) for field in fields],
        "formats": formats,
        "offsets": [field[2] for field in fields],
        "itemsize": size,
    }
    titles = [None if field[1] is None else text_from(field[1]) for field in fields]
    if any(title is not None for title in titles):
        made["titles"] = titles
    return numpy.dtype(made, align=aligned)


def _owned(dtype: Any, data: bytes) -> bytes:
    """Return elements with zeros for the bytes that belong to no field: what lies there is no part of the value."""
    mask = _mask(dtype) if data else b""
    if 0 not in mask:
        return data
    numpy: Any = sys.modules["numpy"]
    rows = numpy.frombuffer(data, "u1").reshape(-1, len(mask))
    return (rows & numpy.frombuffer(mask, "u1")).tobytes()


def _mask(dtype: Any) -> bytes:
    """Return 255 for each byte of an element that is part of it, 0 for the others."""
    if dtype.subdtype is not None:
        base, _shape = dtype.subdtype
        return _mask(base) * (dtype.itemsize // base.itemsize) if base.itemsize else b""
    if dtype.names is not None:
        mask = bytearray(dtype.itemsize)
        for name in dtype.names:
            part, offset, *_title = dtype.fields[name]
            end = offset + part.itemsize
            both = int.from_bytes(mask[offset:end], "big") | int.from_bytes(_mask(part), "big")
            mask[offset:end] = both.to_bytes(part.itemsize, "big")
        return bytes(mask)
    return _number_mask(dtype)


def _number_mask(dtype: Any) -> bytes:
    """A long double of an x86 machine has ten bytes in sixteen (or twelve)."""
    if dtype.char not in "gG" or sys.modules["numpy"].finfo("g").nmant != 63:
        return b"\xff" * dtype.itemsize
    size = dtype.itemsize if dtype.char == "g" else dtype.itemsize // 2
    one = b"\xff" * 10 + b"\0" * (size - 10)
    one = one[::-1] if dtype.str[0] == ">" else one
    return one if dtype.char == "g" else one * 2


def _numpy() -> Any:
    try:
        import numpy
    except ImportError as error:
        raise MissingExtra("the value is of numpy, which is not installed: pip install 'lithograph[numpy]'") from error
    return numpy


DECODERS: dict[int, Callable[[bytes], Any]] = {f.ARRAY: _array_from, f.ARRAY_SCALAR: _scalar_from}
