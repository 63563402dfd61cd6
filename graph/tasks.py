"""One task of a superstep while it runs: its input, the scope of its user code, its outcome.

`execute` runs a task on the caller's thread and touches nothing but the task, so tasks of a step run side by side. What
comes out is raw; the loop encodes it, once, on its own thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple, cast

from ..eventlog.clock import id_text
from ..eventlog.errors import UnregisteredType
from ..eventlog.events import ChannelResult, PlannedTask
from ..eventlog.serde import opaque_in
from ..projections.cells import PLAIN, Cell, ListCell, Values, Written
from ..projections.channels import Channel, owned_cell
from ..projections.fold import Cells, fold_step
from ..projections.lending import copied, lent, lent_input
from ..projections.namespaces import TASK, around, inside, nodes_of
from ..projections.timeouts import TimeoutPolicy
from ..projections.types import NOT_GIVEN, PREVIOUS, START, TASKS, Command, Interrupt, RunnableConfig, Send
from .ambient import lend_config, take_back
from .config import CONFIG_TASK, current_scope
from .errors import (
    GraphBubbleUp,
    GraphDrained,
    GraphInterrupt,
    HeldBack,
    NodeCancelledError,
    NodeError,
    ParentCommand,
    SyncTimeout,
)
from .managed import managed_values
from .retry import pause_before_retry
from .rules import PUSH, is_call
from .run_scope import RunScope
from .runtime import beat_nowhere, server_info_of
from .spec import BranchSpec, NodeSpec, Write
from .strict import StrictChecks
from .timed import Attempt, after, cancelled_itself
from .types import ExecutionInfo, Runtime, StreamWriter

_ENDING = threading.Lock()
_OF_ONE_RUN = frozenset({"run_id", "run_name"})


class Task:
    """A planned task, ready to run, running or done."""

    __slots__ = (
        "_asked",
        "_called",
        "_ended",
        "_graphs",
        "again",
        "answers",
        "attempt",
        "before",
        "began",
        "cache_key",
        "cached",
        "drained",
        "error",
        "failure",
        "given",
        "handled",
        "has_asked",
        "held_back",
        "input",
        "interrupts",
        "node",
        "planned",
        "restored",
        "run",
        "sent",
        "step",
        "writes",
        "written",
    )

    def __init__(self, planned: PlannedTask, node: NodeSpec, run: RunScope, step: int) -> None:
        self.planned = planned
        self.node = node
        self.run = run
        self.step = step
        self.input: Any = None
        self.answers: list[Any] = []
        """Answers to the task's questions, in their order."""
        self.given = 0
        """How many of the answers are on the log."""
        self.has_asked = False
        """Whether it asked something in an earlier run: then it is answered, never looked up in a cache."""
        self._asked = 0
        self._called = 0
        self._graphs = 0
        self._ended: Future[None] | None = None
        self.before: Task | None = None
        """The task of the same node and step that is to come before this one where both use one state."""
        self.sent: list[Write] = []
        """What user code wrote while it ran; it comes before what the node returned."""
        self.writes: list[Write] | None = None
        """What the task wrote, raw; `None` until it finished."""
        self.written: list[tuple[str, Written]] = []
        """What the task wrote, as stored."""
        self.interrupts: tuple[Interrupt, ...] = ()
        self.held_back = False
        """Whether the task ended at once, because one before it has to be answered first."""
        self.error: BaseException | None = None
        self.drained: GraphDrained | None = None
        """Why a graph inside the task stopped: it goes on when the task runs again."""
        self.restored = False
        """Whether the task had finished in an earlier run."""
        self.attempt = 1
        self.cache_key: tuple[tuple[str, ...], str] | None = None
        """Where its writes are kept, when there is a cache for them."""
        self.cached = False
        """Whether its writes were found there."""
        self.handled = False
        """Whether it failed, and what its node's error handler does stands for what it did."""
        self.failure: NodeError | None = None
        """What an error handler is run for."""
        self.again: Callable[[], Any] | None = None
        """Gives the input of a task that was not planned, for each attempt."""
        self.began: float | None = None
        """When the first attempt began, in seconds since the epoch; `None` before."""

    @property
    def done(self) -> bool:
        """Whether it runs no more: its writes are there, of this run or an earlier one, or its handler has the word."""
        return self.restored or self.handled or self.writes is not None

    @property
    def namespace(self) -> str:
        """The task's own namespace: the graph's, the node, the task."""
        return inside(self.run.namespace, f"{self.planned.name}{TASK}{id_text(self.planned.id)}")

    @property
    def metadata(self) -> dict[str, Any]:
        """What the task's config and its messages say of where it runs."""
        planned = self.planned
        return {
            **self.run.metadata,
            "langgraph_step": self.step,
            "langgraph_node": planned.name,
            "langgraph_triggers": planned.triggers,
            "langgraph_path": planned.path,
            "langgraph_checkpoint_ns": self.namespace,
            **(self.node.metadata or {}),
        }

    @property
    def answered(self) -> bool:
        """Whether the task asked something in this run and got an answer."""
        return min(self._asked, len(self.answers)) > 0

    def next_question(self) -> int:
        """Return the place of the question that is being asked, from 0."""
        self._asked += 1
        return self._asked - 1

    def when_ended(self) -> Future[None]:
        """Return what is done when the task has ended, in whatever way."""
        with _ENDING:
            if self._ended is None:
                self._ended = Future()
            return self._ended

    def end(self) -> None:
        """Say that the task will run no further in this run."""
        self.when_ended().set_result(None)

    def next_call(self) -> int:
        """Return the place of the task that is about to be called among those that the task calls, from 0."""
        self._called += 1
        return self._called - 1

    @property
    def is_call(self) -> bool:
        """Whether another task called this one; what it raises, or asks, is its caller's to show."""
        return is_call(self.planned.path)

    def next_graph(self) -> int:
        """Return the place of the graph that the task is about to run among those that it runs, from 0."""
        self._graphs += 1
        return self._graphs - 1

    @property
    def runs_graphs(self) -> bool:
        """Whether this attempt has run a graph."""
        return self._graphs > 0

    def is_meant(self, command: Command[Any]) -> bool:
        """Tell whether a command that comes out of a graph inside the task is for the graph that the task is of."""
        return command.graph in (self.namespace, nodes_of(self.namespace), self.planned.name)

    def begin_again(self, input: Any) -> None:
        """Be as before the attempt that failed, but for the answers that it was given, and graphs inside it."""
        self.attempt += 1
        self.input, self.error = input, None
        self._asked = self._graphs = self._called = 0
        self.sent = []


class TaskScope:
    """The `NodeScope` of one attempt of a task; parts are made when they are asked for."""

    __slots__ = ("_attempt", "_config", "_runtime", "checkpoint", "task")

    def __init__(self, task: Task, checkpoint: bytes, attempt: Attempt | None = None) -> None:
        """`attempt`: what watches the clock, when the task has limits."""
        self.task = task
        self.checkpoint = checkpoint
        self._attempt = attempt
        self._config: RunnableConfig | None = None
        self._runtime: Runtime[Any] | None = None

    @property
    def config(self) -> RunnableConfig:
        """The run's config with the task's place in it."""
        if self._config is None:
            task, base = self.task, self.task.run.config
            place = {ns: id_text(checkpoint) for ns, checkpoint in self.parents.items()}
            own = {"checkpoint_ns": task.namespace, "checkpoint_id": None, "checkpoint_map": place, CONFIG_TASK: self}
            self._config = cast(
                "RunnableConfig",
                {
                    **{key: value for key, value in base.items() if key not in _OF_ONE_RUN},
                    "metadata": task.metadata,
                    "configurable": {**base.get("configurable", {}), **own},
                },
            )
            if self._attempt is not None:
                self._config = self._attempt.listening(self._config)
        return self._config

    @property
    def config_thread(self) -> str:
        """The thread that the task's config names, as text."""
        return str(self.task.run.config.get("configurable", {}).get("thread_id"))

    @property
    def parents(self) -> dict[str, bytes]:
        """By namespace: the checkpoints in whose steps a graph inside the task runs."""
        run = self.task.run
        return {**run.parents, run.namespace: self.checkpoint}

    @property
    def runtime(self) -> Runtime[Any]:
        """Context, store, writer and where the task runs."""
        if self._runtime is None:
            run = self.task.run
            self._runtime = Runtime(
                context=run.context,
                store=run.store,
                stream_writer=self.writer,
                heartbeat=beat_nowhere if self._attempt is None else self._attempt.heartbeat,
                server_info=server_info_of(run.config.get("configurable", {})),
                control=run.control,
                previous=run.previous,
                execution_info=ExecutionInfo(
                    checkpoint_id=id_text(self.checkpoint),
                    checkpoint_ns=self.task.namespace,
                    task_id=id_text(self.task.planned.id),
                    thread_id=run.thread_id,
                    run_id=run.run_id,
                    node_attempt=self.task.attempt,
                    node_first_attempt_time=self.task.began,
                ),
            )
        return self._runtime

    @property
    def store(self) -> Any:
        """The store given to `compile`."""
        return self.task.run.store

    @property
    def writer(self) -> StreamWriter:
        """Sends a chunk to the `custom` stream."""
        return self._watched(self.task.run.writer)

    def send(self, key: str, value: Any) -> None:
        """Write to a key of the state, before what the node returns."""
        self._watched(self.task.sent.append)((key, value))

    def show_message(self, message: Any) -> None:
        """Show a message in the `messages` stream."""
        self._watched(lambda shown: self.task.run.message(shown, self.task.metadata))(message)

    def progress(self) -> None:
        """Take what a graph inside the task does as a sign of life of the task, and of those around it."""
        if self._attempt is not None:
            self._attempt.progress()
        self.task.run.progress()

    def _watched(self, write: StreamWriter) -> StreamWriter:
        around = self.task.run.progress
        if self._attempt is not None:
            write = self._attempt.writer(write)
        return write if around is beat_nowhere else after(around, write)

    @property
    def previous(self) -> Any:
        """What the entrypoint saved when it last ran on the thread; `None` for other graphs."""
        return self.task.run.previous

    @property
    def error(self) -> Any:
        """What an error handler is run for; `None` in any other node."""
        return self.task.failure


class StepScope(NamedTuple):
    """What all tasks of a step run against; they change nothing of it."""

    cells: Cells
    channels: Mapping[str, Channel]
    checkpoint: bytes
    values: Values
    """How a reducer that a router's fresh state needs gets an operand of its own."""
    strict: Values | None
    """How the values that a node reads are encoded, to see that it changes none in place; `None` not to look."""

    def checks(self, task: Task) -> StrictChecks | None:
        """Return what to check of a task, if anything."""
        return None if self.strict is None else StrictChecks(task, self.cells, self.strict)


def task_input(task: Task, cells: Cells, values: Values) -> Any:
    """Return what a task's node is called with: its channels' values, or what was sent to it; for it to change."""
    planned, node = task.planned, task.node
    if task.again is not None:
        return task.again()
    if planned.name == START:
        # It passes the input on, whose values are taken from the log again.
        values = PLAIN
    if planned.path[0] == PUSH:
        packet = cast("Send", cells[TASKS].value[planned.path[1]])
        return lent_input(packet.arg, values)
    read = {key: lent(cell, values) for key in node.reads if (cell := cells.get(key)) is not None and cell.readable}
    if node.managed:
        read.update(managed_values(node.managed, task.step, task.run.stop))
    return node.read(read)


def previous_of(cells: Cells, values: Values) -> Any:
    """Return what a thread's last run saved for the next one; `None` where nothing did."""
    cell = cells.get(PREVIOUS)
    return lent(cell, values) if cell is not None and cell.readable else None


def refuse_opaque(task: Task) -> None:
    """Raise `UnregisteredType` when the node would be called with a value whose type nobody registered."""
    found = opaque_in(task.input)
    if found is not None:
        raise UnregisteredType(
            f"node {task.planned.name!r} would read a value of type {found.name}, which this graph does not know. Name "
            "the class in the state's annotations (or in the node's), so that the graph registers it."
        )


def execute(task: Task, step: StepScope) -> None:
    """Run a task's node and routers; the outcome (writes, interrupts or error) is on the task afterwards.

    Catches what user code raises; a `KeyboardInterrupt`, `SystemExit` or foreign signal goes through.
    """
    if limits_of(task, step.cells) is not None:
        task.error = SyncTimeout(task.planned.name)
        return
    while True:
        with _Running(task, step.checkpoint) as scope:
            checks = step.checks(task)
            try:
                result = task.node.call(task.input, scope)
            except ParentCommand as signal:
                result = _own_command(task, signal)
            writes = _own_writes(task, result, checks, step.channels)
            for branch in task.node.branches:
                fresh = fresh_values(branch, task, writes, step.cells, step.channels, step.values)
                writes += branch.route(fresh, result, scope)
            task.writes = writes
        pause = _pause_before_retry(task, step)
        if pause is None:
            return
        time.sleep(pause)


async def aexecute(task: Task, step: StepScope) -> None:
    """Do what `execute` does on an event loop; a cancellation goes through, and leaves the task not run."""
    import asyncio  # only who awaits pays for it

    limits = limits_of(task, step.cells)
    while True:
        attempt = None if limits is None else Attempt(task.planned.name, limits)
        with _Running(task, step.checkpoint, attempt) as scope:
            work = _awritten(task, step, scope)
            if attempt is not None:
                work = attempt.within_limits(work, waits=lambda: task.runs_graphs)
            task.writes = await work
        pause = _pause_before_retry(task, step)
        if pause is None:
            return
        await asyncio.sleep(pause)


async def _awritten(task: Task, step: StepScope, scope: TaskScope) -> list[Write]:
    """Run a task's node and routers once, and return what they write."""
    checks = step.checks(task)
    try:
        result = await task.node.acall(task.input, scope)
    except ParentCommand as signal:
        result = _own_command(task, signal)
    writes = _own_writes(task, result, checks, step.channels)
    for branch in task.node.branches:
        fresh = fresh_values(branch, task, writes, step.cells, step.channels, step.values)
        writes += await branch.aroute(fresh, result, scope)
    return writes


def limits_of(task: Task, cells: Cells) -> TimeoutPolicy | None:
    """Return how long an attempt of a task may take: what came with its packet, else what its node was told."""
    path = task.planned.path
    if path[0] == PUSH and task.again is None:
        packet = cast("Send", cells[TASKS].value[path[1]])
        if packet.timeout is not None:
            return packet.timeout
    return task.node.timeout


class _Running:
    """A task while its user code runs: its scope is at hand, and what the code raises is the task's outcome."""

    __slots__ = ("_lent", "_scope", "_token")

    def __init__(self, task: Task, checkpoint: bytes, attempt: Attempt | None = None) -> None:
        self._scope = TaskScope(task, checkpoint, attempt)

    def __enter__(self) -> TaskScope:
        task = self._scope.task
        if task.began is None:
            task.began = task.run.now_us() / 1_000_000
        self._token = current_scope.set(self._scope)
        self._lent = lend_config(self._scope)
        task.run.progress()
        return self._scope

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        """Say whether what was raised is dealt with."""
        take_back(self._lent)
        current_scope.reset(self._token)
        task = self._scope.task
        task.run.progress()
        if isinstance(error, GraphInterrupt):
            task.interrupts, task.held_back = error.interrupts, isinstance(error, HeldBack)
            return True
        if isinstance(error, ParentCommand) and error.command.graph == Command.PARENT:
            error.command = _addressed(error.command, around(task.namespace))
        if isinstance(error, GraphDrained):
            # Tasks beside it are finished first: they are not to run again.
            task.drained = error
            return True
        if isinstance(error, GraphBubbleUp):
            return False
        if cancelled_itself(error):
            task.error = NodeCancelledError(task.planned.name)
            task.error.__cause__ = error
            return True
        if isinstance(error, Exception):
            note(error, task)
            task.error = error
            return True
        return False


def _own_command(task: Task, signal: ParentCommand) -> Command[Any]:
    """Return a command from inside the task as the task's own result; raises the signal when it goes further out."""
    if not task.is_meant(signal.command):
        raise signal
    return _addressed(signal.command, None)


def _addressed(command: Command[Any], graph: str | None) -> Command[Any]:
    resume = command.resume if command.resumes else NOT_GIVEN
    return Command(graph=graph, update=command.update, resume=resume, goto=command.goto)


def _pause_before_retry(task: Task, step: StepScope) -> float | None:
    """Make a failed task ready for another attempt and return the seconds to wait for it; `None` when it gets none."""
    error, retry = task.error, task.node.retry
    if error is None or not retry or isinstance(error, NodeCancelledError) or task.run.ground.is_lost(error):
        return None
    pause = pause_before_retry(retry, error, task.attempt)
    if pause is not None:
        task.begin_again(task_input(task, step.cells, step.values))
    return pause


def _own_writes(task: Task, result: Any, checks: StrictChecks | None, channels: Mapping[str, Channel]) -> list[Write]:
    """Return what a node sent and what its result writes by itself, before its routers are asked."""
    node = task.node
    unknown = node.unknown_keys(result)
    if task.sent:
        unknown = (*unknown, *(key for key, _value in task.sent if key not in channels))
    if checks is not None:
        checks.inputs_unchanged()
        checks.keys_known(unknown)
    elif unknown:
        task.run.warn_unknown(node.name, unknown)
    writes = node.writes(result)
    writes += node.edges
    return writes if not task.sent else [*(pair for pair in task.sent if pair[0] in channels), *writes]


def note(error: BaseException, task: Task) -> None:
    """Say on the error which task raised it."""
    error.add_note(f"During task with name '{task.planned.name}' and id '{id_text(task.planned.id)}'")


def unchanged(data: Any) -> Any:
    """Decode what was never encoded: it is the value."""
    return data


def fresh_values(
    branch: BranchSpec,
    task: Task,
    writes: list[Write],
    cells: Cells,
    channels: Mapping[str, Channel],
    values: Values,
) -> dict[str, Any]:
    """Return the values that a router of a node's reads, with the node's own writes applied: for it to change.

    The writes themselves are yet to be encoded, so reducers and routers get copies of them.
    """
    keys = branch.reads
    written: dict[str, list[Written]] = {}
    for channel, value in writes:
        if channel in keys:
            value = copied(value, values) if channels[channel].tracked else value
            written.setdefault(channel, []).append(Written(value, ((channel, len(written)),), unchanged, value))
    fresh = managed_values(branch.managed, task.step, task.run.stop)
    for key in keys:
        cell = cells.get(key)
        if key in written:
            cell = _fresh_cell(channels[key], cell, written[key], values)
        if cell is not None and cell.readable:
            fresh[key] = lent(cell, values) if channels[key].tracked else cell.get()
    return fresh


def _fresh_cell(channel: Channel, cell: Cell | None, written: list[Written], values: Values) -> Cell | None:
    if cell is not None and not channel.is_pinned():
        # A user's reducer may change its left operand in place: the state's own must not be reached.
        cell = owned_cell(cell, values)
    elif isinstance(cell, ListCell):
        # The state's own list must not grow here: only the closing fold may extend it.
        cell = Cell(cell.get())
    change = channel.decide(cell, written, PLAIN)
    if change is None:
        return cell
    table: Cells = {} if cell is None else {channel.key: cell}
    return fold_step(table, [ChannelResult(channel.key, *change, b"")], {channel.key: written}, PLAIN).get(channel.key)
