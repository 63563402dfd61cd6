"""Durability `exit`: a whole run recorded as one checkpoint, the last, whose parent is the head before the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..eventlog.events import ChannelResult, CheckpointCommitted, ResultOp
from ..projections.cells import Cell, ListCell, Values
from ..projections.digests import digest_after
from ..projections.fold import BarrierCell, WaitingCell
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
    for channel in {**before, **state.cells}:
        old, new = before.get(channel), state.cells.get(channel)
        if new is None:
            results.append(ChannelResult(channel, ResultOp.EMPTY, None, b""))
        elif old is not new:
            results.append(_result(loop, channel, old, new))
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
        (),
        tuple(results),
        version,
        consumed,
        seen,
        state.updated,
        True,
    )
    final = state_after(
        base,
        event,
        state.cells,
        {},
        version=journal.next_version,
        time_us=state.time_us,
        run=journal.run,
    )
    return event, final


def _result(loop: Loop, channel: str, old: Cell | None, new: Cell) -> ChannelResult:
    """Return the result that leads from one cell to the other."""
    op, data = describe_cell(old, new, loop.values)
    digest = b""
    if channel in loop.rules.state_keys:
        assert loop.journal is not None
        key = loop.journal.digest_key(loop.run.namespace, channel)
        digest = digest_after(key, op, data, new, loop.values)
    return ChannelResult(channel, op, data, digest)


def describe_cell(old: Cell | None, new: Cell, values: Values) -> tuple[int, Any]:
    """Return the recorded form of a cell, whatever writes led to it."""
    if isinstance(new, BarrierCell):
        return ResultOp.WHOLE_BARRIER, values.encode([new.value, new.names, new.finished])
    if isinstance(new, WaitingCell):
        return ResultOp.WHOLE_WAITING, values.encode(new.value)
    if isinstance(new, ListCell) and isinstance(old, ListCell) and new.extends(old):
        return ResultOp.SPLICE, [old.length, 0, values.encode(new.since(old.length))]
    return describe_change(old, new.value, values)
