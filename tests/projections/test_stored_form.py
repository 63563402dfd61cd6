"""The stored form of the values that travel through a graph: exact, and nothing else is taken for one."""

from __future__ import annotations

from typing import Any

import pytest
from lithograph.eventlog.errors import MalformedValue
from lithograph.eventlog.serde import Serializer
from lithograph.projections.types import Command, Interrupt, Overwrite, Send

STORED: list[tuple[int, Any, int]] = [
    (64, Send("a", {"x": 1}), 2),
    (65, Overwrite([1]), 1),
    (66, Interrupt("why?", "id", response_schema={"type": "string"}), 3),
    (67, Command(update={"a": 1}, resume=None, goto=(Send("a", 1),)), 5),
]
"""Extension code, a value, the number of its parts."""


@pytest.mark.parametrize(("code", "value", "parts"), STORED, ids=lambda each: type(each).__name__)
def test_value_comes_back_exact(code: int, value: Any, parts: int) -> None:
    """What was stored comes back equal and of its type, under the code that it has for ever."""
    data = Serializer().encode({"value": value})
    back = Serializer().decode(data)["value"]
    assert type(back) is type(value)
    assert back == value
    assert bytes((code, 0x90 | parts)) in data


@pytest.mark.parametrize(("code", "value", "parts"), STORED, ids=lambda each: type(each).__name__)
def test_wrong_number_of_parts_is_malformed(code: int, value: Any, parts: int) -> None:
    """One part too few or too many is a `MalformedValue`: nothing that was stored is dropped on reading."""
    for count in (parts - 1, parts + 1):
        payload = bytes((0x90 | count,)) + b"\xa1a" * count
        with pytest.raises(MalformedValue):
            Serializer().decode(b"\xc7" + bytes((len(payload), code)) + payload)
