"""`fold_step`: what a superstep's recorded results make of the channels. The live loop and every reader run it.

A result says either *as the writes say*, by one of the pinned reducers below (what each number does is for ever),
or holds the outcome itself: a splice, entries, a whole value. No code of a user runs here. How a live run decides
what to record is in `channels`; what a result's digest covers is in `digests`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from ..eventlog.events import ChannelResult, ResultOp
from .add_messages import merge_messages
from .cells import Cell, ListCell, Values, Written, cell_of, overwrite_of, own, unwrap
from .ids import minted_ids

Cells = dict[str, Cell]
"""Channel name to what it holds; a channel that holds nothing is absent."""

Writes = Mapping[str, Sequence[Written]]
"""Channel name to a step's writes to it, in apply order."""


class WaitingCell(Cell):
    """What an after-finish channel holds until the run has nothing else to do: no reader sees it."""

    __slots__ = ()
    readable = False


class BarrierCell(Cell):
    """The names that a barrier has seen, of those it waits for. It has no value; complete, it reads as `None`."""

    __slots__ = ("finished", "names")

    def __init__(self, seen: frozenset[Any], names: frozenset[Any], *, finished: bool) -> None:
        super().__init__(seen)
        self.names = names
        self.finished = finished

    @property
    def readable(self) -> bool:
        """Whether every name was seen, and the run had to end where that is waited for too."""
        return self.finished and self.value == self.names

    def get(self) -> None:
        """Return nothing."""
        return None


def fold_step(cells: Cells, results: Iterable[ChannelResult], writes: Writes, values: Values) -> Cells:
    """Return the channels after a step: `cells` with each result applied; `cells` itself is not changed.

    Pure: same arguments, same outcome. Costs what changed, plus one copy of the channel table.
    """
    after = cells.copy()
    for channel, op, data, _digest in results:
        cell = _FOLDS[op](after.get(channel), writes.get(channel, ()), data, values)
        if cell is None:
            after.pop(channel, None)
        else:
            after[channel] = cell
    return after


def combine(cell: Cell | None, writes: Iterable[Written], reducer: Callable[[Any, Any], Any]) -> Cell | None:
    """Return the cell after reducing the writes in order; an `Overwrite` replaces, and ends the step's reducing."""
    replaced = False
    for written in writes:
        value = written.read()
        if type(value) is list and reducer is operator.add and isinstance(cell, ListCell) and not replaced:
            cell = cell.extended(cast("list[Any]", value))
            continue
        replaces, value = overwrite_of(value)
        if replaces:
            cell, replaced = cell_of(own(value)), True
        elif replaced:
            continue
        elif cell is None:
            cell = cell_of(own(value))
        else:
            cell = cell_of(reducer(cell.value, value))
    return cell


def flatten(writes: Iterable[Written]) -> Iterator[Any]:
    """Yield a topic's new elements: a written list counts as its elements."""
    for written in writes:
        value = written.value
        if isinstance(value, list):
            yield from cast("list[Any]", value)
        else:
            yield value


def _last(_cell: Cell | None, writes: Sequence[Written], _data: Any, _values: Values) -> Cell | None:
    return writes[-1].cell()


def _add(cell: Cell | None, writes: Sequence[Written], _data: Any, _values: Values) -> Cell | None:
    return combine(cell, writes, operator.add)


def _union(cell: Cell | None, writes: Sequence[Written], _data: Any, _values: Values) -> Cell | None:
    return combine(cell, writes, operator.or_)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


def _topic(_cell: Cell | None, writes: Sequence[Written], _data: Any, _values: Values) -> Cell | None:
    items = list(flatten(writes))
    return ListCell(items) if items else None


def _topic_accumulate(cell: Cell | None, writes: Sequence[Written], _data: Any, _values: Values) -> Cell | None:
    items = list(flatten(writes))
    return cell.extended(items) if isinstance(cell, ListCell) else ListCell(items)


def _messages(cell: Cell | None, writes: Sequence[Written], _data: Any, _values: Values) -> Cell | None:
    return fold_messages(cell, writes)


def _barrier(cell: Cell | None, writes: Sequence[Written], data: Any, values: Values) -> Cell | None:
    names, after_finish = values.decode(data)
    seen = frozenset[Any]() if cell is None else cell.value
    seen = seen.union(written.value for written in writes)
    return BarrierCell(seen, frozenset(names), finished=not after_finish)


def _last_waiting(_cell: Cell | None, writes: Sequence[Written], _data: Any, _values: Values) -> Cell | None:
    return WaitingCell(unwrap(writes[-1].value))


def _input(_cell: Cell | None, writes: Sequence[Written], data: Any, _values: Values) -> Cell | None:
    return _InputCell(list(zip(data, writes, strict=True)))


def _whole(_cell: Cell | None, _writes: Sequence[Written], data: Any, values: Values) -> Cell | None:
    return cell_of(values.decode(data))


def _whole_barrier(_cell: Cell | None, _writes: Sequence[Written], data: Any, values: Values) -> Cell | None:
    seen, names, finished = values.decode(data)
    return BarrierCell(seen, names, finished=finished)


def _whole_waiting(_cell: Cell | None, _writes: Sequence[Written], data: Any, values: Values) -> Cell | None:
    return WaitingCell(values.decode(data))


def _splice(cell: Cell | None, _writes: Sequence[Written], data: Any, values: Values) -> Cell | None:
    prefix, suffix, middle = data
    new = values.decode(middle)
    if isinstance(cell, ListCell) and type(new) is list:
        if prefix == cell.length:
            return cell.extended(cast("list[Any]", new))
        old = cell.value
        return ListCell([*old[:prefix], *new, *old[len(old) - suffix :]])
    old = "" if cell is None else cell.value
    return Cell(old[:prefix] + new + old[len(old) - suffix :])


def _entries(cell: Cell | None, _writes: Sequence[Written], data: Any, values: Values) -> Cell | None:
    table: dict[Any, Any] = {} if cell is None else dict(cell.value)
    for key in values.decode(data[0]):
        del table[key]
    for key, value in values.decode(data[1]):
        table[key] = value
    return Cell(table)


def _empty(_cell: Cell | None, _writes: Sequence[Written], _data: Any, _values: Values) -> Cell | None:
    return None


def _finished(cell: Cell | None, _writes: Sequence[Written], _data: Any, _values: Values) -> Cell | None:
    if isinstance(cell, BarrierCell):
        return BarrierCell(cell.value, cell.names, finished=True)
    return None if cell is None else Cell(cell.value)


class _InputCell(Cell):
    """The run's input, put together from the entries that the log stores once."""

    __slots__ = ("_entries",)

    def __init__(self, entries: list[tuple[str, Written]]) -> None:
        self._entries = entries
        self.digest = b""

    def __getattr__(self, name: str) -> Any:
        if name != "value":
            raise AttributeError(name)
        self.value = value = {key: written.value for key, written in self._entries}
        return value


def fold_messages(cell: Cell | None, writes: Sequence[Written]) -> Cell | None:
    """Return the cell after `add_messages` took the writes; ids that are missing are minted from each origin."""
    for written in writes:
        replaces, value = overwrite_of(written.value)
        if replaces:
            return merge_messages(None, value, new_id=minted_ids(written.origin))
        cell = merge_messages(cell, value, new_id=minted_ids(written.origin))
    return cell


_FOLDS: dict[int, Callable[[Cell | None, Sequence[Written], Any, Values], Cell | None]] = {
    ResultOp.LAST: _last,
    ResultOp.ADD: _add,
    ResultOp.UNION: _union,
    ResultOp.TOPIC: _topic,
    ResultOp.TOPIC_ACCUMULATE: _topic_accumulate,
    ResultOp.MESSAGES: _messages,
    ResultOp.BARRIER: _barrier,
    ResultOp.LAST_WAITING: _last_waiting,
    ResultOp.INPUT: _input,
    ResultOp.WHOLE: _whole,
    ResultOp.INITIAL: _whole,
    ResultOp.WHOLE_BARRIER: _whole_barrier,
    ResultOp.WHOLE_WAITING: _whole_waiting,
    ResultOp.SPLICE: _splice,
    ResultOp.ENTRIES: _entries,
    ResultOp.EMPTY: _empty,
    ResultOp.FINISHED: _finished,
}
