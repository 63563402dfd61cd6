"""`StepRecord`: what the log has, or is about to have, of the present superstep's tasks.

A step of one task is one append, so its writes wait for the checkpoint; with several tasks each is appended as it
finishes, so that a crash or a failed sibling keeps it. At exit everything waits. Nothing here decides what is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..eventlog.events import ChannelWritten, Event, StepRefused
from ..projections.cells import Values, Written
from ..projections.snapshot import TaskStatus, statuses
from ..projections.state import CheckpointState
from ..projections.types import ERROR, ERROR_SOURCE_NODE, INTERRUPT, RESUME
from .errors import NodeError, RecordedError
from .journal import Journal
from .rules import path_text
from .tasks import Task

_NO_OUTPUT = frozenset({INTERRUPT, RESUME, ERROR, ERROR_SOURCE_NODE})


class StepRecord:
    """The write events of the present step, and the stream versions they have, or get when they are appended."""

    def __init__(self, journal: Journal | None, values: Values, *, waits: bool) -> None:
        self._journal = journal
        self._values = values
        self._always_waits = waits
        self._waits = waits
        self._held: list[Event] = []
        self._versions: dict[bytes, list[int]] = {}
        self._known: dict[bytes, TaskStatus] = {}
        """What an earlier run recorded of the step's tasks."""

    def open(self, tasks: Sequence[Task], state: CheckpointState, *, restore: bool) -> None:
        """Begin a step with these tasks; `restore` gives them what an earlier run recorded of them."""
        self._waits = self._always_waits or len(tasks) == 1
        self._known = {}
        open_writes = self._journal.thread.open.get(state.id) if restore and self._journal is not None else None
        if not open_writes:
            return
        self._known = statuses(open_writes, self._values)
        for task in tasks:
            self.restore(task, state)
        for version, event in open_writes.items():
            if any(channel not in _NO_OUTPUT for channel, _data in event.writes):
                self._versions.setdefault(event.task, []).append(version)

    def restore(self, task: Task, state: CheckpointState) -> None:
        """Give a task what an earlier run recorded of it."""
        status = self._known.get(task.planned.id)
        if status is None:
            return
        task.answers = list(status.answers)
        task.given = len(task.answers)
        task.has_asked = bool(status.answers or status.interrupts)
        if status.handled and task.node.handler is not None:
            task.handled = True
            task.failure = NodeError(task.planned.name, RecordedError(str(status.error)))
        if not status.finished:
            return
        task.restored = True
        for place, (channel, data, event) in enumerate(status.output):
            stored = state.inputs[channel] if data is None else data
            origin = (event.checkpoint, event.path, channel, place)
            task.written.append((channel, Written(stored, origin, self._values.decode)))

    def add(self, event: ChannelWritten, now_us: int, *, early: bool = False) -> None:
        """Take what a task wrote: to be appended with the checkpoint, or at once.

        `early`: it is to be there before the step closes, whatever the step has for tasks.
        """
        journal = self._journal
        assert journal is not None, "without a log there is nothing to record"
        if self._always_waits or (self._waits and not early):
            self._versions[event.task] = []
            self._held.append(event)
        else:
            self._versions[event.task] = [journal.append([event], now_us)]
            journal.writer.step_done()

    def refuse(self, event: StepRefused, now_us: int) -> None:
        """Take the refusal of the step: behind its writes, and at exit with them behind the run's only checkpoint."""
        assert self._journal is not None
        if self._always_waits:
            self._held.append(event)
        else:
            self._journal.append([*self.take(), event], now_us)

    def take(self) -> list[Event]:
        """Return the events that waited, for the caller to append now."""
        held, self._held = self._held, []
        return held

    @property
    def waiting(self) -> int:
        """How many events will be appended before the checkpoint."""
        return len(self._held)

    def applied(self, tasks: Sequence[Task]) -> tuple[int, ...]:
        """Return the versions of the tasks' writes in apply order; tasks that wrote nothing on record are left out.

        Those of events that wait are the journal's next ones: whoever asks holds its lock until they are appended.
        """
        if self._held:
            assert self._journal is not None
            for version, event in enumerate(self._held, self._journal.next_version):
                if isinstance(event, ChannelWritten):
                    self._versions[event.task] = [version]
        order = sorted(tasks, key=_apply_order) if len(tasks) > 1 else tasks
        return tuple(version for task in order if self.has(task) for version in self._versions[task.planned.id])

    def has(self, task: Task) -> bool:
        """Tell whether anything is recorded that a task wrote."""
        return task.planned.id in self._versions and not task.handled

    def close(self) -> None:
        """Forget the step: its checkpoint is there."""
        self._versions = {}


def _apply_order(task: Task) -> str:
    return path_text(task.planned.path)
