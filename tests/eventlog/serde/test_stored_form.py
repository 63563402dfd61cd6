"""The stored form of every type, byte for byte: what is in a log today is read for ever."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import fractions
import ipaddress
import pathlib
import re
import uuid
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import numpy as np
import pytest
from lithograph.eventlog.own_messages import AIMessage, HumanMessage
from lithograph.eventlog.serde import StoredError
from lithograph.eventlog.serde.tagged import marked

from tests.eventlog.serde.classes import Cents, Gauge, Lost, Made, Names
from tests.eventlog.serde.values import Color, Loan, Model, Pair, Refused, Right, identical, serializer

STORED: list[tuple[Any, str]] = [
    ({"a": [None, True, 1, 1.5, "é", b"x"]}, "81a16196c0c301cb3ff8000000000000a2c3a9c40178"),
    (2**64, "c70906010000000000000000"),
    (-(2**63) - 1, "c70906ff7fffffffffffffff"),
    ("\ud800", "c70307eda080"),
    (bytearray(b"x"), "d40578"),
    ((1, (2,)), "c706019201d5019102"),
    ({"b", "a", 1}, "c706029301a161a162"),
    (frozenset({2, 1}), "c70303920102"),
    ({1: "a", None: {}}, "c706049401a161c080"),
    (
        dt.datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
        "c71a0807e80a1b021e0000000000017a4575726f70652f4265726c696e",
    ),
    (dt.datetime(2024, 1, 2, 3, 4, 5, 6), "c70c0807e801020304050000000600"),
    (dt.date(2024, 1, 2), "d60907e80102"),
    (dt.time(1, 2, 3, 4, dt.UTC), "c7110a01020300000004006f0000000000000000"),
    (dt.timedelta(-1, 2, 3), "c70c0bffffffff0000000200000003"),
    (dt.timezone(dt.timedelta(hours=1), "x"), "c70a0c6e00000000d693a40078"),
    (ZoneInfo("UTC"), "d60c7a555443"),
    (uuid.UUID(int=1), "d80d00000000000000000000000000000001"),
    (decimal.Decimal("1.50"), "d60e312e3530"),
    (
        Loan(1, "n"),
        "c73e0f93d92174657374732e6576656e746c6f672e73657264652e636c61737365733a4c6f616eb564617461636c61737320616d6f756e742c6e6f74659201a16e",
    ),
    (
        Pair(1, 2),
        "c73d0f93d92174657374732e6576656e746c6f672e73657264652e636c61737365733a50616972b56e616d65647475706c65206c6566742c7269676874920102",
    ),
    (
        Color.GREEN,
        "c7420f93d92274657374732e6576656e746c6f672e73657264652e636c61737365733a436f6c6f72af656e756d206e616d652c76616c756592a5475245454ed60192a16702",
    ),
    (
        Right.READ | Right.WRITE,
        "c7320f93d92274657374732e6576656e746c6f672e73657264652e636c61737365733a5269676874aa666c61672076616c75659103",
    ),
    (
        Model(a=1),
        "c7440f93d92274657374732e6576656e746c6f672e73657264652e636c61737365733a4d6f64656cac707964616e74696320612c629601c091a1618081a75f736563726574c0c0",
    ),
    (
        Refused("no", 2),
        "c74b0f93d92474657374732e6576656e746c6f672e73657264652e636c61737365733a52656675736564b7657863657074696f6e20617267732c5f5f646963745f5f9291a26e6f81a4636f646502",
    ),
    (
        Made(1, 2),
        "c7500f93d92174657374732e6576656e746c6f672e73657264652e636c61737365733a4d616465b964617461636c61737320676976656e2c6d6164652c7265737493019102ad636c6173732064656661756c74",
    ),
    (
        Gauge(1),
        "c73b0f93d92274657374732e6576656e746c6f672e73657264652e636c61737365733a4761756765b17374727563742076616c75652c756e69749201a16d",
    ),
    (
        Names([1]),
        "c7330f93d92274657374732e6576656e746c6f672e73657264652e636c61737365733a4e616d6573aa6c6973742076616c7565919101",
    ),
    (
        Cents(7),
        "c7310f93d92274657374732e6576656e746c6f672e73657264652e636c61737365733a43656e7473a9696e742076616c75659107",
    ),
    (
        Lost(2, "no", "f"),
        "c7440f93d92174657374732e6576656e746c6f672e73657264652e636c61737365733a4c6f7374b7657863657074696f6e20617267732c5f5f646963745f5f919302a26e6fa166",
    ),
    (complex(1, -0.0), "d8133ff00000000000008000000000000000"),
    (range(1, 2**70, 3), "c717140000000101000000094000000000000000000000000103"),
    (fractions.Fraction(-1, 3), "c70a1500000001ff0000000103"),
    (pathlib.PurePosixPath("/a"), "c70316002f61"),
    (pathlib.PureWindowsPath("c:/a"), "c7051601633a5c61"),
    (re.compile("a", re.IGNORECASE), "d61773002261"),
    (re.compile(b"a"), "d61762000061"),
    (ipaddress.ip_address("10.0.0.1"), "c709180031302e302e302e31"),
    (ipaddress.ip_network("::/64"), "c70618033a3a2f3634"),
    (collections.deque([1], 2), "c70319920201"),
    (collections.OrderedDict(a=1), "d61a92a16101"),
    (collections.defaultdict(list, {1: [2]}), "c7091b93a46c697374019102"),
    (collections.Counter("aa"), "d61c92a16102"),
    (np.array([[1, 2], [3, 4]], ">i2", order="F"), "c7151d95a33e6932920202a146c3c4080001000300020004"),
    (
        np.zeros(1, [("a", "i1"), ("b", "<M8[s]", (2,))]),
        "c73b1d9594a17311c29294c40161c000a37c693194c40162c00193a161a63c4d385b735d91029101a143c3c4110000000000000000000000000000000000",
    ),
    (np.float32(1.5), "c70b1e92a33c6634c4040000c03f"),
    (np.str_("a"), "c7061e92a155c40161"),
    (msgspec.UNSET, "d41f90"),
    (marked("pickle", b"."), "c70b2092a67069636b6c65c4012e"),
    (ValueError("x", 1), "d81092aa56616c75654572726f7292a17801"),
    (StoredError("m:E", "t", "r", (1,)), "c70b1194a36d3a45a174a1729101"),
    (HumanMessage("hi", id="1"), "c70f1296a568756d616ea26869a131c08080"),
    (
        AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c"}], mood="good"),
        "c739129aa26169a0c0c080809184a46e616d65a166a46172677380a26964a163a474797065a9746f6f6c5f63616c6c90c081a46d6f6f64a4676f6f64",
    ),
]


@pytest.mark.parametrize(("value", "stored"), STORED, ids=lambda case: str(case)[:40])
def test_the_stored_form_is_for_ever(value: Any, stored: str) -> None:
    """A value of each type has the bytes that it had when its type was first stored, and they read as it."""
    codec = serializer()
    assert codec.encode(value).hex() == stored
    back = codec.decode(bytes.fromhex(stored))
    if not isinstance(value, (HumanMessage, AIMessage)):
        assert identical(back, value)
    assert codec.encode(back).hex() == stored
