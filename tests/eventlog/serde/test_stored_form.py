"""The stored form of every type, byte for byte: what is in a log today is read for ever."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from lithograph.eventlog.own_messages import AIMessage, HumanMessage
from lithograph.eventlog.serde import StoredError

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
        "c73d0f93d92074657374732e6576656e746c6f672e73657264652e76616c7565733a4c6f616eb564617461636c61737320616d6f756e742c6e6f74659201a16e",
    ),
    (
        Pair(1, 2),
        "c73c0f93d92074657374732e6576656e746c6f672e73657264652e76616c7565733a50616972b56e616d65647475706c65206c6566742c7269676874920102",
    ),
    (
        Color.GREEN,
        "c7410f93d92174657374732e6576656e746c6f672e73657264652e76616c7565733a436f6c6f72af656e756d206e616d652c76616c756592a5475245454ed60192a16702",
    ),
    (
        Right.READ | Right.WRITE,
        "c7310f93d92174657374732e6576656e746c6f672e73657264652e76616c7565733a5269676874aa666c61672076616c75659103",
    ),
    (
        Model(a=1),
        "c7430f93d92174657374732e6576656e746c6f672e73657264652e76616c7565733a4d6f64656cac707964616e74696320612c629601c091a1618081a75f736563726574c0c0",
    ),
    (
        Refused("no", 2),
        "c74a0f93d92374657374732e6576656e746c6f672e73657264652e76616c7565733a52656675736564b7657863657074696f6e20617267732c5f5f646963745f5f9291a26e6f81a4636f646502",
    ),
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
