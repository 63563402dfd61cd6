"""The filter language of memory items and of checkpoint metadata: one meaning, on every engine.

A filter is a dict of conditions, all of which must hold. Its keys are field names of the value, taken
literally. A condition is

- a dict of operators, `{"$gte": 3, "$lt": 9}`, all of which must hold; there are `$eq`, `$ne`, `$gt`, `$gte`,
  `$lt` and `$lte`;
- any other dict: the field is a dict that meets these conditions in turn, whatever else it holds;
- a list or tuple: the field is a list or tuple of the same length, each element meeting its condition;
- anything else: the field equals it.

A missing key meets no condition, `$ne` included. Nothing is coerced: numbers compare with numbers, text with
text, times with times of the same kind; `True` is not `1`. Values that have no order between them meet no
`$gt`, `$gte`, `$lt` or `$lte`. Everything else is refused with `InvalidSearchError` before anything is read.
"""

from __future__ import annotations

import datetime as times
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from .errors import InvalidSearchError

Predicate: TypeAlias = Callable[[Any], bool]

ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}

_ORDERED_TYPES = (str, bytes, times.datetime, times.date, times.time, times.timedelta)
_SIGNS = ", ".join(("$eq", "$ne", *ORDERS))


def compile_filter(conditions: Mapping[str, Any] | None) -> Predicate | None:
    """Return a predicate over an item's value, or `None` when every item matches.

    Raises `InvalidSearchError` (a `ValueError`) for anything outside the language above.
    """
    if conditions is None:
        return None
    if not isinstance(conditions, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidSearchError(f"A filter is a dict of conditions, not {type(conditions).__name__}.")
    if not conditions:
        return None
    return _fields(conditions, "filter")


def equal(left: Any, right: Any) -> bool:
    """Return whether two values are equal without coercion: `True` is not `1`, at any depth."""
    if isinstance(left, dict) and isinstance(right, dict):
        return _equal_dicts(cast("dict[Any, Any]", left), cast("dict[Any, Any]", right))
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return _equal_lists(cast("Sequence[Any]", left), cast("Sequence[Any]", right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _fields(conditions: Mapping[Any, Any], where: str) -> Predicate:
    """Compile a dict of conditions, one a field."""
    compiled: list[tuple[str, Predicate]] = []
    for name, wanted in conditions.items():
        if not isinstance(name, str):
            raise InvalidSearchError(
                f"{where} has the key {name!r}: a field name is a string, not {type(name).__name__}."
            )
        if name.startswith("$"):
            raise InvalidSearchError(
                f"Unsupported operator: {name!r} in {where}. An operator stands inside a field's condition, "
                f"as in {{'score': {{'$gt': 1}}}}; the operators are {_SIGNS}."
            )
        compiled.append((name, _condition(wanted, f"{where}[{name!r}]")))

    def holds(value: Any) -> bool:
        return isinstance(value, dict) and all(name in value and predicate(value[name]) for name, predicate in compiled)

    return holds


def _condition(wanted: Any, where: str) -> Predicate:
    """Compile the condition on one field or element."""
    if isinstance(wanted, dict):
        conditions = cast("dict[Any, Any]", wanted)
        if any(isinstance(name, str) and name.startswith("$") for name in conditions):
            return _operators(conditions, where)
        return _fields(conditions, where)
    if isinstance(wanted, (list, tuple)):
        return _elements(cast("Sequence[Any]", wanted), where)
    return lambda value: equal(value, wanted)


def _elements(wanted: Sequence[Any], where: str) -> Predicate:
    """Compile a list of conditions, one an element."""
    compiled = [_condition(condition, f"{where}[{i}]") for i, condition in enumerate(wanted)]

    def holds(value: Any) -> bool:
        return (
            isinstance(value, (list, tuple))
            and len(cast("Sequence[Any]", value)) == len(compiled)
            and all(map(_meets, compiled, cast("Sequence[Any]", value)))
        )

    return holds


def _operators(conditions: Mapping[Any, Any], where: str) -> Predicate:
    """Compile a dict of operators."""
    compiled = [_operator(sign, operand, where) for sign, operand in conditions.items()]
    return lambda value: all(predicate(value) for predicate in compiled)


def _operator(sign: Any, operand: Any, where: str) -> Predicate:
    if sign == "$eq":
        return lambda value: equal(value, operand)
    if sign == "$ne":
        return lambda value: not equal(value, operand)
    if sign not in ORDERS:
        raise InvalidSearchError(f"Unsupported operator: {sign!r} in {where}. The operators are {_SIGNS}.")
    if _order_kind(operand) is None:
        raise InvalidSearchError(
            f"{where} asks for {sign} of a {type(operand).__name__}, which has no order. "
            "Compare with a number, text, bytes, a time or a duration."
        )
    return lambda value: _ordered(ORDERS[sign], value, operand)


def _ordered(compare: Callable[[Any, Any], bool], value: Any, operand: Any) -> bool:
    """Return whether two values stand in an order; values of two kinds stand in none."""
    kind = _order_kind(value)
    if kind is None or kind is not _order_kind(operand):
        return False
    if isinstance(value, times.datetime | times.time) and _is_aware(value) != _is_aware(operand):
        return False
    return compare(value, operand)


def _order_kind(value: Any) -> object | None:
    """Return what a value can be ordered with: all numbers are one kind; `None` when it has no order."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)) or _is_decimal(value):
        return None if value != value else float
    kind = cast("type[object]", type(value))
    return kind if kind in _ORDERED_TYPES else None


def _is_decimal(value: Any) -> bool:
    """Return whether a value is a `Decimal`, without importing `decimal` for it."""
    kind = cast("type[object]", type(value))
    return kind.__name__ == "Decimal" and kind.__module__ == "decimal"


def _is_aware(value: times.datetime | times.time) -> bool:
    return value.utcoffset() is not None


def _equal_dicts(left: Mapping[Any, Any], right: Mapping[Any, Any]) -> bool:
    return len(left) == len(right) and all(key in right and equal(left[key], right[key]) for key in left)


def _equal_lists(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return len(left) == len(right) and all(map(equal, left, right))


def _meets(predicate: Predicate, value: Any) -> bool:
    return predicate(value)
