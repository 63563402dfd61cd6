"""What a command writes ahead of the step that waits: its nodes see it, and its commit carries it."""

from __future__ import annotations

from collections.abc import Mapping

from ..eventlog.events import ChannelResult, ChannelWritten, Event, ResultOp
from ..eventlog.record import NO_ID
from ..projections.cells import Written
from ..projections.types import INPUT, RESUME
from .at_exit import describe_cell
from .loop import Loop
from .rules import Closed, Finished
from .run_input import stored_once
from .spec import Write
from .tasks import unchanged


def command_event(loop: Loop, writes: list[Write]) -> tuple[ChannelWritten, list[tuple[str, Written]]]:
    """Return what is recorded of a command's writes, and the writes; of untracked channels nothing is recorded."""
    base = loop.state
    assert base is not None
    tracked = [write for write in writes if write[0] not in loop.rules.untracked]
    written = stored_once(tracked, base.id, (), loop.values)
    data = tuple((channel, part.data) for channel, part in written)
    for channel, value in writes:
        if channel in loop.rules.untracked:
            written.append((channel, Written(value, (base.id, (), channel, 0), unchanged, value)))
    return ChannelWritten(base.id, base.namespace, NO_ID, INPUT, (), data), written


def close_command(loop: Loop, stored: list[tuple[str, Written]]) -> Closed:
    """Return the step that a command's writes make by themselves."""
    base = loop.state
    versions: Mapping[str, int] = base.versions if base is not None else {}
    return loop.rules.close(loop.cells, loop.untracked, versions, [Finished(INPUT, (), (), stored)], loop.values)


def write_ahead(loop: Loop, writes: list[Write]) -> list[Event]:
    """Apply a command's writes ahead of the step that waits: its nodes see them, its commit carries them."""
    if not writes:
        return []
    event, stored = command_event(loop, writes)
    _apply_ahead(loop, stored)
    return [event]


def _apply_ahead(loop: Loop, stored: list[tuple[str, Written]]) -> None:
    closed = close_command(loop, stored)
    before, cells = loop.cells, closed.cells.copy()
    for change in closed.results:
        channel = change.channel
        old, new = before.get(channel), closed.cells.get(channel)
        if new is None:
            change = ChannelResult(channel, ResultOp.EMPTY, None, b"")
        elif change.op < ResultOp.WHOLE:
            # As the writes say would mix these writes with the step's own: what is carried is the outcome.
            op, data, cells[channel] = describe_cell(channel, old, new, loop.values)
            change = ChannelResult(channel, op, data, b"")
        loop.ahead.append(change)
    loop.cells, loop.untracked = cells, closed.untracked
    loop.ahead_version = max(loop.ahead_version, closed.version)


def reapply_commands(loop: Loop, writes: Mapping[int, ChannelWritten]) -> None:
    """Apply again what commands of earlier runs wrote ahead of a step that did not close with them."""
    for event in writes.values():
        if event.task != NO_ID:
            continue
        stored = [
            (
                channel,
                Written(data, (event.checkpoint, event.path, channel, place), loop.values.decode),
            )
            for place, (channel, data) in enumerate(event.writes)
            if channel != RESUME
        ]
        if stored:
            _apply_ahead(loop, stored)
