"""The filter language: what each condition means, and that everything else is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lithograph.projections.filters import compile_filter, equal
from lithograph.store import InvalidSearchError

NAN = float("nan")
NAIVE, AWARE = datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)


def holds(conditions: dict[str, Any], value: Any) -> bool:
    predicate = compile_filter(conditions)
    return predicate is None or predicate(value)


@pytest.mark.parametrize(
    ("conditions", "value", "expected"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1, "b": 3}, {"a": 1, "b": 2}, False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": [1]}, {"a": [True]}, False),
        ({"a": {"$eq": {"b": 1}}}, {"a": {"b": True}}, False),
        ({"a": "1"}, {"a": 1}, False),
        ({"a": None}, {"a": None}, True),
        ({"a": None}, {}, False),
        ({"a": {"$eq": None}}, {}, False),
        ({"a": {"$ne": 1}}, {}, False),
        ({"a": {"$ne": 1}}, {"a": "1"}, True),
        ({"a": {"$ne": 1}}, {"a": 1.0}, False),
        ({"a": {"$gt": 1, "$lte": 3}}, {"a": 3}, True),
        ({"a": {"$gt": 1, "$lte": 3}}, {"a": 1}, False),
        ({"a": {"$gte": 1, "$lt": 3}}, {"a": 1}, True),
        ({"a": {"$gte": 1, "$lt": 3}}, {"a": 3}, False),
        ({"a": {"$gt": 1}}, {"a": Decimal("1.5")}, True),
        ({"a": {"$gt": Decimal("1.5")}}, {"a": 1.75}, True),
        ({"a": {"$gt": 1}}, {"a": NAN}, False),
        ({"a": {"$gt": 1}}, {"a": Decimal("NaN")}, False),
        ({"a": {"$gt": 1}}, {"a": "2"}, False),
        ({"a": {"$lt": "10"}}, {"a": "1"}, True),
        ({"a": {"$lt": "10"}}, {"a": 1}, False),
        ({"a": {"$gt": 0}}, {"a": True}, False),
        ({"a": {"$gt": 0}}, {"a": [1]}, False),
        ({"a": {"$gt": 0}}, {"a": None}, False),
        ({"a": {"$lte": NAIVE}}, {"a": NAIVE}, True),
        ({"a": {"$lte": NAIVE}}, {"a": AWARE}, False),
        ({"a": {"$lte": date(2026, 1, 1)}}, {"a": NAIVE}, False),
        ({"a": {"$gt": timedelta(1)}}, {"a": timedelta(2)}, True),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, True),
        ({"a": {"b": {"$gt": 1}}}, {"a": {"b": 1}}, False),
        ({"a": {"b": 1}}, {"a": 5}, False),
        ({"a": {}}, {"a": {"b": 1}}, True),
        ({"a": {}}, {"a": 1}, False),
        ({"a": {"$eq": {"b": 1}}}, {"a": {"b": 1, "c": 2}}, False),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2, "c": 3}]}, True),
        ({"a": [1, 2]}, {"a": (1, 2)}, True),
        ({"a": [1, 2]}, {"a": [1, 2, 3]}, False),
        ({"a": [1]}, {"a": 1}, False),
        ({"a": {"$eq": [1, 2]}}, {"a": [1, 2]}, True),
        ({"a": {"$eq": [1, 2]}}, {"a": [1, 3]}, False),
        ({"a": {"$eq": [1, 2]}}, {"a": [1, 2, 3]}, False),
        ({"a": {"$eq": {"b": 1}}}, {"a": {"b": 2}}, False),
        ({"a": {"$eq": {"b": 1}}}, {"a": {"c": 1}}, False),
        ({"a.b": 1}, {"a.b": 1}, True),
        ({"a.b": 1}, {"a": {"b": 1}}, False),
        ({}, {"a": 1}, True),
    ],
)
def test_meaning(conditions: dict[str, Any], value: Any, expected: bool) -> None:
    """Missing keys match nothing, nothing is coerced, values without an order between them have none."""
    assert holds(conditions, value) is expected


@pytest.mark.parametrize(
    "conditions",
    [
        {"a": {"$in": [1]}},
        {"a": {"$gt": 1, "b": 2}},
        {"$or": [{"a": 1}]},
        {"a": {"b": {"$regex": "x"}}},
        {"a": [{"$near": 1}]},
        {"a": {"$gt": None}},
        {"a": {"$gt": [1]}},
        {"a": {"$gt": True}},
        {"a": {"$gt": NAN}},
        {"a": {1: 2}},
        {1: 2},
        [("a", 1)],
        "a",
    ],
)
def test_everything_else_is_refused(conditions: Any) -> None:
    """What is not in the language is a `ValueError` that says where, whatever the items hold."""
    with pytest.raises(InvalidSearchError) as caught:
        compile_filter(conditions)
    assert isinstance(caught.value, ValueError)


def test_no_filter_matches_all() -> None:
    """No filter and an empty one are the same: everything matches."""
    assert compile_filter(None) is None
    assert compile_filter({}) is None


NUMBERS = st.integers(-3, 3) | st.floats(-3, 3)
VALUES = st.recursive(
    NUMBERS | st.text("ab", max_size=2) | st.none(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.oracle
@given(st.dictionaries(st.sampled_from("ab"), VALUES), VALUES)
def test_direct_values_match_as_in_langgraph(value: dict[str, Any], wanted: Any) -> None:
    """Where the key is there, a direct value, dict or list matches exactly what it matches in LangGraph."""
    theirs = pytest.importorskip("langgraph.store.memory")
    if all_keys_there(wanted, value.get("a")):
        expected = "a" in value and theirs._compare_values(value["a"], wanted)
        assert holds({"a": wanted}, value) == expected


def all_keys_there(wanted: Any, value: Any) -> bool:
    """Return whether a filter meets no missing key: there we differ on purpose."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        return all(key in value and all_keys_there(part, value[key]) for key, part in wanted.items())
    if isinstance(wanted, list) and isinstance(value, list):
        return all(map(all_keys_there, wanted, value))
    return True


@pytest.mark.oracle
@given(NUMBERS, st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), NUMBERS)
def test_numbers_compare_as_in_langgraph(value: float, sign: str, operand: float) -> None:
    """Between numbers every operator means what it means in LangGraph."""
    theirs = pytest.importorskip("langgraph.store.memory")
    assert holds({"a": {sign: operand}}, {"a": value}) == theirs._apply_operator(value, sign, operand)


@given(VALUES)
def test_equality_is_reflexive(value: Any) -> None:
    """A value equals itself, at any depth."""
    assert equal(value, value)
