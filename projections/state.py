"""`CheckpointState`: everything that one committed checkpoint says, with its channels folded.

Made from the parent's state, the commit event and the writes that it applied; never changed afterwards. Checkpoints
share cells with their parents, so holding many costs what changed between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..eventlog.events import (
    ChannelResult,
    ChannelWritten,
    CheckpointCommitted,
    PlannedTask,
    ResultOp,
)
from ..eventlog.record import NO_ID
from .cells import Data, Values, Written
from .fold import Cells, fold_step
from .types import INPUT, START

Inputs = Mapping[str, Data]
"""The run's input as the log stores it: key to data. START's own writes refer to it."""


class CheckpointState:
    """One checkpoint of one namespace: what it holds, what it plans, where it lies in its stream."""

    __slots__ = (
        "applied",
        "cells",
        "graph",
        "id",
        "inputs",
        "metadata",
        "namespace",
        "parent",
        "parents",
        "run",
        "seen",
        "skips",
        "source",
        "step",
        "tasks",
        "time_us",
        "updated",
        "version",
        "versions",
    )

    id: bytes
    parent: bytes | None
    version: int
    """Stream version of the commit's own record."""
    namespace: str
    step: int
    source: str
    metadata: bytes | None
    parents: dict[str, bytes]
    graph: bytes
    time_us: int
    run: bytes
    tasks: tuple[PlannedTask, ...]
    cells: Cells
    versions: dict[str, int]
    seen: dict[str, dict[str, int]]
    updated: tuple[str, ...] | None
    inputs: Inputs
    applied: tuple[int, ...]

    def __init__(self, event: CheckpointCommitted, version: int, time_us: int, run: bytes) -> None:
        self.id = event.id
        self.parent = event.parent
        self.version = version
        self.namespace = event.namespace
        self.step = event.step
        self.source = event.source
        self.metadata = event.metadata
        self.parents = event.parents
        self.graph = event.graph
        self.time_us = time_us
        self.run = run
        self.tasks = event.tasks
        self.updated = event.updated
        self.applied = event.applied
        self.skips = event.skips


_NOTHING: Inputs = {}
_INITIAL = ResultOp.INITIAL


def apply_commit(
    base: CheckpointState | None,
    event: CheckpointCommitted,
    applied: Iterable[ChannelWritten],
    values: Values,
    version: int,
    time_us: int,
    run: bytes,
) -> CheckpointState:
    """Return the state after a commit: pure, and the only way from events to a checkpoint.

    `base` is the parent's state (`None` for a thread's first checkpoint), `applied` the step's writes in apply
    order.
    """
    writes, inputs = gather(base, applied, values)
    cells = fold_step(base.cells if base else {}, event.results, writes, values)
    return state_after(base, event, cells, inputs, version, time_us, run)


def state_after(
    base: CheckpointState | None,
    event: CheckpointCommitted,
    cells: Cells,
    inputs: Inputs,
    version: int,
    time_us: int,
    run: bytes,
    *,
    versions: dict[str, int] | None = None,
    seen: dict[str, dict[str, int]] | None = None,
) -> CheckpointState:
    """Return the state of a commit whose channels are folded: by a reader, or live by the run that commits it.

    `versions` and `seen`: what `versions_after` and `seen_after` give, where the caller has them already.
    """
    state = CheckpointState(event, version, time_us, run)
    state.inputs = inputs
    state.cells = cells
    results = event.results
    for channel, _op, _data, digest in results:
        if digest and (cell := cells.get(channel)) is not None:
            cell.digest = digest
    state.versions = versions_after(base, results, event.consumed, event.version) if versions is None else versions
    state.seen = seen_after(base, event.seen) if seen is None else seen
    return state


def versions_after(
    base: CheckpointState | None, results: Iterable[ChannelResult], consumed: Iterable[str], version: int
) -> dict[str, int]:
    """Return the channel versions after a step that gave `version` to what it changed."""
    versions = base.versions.copy() if base else {}
    for channel, op, _data, _digest in results:
        if op != _INITIAL:
            versions[channel] = version
    for channel in consumed:
        versions[channel] = version
    return versions


def seen_after(
    base: CheckpointState | None, seen: Iterable[tuple[str, Iterable[tuple[str, int]]]]
) -> dict[str, dict[str, int]]:
    """Return the versions seen by each node after a step in which `seen` were seen."""
    after = base.seen if base else {}
    if not seen:
        return after
    after = after.copy()
    for node, channels in seen:
        known = after.get(node)
        after[node] = known = {} if known is None else known.copy()
        known.update(channels)
    return after


def gather(
    base: CheckpointState | None, applied: Iterable[ChannelWritten], values: Values
) -> tuple[dict[str, list[Written]], Inputs]:
    """Return a step's writes by channel, in apply order, and the run's input when it is among them."""
    writes: dict[str, list[Written]] = {}
    inputs: Inputs = _NOTHING
    decode = values.decode
    for event in applied:
        checkpoint, path, written_now = event.checkpoint, event.path, event.writes
        is_input = checkpoint == NO_ID and event.node == INPUT
        if is_input:
            inputs = dict(written_now)
        for ordinal, (channel, data) in enumerate(written_now):
            if is_input:
                channel = START
            elif data is None:
                assert base is not None, "only START's writes refer to an input, and it has a checkpoint"
                data = base.inputs[channel]
            written = Written(data, (checkpoint, path, channel, ordinal), decode)
            if channel in writes:
                writes[channel].append(written)
            else:
                writes[channel] = [written]
    return writes, inputs
