"""Bytes that are no stored value raise `MalformedValue` and nothing else, in bounded memory (law L9)."""

from __future__ import annotations

import resource
import subprocess
import sys
import textwrap
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lithograph.eventlog.errors import MalformedValue
from lithograph.eventlog.serde import BASE, Serializer
from lithograph.eventlog.serde import format as f

from tests.eventlog.serde.values import VALUES, Color, Loan, Model, Refused, identical, serializer


def ext(code: int, payload: bytes) -> bytes:
    """Return the bytes of an extension."""
    return b"\xc9" + len(payload).to_bytes(4, "big") + bytes((code,)) + payload


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


@settings(max_examples=600, deadline=None)
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
