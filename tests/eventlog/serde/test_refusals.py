"""What has no stored form is refused before anything is stored, with the path of the offending part."""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import re
import types
import uuid
from typing import Any

import numpy as np
import pytest
from lithograph.eventlog.errors import UnsupportedTypeError
from lithograph.eventlog.serde import BASE, Serializer

from tests.eventlog.serde.classes import Box, Currency, Gauge, Names, Tree
from tests.eventlog.serde.values import Color, Loan, Model, Pair, Point, Right, identical, serializer

BUILTIN = [int, float, str, bytes, bytearray, list, tuple, dict, set, frozenset]
LIBRARY = [collections.OrderedDict, collections.defaultdict, collections.Counter, collections.deque]
OTHER = [decimal.Decimal, uuid.UUID, dt.datetime, dt.date, dt.time, dt.timedelta]
ARGUMENTS: dict[type, tuple[Any, ...]] = {
    uuid.UUID: ("0" * 32,),
    dt.datetime: (2020, 1, 1),
    dt.date: (2020, 1, 1),
}


def subclass_instance(base: type) -> Any:
    """Return an instance of a fresh subclass of a built-in type."""
    return type("Sub", (base,), {})(*ARGUMENTS.get(base, ()))


REFUSED: list[Any] = [
    *map(subclass_instance, BUILTIN + LIBRARY + OTHER),
    collections.defaultdict(lambda: 0),
    collections.defaultdict(Loan),
    collections.defaultdict(type("list", (list,), {})),
    collections.ChainMap(),
    array.array("i", [1]),
    types.SimpleNamespace(a=1),
    types.MappingProxyType({}),
    list[int],
    re.compile(subclass_instance(str)),
    np.array([object()]),
    np.array([(1, object())], dtype=[("a", "i1"), ("b", "O")]),
    np.array(["text"], dtype=np.dtypes.StringDType()) if hasattr(np.dtypes, "StringDType") else object(),
    np.dtype("f8"),
    np.ma.masked_array([1]),
    np.rec.array([(1,)], dtype=[("a", "i1")]),
    np.rec.array([(1,)], dtype=[("a", "i1")])[0],
    np.zeros(2, dtype=np.dtype("f8", metadata={"unit": "m"})),
    np.zeros(2, dtype=[]),
    np.float64,
    object(),
    int,
    len,
    Loan,
    Color,
    memoryview(b"ab"),
    memoryview(bytearray(b"ab")),
    iter([]),
    Ellipsis,
    lambda: None,
    dt.datetime(2020, 1, 1, tzinfo=type("Zone", (dt.tzinfo,), {"utcoffset": lambda *_: None})()),
]


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: repr(value)[:40])
def test_unsupported_types_are_refused_wherever_they_are(value: Any) -> None:
    """A type without stored form is refused at the root and in every kind of container, never changed."""
    codec = serializer()
    wholes = [value, [value], {"k": value}, {1: value}, (value,), Loan(value), Pair(1, value), Model(a=value)]
    for whole in wholes:
        with pytest.raises(UnsupportedTypeError):
            codec.encode(whole)


PATHS = [
    ({"messages": [0, 1, 2, Loan(1, {"meta": object()})]}, "messages[3].note.meta"),
    ({"a b": [object()]}, "$['a b'][0]"),
    ({"a": collections.OrderedDict({1: object()})}, "a[1]"),
    ({"a": collections.defaultdict(int, {"b": object()})}, "a.b"),
    ({"a": collections.Counter({object: 1})}, "a.<key <class 'object'>>"),
    ({"a": collections.deque([1, object()], 5)}, "a[1]"),
    ([Gauge(object())], "$[0].value"),
    ([Box(Tree("x", [Tree(object())]))], "$[0].content.branches[0].name"),
    ({"s": Names([object()])}, "s.value[0]"),
    ({"a": [np.array([object()])]}, "a[0]"),
    ({"a": [0, 1, 2, Loan(object())]}, "a[3].amount"),
    ([1, (2, object())], "$[1][1]"),
    ({1: {None: object()}}, "$[1][None]"),
    ({(1, object): 2}, "<key (1, <class 'object'>)>[1]"),
    ([Pair(1, Point(object()))], "$[0].right.x"),
    ({"m": Model(a=1, extra=[object()])}, "m.__pydantic_extra__.extra[0]"),
    ([bytearray(b"x"), memoryview(b"x")], "$[1]"),
    ({"a": {"b": ["\ud800", object()]}}, "a.b[1]"),
    ({"s": {1, int}}, "s.<member>"),
]


@pytest.mark.parametrize(("value", "path"), PATHS, ids=[path for _, path in PATHS])
def test_the_path_names_the_part(value: Any, path: str) -> None:
    """The error leads to the part without stored form: `path`, its message, `type_name`."""
    with pytest.raises(UnsupportedTypeError) as caught:
        serializer().encode(value)
    assert caught.value.path == path
    assert path in str(caught.value)
    assert caught.value.type_name in ("object", "type", "memoryview", "numpy:ndarray")


def test_unregistered_classes_are_refused_with_advice() -> None:
    """An instance of a class that could be registered is refused with the line that registers it, which does."""
    for value in (Loan(1), Pair(1, 2), Color.RED, Right.READ, Model(a=1), Gauge(1), Currency("x"), Names([1])):
        registry = BASE.extended()
        with pytest.raises(UnsupportedTypeError) as caught:
            Serializer(registry).encode({"k": value})
        (line,) = re.findall(r"`(register\(\w+\))`", str(caught.value))
        assert "from lithograph.eventlog.serde import register" in str(caught.value)
        exec(line, {"register": registry.register, type(value).__name__: type(value)})
        assert identical(Serializer(registry).decode(Serializer(registry).encode({"k": value})), {"k": value})


def test_a_subclass_of_a_registered_class_is_refused() -> None:
    """Only the exact class counts: a subclass would come back as its base."""

    @dataclasses.dataclass
    class Car(Loan):
        pass

    with pytest.raises(UnsupportedTypeError, match="Car"):
        serializer().encode(Car(1))


def test_cycles_are_refused() -> None:
    """A value that contains itself is refused, naming where."""
    loop: list[Any] = []
    loop.append(loop)
    ring: dict[str, Any] = {}
    ring["a"] = (ring,)
    loan = Loan(None)
    loan.amount = [loan]
    with pytest.raises(UnsupportedTypeError, match="contains itself") as caught:
        serializer().encode(loop)
    assert caught.value.path == "$[0]"
    for value in (ring, loan):
        with pytest.raises(UnsupportedTypeError, match="contains itself"):
            serializer().encode(value)


def test_shared_parts_are_no_cycle() -> None:
    """A part that occurs twice is stored twice."""
    part = (1, {2: bytearray(b"x")})
    assert serializer().decode(serializer().encode([part, part, {1: part}])) == [part, part, {1: part}]


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: {"k": v}, lambda v: (v,), lambda v: {1: v}, Loan])
@pytest.mark.parametrize("depth", [300, 5000])
def test_too_deep_is_refused(wrap: Any, depth: int) -> None:
    """Nesting past the limit is refused as a typed error, never a crash."""
    value: Any = None
    for _ in range(depth):
        value = wrap(value)
    with pytest.raises(UnsupportedTypeError, match=r"nested too deep|nest deeper"):
        serializer().encode(value)


def test_a_field_without_value_is_refused() -> None:
    """A dataclass instance that lacks a field is refused, not stored with a hole."""
    loan = Loan(1)
    del loan.amount
    with pytest.raises(UnsupportedTypeError, match="without a value"):
        serializer().encode([loan])


def test_only_lists_have_elements() -> None:
    """Asking for the elements of anything but a list is refused."""
    for value in ((1, 2), {1}, "ab", subclass_instance(list)):
        with pytest.raises(UnsupportedTypeError):
            Serializer().encode_elements(value)


def test_what_cannot_be_registered_says_so() -> None:
    """Registering a class of no known kind is a TypeError that lists the kinds."""
    ordered = type("Sub", (collections.OrderedDict,), {})
    for cls in (object, int, bool, type("Plain", (), {}), ordered, collections.Counter, np.float64):
        with pytest.raises(TypeError, match="dataclasses"):
            BASE.extended([cls])
    with pytest.raises(TypeError, match="name="):
        BASE.extended().register("bank:Loan")  # type: ignore[call-overload]


def test_an_enum_value_without_stored_form_is_refused() -> None:
    """An Enum member is stored with its value, so that value must be storable."""

    class Odd(enum.Enum):
        A = object()

    with pytest.raises(UnsupportedTypeError) as caught:
        Serializer(BASE.extended([Odd])).encode([Odd.A])
    assert caught.value.path == "$[0].value"
