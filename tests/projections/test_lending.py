"""What a cell lends: the receiver's own at every depth, the same objects where nobody can change them."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.serde import BASE, Serializer
from lithograph.projections.cells import PLAIN, Cell, ListCell, cell_of
from lithograph.projections.lending import UntrackedCell, copied, lent
from lithograph.projections.values import LogValues


class Color(enum.Enum):
    """An enum with a value that has parts."""

    RED = ("r", 1)


VALUES = LogValues(EventLog.in_memory(), None, Serializer(BASE.extended([Color])))
SAFE: list[Any] = [None, True, 1, 1.5, 2j, "text", b"bytes", Decimal("1.5"), dt.date(2024, 1, 2), Color.RED, (1, "x")]


@pytest.mark.parametrize("value", SAFE, ids=repr)
def test_what_nobody_can_change_is_shared(value: Any) -> None:
    """A scalar is lent as it is, alone or within a container that is copied."""
    assert lent(Cell(value), VALUES) is value
    assert copied(value, VALUES) is value
    assert lent(cell_of([value]), VALUES)[0] is value
    assert lent(Cell({"a": [value]}), VALUES)["a"][0] is value


NESTED: list[Any] = [[[1]], {"a": {"b": [1]}}, [{"a": 1}], ([1], 2), {"a": {1, 2}}, [bytearray(b"x")], {"a": ([1],)}]


@pytest.mark.parametrize("value", NESTED, ids=repr)
def test_what_can_be_changed_is_copied_at_every_depth(value: Any) -> None:
    """Equal, of the same types, and without any container in common."""
    for got in (lent(cell_of(value), VALUES), lent(Cell(value), VALUES), copied(value, VALUES)):
        assert got == value
        assert type(got) is type(value)
        assert not _containers(got) & _containers(value)


def _containers(value: Any) -> set[int]:
    inside = value.values() if isinstance(value, dict) else value
    parts = list(inside) if isinstance(value, dict | list | tuple) else []
    own = {id(value)} if isinstance(value, list | dict | set | bytearray) else set[int]()
    return own.union(*map(_containers, parts))


def test_a_growing_list_is_known_as_far_as_it_was_looked_at() -> None:
    """Elements of any kind may follow those of another: each cell over the list lends its own as it should."""
    cell, cells = ListCell(["a"]), list[ListCell]()
    tails: list[list[Any]] = [["b"], [{"c": 1}], ["d"], [[2]], [{"e": {"f": [3]}}], ["g"], [{"h": 1}], [(1, [2])]]
    expected: list[Any] = ["a"]
    for tail in tails:
        cell = cell.extended(tail)
        cells.append(cell)
        expected = [*expected, *tail]
        for _ in range(2):
            for each in cells:
                got = lent(each, VALUES)
                assert got == expected[: each.length]
                assert not _containers(got) & _containers(each.backing.items)
    assert cell.extends(cells[0])


@pytest.mark.parametrize("depth", [200, 250])
def test_deep_nesting_is_no_hindrance(depth: int) -> None:
    """Whatever can be stored can be lent, also by somebody who has little stack left."""
    value: Any = [1]
    for _ in range(depth):
        value = [value]

    def with_little_stack(left: int) -> Any:
        return lent(Cell(value), VALUES) if left == 0 else with_little_stack(left - 1)

    for used in (0, 400):
        got = with_little_stack(used)
        assert VALUES.raw(got) == VALUES.raw(value)
        assert got is not value
        assert got[0] is not value[0]


@dataclass(unsafe_hash=True)
class Point:
    """Something that may be in a set, or be a key, and has a part that its hash does not cover."""

    number: int
    notes: list[str] = field(default_factory=list, hash=False)


HASHED: list[Any] = [{Point(1)}, {Point(1): 2}, [{Point(1)}], {"a": {Point(1)}}, [{Point(1): 2}], ({Point(1)}, 2)]


@pytest.mark.parametrize("value", HASHED, ids=repr)
def test_what_is_hashed_can_be_changed_too(value: Any) -> None:
    """Members of sets, and keys, are the receiver's own when something in them can be changed."""
    values = LogValues(EventLog.in_memory(), None, Serializer(BASE.extended([Point])))
    for got in (lent(cell_of(value), values), lent(Cell(value), values), copied(value, values)):
        assert got == value
        assert not {id(point.notes) for point in _points(got)} & {id(point.notes) for point in _points(value)}


def _points(value: Any) -> list[Point]:
    if isinstance(value, Point):
        return [value]
    parts = [*value, *value.values()] if isinstance(value, dict) else value if not isinstance(value, int | str) else ()
    return [point for part in parts for point in _points(part)]


def test_what_is_never_stored_is_passed_on() -> None:
    """Untracked values, runs without a log, and results that are yet to be refused keep their parts."""
    part, thing = [1], object()
    assert lent(UntrackedCell(part), VALUES) is part
    assert lent(UntrackedCell({"a": part}), VALUES)["a"] is part
    assert lent(Cell({"a": part}), PLAIN)["a"] is part
    assert copied({"a": thing}, VALUES)["a"] is thing
