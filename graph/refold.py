"""Refolding: the graph's own reducers run again over the recorded writes, and compared with what was recorded.

A read folds recorded results and runs no code of a user; this is the other way, asked for by name. It walks from the
thread's root to one checkpoint, closes each step by the same `Rules` as the live loop, and stops at the first commit
that comes out otherwise: `ReducerDrift`. Nodes do not run. Law L2 says that with unchanged reducers it never stops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..eventlog.clock import id_text
from ..eventlog.configs import configurable
from ..eventlog.events import ChannelWritten, CheckpointCommitted, PlannedTask, ResultOp, RunStarted
from ..eventlog.record import NO_ID
from ..projections.cells import Cell, Written
from ..projections.digests import channel_key, digest_of
from ..projections.errors import ReducerDrift
from ..projections.fold import Cells, fold_step
from ..projections.foreign import is_foreign
from ..projections.inherited import in_source, inherited
from ..projections.open_thread import OpenThread, Place
from ..projections.queries import empty_snapshot
from ..projections.reader import StreamPast
from ..projections.snapshot import statuses
from ..projections.state import CheckpointState, Inputs
from ..projections.thread import OpenWrites
from ..projections.types import INPUT, INTERRUPT, RESUME, START, StateSnapshot
from .reading import Reading
from .rules import PUSH, PUSH_TRIGGERS, Finished, Rules, StepRefusal, is_call, path_text


def refolded_state(reading: Reading, config: Mapping[str, Any]) -> StateSnapshot:
    """Return the snapshot that this graph's reducers make of the recorded writes.

    Raises `ReducerDrift` naming the first checkpoint and channel that differ from the record.
    """
    place = reading.place(config)
    if place is None:
        return empty_snapshot(config)
    refold = Refold(reading.thread, reading.rules)
    cells = refold.cells_at(place.state)
    lens = reading.lens(place)
    if "checkpoint_id" in configurable(config):
        return lens.record(_with_cells(place.state, cells), place.writes)
    return lens.live(reading.thread.thread, place.state, place.writes, refold.cells_now(place, cells))


class Refold:
    """One walk over a thread's commits with a graph's reducers."""

    def __init__(self, thread: OpenThread, rules: Rules) -> None:
        self._thread = thread
        self._rules = rules
        self._values = thread.values
        self._past = thread.past()
        self._keys: dict[str, bytes] = {}

    def cells_at(self, state: CheckpointState) -> Cells:
        """Return the channels at a checkpoint, refolded from the root and compared at every commit on the way."""
        cells: Cells = {}
        base: CheckpointState | None = None
        for version in _chain(self._past, state.version):
            commit = self._past.state_at(version)
            cells = self._step(base, commit, cells)
            base = commit
        return cells

    def cells_now(self, place: Place, cells: Cells) -> Cells | None:
        """Return the head's channels with what its finished tasks wrote, compared with what a run's end recorded."""
        state = place.state
        finished = self._finished_of(place.writes, state)
        cells = self._commands(place.writes, state, cells)
        if not finished:
            return cells
        now = self._closed(state, finished, cells, state.id)
        if state.id in self._thread.thread.paused:
            lens = self._thread.lens(place.past, None)
            recorded = lens.cells_now(self._thread.thread, state)
            for channel in self._rules.state_keys:
                if self._differ(recorded.get(channel), now.get(channel)):
                    raise self._drift(state.id, channel)
        return now

    def _step(self, base: CheckpointState | None, commit: CheckpointState, cells: Cells) -> Cells:
        """Return the channels after a commit, folded by the reducers onto `cells`, its base refolded."""
        record = self._past.record_at(commit.version)
        event = record.event
        assert isinstance(event, CheckpointCommitted), "a state's version holds its commit"
        if is_foreign(commit):
            return commit.cells
        if commit.skips:
            after = self._run(base, commit, cells)
        else:
            first = [result for result in event.results if result.op == ResultOp.INITIAL]
            cells = fold_step(cells, first, {}, self._values)
            events = [self._past.written_at(version) for version in commit.applied]
            if base is not None and _takes_what_waited(base, event, events):
                cells = self._commands(self._past.writes_at(base), base, cells)
            finished = self._tasks(events, base, frozenset(node for node, _seen in event.seen))
            after = self._closed(base, finished, cells, commit.id) if finished else cells
        after = self._beyond_graph(commit.cells, after)
        scope_key = self._thread.log.scope_key(record.header.scope)
        self._compare(cells, after, commit, event, scope_key)
        return after

    def _run(self, base: CheckpointState | None, commit: CheckpointState, cells: Cells) -> Cells:
        """Refold all supersteps of a run that recorded its last checkpoint only."""
        initial = self._rules.initial_results(cells, self._values)
        cells = fold_step(cells, initial, {}, self._values)
        trigger, steps = _recorded_by_run(self._thread, self._past, commit)
        inputs: Inputs = {}
        if base is not None:
            earlier = self._past.writes_at(base)
            own = steps.pop(base.id, {})
            if NO_ID not in steps and self._closed_by(commit, trigger, base, earlier, own):
                if trigger == "replay":
                    # What had finished ran again.
                    earlier = {version: event for version, event in earlier.items() if event.task == NO_ID}
                steps = {base.id: {**earlier, **own}, **steps}
            else:
                cells = self._commands({**earlier, **own}, base, cells)
        if NO_ID in steps:
            # A new input gives up what was pending, whatever of it had finished.
            pending = () if base is None else base.tasks
            (event,) = steps.pop(NO_ID).values()
            inputs = dict(event.writes)
            given_up = [Finished(task.name, task.path, task.triggers, ()) for task in pending]
            cells = self._closed(base, [*given_up, self._input(event)], cells, commit.id)
        for writes in steps.values():
            if base is not None:
                cells = self._commands(writes, base, cells)
            finished = self._finished_of(writes, base, inputs or None)
            cells = self._closed(base, finished, cells, commit.id) if finished else cells
        return cells

    def _closed_by(
        self, commit: CheckpointState, trigger: str, base: CheckpointState, earlier: OpenWrites, own: OpenWrites
    ) -> bool:
        """Tell whether the run that made a commit closed its base's own step, rather than a fork's or none at all.

        `earlier`: what the step's tasks wrote before the run, `own`: in it.
        """
        if any(event.task != NO_ID for event in own.values()):
            return True
        done = {task for task, status in statuses(earlier, self._values).items() if status.finished}
        if not base.tasks or any(task.id not in done for task in base.tasks):
            return False
        # Every task had finished, so none ran: then only the thread's head was gone on with, and not to run it again.
        return trigger != "replay" and _next_commit(self._past, base) == commit.version

    def _closed(self, base: CheckpointState | None, finished: list[Finished], cells: Cells, checkpoint: bytes) -> Cells:
        versions = {} if base is None else base.versions
        try:
            return self._rules.close(cells, {}, versions, finished, self._values).cells
        except StepRefusal as refusal:
            raise self._drift(checkpoint, refusal.channel) from refusal.error

    # Tasks from events

    def _tasks(
        self, events: Iterable[ChannelWritten], base: CheckpointState | None, seen: frozenset[str]
    ) -> list[Finished]:
        """Return the tasks of a closed step: those whose writes it applied, and those that it gave up."""
        planned = {} if base is None else {task.id: task for task in base.tasks}
        inputs: Inputs = {} if base is None else base.inputs
        by_task: dict[tuple[bytes, Any], Finished] = {}
        for event in events:
            if event.checkpoint == NO_ID and event.node == INPUT:
                by_task[event.task, ()] = self._input(event)
                continue
            place = (event.task, event.path)
            before = by_task[place].writes if place in by_task else ()
            triggers = self._triggers(event, planned.get(event.task))
            writes = [*before, *self._writes(event, inputs)]
            by_task[place] = Finished(event.node, event.path, triggers, writes)
        written = {task for task, _path in by_task}
        given_up = [
            Finished(task.name, task.path, task.triggers, ())
            for task in planned.values()
            if task.id not in written and task.name in seen
        ]
        return [*given_up, *by_task.values()]

    def _finished_of(
        self, writes: OpenWrites, base: CheckpointState | None, inputs: Inputs | None = None
    ) -> list[Finished]:
        """Return the tasks of an open step that ran to their end."""
        planned = {} if base is None else {task.id: task for task in base.tasks}
        if inputs is None:
            inputs = base.inputs if base is not None else {}
        done = {task for task, status in statuses(writes, self._values).items() if status.finished}
        done -= {event.task for event in writes.values() if is_call(event.path)}
        by_task: dict[bytes, Finished] = {}
        for event in writes.values():
            if event.task in done:
                before = by_task[event.task].writes if event.task in by_task else ()
                written = [*before, *self._writes(event, inputs)]
                triggers = self._triggers(event, planned.get(event.task))
                by_task[event.task] = Finished(event.node, event.path, triggers, written)
        return sorted(by_task.values(), key=lambda task: path_text(task.path))

    def _triggers(self, event: ChannelWritten, planned: PlannedTask | None) -> tuple[str, ...]:
        if event.path[:1] == (INTERRUPT,):
            return (INTERRUPT,)
        if event.task == NO_ID:
            return ()
        if planned is not None:
            return planned.triggers
        if event.path[:1] == (PUSH,):
            return PUSH_TRIGGERS
        node = self._rules.spec.nodes.get(event.node)
        return () if node is None else tuple(sorted(node.triggers))

    def _writes(self, event: ChannelWritten, inputs: Inputs) -> list[tuple[str, Written]]:
        decode = self._values.decode
        return [
            (
                channel,
                Written(
                    inputs[channel] if data is None else data,
                    (event.checkpoint, event.path, channel, place),
                    decode,
                ),
            )
            for place, (channel, data) in enumerate(event.writes)
        ]

    def _input(self, event: ChannelWritten) -> Finished:
        entries = {channel: self._values.decode(data) for channel, data in event.writes}
        value = entries[START] if set(entries) == {START} else entries
        written = Written(None, (NO_ID, (), START, 0), self._values.decode, value)
        return Finished(INPUT, (), (), ((START, written),))

    def _commands(self, writes: OpenWrites, base: CheckpointState, cells: Cells) -> Cells:
        """Apply what a command wrote ahead of a checkpoint's step."""
        for event in writes.values():
            if event.task != NO_ID or event.checkpoint != base.id:
                continue
            written = [pair for pair in self._writes(event, {}) if pair[0] != RESUME]
            if written:
                cells = self._closed(base, [Finished(INPUT, (), (), written)], cells, base.id)
        return cells

    # Comparing

    def _beyond_graph(self, recorded: Cells, cells: Cells) -> Cells:
        """Return the cells with channels that this graph does not have, as they were recorded."""
        others = {name: cell for name, cell in recorded.items() if name not in self._rules.spec.channels}
        return {**cells, **others} if others else cells

    def _compare(
        self,
        before: Cells,
        after: Cells,
        commit: CheckpointState,
        event: CheckpointCommitted,
        scope_key: bytes,
    ) -> None:
        changed = {result.channel for result in event.results}
        changed.update(name for name, cell in after.items() if before.get(name) is not cell)
        for channel in sorted(changed & self._rules.state_keys):
            recorded, new = commit.cells.get(channel), after.get(channel)
            if recorded is not None and new is not None and recorded.digest:
                digest = self._digest(channel, new, commit.namespace, scope_key)
                if digest == recorded.digest:
                    continue
            if self._differ(recorded, new):
                raise self._drift(commit.id, channel)

    def _digest(self, channel: str, new: Cell, namespace: str, scope_key: bytes) -> bytes:
        key = self._keys.get(channel)
        if key is None:
            key = self._keys[channel] = channel_key(scope_key, namespace, channel)
        return digest_of(key, new, self._values)

    def _differ(self, recorded: Cell | None, new: Cell | None) -> bool:
        if recorded is None or new is None:
            return recorded is not new
        return self._values.raw(recorded.value) != self._values.raw(new.value)

    def _drift(self, checkpoint: bytes, channel: str) -> ReducerDrift:
        id_ = id_text(checkpoint)
        return ReducerDrift(
            f"At checkpoint {id_} of thread {self._thread.id!r} this graph's reducer makes another value of the "
            f"channel {channel!r} than the one recorded. What is recorded stays; compare the reducer with the one "
            "of then.",
            checkpoint=id_,
            channel=channel,
        )


def _takes_what_waited(base: CheckpointState, event: CheckpointCommitted, applied: Iterable[ChannelWritten]) -> bool:
    """Tell whether a commit carries what commands wrote ahead of its base's step: edits as a node leave it behind."""
    if event.source == "update":
        return all(written.path[:1] != (INTERRUPT,) for written in applied)
    if event.source == "input":
        return any(node != INTERRUPT for node, _seen in event.seen)
    return event.parent == base.id


def _chain(past: StreamPast, version: int) -> list[int]:
    """Return the versions of a checkpoint's bases, from the root on, and its own."""
    chain = [version]
    while (base := _base_of(past, chain[-1])) != 0:
        chain.append(base)
    return chain[::-1]


def _base_of(past: StreamPast, version: int) -> int:
    """Return the number of the checkpoint that the one at `version` was folded onto; 0 for none."""
    if version > 0:
        event = past.event_at(version)
        assert isinstance(event, CheckpointCommitted), "a base is a checkpoint"
        return event.parent_version
    fork = past.fork()
    assert fork is not None, "only a fork has a checkpoint under a number below zero"
    base = _base_of(past.source_of(fork), in_source(version))
    return 0 if base == 0 else inherited(base)


def _recorded_by_run(
    thread: OpenThread, past: StreamPast, commit: CheckpointState
) -> tuple[str, dict[bytes, OpenWrites]]:
    """Return what started the run that made a commit, and what it had written before, in order, by checkpoint."""
    header = past.record_at(commit.version).header
    trigger, written = "", list[tuple[int, ChannelWritten]]()
    for record in thread.log.backwards(header.stream, header.version - 1):
        if record.header.run != header.run:
            break
        event = record.event
        if isinstance(event, CheckpointCommitted) and event.namespace == commit.namespace:
            break
        if isinstance(event, ChannelWritten) and event.namespace == commit.namespace:
            written.append((record.header.version, event))
        elif isinstance(event, RunStarted):
            # A run id may be given to several runs.
            trigger = event.trigger
            break
    steps: dict[bytes, OpenWrites] = {}
    for version, event in reversed(written):
        if event.checkpoint != commit.id:
            steps.setdefault(event.checkpoint, {})[version] = event
    return trigger, steps


def _next_commit(past: StreamPast, base: CheckpointState) -> int:
    """Return the version of the checkpoint that followed one on its thread; 0 for one that a fork left behind."""
    if base.version < 0 and ((fork := past.fork()) is None or not past.is_base(fork, base)):
        return 0
    for record in past.records(after=max(base.version, 0)):
        event = record.event if record.header.kind == CheckpointCommitted.kind else None
        if isinstance(event, CheckpointCommitted) and event.namespace == base.namespace:
            return record.header.version
    return 0


def _with_cells(state: CheckpointState, cells: Cells) -> CheckpointState:
    copy = state.__class__.__new__(state.__class__)
    for name in state.__class__.__slots__:
        setattr(copy, name, getattr(state, name))
    copy.cells = cells
    return copy
