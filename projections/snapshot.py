"""Snapshots: what a caller sees of a checkpoint, in LangGraph's shape.

Two ways of looking. *Live*, at a thread's head: values with the output of tasks that already finished, `next` what
still has to run, interrupts that wait for an answer. As a *record*, of any checkpoint by id: values at the step's
start, all of its tasks, the interrupts they raised, answered or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from ..eventlog.clock import id_text
from ..eventlog.events import ChannelWritten, PlannedTask
from ..eventlog.record import NO_ID
from .cells import Values
from .fold import Cells, fold_step
from .lending import lent
from .state import CheckpointState, gather
from .thread import OpenWrites, Thread
from .types import (
    END,
    ERROR,
    ERROR_SOURCE_NODE,
    FOREIGN,
    INTERRUPT,
    RESERVED,
    RESUME,
    ROOT,
    START,
    Interrupt,
    PregelTask,
    StateSnapshot,
)

StateOf = Callable[[PlannedTask, CheckpointState], Any]
"""Gives what a snapshot shows of the graph inside a task's node, `None` for nothing."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CONTROL_WRITES = frozenset({ERROR, ERROR_SOURCE_NODE, INTERRUPT, RESUME})


class TaskStatus(NamedTuple):
    """What a task's recorded writes say of it."""

    output: tuple[tuple[str, Any, ChannelWritten], ...]
    """(channel, stored data, event); empty while the task has not finished."""
    interrupts: tuple[Interrupt, ...]
    """The questions it asked last."""
    error: Any
    """The recorded text of its last error, or `None`."""
    answers: tuple[Any, ...]
    """The answers it was given, in the order of its questions."""
    handled: bool = False
    """Whether it failed for good and its node's error handler has the word: it runs no more."""

    @property
    def finished(self) -> bool:
        """Whether the task ran to its end."""
        return bool(self.output)


def is_control(channel: str) -> bool:
    """Tell whether a channel is the graph's own and no key of the user's state."""
    if channel.startswith(("branch:to:", "join:", FOREIGN)):
        return True
    return channel == START or channel in RESERVED


def statuses(writes: OpenWrites, values: Values) -> dict[bytes, TaskStatus]:
    """Return the status of each task that has recorded writes; input and commands are not tasks."""
    found: dict[bytes, TaskStatus] = {}
    for event in writes.values():
        if event.task == NO_ID:
            continue
        output, interrupts, error, answers, handled = found.get(event.task, TaskStatus((), (), None, ()))
        for channel, data in event.writes:
            if channel == INTERRUPT:
                interrupts = tuple(values.decode(data))
            elif channel == ERROR:
                error = values.decode(data)[2]
            elif channel == RESUME:
                answers = tuple(values.decode(data))
            elif channel == ERROR_SOURCE_NODE:
                handled = True
            elif channel not in _CONTROL_WRITES:
                output = (*output, (channel, data, event))
        found[event.task] = TaskStatus(output, interrupts, error, answers, handled)
    return found


def result_of(
    writes: Iterable[tuple[str, Any]],
    state: CheckpointState,
    values: Values,
    keys: tuple[str, ...] | str | None,
) -> Any:
    """Return a task's result as snapshots show it: its writes to state channels, raw, by key.

    A channel written twice shows `{"$writes": [...]}`; a graph with one root channel shows the value itself.
    """
    result: dict[str, Any] = {}
    twice: set[str] = set()
    shown = (keys,) if isinstance(keys, str) else keys
    for channel, data in writes:
        if is_control(channel) or (shown is not None and channel not in shown):
            continue
        value = values.decode(state.inputs[channel] if data is None else data)
        if channel in twice:
            result[channel]["$writes"].append(value)
        elif channel in result:
            result[channel] = {"$writes": [result[channel], value]}
            twice.add(channel)
        else:
            result[channel] = value
    if isinstance(keys, str):
        return result.get(keys)
    return _whole(result) if keys is None else result


def config_of(thread_id: str, namespace: str, checkpoint: bytes, parents: dict[str, bytes] | None = None) -> Any:
    """Return the config that addresses a checkpoint."""
    configurable: dict[str, Any] = {
        "thread_id": thread_id,
        "checkpoint_ns": namespace,
        "checkpoint_id": id_text(checkpoint),
    }
    if parents:
        map_ = {ns: id_text(parent) for ns, parent in parents.items()}
        configurable["checkpoint_map"] = {**map_, namespace: id_text(checkpoint)}
    return {"configurable": configurable}


def metadata_of(state: CheckpointState, values: Values) -> dict[str, Any]:
    """Return a checkpoint's metadata: the run's own beside source, step and parents."""
    metadata: dict[str, Any] = {} if state.metadata is None else values.decode(state.metadata)
    parents = {ns: id_text(parent) for ns, parent in state.parents.items()}
    return {"source": state.source, "step": state.step, "parents": parents, **metadata}


def created_at(time_us: int) -> str:
    """Return a time as ISO 8601 text in UTC."""
    return (_EPOCH + timedelta(microseconds=time_us)).isoformat()


def values_of(cells: Cells, keys: tuple[str, ...] | str | None, stored: Values) -> Any:
    """Return the state's values for a caller who may change them: of `keys` in order, or of every state channel."""
    if isinstance(keys, str):
        cell = cells.get(keys)
        return lent(cell, stored) if cell is not None and cell.readable else None
    if keys is None:
        values = {name: lent(cell, stored) for name, cell in cells.items() if cell.readable and not is_control(name)}
        return _whole(values)
    return {key: lent(cell, stored) for key in keys if (cell := cells.get(key)) is not None and cell.readable}


def _whole(values: dict[str, Any]) -> Any:
    """Return the one value of a graph that has one: of a plain type, or what an entrypoint returned."""
    return next((values[channel] for channel in (ROOT, END) if channel in values), values)


class Lens:
    """How snapshots of one thread are built: its name, its values, the graph's keys, a look into the past."""

    def __init__(
        self,
        thread_id: str,
        values: Values,
        written_at: Callable[[int], ChannelWritten],
        *,
        keys: tuple[str, ...] | str | None = None,
        state_of: StateOf | None = None,
    ) -> None:
        """`state_of`: what a task shows of the graph inside its node."""
        self.thread_id = thread_id
        self.values = values
        self._state_of = state_of
        self._written_at = written_at
        self._keys = keys

    def record(self, state: CheckpointState, writes: OpenWrites) -> StateSnapshot:
        """Return a checkpoint as a record of its step."""
        known = statuses(writes, self.values)
        tasks = tuple(self._task(task, state, known.get(task.id), live=False) for task in state.tasks)
        return self._snapshot(state, state.cells, tasks, tuple(task.name for task in state.tasks))

    def live(
        self, thread: Thread, state: CheckpointState, writes: OpenWrites, cells: Cells | None = None
    ) -> StateSnapshot:
        """Return a namespace's head as it stands now, with what its tasks wrote.

        `cells`: its values, where the caller folded them.
        """
        known = statuses(writes, self.values)
        refusal = thread.refused.get(state.id)
        if refusal is not None:
            for task in refusal.tasks:
                status = known.get(task, TaskStatus((), (), None, ()))
                known[task] = status._replace(error=refusal.error[2])
        tasks = tuple(self._task(task, state, known.get(task.id), live=True) for task in state.tasks)
        waiting = tuple(task.name for task in state.tasks if task.id not in known or not known[task.id].finished)
        return self._snapshot(state, self.cells_now(thread, state) if cells is None else cells, tasks, waiting)

    def cells_now(self, thread: Thread, state: CheckpointState) -> Cells:
        """Return the head's channels with what its finished tasks amount to, as recorded when the run ended."""
        step = thread.paused.get(state.id)
        if step is None:
            return state.cells
        open_writes = thread.open.get(state.id, {})
        writes, _inputs = gather(state, [open_writes[v] for v in step.applied], self.values)
        return fold_step(state.cells, step.results, writes, self.values)

    def _task(self, task: PlannedTask, state: CheckpointState, status: TaskStatus | None, *, live: bool) -> PregelTask:
        text = id_text(task.id)
        inner = None if self._state_of is None else self._state_of(task, state)
        if status is None:
            return PregelTask(text, task.name, task.path, state=inner)
        writes = [(channel, data) for channel, data, _event in status.output]
        result = result_of(writes, state, self.values, self._keys) if status.finished else None
        interrupts = () if live and status.finished else status.interrupts
        return PregelTask(text, task.name, task.path, status.error, interrupts, inner, result)

    def _snapshot(
        self, state: CheckpointState, cells: Cells, tasks: tuple[PregelTask, ...], waiting: tuple[str, ...]
    ) -> StateSnapshot:
        parent = None
        if state.parent is not None:
            parent = config_of(self.thread_id, state.namespace, state.parent, state.parents)
        return StateSnapshot.lazy(
            lambda: values_of(cells, self._keys, self.values),
            next=waiting,
            config=config_of(self.thread_id, state.namespace, state.id, state.parents),
            metadata=metadata_of(state, self.values),
            created_at=created_at(state.time_us),
            parent_config=parent,
            tasks=tasks,
            interrupts=tuple(interrupt for task in tasks for interrupt in task.interrupts),
            writes=lambda: self._writes(state),
        )

    def _writes(self, state: CheckpointState) -> Any:
        """Return what made the checkpoint: the input, or what each node (or `as_node`) wrote."""
        if state.source == "input":
            inputs = {channel: self.values.decode(data) for channel, data in state.inputs.items()}
            return inputs.get(START, inputs) if set(inputs) == {START} else inputs
        by_node: dict[str, list[Any]] = {}
        for version in state.applied:
            event = self._written_at(version)
            if event.node != START or state.source == "update":
                result = result_of(event.writes, state, self.values, self._keys)
                by_node.setdefault(event.node, []).append(result)
        if not by_node:
            return None
        return {node: results[0] if len(results) == 1 else results for node, results in by_node.items()}
