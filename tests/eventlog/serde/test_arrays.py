"""numpy's values: exact in dtype, shape, order and bits; numpy is imported by a stored array and by nothing else."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

import msgspec
import numpy as np
import pytest
from lithograph.eventlog.errors import MalformedValue, MissingExtra, UnsupportedTypeError
from lithograph.eventlog.serde import Serializer
from lithograph.eventlog.serde import format as f

from tests.eventlog.serde.arrays import DTYPES, ODD, ORDERS, array, same_array, same_scalar

CODEC = Serializer()
SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (3,), (2, 3), (3, 0, 2), (2, 1, 2, 1)]


def again(value: Any) -> Any:
    """Return a value as it comes back."""
    return CODEC.decode(CODEC.encode(value))


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
def test_every_dtype_in_every_order(dtype: Any) -> None:
    """Arrays of each dtype come back exactly, whatever their shape and memory order; so do their elements."""
    for shape in SHAPES:
        for order in ORDERS:
            made = array(dtype, shape, 5, order)
            back = again([made])[0]
            assert same_array(back, made), (shape, order)
            assert back.flags.owndata
            assert CODEC.encode(back) == CODEC.encode(made)
    for element in array(dtype, (4,), 5):
        assert type(again(element)) is type(element)
        assert same_scalar(again(element), element)


@pytest.mark.parametrize("scalar", ODD, ids=repr)
def test_odd_scalars(scalar: Any) -> None:
    """Scalars that an array of one element would change come back exactly."""
    assert type(again(scalar)) is type(scalar)
    assert same_scalar(again(scalar), scalar)
    assert len(again(scalar)) == len(scalar) if isinstance(scalar, (str, bytes)) else True


def test_order_and_writeability_come_back() -> None:
    """C stays C, Fortran stays Fortran, a strided view becomes C; read-only stays read-only, others can be written."""
    for made, order in (
        (np.ones((2, 3)), "C"),
        (np.asfortranarray(np.ones((2, 3))), "F"),
        (np.ones((4, 6))[::2, ::2], "C"),
    ):
        back = again(made)
        assert (back.flags.c_contiguous, back.flags.f_contiguous) == (order == "C", order == "F")
        back[0, 0] = 5
        made.setflags(write=False)
        with pytest.raises(ValueError, match="read-only"):
            again(made)[0, 0] = 5


def test_bytes_that_are_nobodys_are_no_part_of_the_value() -> None:
    """What lies between fields, or behind a long double, does not reach the stored bytes."""
    for dtype in (
        np.dtype([("a", "i1"), ("b", "f8")], align=True),
        np.dtype("g"),
        np.dtype(">G"),
        np.dtype([("w", "g", (2,))]),
    ):
        ones = np.frombuffer(b"\x01" * dtype.itemsize * 2, dtype).copy()
        dirty = np.frombuffer(b"\x02" * dtype.itemsize * 2, dtype).copy()
        for place in range(2):
            dirty[place] = ones[place]
        clean = np.zeros(2, dtype)
        clean[...] = ones
        assert len({CODEC.encode(each) for each in (ones, dirty, clean)}) == 1
        assert len({CODEC.encode(each[0]) for each in (ones, dirty, clean)}) == 1


def test_every_bit_of_a_number_comes_back() -> None:
    """The payloads of NaN and the sign of zero survive, in arrays and in scalars."""
    bits = np.array([0x7FF8000000000001, 0xFFF0000000000007, 0x8000000000000000], "u8").view("f8")
    assert again(bits).tobytes() == bits.tobytes()
    assert [again(each).tobytes() for each in bits] == [each.tobytes() for each in bits]


def payload(spec: Any, shape: Any = (1,), order: Any = "C", writeable: Any = True, data: Any = b"\0" * 8) -> bytes:
    """Return an array's extension, made by hand."""
    body = msgspec.msgpack.encode([spec, shape, order, writeable, data])
    return b"\xc9" + len(body).to_bytes(4, "big") + bytes((f.ARRAY,)) + body


def nested(depth: int) -> Any:
    """Return the stored form of a dtype within a dtype, many times."""
    spec: Any = "<f8"
    for _ in range(depth):
        spec = ["a", spec, [1]]
    return spec


HOSTILE: dict[str, bytes] = {
    "pointers": payload("|O"),
    "pointers by name": payload("object"),
    "pointers in a field": payload(["s", 8, False, [[b"a", None, 0, "|O"]]]),
    "several dtypes in one": payload("i4,i4"),
    "a dtype that makes numpy allocate": payload("(100000000,)f8"),
    "a class": payload("numpy.record"),
    "a number": payload(7),
    "nothing": payload(None),
    "few bytes": payload("<f8", (2,)),
    "many bytes": payload("<f8", (0,)),
    "a huge shape": payload("<f8", (1 << 40, 1 << 40)),
    "a negative shape": payload("<f8", (-1, -1)),
    "a shape of another kind": payload("<f8", ("8",)),
    "too many dimensions": payload("<f8", (1,) * 100),
    "endless nothing": payload("|V0", (1 << 60,), data=b""),
    "nothing of giants": payload("|S999999999", (0,), data=b""),
    "nothing of giants in a field": payload(["s", 1 << 30, False, []], (0,), data=b""),
    "an order of nobody": payload("<f8", order="K"),
    "a text for bytes": payload("<f8", data="12345678"),
    "a flag of another kind": payload("<f8", writeable=1),
    "a field beyond the element": payload(["s", 8, False, [[b"a", None, 4, "<f8"]]]),
    "a field before the element": payload(["s", 8, False, [[b"a", None, -4, "<f4"]]]),
    "a field twice": payload(["s", 8, False, [[b"a", None, 0, "<f4"], [b"a", None, 4, "<f4"]]]),
    "a kind of nobody": payload(["x", 8, False, []]),
    "a dtype nested for ever": payload(nested(40)),
    "a dtype nested beyond the stack": payload(nested(900)),
    "half a dtype": payload(["a", "<f8"]),
    "a scalar of many bytes": b"\xc7\x08" + bytes((f.ARRAY_SCALAR,)) + b"\x92\xa3<f8\xc4\x01x",
    "a text scalar as an array": b"\xc7\x09" + bytes((f.ARRAY_SCALAR,)) + b"\x92\xa3<U1\xc4\x02xx",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_arrays_are_malformed(name: str) -> None:
    """Bytes that name another dtype than the listed ones, or lie about the size, are refused without allocating."""
    with pytest.raises(MalformedValue):
        CODEC.decode(HOSTILE[name])


def test_refusals_say_why() -> None:
    """Pointers, metadata and classes of one's own are named in the error."""
    for value, why in (
        (np.array([None]), "pointers"),
        (np.zeros(1, np.dtype("f8", metadata={"a": 1})), "metadata"),
        (type("Mine", (np.float64,), {})(1), "convert it"),
        (type("Mine", (np.ndarray,), {})((1,)), "no stored form"),
    ):
        with pytest.raises(UnsupportedTypeError, match=why):
            CODEC.encode([value])


def run(code: str, *arguments: str) -> str:
    """Run Python in another process and return what it prints."""
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_numpy_is_imported_by_an_array_only() -> None:
    """Storing and reading other values imports no numpy; reading an array does."""
    code = """
        import sys
        from lithograph.eventlog.serde import Serializer
        codec = Serializer()
        class Odd: pass
        codec.decode(codec.encode([1, (2,), {3}, 1j, {4: b"5"}]))
        try: codec.encode(Odd())
        except TypeError: print("numpy" in sys.modules)
        print(codec.decode(bytes.fromhex(sys.argv[1])), "numpy" in sys.modules)
    """
    assert run(code, CODEC.encode(np.arange(3)).hex()).split("\n") == ["False", "[0 1 2] True", ""]


def test_without_numpy_an_array_is_a_typed_error() -> None:
    """Who reads an array where numpy is not installed is told what to install."""
    code = """
        import sys
        sys.modules["numpy"] = None
        from lithograph.eventlog.errors import MissingExtra
        from lithograph.eventlog.serde import Serializer
        for data in sys.argv[1:]:
            try: Serializer().decode(bytes.fromhex(data))
            except MissingExtra as error: print(error)
    """
    assert issubclass(MissingExtra, ImportError)
    told = run(code, CODEC.encode([np.arange(3)]).hex(), CODEC.encode(np.float32(1)).hex())
    assert told.count("pip install 'lithograph[numpy]'") == 2
