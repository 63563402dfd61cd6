"""Channels: what a graph declares about each key of its state. Immutable descriptions, no values inside.

A channel *decides* how a step's writes are recorded (`decide`): either as the writes say, by a pinned reducer, or
by the outcome of the user's reducer, run once and compared on encoded bytes. `fold.fold_step` then applies the
record: the same function for the live run and for every reader. Names and constructors are LangGraph's.
"""

from __future__ import annotations

import collections.abc
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, get_origin

from ..eventlog.events import ResultOp
from .add_messages import minting
from .cells import MISSING, Cell, ListCell, Values, Written, overwrite_of, own
from .errors import InvalidUpdateError, NotSupportedYet
from .fold import combine, flatten
from .held import Held
from .reducers import pinned_reducer, reducer_name
from .splices import Change, describe_change

_CONCURRENT = (
    "For troubleshooting, visit: https://docs.langchain.com/oss/python/langgraph/errors/INVALID_CONCURRENT_GRAPH_UPDATE"
)


class Channel:
    """Base of all channels. `key` is the name under which the graph knows it."""

    tracked = True
    """False: the value is never stored."""
    forgets = False
    """Whether a step that wrote nothing here may change the channel: then `pass_step` is asked."""

    def __init__(self, typ: Any = Any, key: str = "") -> None:
        self.typ = typ
        self.key = key

    def named(self, key: str) -> Channel:
        """Return this channel under a name."""
        named = copy(self)
        named.key = key
        return named

    def initial(self) -> Any:
        """Return the value that the channel begins with, or `MISSING`."""
        return MISSING

    def decide(self, cell: Cell | None, writes: Sequence[Written], values: Values) -> Change | None:
        """Return how a step's writes (at least one) are recorded, or `None` when they change nothing.

        Raises `InvalidUpdateError` when the channel refuses them.
        """
        raise NotSupportedYet(
            f"channel {self.key!r} is a {type(self).__name__}, which does not say how its writes are recorded: use one "
            "of the channels of this module, or override `decide`"
        )

    def pass_step(self, cell: Cell, values: Values) -> Change | None:
        """Return what a step that wrote nothing here makes of the channel."""
        return None

    def consume(self, cell: Cell, values: Values) -> Change | None:
        """Return what becomes of the channel when a task that it triggered has run."""
        return None

    def finish(self, cell: Cell, values: Values) -> Change | None:
        """Return what becomes of the channel when the run would otherwise end."""
        return None

    def is_pinned(self) -> bool:
        """Tell whether folding writes runs no code of a user."""
        return True

    def describe(self) -> dict[str, Any]:
        """Return what identifies the channel in a graph's description."""
        return {"channel": type(self).__name__}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Channel) and self.describe() == other.describe()

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.key or self.typ!r})"


class LastValue(Channel):
    """Holds the last value written; at most one write a step."""

    def decide(self, cell: Cell | None, writes: Sequence[Written], values: Values) -> Change | None:
        """Record the write; two in one step are refused."""
        if len(writes) != 1:
            raise InvalidUpdateError(
                f"At key '{self.key}': Can receive only one value per step. Use an Annotated key to handle "
                f"multiple values.\n{_CONCURRENT}",
                channel=self.key,
            )
        return _last(writes[-1], values)


class AnyValue(Channel):
    """Holds the last value written, assuming that all of a step's are equal; empty after a step without one."""

    forgets = True

    def decide(self, cell: Cell | None, writes: Sequence[Written], values: Values) -> Change | None:
        """Record the last write."""
        return _last(writes[-1], values)

    def pass_step(self, cell: Cell, values: Values) -> Change | None:
        """Forget the value."""
        return ResultOp.EMPTY, None


class EphemeralValue(Channel):
    """Holds a value for the next step only."""

    forgets = True

    def __init__(self, typ: Any = Any, guard: bool = True, key: str = "") -> None:
        super().__init__(typ, key)
        self.guard = guard

    def decide(self, cell: Cell | None, writes: Sequence[Written], values: Values) -> Change | None:
        """Record the last write; with `guard` two in one step are refused."""
        _guard(self, writes)
        return _last(writes[-1], values)

    def pass_step(self, cell: Cell, values: Values) -> Change | None:
        """Forget the value."""
        return ResultOp.EMPTY, None

    def describe(self) -> dict[str, Any]:
        """Return kind and guard."""
        return {"channel": type(self).__name__, "guard": self.guard}


class UntrackedValue(Channel):
    """Holds the last value written while the run lasts; never encoded, never stored."""

    tracked = False

    def __init__(self, typ: Any = Any, guard: bool = True, key: str = "") -> None:
        super().__init__(typ, key)
        self.guard = guard

    def decide(self, cell: Cell | None, writes: Sequence[Written], values: Values) -> Change | None:
        """Take the last write; with `guard` two in one step are refused."""
        _guard(self, writes)
        return ResultOp.LAST, None

    def describe(self) -> dict[str, Any]:
        """Return kind and guard."""
        return {"channel": type(self).__name__, "guard": self.guard}


class BinaryOperatorAggregate(Channel):
    """Combines the value with each write: `operator(value, write)`.

    `operator.add`, `operator.or_` and `add_messages` over built-in types are pinned: the log stores the writes only.
    Any other reducer runs once, and what it made is recorded, so that reading never runs it.
    """

    def __init__(self, typ: Any, operator: Callable[[Any, Any], Any], key: str = "") -> None:
        super().__init__(typ, key)
        self.operator = operator

    def initial(self) -> Any:
        """Return an empty value of the channel's type, when it has one."""
        try:
            return concrete_type(self.typ)()
        except Exception:  # noqa: BLE001 - any constructor of a user's type may refuse, in any way: no initial value
            return MISSING

    def decide(self, cell: Cell | None, writes: Sequence[Written], values: Values) -> Change | None:
        """Record the writes for a pinned reducer, else the outcome."""
        the_overwrite(self, writes)
        pinned = pinned_reducer(self.operator)
        if pinned is not None and (pinned[0] == ResultOp.MESSAGES or _all_built_in(cell, writes)):
            return pinned[0], None
        left = None if cell is None else owned_cell(cell, values)
        with minting() as mint:
            outcome = combine(left, mint.following(writes), self.operator)
        assert outcome is not None, "a step with writes leaves a value"
        return describe_change(cell, outcome.value, values)

    def is_pinned(self) -> bool:
        """Tell whether the reducer is one of the pinned ones."""
        return pinned_reducer(self.operator) is not None

    def describe(self) -> dict[str, Any]:
        """Return kind and reducer: a pinned name, or a digest of the reducer's source."""
        return {"channel": type(self).__name__, "reducer": reducer_name(self.operator)}


class Topic(Channel):
    """A list of what was written: of the last step, or of all steps with `accumulate`."""

    def __init__(self, typ: Any = Any, accumulate: bool = False, key: str = "") -> None:
        super().__init__(typ, key)
        self.accumulate = accumulate
        self.forgets = not accumulate

    def decide(self, cell: Cell | None, writes: Sequence[Written], values: Values) -> Change | None:
        """Record the writes; an empty list adds nothing."""
        empty = next(flatten(writes), MISSING) is MISSING
        if self.accumulate:
            return None if empty else (ResultOp.TOPIC_ACCUMULATE, None)
        return None if empty and cell is None else (ResultOp.TOPIC, None)

    def pass_step(self, cell: Cell, values: Values) -> Change | None:
        """Forget the step's values, unless they accumulate."""
        return None if self.accumulate else (ResultOp.EMPTY, None)

    def describe(self) -> dict[str, Any]:
        """Return kind and whether values accumulate."""
        return {"channel": type(self).__name__, "accumulate": self.accumulate}


class NamedBarrierValue(Channel):
    """Becomes available when every name was written; consumed by the step that it triggers."""

    after_finish = False

    def __init__(self, typ: Any, names: Iterable[Any], key: str = "") -> None:
        super().__init__(typ, key)
        self.names = frozenset(names)

    def decide(self, cell: Cell | None, writes: Sequence[Written], values: Values) -> Change | None:
        """Record the names; one that nobody waits for is refused."""
        seen = frozenset[Any]() if cell is None else cell.value
        for written in writes:
            if written.value not in self.names:
                raise InvalidUpdateError(
                    f"At key '{self.key}': Value {written.value} not in {set(self.names)}", channel=self.key
                )
        if all(written.value in seen for written in writes):
            return None
        return ResultOp.BARRIER, values.encode([sorted(self.names, key=repr), self.after_finish])

    def consume(self, cell: Cell, values: Values) -> Change | None:
        """Begin to wait again."""
        return (ResultOp.EMPTY, None) if cell.readable else None

    def describe(self) -> dict[str, Any]:
        """Return kind and names."""
        return {"channel": type(self).__name__, "names": sorted(map(str, self.names))}


class NamedBarrierValueAfterFinish(NamedBarrierValue):
    """A barrier that opens only when the run would otherwise end."""

    after_finish = True

    def finish(self, cell: Cell, values: Values) -> Change | None:
        """Open, when all names were seen."""
        ready = not cell.readable and cell.value == self.names
        return (ResultOp.FINISHED, None) if ready else None


class LastValueAfterFinish(LastValue):
    """The last value written, available only when the run would otherwise end."""

    def decide(self, cell: Cell | None, writes: Sequence[Written], values: Values) -> Change | None:
        """Record the last write."""
        return ResultOp.LAST_WAITING, None

    def finish(self, cell: Cell, values: Values) -> Change | None:
        """Become available."""
        return None if cell.readable else (ResultOp.FINISHED, None)

    def consume(self, cell: Cell, values: Values) -> Change | None:
        """Forget the value once it triggered."""
        return (ResultOp.EMPTY, None) if cell.readable else None


_BUILT_IN = frozenset({list, tuple, str, bytes, int, float, complex, bool, set, frozenset, dict})
_CONCRETE: dict[Any, type] = {
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
}


def concrete_type(typ: Any) -> Any:
    """Return the class to call for an empty value of an annotated type."""
    origin = get_origin(typ) or typ
    return _CONCRETE.get(origin, origin)


def the_overwrite(channel: Channel, writes: Sequence[Written]) -> Written | None:
    """Return the one of a step's writes that is an `Overwrite`, if any; a second one is refused."""
    replacing = [written for written in writes if overwrite_of(written.value)[0]]
    if len(replacing) > 1:
        raise InvalidUpdateError(
            f"At key '{channel.key}': Can receive only one Overwrite value per super-step.\n{_CONCURRENT}",
            channel=channel.key,
        )
    return replacing[0] if replacing else None


def _last(written: Written, values: Values) -> Change:
    value = written.value
    if overwrite_of(value)[0] and not isinstance(value, dict):
        return ResultOp.WHOLE, values.encode(value.value)
    return ResultOp.LAST, None


def _guard(channel: EphemeralValue | UntrackedValue, writes: Sequence[Written]) -> None:
    if channel.guard and len(writes) != 1:
        kind = type(channel).__name__
        raise InvalidUpdateError(
            f"At key '{channel.key}': {kind}(guard=True) can receive only one value per step. Use guard=False if you "
            "want to store any one of multiple values.",
            channel=channel.key,
        )


def _all_built_in(cell: Cell | None, writes: Sequence[Written]) -> bool:
    # A list cell's value would be copied to be looked at.
    if cell is not None and not isinstance(cell, ListCell) and type(cell.value) not in _BUILT_IN:
        return False
    return all(type(overwrite_of(written.value)[1]) in _BUILT_IN for written in writes)


def owned_cell(cell: Cell, values: Values) -> Cell:
    """Return a cell whose value belongs to one fold alone, down to the last element."""
    if values.plain:
        return Cell(cell.value if isinstance(cell.value, Held) else own(cell.value))
    # `raw`, for `encode` would store a large value as a blob, at every step.
    return Cell(values.decode(values.raw(cell.value)))
