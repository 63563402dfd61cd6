"""Law L7: a value comes back equal and of the same type, from bytes that depend on nothing but the value."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import os
import re
import subprocess
import sys
import threading
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from fractions import Fraction
from ipaddress import ip_address, ip_interface, ip_network
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import ormsgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lithograph.eventlog.errors import UnsupportedTypeError
from lithograph.eventlog.serde import Serializer, StoredError, walk
from lithograph.eventlog.serde import format as f
from lithograph.eventlog.serde.registry import BASE
from lithograph.eventlog.serde.tagged import Types

from tests.eventlog.serde.values import (
    PLAIN,
    VALUES,
    Loan,
    Model,
    Pair,
    Point,
    Refused,
    identical,
    serializer,
)

EDGES: list[Any] = [
    0,
    -1,
    2**63 - 1,
    2**63,
    2**64 - 1,
    2**64,
    -(2**63),
    -(2**63) - 1,
    10**400,
    -0.0,
    math.inf,
    math.nan,
    5e-324,
    "",
    "\ud800",
    "a\udfff\U0001f600",
    "\ud83d\ude00",
    b"",
    bytearray(b"\xc4\xc5"),
    (),
    [],
    {},
    set(),
    frozenset(),
    {1: "int", "1": "str", None: "none", (1, (2,)): "tuple", b"1": "bytes", 1.5: "float"},
    {True: 1},
    {1: 1},
    {1.0: 1},
    {frozenset({1}): {frozenset(): ()}},
    {"\ud800": 1, "a": 2},
    [True, 1, 1.0, "1"],
    dt.datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
    dt.datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=0),
    dt.datetime.min,
    dt.datetime.max,
    dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1, microseconds=7), "x\ud800")),
    dt.date.max,
    dt.time(23, 59, 59, 999999, dt.UTC, fold=1),
    dt.timedelta.min,
    dt.timedelta.max,
    dt.UTC,
    dt.timezone(dt.timedelta(0), "zero"),
    ZoneInfo("UTC"),
    uuid.UUID(int=0),
    uuid.UUID(int=2**128 - 1),
    uuid.UUID(int=1, is_safe=uuid.SafeUUID.safe),
    uuid.UUID(int=1, is_safe=uuid.SafeUUID.unsafe),
    decimal.Decimal("-0E+3"),
    decimal.Decimal("1E-999999"),
    decimal.Decimal("sNaN123"),
    decimal.Decimal("-Infinity"),
    complex(-0.0, -0.0),
    complex(math.nan, -math.inf),
    range(0, 10, 3),
    range(2**70, -1, -(2**65)),
    Fraction(-(2**70), 3),
    PurePosixPath("/a/b"),
    PureWindowsPath("//server/share/a"),
    ip_address("fe80::1%eth0"),
    ip_network("10.0.0.0/8"),
    ip_interface("10.0.0.1/8"),
    re.compile(rb"a|b", re.IGNORECASE | re.LOCALE),
    deque([1, (2,)], 2),
    deque(maxlen=0),
    OrderedDict([(2, 1), (1, 2)]),
    Counter("abca"),
    defaultdict(None, {1: 2}),
    defaultdict(Counter, {(1,): Counter("a")}),
    msgspec.UNSET,
    Point((1,), {2}),
    Pair(1, [bytearray(b"x")]),
    ValueError("no", 1),
    OSError(2, "missing", "file"),
    KeyError(("k", {1: 2})),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    StopIteration([1]),
    StoredError("m:E", "text", "E('text')", (1, [2])),
    StoredError("m:E", "text", "E('text')", None),
]


@pytest.mark.parametrize("value", EDGES, ids=lambda value: repr(value)[:40])
def test_edges_come_back_exactly(value: Any) -> None:
    """The values at the edge of each type come back equal and of the same type, alone and nested."""
    codec = serializer()
    for whole in (value, [value], (value,), {"k": value}, {7: value}, Loan(value)):
        data = codec.encode(whole)
        back = codec.decode(data)
        assert identical(back, whole)
        assert codec.encode(back) == data


@settings(max_examples=400, deadline=None)
@given(VALUES)
def test_any_value_comes_back_exactly(value: Any) -> None:
    """Whatever is stored comes back equal and of the same type, and has the same bytes again."""
    comes_back_exactly(value)


@pytest.mark.nightly
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(VALUES)
def test_any_value_comes_back_exactly_at_length(value: Any) -> None:
    """The same on ten thousand values."""
    comes_back_exactly(value)


def comes_back_exactly(value: Any) -> None:
    """Fail unless a value is read as it was stored, and stored again as the same bytes."""
    codec = serializer()
    data = codec.encode(value)
    back = codec.decode(data)
    assert identical(back, value)
    assert codec.encode(back) == data


@settings(max_examples=200, deadline=None)
@given(PLAIN)
def test_plain_data_is_messagepack(value: Any) -> None:
    """Data that MessagePack has itself is stored as ormsgpack packs it, so any tool can read it."""
    assert Serializer().encode(value) == ormsgpack.packb(value)


@settings(max_examples=200, deadline=None)
@given(VALUES)
def test_walk_and_fast_path_agree(value: Any) -> None:
    """The exact walk gives the bytes of the fast path: which of the two ran is not visible."""
    codec = serializer()
    assert walk.Walk(Types(codec.registry)).encode(value) == codec.encode(value)


@settings(max_examples=150, deadline=None)
@given(VALUES)
def test_without_the_classes_the_bytes_stay(value: Any) -> None:
    """A reader that knows none of the classes gets the same bytes when it stores again what it read."""
    data = serializer().encode(value)
    stranger = Serializer()
    assert stranger.encode(stranger.decode(data)) == data
    assert identical(serializer().decode(stranger.encode(stranger.decode(data))), value)


@settings(max_examples=150, deadline=None)
@given(st.lists(VALUES, max_size=8))
def test_elements_are_the_list(value: list[Any]) -> None:
    """A list's elements, encoded on their own and joined, are the list's own bytes, and split again."""
    codec = serializer()
    parts = codec.encode_elements(value)
    data = codec.encode(value)
    assert parts == [codec.encode(element) for element in value]
    assert f.join_array(parts) == data
    assert codec.split_elements(data) == parts
    assert identical(codec.decode(f.join_array(parts)), value)


@pytest.mark.parametrize("length", [0, 15, 16, 65535, 65536])
def test_elements_of_lists_of_any_length(length: int) -> None:
    """The header of a joined list is right at each length where its form changes."""
    codec = Serializer()
    value = list(range(length))
    assert f.join_array(codec.encode_elements(value)) == codec.encode(value)


def test_buffers_deep_in_noise_are_found() -> None:
    """A bytearray does not become bytes, however much text and numbers look like its header."""
    noise = [{"ż" * 50: [0.1 * i, "łódź", i * 196]} for i in range(200)]
    value = [noise, {"deep": [[[{"buffer": bytearray(b"ab")}]]]}, b"ab", (bytearray(b"c"), b"c")]
    assert identical(Serializer().decode(Serializer().encode(value)), value)


def test_attributes_beyond_fields_are_kept() -> None:
    """What code put on an instance beside its fields is part of the value."""
    loan, model, error = Loan(1), Model(a=1), Refused("no", 3)
    loan.extra = (1, 2)  # type: ignore[attr-defined]
    model._secret = {1}
    error.add_note("a note")
    codec = serializer()
    for value in (loan, model, error):
        assert identical(codec.decode(codec.encode(value)), value)
    assert codec.decode(codec.encode(loan)).extra == (1, 2)
    assert codec.decode(codec.encode(error)).__notes__ == ["a note"]


def test_decoding_runs_no_user_code() -> None:
    """Reading a value calls neither `__init__` nor `__post_init__` nor a validator of its class."""
    import dataclasses

    from pydantic import BaseModel, field_validator

    calls: list[str] = []

    @dataclasses.dataclass
    class Watched:
        a: int

        def __post_init__(self) -> None:
            calls.append("post_init")

    class Checked(BaseModel):
        a: int

        @field_validator("a")
        @classmethod
        def check(cls, value: int) -> int:
            calls.append("validator")
            return value

    class Raised(Exception):
        def __init__(self, a: int) -> None:
            calls.append("init")
            super().__init__(a)

    codec = Serializer(BASE.extended([Watched, Checked, Raised]))
    data = codec.encode([Watched(1), Checked(a=1), Raised(1)])
    calls.clear()
    watched, checked, raised = codec.decode(data)
    assert (watched.a, checked.a, raised.args, calls) == (1, 1, (1,), [])


def test_sets_and_bytes_do_not_depend_on_the_hash_seed() -> None:
    """The same value has the same bytes in processes with different hash seeds."""
    code = (
        "from lithograph.eventlog.serde import Serializer\n"
        "words = {'one', 'two', 'three', 'four', b'five', ('six', 6), None}\n"
        "value = {'s': words, 'f': frozenset(words), 'd': {('k',): {'a', 'b', 'c'}}}\n"
        "print(Serializer().encode(value).hex())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "3")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("wrap", [lambda v: (v,), lambda v: [v], lambda v: {1: v}, lambda v: Loan([[v]])])
@pytest.mark.parametrize("depth", [1, 8, 9, 30, 60])
def test_nesting_is_exact(wrap: Any, depth: int) -> None:
    """Nested values come back exactly, on the fast path and past it."""
    value: Any = 1
    for _ in range(depth):
        value = wrap(value)
    codec = serializer()
    assert identical(codec.decode(codec.encode(value)), value)


NESTS: list[tuple[Any, int]] = [
    (lambda v: [v], 254),
    (lambda v: {"k": v}, 254),
    (lambda v: (v,), 96),
    (lambda v: {1: v}, 96),
    (lambda v: ([[[[v]]]],), 95),
]


@pytest.mark.parametrize(("wrap", "most"), NESTS)
def test_the_limit_of_nesting_is_what_is_said(wrap: Any, most: int) -> None:
    """254 lists and dicts, 96 tagged values, 760 of both, a tagged one being four: so many are read back, no more."""
    value: Any = 1
    for _ in range(most):
        value = wrap(value)
    codec, known = serializer(), sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(5000)  # encoding takes more of the stack than decoding
        data = codec.encode(value)
        with pytest.raises(UnsupportedTypeError, match=r"nested too deep|nest deeper"):
            codec.encode(wrap(wrap(value)))
    finally:
        sys.setrecursionlimit(known)
    assert codec.encode(codec.decode(data)) == data if most > 95 else codec.decode(data)


def test_what_was_encoded_decodes_near_the_end_of_the_stack() -> None:
    """A value that was stored can be read from deep inside of other calls too."""
    value: Any = "leaf"
    for _ in range(250):
        value = [value]
    value = ((value,),)
    codec = Serializer()
    data = codec.encode(value)

    def descend(levels: int) -> Any:
        return descend(levels - 1) if levels else codec.decode(data)

    assert descend(sys.getrecursionlimit() - 250) == value


def test_one_serializer_serves_many_threads() -> None:
    """Threads that share a serializer get what each of them stored."""
    codec = serializer()
    wrong: list[Any] = []

    def work(seed: int) -> None:
        for i in range(200):
            value = [Loan((seed, i)), {seed: {i, i + 1}}, Point(Pair(seed, (i, ((i,),))))]
            if not identical(codec.decode(codec.encode(value)), value):
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
