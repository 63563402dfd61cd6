"""The superstep loop, as a state machine without I/O of its own: plan, run tasks, take outcomes, close, record.

A driver calls `tick`, runs `tasks` in any way it likes (threads, an event loop, by hand), reports each with
`on_task_done`, and calls `close`. How a run begins (input, answer, replay) is in `begin`, how it ends in `ending`;
what a step means in `rules`, and what is stored of a task in `outcomes`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..eventlog.clock import id_text
from ..eventlog.events import (
    ChannelResult,
    ChannelWritten,
    Event,
    PlannedTask,
    ResultOp,
    StepRefused,
)
from ..eventlog.serde import describe_error
from ..eventlog.texts import written_text
from ..projections.cells import Values
from ..projections.fold import Cells
from ..projections.namespaces import TASK, inside
from ..projections.snapshot import values_of
from ..projections.state import CheckpointState
from ..projections.types import EVERY_CHANNEL, INTERRUPT
from .commits import commit
from .errors import GraphDrained, GraphRecursionError, NodeError, NodeNotFound
from .handlers import handler_of
from .inner_graphs import keeps_state
from .journal import Journal
from .outcomes import stored_break, stored_writes
from .payloads import checkpoint_payload, run_order, task_metadata
from .rules import Closed, Finished, Rules, StepRefusal
from .run_scope import RunScope
from .spec import NodeSpec
from .step_record import StepRecord
from .stream import Stream
from .tasks import StepScope, Task, previous_of, refuse_opaque, task_input

_NOBODY_ELSE = nullcontext()


class Loop:
    """One run of a graph on one namespace of a thread. Made and begun by `begin`."""

    def __init__(
        self,
        rules: Rules,
        values: Values,
        run: RunScope,
        stream: Stream,
        *,
        journal: Journal | None,
        commits: bool,
        new_id: Callable[[int], bytes],
        now_us: Callable[[], int],
        interrupt_before: Sequence[str] | str = (),
        interrupt_after: Sequence[str] | str = (),
        metadata: bytes | None = None,
    ) -> None:
        self.rules = rules
        self.spec = rules.spec
        self.values = values
        self.run = run
        self.stream = stream
        self.journal = journal
        self.commits = commits
        """False: no checkpoint is recorded before the run ends (durability `exit`)."""
        self.new_id = new_id
        self.now_us = now_us
        self.interrupt_before = interrupt_before
        self.interrupt_after = interrupt_after
        self.metadata = metadata
        self.strict = values if self.spec.strict and not values.plain else None
        self.graph = self.spec.digest()
        self.base: CheckpointState | None = None
        """The last recorded checkpoint before this run."""
        self.state: CheckpointState | None = None
        """The checkpoint that the present step belongs to."""
        self.cells: Cells = {}
        """The channels of the present step: the state's, and what a command wrote ahead of it."""
        self.untracked: Cells = {}
        self.ahead: list[ChannelResult] = []
        """Results that the next commit carries beside its own: first values, a command's writes."""
        self.ahead_version = 0
        self.passed_interrupts: int | None = None
        """Channels up to this version do not stop at a static breakpoint again."""
        self.records = True
        """False: there is nothing to do, so the thread is left alone."""
        self.edits = False
        """Whether a person edits the thread: then any channel may trigger, a join that waits too."""
        self.reruns = False
        """Whether finished tasks of the first step run again."""
        self.step = -1
        self.stop = 0
        self.limit = 0
        self.tasks: list[Task] = []
        self.status = "pending"
        self.failure: BaseException | None = None
        self.refused = False
        """Whether the present step was refused: its writes at fault are void, so they are not folded again."""
        self.deferred: list[Event] | None = None
        """What a graph inside a node records only if it does not finish: at exit, unless it keeps its state."""
        self.record = StepRecord(journal, values, waits=not commits)
        self._started: list[Task] = []
        self._taking = threading.Lock()

    @property
    def is_inside(self) -> bool:
        """Whether the graph runs inside a node of another, as part of its run."""
        return self.run.is_inside

    def limit_steps(self, *, fresh: bool) -> None:
        """Allow `limit` supersteps of nodes from here; an input's own two steps do not count."""
        self.stop = self.run.stop = self.step + self.limit + (1 if fresh else -1)

    # Planning

    def tick(self) -> bool:
        """Prepare the next superstep; False when there is none: see `status`."""
        assert self.state is not None
        self.tasks = []
        if self.step > self.stop:
            self._show_checkpoint(self.state.tasks)
            self.status = "out_of_steps"
            self.failure = GraphRecursionError(
                f"Recursion limit of {self.limit} reached without hitting a stop condition. You can increase the "
                "limit by setting the `recursion_limit` config key; invoke(None) goes on from here.\nFor "
                "troubleshooting, visit: "
                "https://docs.langchain.com/oss/python/langgraph/errors/GRAPH_RECURSION_LIMIT"
            )
            return False
        planned = self.planned()
        self._show_checkpoint(planned)
        if not planned:
            self.status = "done"
            return False
        cells = self.visible_cells()
        self.run.previous = previous_of(self.state.cells, self.values)
        self.tasks = [self._task(task, cells) for task in run_order(planned, self.state)]
        _put_in_line(self.tasks)
        self.record.open(self.tasks, self.state, restore=not self.reruns)
        self.tasks += [handler_of(self, task) for task in self.tasks if task.handled]
        if self._stops_at(self.interrupt_before):
            self.status = "interrupt_before"
            return False
        control = self.run.control
        if control is not None and control.drain_requested:
            self.status, self.failure = "draining", GraphDrained(control.drain_reason or "shutdown")
            return False
        for task in self.tasks:
            self.show_started(task)
        for task in self.tasks:
            if task.restored:
                self.stream.task_finished(task, self.step, self.values, restored=True)
        return True

    def show_started(self, task: Task) -> None:
        """Show a task that is about to run."""
        if self.stream.wants_starts:
            self.stream.task_started(task, self.step, task_metadata(task, self.run.config), self.values)

    def planned(self) -> tuple[PlannedTask, ...]:
        """Return the tasks of the present step: those recorded, and what a command added."""
        assert self.state is not None
        planned = self.state.tasks
        if self.ahead_version:
            known = {task.id for task in planned}
            planned += tuple(task for task in self._plan_now() if task.id not in known)
        return planned

    def visible_cells(self) -> Cells:
        """Return the channels that nodes of the present step read."""
        return {**self.cells, **self.untracked} if self.untracked else self.cells

    def step_scope(self) -> StepScope:
        """Return what the tasks of the present step run against."""
        assert self.state is not None
        return StepScope(self.visible_cells(), self.spec.channels, self.state.id, self.values, self.strict)

    def _plan_now(self) -> tuple[PlannedTask, ...]:
        state = self.state
        assert state is not None
        versions = {
            **state.versions,
            **{change.channel: self.ahead_version for change in self.ahead if change.op != ResultOp.INITIAL},
        }
        return self.rules.plan(
            self.cells,
            versions,
            state.seen,
            checkpoint=state.id,
            namespace=state.namespace,
            step=state.step + 1,
        )

    def check_nodes(self, planned: Iterable[PlannedTask]) -> None:
        """Raise `NodeNotFound` when pending work names a node that the graph does not have."""
        for task in planned:
            self._node(task)

    def _node(self, planned: PlannedTask) -> NodeSpec:
        name = self.spec.aliases.get(planned.name, planned.name)
        node = self.spec.nodes.get(name)
        if node is None:
            raise NodeNotFound(
                f"Thread {self.run.thread_id!r} has pending work for the node {planned.name!r}, which this graph does "
                "not have. Add the node, or map the old name with compile(aliases={old: new})."
            )
        return node

    def hosts_graph(self, planned: PlannedTask) -> bool:
        """Tell whether a task's node runs a graph inside of it."""
        return self._node(planned).graph is not None

    def _task(self, planned: PlannedTask, cells: Cells) -> Task:
        task = Task(planned, self._node(planned), self.run, self.step)
        task.input = task_input(task, cells, self.values)
        if self.values.unknown:
            refuse_opaque(task)
        return task

    def _stops_at(self, nodes: Sequence[str] | str) -> bool:
        if not nodes:
            return False
        assert self.state is not None
        seen = self.passed_interrupts
        if seen is None:
            seen = self.state.seen.get(INTERRUPT, {}).get(EVERY_CHANNEL, 0)
        if all(version <= seen for version in self.state.versions.values()):
            return False
        return any(not task.node.hidden if nodes == "*" else task.planned.name in nodes for task in self.tasks)

    # Outcomes

    def on_task_done(self, task: Task) -> None:
        """Take a task's outcome: store it, show it. A value that cannot be stored makes the task fail.

        From any thread. A failure for which the node has a handler is recorded before the handler starts.
        """
        with self._taking:
            self._take(task)

    def take_started(self) -> list[Task]:
        """Return the tasks that started within the step since the last look: a driver runs them, too."""
        started, self._started = self._started, []
        return started

    def _take(self, task: Task) -> None:
        assert self.state is not None
        stored = None if task.writes is None else stored_writes(task, self.state, self.rules, self.values)
        if stored is not None:
            self._record_task(task, stored)
            self.stream.task_finished(task, self.step, self.values, restored=task.cached)
            return
        if task.held_back:
            return
        stored = stored_break(task, self.values)
        if stored:
            self._record_task(task, stored)
        if task.drained is not None:
            return
        if task.error is not None:
            self.stream.task_failed(task, self.step)
            if task.node.handler is not None:
                self._hand_over(task, task.error)
            return
        if task.interrupts and not task.is_call:
            self.stream.interrupted(task.interrupts, self.output_values)
            self.stream.task_paused(task, self.step)

    def _hand_over(self, task: Task, error: BaseException) -> None:
        """Leave a failure to the handler of its node, which runs in the same superstep."""
        task.error, task.handled = None, True
        task.failure = NodeError(task.planned.name, error)
        handler = handler_of(self, task)
        self.tasks.append(handler)
        self._started.append(handler)

    def _record_task(self, task: Task, stored: list[tuple[str, Any]]) -> None:
        if self.journal is None:
            return
        assert self.state is not None
        planned = task.planned
        event = ChannelWritten(
            self.state.id, self.state.namespace, planned.id, planned.name, planned.path, tuple(stored)
        )
        early = task.is_call or (task.error is not None and task.node.handler is not None)
        self.record.add(event, self.now_us(), early=early)

    # Closing

    def close(self) -> bool:
        """Close the superstep: fold its writes and record the checkpoint. False when it was refused or paused."""
        for task in self.tasks:
            if task.error is not None:
                self.status, self.failure = "failed", task.error
                return False
        for task in self.tasks:
            if task.drained is not None:
                self.status, self.failure = "draining", task.drained
                return False
        for task in self.tasks:
            if not task.done:
                self.status = "interrupted"
                return False
        assert self.state is not None
        try:
            closed = self.closed(self.tasks)
        except StepRefusal as refusal:
            self._refuse(refusal)
            return False
        updated = closed.updated
        with self.recording_alone():
            commit(self, "loop", closed, self.record.applied(self.tasks), {}, step=self.step)
        if not updated.isdisjoint(self.stream.output_keys):
            self.stream.values(self.output_values)
        if self._stops_at(self.interrupt_after):
            self._show_checkpoint(self.state.tasks)
            self.status = "interrupt_after"
            return False
        self.reruns = self.run.continues = False
        self.passed_interrupts = None
        if self.journal is not None and self.state.tasks:
            self.journal.writer.step_done()
        return True

    def closed(self, tasks: Sequence[Task]) -> Closed:
        """Return what closing the step amounts to with these tasks; raises `StepRefusal`."""
        assert self.state is not None
        finished = [
            Finished(task.planned.name, task.planned.path, task.planned.triggers, task.written) for task in tasks
        ]
        return self.rules.close(self.cells, self.untracked, self.versions(), finished, self.values)

    def recording_alone(self) -> AbstractContextManager[Any]:
        """Keep other loops of the same run from recording while what is recorded depends on its place in the log."""
        return _NOBODY_ELSE if self.journal is None else self.journal.lock

    def versions(self) -> Mapping[str, int]:
        """Return the versions that closing the step begins with: the checkpoint's, and the one of what came ahead."""
        versions: Mapping[str, int] = {} if self.state is None else self.state.versions
        return {**versions, EVERY_CHANNEL: self.ahead_version} if self.ahead_version else versions

    def go_to(self, state: CheckpointState, closed: Closed) -> None:
        """Go on to the step that belongs to a checkpoint."""
        self.state = state
        self.cells = state.cells
        self.untracked = closed.untracked
        self.ahead, self.ahead_version = [], 0
        self.step = state.step + 1
        self.record.close()

    def _refuse(self, refusal: StepRefusal) -> None:
        """Record that the step cannot be folded: the writes at fault are void, the thread stays where it is."""
        self.status, self.failure, self.refused = "failed", refusal.error, True
        voided = tuple(
            task.planned.id
            for task in self.tasks
            if any(channel == refusal.channel for channel, _written in task.written)
        )
        if self.journal is None:
            return
        assert self.state is not None
        kind, text, shown = map(written_text, describe_error(refusal.error))
        event = StepRefused(self.state.id, self.state.namespace, refusal.channel, voided, (kind, text, shown))
        self.record.refuse(event, self.now_us())

    # Pausing

    def paused_values(self) -> None:
        """Show the state with what finished siblings wrote, when a step pauses."""
        finished = [task for task in self.tasks if task.done]
        if not finished:
            return
        try:
            closed = self.closed(finished)
        except StepRefusal:
            # The step closes, or is refused, when its last task is done; not now.
            return
        self.cells, self.untracked = closed.cells, closed.untracked
        if not closed.updated.isdisjoint(self.stream.output_keys):
            self.stream.values(self.output_values)

    # What callers see

    def output_values(self) -> Any:
        """Return the values of the output keys, as they are now."""
        return values_of(self.visible_cells(), self.stream.output, self.values)

    def _show_checkpoint(self, planned: tuple[PlannedTask, ...]) -> None:
        if self.journal is not None and self.stream.wants_checkpoints:
            self.stream.checkpoint(self.step - 1, lambda: self._checkpoint_payload(planned))

    def _checkpoint_payload(self, planned: tuple[PlannedTask, ...]) -> dict[str, Any]:
        state, journal = self.state, self.journal
        assert state is not None
        assert journal is not None
        before = state if self.commits else self.base
        return checkpoint_payload(
            state,
            planned,
            journal.thread.open.get(state.id, {}),
            values_of(self.visible_cells(), self.spec.stream_channels, self.values),
            thread_id=str(self.run.thread_id),
            parent=None if before is None else before.parent,
            own=self.run.config.get("configurable", {}),
            values=self.values,
            output=self.stream.output,
            inside=self._place_inside,
        )

    def _place_inside(self, planned: PlannedTask) -> str | None:
        """Return the namespace of the graph that runs in a task and keeps its state, if one does."""
        if not keeps_state(self._node(planned).graph):
            return None
        return inside(self.run.namespace, f"{planned.name}{TASK}{id_text(planned.id)}")


def _put_in_line(tasks: Sequence[Task]) -> None:
    """Say of each task of a node which one of the same node comes before it."""
    last: dict[str, Task] = {}
    for task in tasks:
        task.before = last.get(task.planned.name)
        last[task.planned.name] = task
