"""numpy's values for the tests of the serializer: every dtype without pointers, arrays in every memory order."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

NUMBERS = [np.dtype(order + char) for char in "?bBhHiIlLqQefdgFDG" for order in "<>"]
TEXTS = [np.dtype(text) for text in ("S5", "U3", ">U2", "V7", "S1")]
TIMES = [np.dtype(text) for text in ("M8[ns]", "<M8", ">M8[D]", "m8[25s]", "m8", ">m8[as]", "M8[Y]", "M8[7D]")]
STRUCTURES = [
    np.dtype([("a", "i1"), ("b", ">f8")]),
    np.dtype([("a", "i1"), ("b", "f8"), ("c", "U2")], align=True),
    np.dtype({"names": ["late", "early"], "formats": ["<i4", "i2"], "offsets": [8, 1], "itemsize": 20}),
    np.dtype({"names": ["a", "b"], "formats": ["<i4", "<i2"], "offsets": [0, 2]}),
    np.dtype([(("a title", "name"), "i2"), ("plain", "?")]),
    np.dtype([("point", [("x", "f4"), ("y", "f4", (2, 3))]), ("when", "M8[s]")]),
    np.dtype([("wide", "g"), ("wider", ">G"), ("long", "q")]),
    np.dtype([("é\U0001f600", "i1")]),
    np.dtype([]),
]
DTYPES = NUMBERS + TEXTS + TIMES + STRUCTURES
ORDERS = ["C", "F", "strided", "transposed", "read-only", "broadcast"]


def array(dtype: Any, shape: tuple[int, ...], seed: int, order: str = "C") -> Any:
    """Return an array of a dtype and shape with reproducible elements, in a memory order."""
    shape = (0, *shape) if not dtype.itemsize else shape
    made = np.zeros(shape, dtype, order="F" if order == "F" else "C")
    _fill(made, np.random.default_rng(seed))
    if order == "strided" and made.ndim:
        return made[::-1]
    if order == "transposed":
        return made.T
    if order == "broadcast":
        return np.broadcast_to(made, (2, *made.shape))
    made.setflags(write=order != "read-only")
    return made


def _fill(made: Any, rng: Any) -> None:
    if made.dtype.names is not None:
        for name in made.dtype.names:
            _fill(made[name], rng)
    elif made.dtype.kind in "SU":
        made[...] = rng.choice(["", "a", "bc", "x\0y"], made.shape).astype(made.dtype)
    elif made.dtype.kind == "V":
        made[...] = np.frombuffer(rng.bytes(made.dtype.itemsize), made.dtype)[0]
    elif made.dtype.kind in "fc":
        made[...] = rng.choice([0.0, -0.0, np.nan, np.inf, 1.5, -3e-5], made.shape)
    else:
        made[...] = rng.integers(0, 2 if made.dtype.kind == "b" else 100, made.shape).astype(made.dtype)


def same_array(one: Any, other: Any) -> bool:
    """Say whether two arrays are of one dtype, shape, memory order and writeability, with the same elements."""
    flags = [(each.flags.c_contiguous, each.flags.f_contiguous, each.flags.writeable) for each in (one, other)]
    strided = any(not (each.flags.c_contiguous or each.flags.f_contiguous) for each in (one, other))
    return (
        same_dtype(one.dtype, other.dtype)
        and one.shape == other.shape
        and (flags[0] == flags[1] or (strided and flags[0][2] == flags[1][2]))
        and _elements(one) == _elements(other)
    )


def same_scalar(one: Any, other: Any) -> bool:
    """Say whether two scalars of one class are the same, bit for bit."""
    return same_dtype(one.dtype, other.dtype) and _elements(np.asarray(one)) == _elements(np.asarray(other))


def same_dtype(one: Any, other: Any) -> bool:
    """Say whether two dtypes are one: byte order, C type, titles and alignment, too."""
    return one == other and one.char == other.char and one.str == other.str and repr(one) == repr(other)


def _elements(made: Any) -> Any:
    """Return what can be compared exactly: bytes, without those that belong to nobody."""
    if made.dtype.names is not None:
        return [_elements(made[name]) for name in made.dtype.names]
    if made.dtype.char in "gG":
        return [repr(each) for each in made.ravel()]
    return made.tobytes()


SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)
ODD = [np.str_("a\0"), np.str_("\ud800"), np.bytes_(b"a\0"), np.datetime64("NaT", "D"), np.void(b""), np.longlong(5)]


def scalar(place: int, seed: int) -> Any:
    """Return a scalar of the dtype at a place, or an odd one."""
    dtype = DTYPES[place % len(DTYPES)]
    return array(dtype, (1,), seed)[0] if dtype.itemsize else ODD[seed % len(ODD)]


def _is_hashable(value: Any) -> bool:
    return not isinstance(value, np.void) and value.dtype.str not in ("<m8", ">m8")


# Numbers for dtypes keep the descriptions of strategies short, which Hypothesis builds again and again.
DTYPE = st.integers(0, len(DTYPES) - 1)
ARRAYS = st.builds(array, DTYPE.map(DTYPES.__getitem__), SHAPES, st.integers(0, 99), st.sampled_from(ORDERS))
SCALARS = st.builds(scalar, DTYPE, st.integers(0, 99))
HASHABLE_SCALARS = SCALARS.filter(_is_hashable)
