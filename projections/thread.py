"""`Thread`: one thread's events folded, up to a version of its stream.

Holds the head checkpoint of each namespace, the writes of steps that are still open, and a ladder: checkpoint states
kept every so many commits, from which older ones are folded in a few steps. The live loop feeds it the events it
appends; readers feed it the log's. Both come to `feed_all`, so what a run holds is what a fresh process reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ..eventlog.clock import id_text
from ..eventlog.events import (
    ChannelWritten,
    CheckpointCommitted,
    Event,
    OpenStep,
    RunEnded,
    RunStarted,
    StepRefused,
    ThreadForked,
)
from ..eventlog.reading import Told
from ..eventlog.record import NO_ID
from .cells import Values
from .namespaces import SEPARATOR, TASK
from .state import CheckpointState, apply_commit

RUNG_COMMITS = 64
"""A state is kept in the ladder every so many commits of the root namespace."""
_MOST_RUNGS = 512

OpenWrites = dict[int, ChannelWritten]
"""Writes to a checkpoint's step by stream version, in the order they were appended."""


_NO_WRITES: OpenWrites = {}


class Past(Protocol):
    """Where a fold looks up what lies before it, or on another branch."""

    def state_at(self, version: int) -> CheckpointState:
        """Return the state of the checkpoint committed at a version of the stream."""
        ...

    def written_at(self, version: int) -> ChannelWritten:
        """Return the write event at a version of the stream."""
        ...

    def inherited(self, fork: ThreadForked) -> Thread:
        """Return the thread that a fork begins with."""
        ...


class Thread:
    """A thread as of `version`. Treat one that came from a cache as immutable; `copy()` before feeding it."""

    __slots__ = (
        "commits",
        "fork",
        "heads",
        "ladder",
        "open",
        "paused",
        "refused",
        "running",
        "running_since",
        "stream",
        "version",
    )

    def __init__(self, stream: bytes) -> None:
        self.stream = stream
        self.version = 0
        self.heads: dict[str, CheckpointState] = {}
        self.open: dict[bytes, OpenWrites] = {}
        self.refused: dict[bytes, StepRefused] = {}
        """By checkpoint: the refusal of its step, until the step closes."""
        self.paused: dict[bytes, OpenStep] = {}
        """By checkpoint: what the finished tasks of a step amounted to when its run ended."""
        self.running: bytes | None = None
        """The run that holds the thread, when one started and did not end."""
        self.running_since = 0
        """The version at which the last run claimed the thread."""
        self.fork: ThreadForked | None = None
        self.ladder: dict[int, CheckpointState] = {}
        """By version: the root's states at the rungs, and those that other namespaces stood at then."""
        self.commits = 0

    @property
    def head(self) -> CheckpointState | None:
        """The root namespace's last checkpoint."""
        return self.heads.get("")

    def copy(self) -> Thread:
        """Return a thread that can be fed without changing this one."""
        copy = Thread(self.stream)
        copy.version = self.version
        copy.heads = self.heads.copy()
        copy.open = {checkpoint: writes.copy() for checkpoint, writes in self.open.items()}
        copy.refused = self.refused.copy()
        copy.paused = self.paused.copy()
        copy.running = self.running
        copy.running_since = self.running_since
        copy.fork = self.fork
        copy.ladder = self.ladder
        copy.commits = self.commits
        return copy

    def feed(
        self,
        event: Event,
        version: int,
        time_us: int,
        run: bytes,
        values: Values,
        past: Past,
        state: CheckpointState | None = None,
    ) -> None:
        """Take the stream's next event. `state` is the commit's, when a live run has folded it already."""
        self.feed_all(((event, version, time_us, run),), values, past, state)

    def feed_all(self, told: Iterable[Told], values: Values, past: Past, state: CheckpointState | None = None) -> None:
        """Take the stream's next events, in order."""
        for event, version, time_us, run in told:
            self.version = version
            if isinstance(event, ChannelWritten):
                writes = self.open.get(event.checkpoint)
                if writes is None:
                    self.open[event.checkpoint] = {version: event}
                else:
                    writes[version] = event
                if self.paused:
                    self.paused.pop(event.checkpoint, None)
            elif isinstance(event, CheckpointCommitted):
                self._close(state or self._apply(event, values, past, version, time_us, run))
            else:
                self._take(event, version, run, past)

    def _take(self, event: Event, version: int, run: bytes, past: Past) -> None:
        """Take an event that says something of the thread as a whole; one that says nothing of it is passed over."""
        if isinstance(event, RunStarted):
            self.running, self.running_since = run, version
        elif isinstance(event, RunEnded):
            self.running = None
            self.paused.update((step.checkpoint, step) for step in event.open)
        elif isinstance(event, StepRefused):
            self._void(event)
        elif isinstance(event, ThreadForked):
            self._inherit(past.inherited(event), event)

    def _apply(
        self,
        event: CheckpointCommitted,
        values: Values,
        past: Past,
        version: int,
        time_us: int,
        run: bytes,
    ) -> CheckpointState:
        base = self.heads.get(event.namespace)
        if event.parent_version == 0:
            base = None
        elif base is None or base.version != event.parent_version:
            base = past.state_at(event.parent_version)
        applied = self._applied(event, past)
        return apply_commit(base, event, applied, values, version, time_us, run)

    def _applied(self, event: CheckpointCommitted, past: Past) -> list[ChannelWritten]:
        """Return the writes that a commit applied; nearly always all of them are its parent's open ones."""
        writes = self.open.get(event.parent or NO_ID, _NO_WRITES)
        try:
            return [writes[version] for version in event.applied]
        except KeyError:
            return [self._written(event.parent, version) or past.written_at(version) for version in event.applied]

    def _written(self, parent: bytes | None, version: int) -> ChannelWritten | None:
        for checkpoint in (parent, NO_ID):
            writes = self.open.get(checkpoint) if checkpoint is not None else None
            if writes is not None and version in writes:
                return writes[version]
        return None

    def _close(self, state: CheckpointState) -> None:
        namespace, parent = state.namespace, state.parent
        if state.skips:
            self._forget_skipped(state)
        if len(self.heads) > 1 and (before := self.heads.get(namespace)) is not None:
            self._leave(before)
        self.heads[namespace] = state
        if parent is not None:
            self.open.pop(parent, None)
            self.refused.pop(parent, None)
            self.paused.pop(parent, None)
        self.open.pop(NO_ID, None)
        if namespace == "":
            self.commits += 1
            if self.commits % RUNG_COMMITS == 0:
                # A new one: copies share it, and a run that loses its thread must leave nothing on theirs.
                self.ladder = {**self.ladder, **{head.version: head for head in self.heads.values()}}
                if len(self.ladder) > _MOST_RUNGS:
                    self.ladder = _every_second(self.ladder)

    def _leave(self, state: CheckpointState) -> None:
        """Let go of the graphs that ran inside the tasks of a step that is over: nobody goes on with them."""
        depth = len(state.namespace) + 1 if state.namespace else 0
        tasks = {f"{task.name}{TASK}{id_text(task.id)}" for task in state.tasks}
        for namespace in [each for each in self.heads if each.startswith(state.namespace) and len(each) > depth]:
            if namespace[depth:].split(SEPARATOR, 1)[0] in tasks:
                self._drop(namespace)

    def _drop(self, namespace: str) -> None:
        head = self.heads.pop(namespace)
        self.open.pop(head.id, None)
        self.refused.pop(head.id, None)
        self.paused.pop(head.id, None)

    def _forget_skipped(self, state: CheckpointState) -> None:
        """Forget what a run wrote in the steps that its only checkpoint stands for."""
        others = {head.id for namespace, head in self.heads.items() if namespace != state.namespace}
        for checkpoint in [each for each in self.open if each != state.id and each not in others]:
            writes = self.open[checkpoint]
            if all(write.namespace == state.namespace for write in writes.values()):
                forget_run(writes, self.running_since)
            if not writes:
                del self.open[checkpoint]

    def _void(self, event: StepRefused) -> None:
        self.open[event.checkpoint] = without_voided(self.open.get(event.checkpoint, {}), event)
        self.refused[event.checkpoint] = event

    def _inherit(self, source: Thread, event: ThreadForked) -> None:
        self.fork = event
        self.heads = source.heads
        self.open = source.open
        self.refused = source.refused
        self.paused = source.paused


def _every_second(ladder: dict[int, CheckpointState]) -> dict[int, CheckpointState]:
    """Return a ladder with half its rungs, and half of what was kept of other namespaces at them."""
    rungs = [version for version, state in ladder.items() if state.namespace == ""]
    others = [version for version, state in ladder.items() if state.namespace]
    kept = {*rungs[1::2], *(others if len(others) < len(rungs) else others[1::2])}
    return {version: state for version, state in ladder.items() if version in kept}


def forget_run(writes: OpenWrites, since: int) -> None:
    """Take out what a run wrote whose only checkpoint skips the steps it made: they have none to be shown at."""
    for version in [version for version in writes if version > since]:
        del writes[version]


def without_voided(writes: OpenWrites, refusal: StepRefused) -> OpenWrites:
    """Return what is left of a step's writes when it was refused: the tasks at fault run again."""
    voided = frozenset(refusal.tasks)
    return {version: write for version, write in writes.items() if write.task not in voided}
