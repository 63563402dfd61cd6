"""The commit of a superstep: the checkpoint that it makes, the tasks planned next, and what became of each channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..eventlog.events import ChannelResult, CheckpointCommitted, ResultOp
from ..eventlog.record import NO_ID
from ..projections.digests import digest_after
from ..projections.fitting import fitted
from ..projections.state import CheckpointState, Inputs, seen_after, state_after, versions_after
from ..projections.types import EVERY_CHANNEL, INTERRUPT
from .rules import Closed

if TYPE_CHECKING:
    from .journal import Journal
    from .loop import Loop


def commit(
    loop: Loop,
    source: str,
    closed: Closed,
    applied: tuple[int, ...],
    inputs: Inputs,
    *,
    step: int,
    sibling_of: CheckpointState | None = None,
) -> CheckpointState:
    """Record a closed step as the next checkpoint, with what was held back, go on to its step, and return its state.

    `sibling_of`: the checkpoint whose parent this one gets, instead of the present one as its parent.
    """
    base, journal = loop.state, loop.journal
    namespace = loop.run.namespace
    above = None if base is None else base.id
    parent = above if sibling_of is None else sibling_of.parent
    time_us = loop.now_us()
    id_ = loop.new_id(step)
    results = _results(loop, closed)
    seen = closed.seen
    if loop.passed_interrupts is not None:
        seen = (*seen, (INTERRUPT, ((EVERY_CHANNEL, loop.passed_interrupts),)))
    version = max(closed.version, loop.ahead_version)
    versions = versions_after(base, results, closed.consumed, version)
    seen_now = seen_after(base, seen)
    tasks = loop.rules.plan(
        {**closed.cells, **closed.untracked} if closed.untracked else closed.cells,
        versions,
        seen_now,
        checkpoint=id_,
        namespace=namespace,
        step=step + 1,
        updated=None if source == "fork" or loop.edits else closed.updated,
    )
    event = CheckpointCommitted(
        id_,
        parent,
        0 if base is None else base.version,
        namespace,
        step,
        source,
        loop.metadata,
        dict(loop.run.parents),
        loop.graph,
        tasks,
        applied,
        tuple(fitted(results, loop.values)),
        version,
        closed.consumed,
        seen,
        _updated(base, source, closed),
    )
    with loop.recording_alone():
        state = state_after(
            base,
            event,
            closed.cells,
            inputs,
            version=0 if journal is None else journal.next_version + loop.record.waiting,
            time_us=time_us,
            run=NO_ID if journal is None else journal.run,
            versions=versions,
            seen=seen_now,
        )
        if journal is not None:
            _record(loop, journal, event, state)
    loop.go_to(state, closed)
    return state


def _record(loop: Loop, journal: Journal, event: CheckpointCommitted, state: CheckpointState) -> None:
    """Append what was held back, and the commit behind it; at durability `exit` a run's last commit stands for all."""
    if loop.deferred is not None:
        loop.deferred += loop.record.take()
        return
    events = [*loop.record.take(), event] if loop.commits else loop.record.take()
    journal.append(events, state.time_us, state)


def _updated(base: CheckpointState | None, source: str, closed: Closed) -> tuple[str, ...] | None:
    """Return what the checkpoint says of its step's channels: an edit does not say, a fork says its base's."""
    if source == "update":
        return None
    if source == "fork":
        return None if base is None else base.updated
    return tuple(sorted(closed.updated))


def _results(loop: Loop, closed: Closed) -> list[ChannelResult]:
    """Return a close's results as they are recorded: behind what came ahead of it, with digests."""
    changes = [*loop.ahead, *closed.results] if loop.ahead else closed.results
    journal = loop.journal
    if journal is None:
        return changes
    last = {change.channel: place for place, change in enumerate(changes)}
    results: list[ChannelResult] = []
    for place, change in enumerate(changes):
        channel, op, data, _digest = change
        new = closed.cells.get(channel)
        if new is not None and channel in loop.rules.state_keys and last[channel] == place:
            stored = closed.writes[channel][-1].data if op == ResultOp.LAST else data
            key = journal.digest_key(loop.run.namespace, channel)
            change = ChannelResult(channel, op, data, digest_after(key, op, stored, new, loop.values))
        results.append(change)
    return results
