"""Bytes that are no stored value raise `MalformedValue` and nothing else, in bounded memory (law L9)."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import textwrap
from collections import Counter, OrderedDict, defaultdict, deque
from fractions import Fraction
from ipaddress import ip_address
from pathlib import PurePosixPath
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lithograph.eventlog.errors import MalformedValue
from lithograph.eventlog.serde import BASE, Serializer, library
from lithograph.eventlog.serde import format as f
from lithograph.eventlog.serde.tagged import marked

from tests.eventlog.serde.classes import Cents, Gauge, Half, Loose, Made, Names, Table, Triple
from tests.eventlog.serde.values import VALUES, Color, Loan, Model, Refused, identical, serializer


def ext(code: int, payload: bytes) -> bytes:
    """Return the bytes of an extension."""
    return b"\xc9" + len(payload).to_bytes(4, "big") + bytes((code,)) + payload


def named(cls: type, parts: bytes) -> bytes:
    """Return the bytes of an instance of a registered class, made by hand."""
    codec = serializer().registry.codec(cls)
    assert codec is not None
    return ext(f.OBJECT, codec.head + parts)


MALFORMED = [
    b"",
    b"\xc1",
    b"\xc0\xc0",
    b"\x91",
    b"\xdd\xff\xff\xff\xff",
    b"\xdf\xff\xff\xff\xff",
    b"\xdd\x0f\xff\xff\xff" * 100,
    b"\xc6\xff\xff\xff\xff",
    b"\xc9\xff\xff\xff\xff\x01",
    b"\xa2\xff\xff",
    b"\x81\x80\x02",
    b"\x91" * 100_000 + b"\xc0",
    ext(99, b"")[:-1],
    ext(63, b"\xc0"),
    ext(f.TUPLE, b"\xc0"),
    ext(f.TUPLE, b"\xa1a"),
    ext(f.TUPLE, b"\x80"),
    ext(f.SET, b"\x92\x01\x01"),
    ext(f.SET, b"\x91\x90"),
    ext(f.SET, b"\x80"),
    ext(f.MAPPING, b"\x91\x01"),
    ext(f.MAPPING, b"\x94\x01\x02\x01\x03"),
    ext(f.MAPPING, b"\x92\x90\x01"),
    ext(f.DATETIME, b"\x00" * 12),
    ext(f.DATETIME, b"\x00"),
    ext(f.TIME, b"\x01\x01\x01\x00\x00\x00\x01\x00q"),
    ext(f.DATE, b"\xff\xff\x01\x01"),
    ext(f.TIMEDELTA, b"\x7f\xff\xff\xff" + b"\xff" * 8),
    ext(f.ZONE, b""),
    ext(f.ZONE, b"z../../etc/passwd"),
    ext(f.ZONE, b"o" + b"\x7f" * 8),
    ext(f.UUID, b"123"),
    ext(f.UUID, b"1" * 17),
    ext(f.DECIMAL, b"one"),
    ext(f.SURROGATES, b"\xff"),
    ext(f.OBJECT, b"\xc0"),
    ext(f.OBJECT, b"\x93\x01\x02\x03"),
    ext(f.OBJECT, b"\x92\xa1a\xa1b"),
    ext(f.BUILTIN_ERROR, b"\x92\xa4exec\x90"),
    ext(f.BUILTIN_ERROR, b"\x92\xb2UnicodeDecodeError\x90"),
    ext(f.BUILTIN_ERROR, b"\x93\xaaValueError\x90\x01"),
    ext(f.STORED_ERROR, b"\x91\x01"),
    ext(f.STORED_ERROR, b"\x94\xa1a\xa1b\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00\xc0"),
    ext(f.STORED_ERROR, b"\x94\xa1a\xa1b\xa1c\xa1d"),
    ext(f.COMPLEX, b"\0" * 15),
    ext(f.RANGE, b"\0\0\0\1\1" * 2),
    ext(f.RANGE, b"\0\0\0\1\1" * 4),
    ext(f.RANGE, b"\0\0\0\1\1" * 2 + b"\0\0\0\1\0"),
    ext(f.RANGE, b"\xff\xff\xff\xff\1"),
    ext(f.FRACTION, b"\0\0\0\1\2\0\0\0\1\4"),
    ext(f.FRACTION, b"\0\0\0\1\2\0\0\0\1\0"),
    ext(f.PATH, b""),
    ext(f.PATH, b"\x04a"),
    ext(f.PATH, b"\0\xff"),
    ext(f.PATTERN, b"s\0\x80a"),
    ext(f.PATTERN, b"s\0\1a"),
    ext(f.PATTERN, b"x\0\0a"),
    ext(f.PATTERN, b"s\1\x20a"),
    ext(f.PATTERN, b"b\0\0" + b"a" * (library.PATTERN_MAX + 1)),
    ext(f.PATTERN, b"b\0\0" + b"(" * 30_000 + b")" * 30_000),
    ext(f.IP, b"\x06::1"),
    ext(f.IP, b"\x00::1"),
    ext(f.IP, b"\x0210.0.0.1/8"),
    ext(f.DEQUE, b"\x90"),
    ext(f.DEQUE, b"\x93\x01\x01\x01"),
    ext(f.DEQUE, b"\x92\xff\x01"),
    ext(f.DEQUE, b"\x92\xc3\x01"),
    ext(f.ORDERED_DICT, b"\x94\x01\x01\x01\x02"),
    ext(f.ORDERED_DICT, b"\x93\x01\x01\x02"),
    ext(f.ORDERED_DICT, b"\x92\x90\x01"),
    ext(f.COUNTER, b"\x94\x01\x01\x01\x02"),
    ext(f.COUNTER, b"\xa1a"),
    ext(f.DEFAULTDICT, b"\x90"),
    ext(f.DEFAULTDICT, b"\x91\xa4exec"),
    ext(f.DEFAULTDICT, b"\x91\x90"),
    ext(f.DEFAULTDICT, b"\x92\xc0\x01"),
    ext(f.DEFAULTDICT, b"\x95\xc0\x01\x01\x01\x02"),
    ext(f.UNSET, b"\x91\x01"),
    ext(f.MARKED, b"\x91\xa1a"),
    ext(f.MARKED, b"\x92\x01\xc4\x00"),
    ext(f.MARKED, b"\x92\xa1a\xa1a"),
    ext(f.ARRAY, b""),
    ext(f.ARRAY_SCALAR, b"\x90"),
    *(named(cls, b"\x91\xa1a") for cls in (Cents, Names, Table, Triple)),
    *(named(cls, b"\x90") for cls in (Cents, Made, Gauge, Half)),
    named(Gauge, b"\x94\x01\x02\x03\x04"),
    named(Gauge, b"\x93\x01\x02\x81\xa1a\x01"),
    named(Loose, b"\x94\x01\x02\x03\x04"),
    named(Names, b"\x92\x90\x01"),
    ext(f.MESSAGE, b"\x91\xa5human"),
    ext(f.MESSAGE, b"\x96\xa5other\xa0\xc0\xc0\x80\x80"),
    ext(f.MESSAGE, b"\x97\xa5human\xa0\xc0\xc0\x80\x80\x01"),
    ext(f.MESSAGE, b"\x96\x90\xa0\xc0\xc0\x80\x80"),
]


@pytest.mark.parametrize("data", MALFORMED, ids=lambda data: repr(data[:24]))
def test_malformed_bytes_are_named(data: bytes) -> None:
    """Cut, contradictory or unknown bytes are a `MalformedValue`, at the root and within other values."""
    for whole in (data, b"\x92\xc0" + data, ext(f.TUPLE, b"\x91" + data)):
        with pytest.raises(MalformedValue, match="bytes are no stored value"):
            serializer().decode(whole)


@settings(max_examples=1000, deadline=None)
@given(st.binary(max_size=60))
@example(b"\xd6\xff\x00\x00\x00\x01")
def test_random_bytes_raise_nothing_else(data: bytes) -> None:
    """Any bytes are a value or a `MalformedValue`."""
    decode_or_refuse(data)


@settings(max_examples=300, deadline=None)
@given(VALUES, st.data())
def test_damaged_values_raise_nothing_else(value: Any, data: st.DataObject) -> None:
    """A stored value with a changed, lost or added byte is another value or a `MalformedValue`."""
    stored = bytearray(serializer().encode(value))
    place = data.draw(st.integers(0, len(stored) - 1))
    damage = data.draw(st.sampled_from(["change", "cut", "drop", "add"]))
    if damage == "change":
        stored[place] ^= data.draw(st.integers(1, 255))
    elif damage == "cut":
        del stored[place:]
    elif damage == "drop":
        del stored[place]
    else:
        stored.insert(place, data.draw(st.integers(0, 255)))
    decode_or_refuse(bytes(stored))


@settings(max_examples=400, deadline=None)
@given(st.integers(1, 127), st.binary(max_size=40) | VALUES.map(lambda value: serializer().encode(value)))
@example(f.STORED_ERROR, b"\x94\xa1a\xa1b\xa1c\x91\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00")
def test_any_payload_of_any_extension_raises_nothing_else(code: int, payload: bytes) -> None:
    """Each extension code copes with any payload, also with a well-formed one of another type."""
    decode_or_refuse(ext(code, payload))


def decode_or_refuse(data: bytes) -> None:
    """Decode; a value that was accepted can be stored and read again."""
    codec = serializer()
    try:
        value = codec.decode(data)
    except MalformedValue:
        return
    if isinstance(value, BaseException):
        return  # an error that no program raises may hold what no error can be built from
    assert identical(codec.decode(codec.encode(value)), value)


@pytest.mark.parametrize("data", [b"", b"\xc0", b"\x80", b"\x91", b"\x91\xc0\xc0", b"\xa1a", b"\x91" * 5000])
def test_only_a_list_splits(data: bytes) -> None:
    """Bytes that are no stored list are refused by `split_elements`."""
    with pytest.raises(MalformedValue):
        Serializer().split_elements(data)


def test_memory_is_bounded_by_the_bytes() -> None:
    """Headers that announce gigabytes cost nothing: decoding them under a tight limit still only refuses."""
    code = """
        import resource
        from lithograph.eventlog.errors import MalformedValue
        from lithograph.eventlog.serde import Serializer
        limit = 400 << 20
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        heads = [b"\\xdd", b"\\xdf", b"\\xc6", b"\\xdb", b"\\xc9"]
        for head in heads:
            for size in (b"\\xff\\xff\\xff\\xff", b"\\x0f\\xff\\xff\\xff"):
                for data in ((head + size) * 200, b"\\xdc\\xff\\xff" + (head + size) * 200):
                    try:
                        Serializer().decode(data)
                    except MalformedValue:
                        continue
                    raise SystemExit("accepted")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, capture_output=True)


def test_nesting_of_extensions_is_bounded() -> None:
    """Extensions nested thousands deep are refused, not followed until the stack ends."""
    data = b"\xc0"
    for _ in range(3000):
        data = ext(f.TUPLE, b"\x91" + data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(MalformedValue):
        Serializer().decode(data)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


@pytest.mark.parametrize("code", [f.TUPLE, f.DEQUE, f.ORDERED_DICT, f.DEFAULTDICT, f.COUNTER, f.MAPPING, f.OBJECT])
@pytest.mark.parametrize("depth", [97, 3000])
def test_nesting_of_any_container_is_bounded(code: int, depth: int) -> None:
    """Whatever nests deeper than what can be stored is a `MalformedValue`, and never the end of the stack."""
    head = {f.TUPLE: b"\x91", f.DEQUE: b"\x92\xc0", f.DEFAULTDICT: b"\x93\xc0\x01", f.OBJECT: b"\x93\xa1a\xa1b\x91"}
    data = b"\xc0"
    for _ in range(depth):
        data = ext(code, head.get(code, b"\x92\x01") + data)
    with pytest.raises(MalformedValue, match=r"deep|within one another"):
        serializer().decode(data)


def test_reading_imports_only_what_is_listed() -> None:
    """Reading a value of each type imports the standard library's modules of those types and numpy, nothing else."""
    code = """
        import sys
        from lithograph.eventlog.serde import Serializer
        codec = Serializer()
        before = set(sys.modules)
        for data in sys.argv[1:]:
            assert codec.encode(codec.decode(bytes.fromhex(data))).hex() == data
        new = {name.partition(".")[0] for name in set(sys.modules) - before}
        assert "numpy" not in new, new
        assert {name for name in new if "_sysconfigdata" not in name} <= sys.stdlib_module_names, new
        assert "pickle" not in new, new
    """
    values: list[Any] = [Fraction(1, 2), PurePosixPath("a"), ip_address("::1"), re.compile("a"), ZoneInfo("UTC"), 1j]
    values += [range(3), deque([1]), OrderedDict(), Counter(), defaultdict(list), msgspec.UNSET, marked("pickle", b"x")]
    data = [Serializer().encode([value]).hex() for value in values]
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), *data], check=True, capture_output=True)


def test_decoding_imports_nothing_that_a_value_names() -> None:
    """Reading values of classes from modules nobody imported imports no module and builds no such class."""
    code = """
        import sys
        from lithograph.eventlog.serde import Opaque, Serializer
        data = bytes.fromhex(sys.argv[1])
        codec = Serializer()
        events = []
        watching = False
        def hook(event, args):
            if watching and event in ("import", "exec", "compile", "open", "subprocess.Popen", "os.system"):
                events.append((event, args[0]))
        sys.addaudithook(hook)
        before = set(sys.modules)
        watching = True
        value = codec.decode(data)
        watching = False
        assert set(sys.modules) == before, set(sys.modules) - before
        assert events == [], events
        assert type(value["loan"]) is Opaque and value["loan"].fields["amount"] == 1
        assert type(value["model"]) is Opaque and type(value["error"]) is Opaque
        assert codec.encode(value) == data
    """
    registry = BASE.extended()
    for cls in (Loan, Model, Refused, Color):
        registry.register(cls, f"antigravity:{cls.__qualname__}")
    value = {
        "loan": Loan(1, {2: Color.RED}),
        "model": Model(a=1),
        "error": Refused("no"),
        "plain": [{1, 2}, (3,), 2**80, ValueError("x"), LookupError(1)],
    }
    data = Serializer(registry).encode(value).hex()
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), data], check=True, capture_output=True)
