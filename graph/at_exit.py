"""Durability `exit`: a whole run recorded as one checkpoint, the last, whose parent is the head before the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..eventlog.events import ChannelResult, CheckpointCommitted, ResultOp
from ..projections.cells import Cell, LazyCell, ListCell, Values
from ..projections.digests import digest_after
from ..projections.fitting import fitted
from ..projections.fold import BarrierCell, Cells, WaitingCell, fold_step
from ..projections.splices import describe_change
from ..projections.state import CheckpointState, state_after

if TYPE_CHECKING:
    from .loop import Loop


def exit_commit(loop: Loop, state: CheckpointState) -> tuple[CheckpointCommitted, CheckpointState]:
    """Return the commit of a run's last state as one step from the state before the run, and that state."""
    base, journal = loop.base, loop.journal
    assert journal is not None
    version = max(state.versions.values(), default=0)
    before = base.cells if base is not None else {}
    known = base.versions if base is not None else {}
    results: list[ChannelResult] = []
    cells = state.cells.copy()
    for channel in {**before, **state.cells}:
        old, new = before.get(channel), state.cells.get(channel)
        if new is None:
            results.append(ChannelResult(channel, ResultOp.EMPTY, None, b""))
        elif old is not new:
            op, data, cells[channel] = describe_cell(channel, old, new, loop.values)
            results.append(ChannelResult(channel, op, data, _digest(loop, channel, op, data, cells[channel])))
    changed = {result.channel for result in results}
    consumed = tuple(name for name, at in state.versions.items() if at != known.get(name) and name not in changed)
    seen = tuple(
        (node, tuple(sorted(channels.items())))
        for node, channels in state.seen.items()
        if base is None or base.seen.get(node) != channels
    )
    event = CheckpointCommitted(
        state.id,
        None if base is None else base.id,
        0 if base is None else base.version,
        state.namespace,
        state.step,
        state.source,
        state.metadata,
        state.parents,
        state.graph,
        state.tasks,
        # START's own writes refer to the input, and a step of START that was refused is shown with them.
        state.applied if state.inputs else (),
        tuple(fitted(results, loop.values)),
        version,
        consumed,
        seen,
        state.updated,
        True,
    )
    final = state_after(
        base,
        event,
        cells,
        state.inputs,
        version=journal.next_version,
        time_us=state.time_us,
        run=journal.run,
    )
    return event, final


def _digest(loop: Loop, channel: str, op: int, data: Any, new: Cell) -> bytes:
    if channel not in loop.rules.state_keys:
        return b""
    assert loop.journal is not None
    key = loop.journal.digest_key(loop.run.namespace, channel)
    return digest_after(key, op, data, new, loop.values)


def describe_cell(channel: str, old: Cell | None, new: Cell, values: Values) -> tuple[int, Any, Cell]:
    """Return the recorded form of a cell, whatever writes led to it, and the cell that a reader makes of it."""
    op, data = _described(old, new, values)
    if type(new) in (Cell, LazyCell) and type(new.value) is list:
        # What was written as a plain value is read as a list that grows, and its digest is that of such a list.
        table: Cells = {} if old is None else {channel: old}
        new = fold_step(table, [ChannelResult(channel, op, data, b"")], {}, values)[channel]
    return op, data, new


def _described(old: Cell | None, new: Cell, values: Values) -> tuple[int, Any]:
    if isinstance(new, BarrierCell):
        return ResultOp.WHOLE_BARRIER, values.encode([new.value, new.names, new.finished])
    if isinstance(new, WaitingCell):
        return ResultOp.WHOLE_WAITING, values.encode(new.value)
    if isinstance(new, ListCell) and isinstance(old, ListCell) and new.extends(old):
        return ResultOp.SPLICE, [old.length, 0, values.encode(new.since(old.length))]
    return describe_change(old, new.value, values)
