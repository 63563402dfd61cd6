"""The rules of a superstep: which tasks a state plans, and what closing a step makes of it. Pure.

`Rules` is made once a compiled graph and holds what the spec implies: orders, which channels forget, which finish.
Orders are LangGraph's: writes apply by task path (edges by node name, then sends by index); `next` shows sends first,
then nodes as they were added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from ..eventlog.events import ChannelResult, PlannedTask, ResultOp
from ..projections.cells import MISSING, Values, Written, own
from ..projections.channels import Channel
from ..projections.errors import InvalidUpdateError
from ..projections.fold import Cells, fold_step
from ..projections.held import Held
from ..projections.ids import task_id
from ..projections.lending import UntrackedCell
from ..projections.snapshot import is_control
from ..projections.types import (
    ERROR,
    ERROR_SOURCE_NODE,
    INTERRUPT,
    NO_WRITES,
    RESUME,
    RETURN,
    TASKS,
    Send,
)
from .spec import GraphSpec

PULL = "__pregel_pull"
PUSH = "__pregel_push"
PUSH_TRIGGERS = (PUSH,)
MARKS = frozenset({ERROR, ERROR_SOURCE_NODE, INTERRUPT, RESUME, NO_WRITES, RETURN})
"""Write keys that describe a task and go to no channel."""

Versions = Mapping[str, int]
Seen = Mapping[str, Mapping[str, int]]


class Finished(NamedTuple):
    """A task as closing a step sees it."""

    name: str
    path: tuple[Any, ...]
    triggers: tuple[str, ...]
    writes: Sequence[tuple[str, Written]]


class Closed(NamedTuple):
    """What a step's close amounts to; nothing is committed by it."""

    cells: Cells
    untracked: Cells
    results: list[ChannelResult]
    """What is to be recorded, still without digests."""
    version: int
    consumed: tuple[str, ...]
    seen: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    writes: Mapping[str, Sequence[Written]]
    updated: frozenset[str]
    """Channels written in this step that can be read or trigger now."""


class StepRefusal(Exception):
    """The writes to one channel cannot be folded; `error` is what the channel or its reducer raised."""

    def __init__(self, channel: str, error: Exception) -> None:
        super().__init__(channel, error)
        self.channel = channel
        self.error = error


class Rules:
    """What a graph's spec implies for every superstep."""

    def __init__(self, spec: GraphSpec) -> None:
        self.spec = spec
        self.order = {name: place for place, name in enumerate(spec.nodes)}
        self.forgetting = frozenset(name for name, channel in spec.channels.items() if channel.forgets)
        self.finishing = tuple(
            name for name, channel in spec.channels.items() if type(channel).finish is not Channel.finish
        )
        self.consuming = frozenset(
            name for name, channel in spec.channels.items() if type(channel).consume is not Channel.consume
        )
        self.untracked = frozenset(name for name, channel in spec.channels.items() if not channel.tracked)
        self.initial = {
            name: value for name, channel in spec.channels.items() if (value := channel.initial()) is not MISSING
        }
        self.state_keys = frozenset(name for name in spec.channels if not is_control(name))
        self._triggers = {name: tuple(sorted(node.triggers)) for name, node in spec.nodes.items()}

    def initial_results(self, cells: Cells, values: Values) -> list[ChannelResult]:
        """Return results that give channels their first value, for those that `cells` does not hold."""
        return [
            ChannelResult(name, ResultOp.INITIAL, values.encode(value if isinstance(value, Held) else own(value)), b"")
            for name, value in self.initial.items()
            if name not in cells
        ]

    def plan(
        self,
        cells: Cells,
        versions: Versions,
        seen: Seen,
        *,
        checkpoint: bytes,
        namespace: str,
        step: int,
        updated: Iterable[str] | None = None,
    ) -> tuple[PlannedTask, ...]:
        """Return the tasks of superstep `step`, in the order that `next` shows.

        `updated`: the channels that the last step changed, where that is known; only these can trigger.
        """
        tasks = [
            self._send(packet, index, checkpoint, namespace, step)
            for index, packet in enumerate(cells[TASKS].value if TASKS in cells else ())
        ]
        names = {
            name
            for channel in (cells if updated is None else updated)
            for name in self.spec.trigger_to_nodes.get(channel, ())
        }
        for name in sorted(names, key=self.order.__getitem__) if len(names) > 1 else names:
            if self._is_triggered(name, cells, versions, seen.get(name)):
                tasks.append(self._pull(name, checkpoint, namespace, step))
        return tuple(tasks)

    def _send(self, packet: Send, index: int, checkpoint: bytes, namespace: str, step: int) -> PlannedTask:
        scope = f"{namespace}|{packet.node}" if namespace else packet.node
        id_ = task_id(checkpoint, scope, step, packet.node, f"{PUSH}\0{index}", ())
        return PlannedTask(id_, packet.node, (PUSH, index, False), PUSH_TRIGGERS)

    def _pull(self, name: str, checkpoint: bytes, namespace: str, step: int) -> PlannedTask:
        triggers = self._triggers[name]
        scope = f"{namespace}|{name}" if namespace else name
        return PlannedTask(task_id(checkpoint, scope, step, name, PULL, triggers), name, (PULL, name), triggers)

    def _is_triggered(self, name: str, cells: Cells, versions: Versions, seen: Mapping[str, int] | None) -> bool:
        for channel in self.spec.nodes[name].triggers:
            cell = cells.get(channel)
            if cell is None or not cell.readable:
                continue
            if seen is None or versions.get(channel, 0) > seen.get(channel, 0):
                return True
        return False

    def close(
        self,
        cells: Cells,
        untracked: Cells,
        versions: Versions,
        tasks: Sequence[Finished],
        values: Values,
    ) -> Closed:
        """Return what a step amounts to when its tasks' writes are applied in path order.

        Raises `StepRefusal` with what a channel or a user's reducer raised; then nothing has changed.
        """
        if len(tasks) > 1:
            tasks = sorted(tasks, key=path_key)
        triggers = {channel: None for task in tasks for channel in task.triggers}
        results: list[ChannelResult] = []
        if not self.consuming.isdisjoint(triggers):
            cells = self._consume(cells, triggers, results, values)
        writes = group(tasks, self.spec.channels)
        changes, untracked, rose = self._decide(cells, untracked, writes, values)
        written = [change.channel for change in changes]
        if triggers:
            changes += self._pass_step(cells, written, values)
        cells = self._fold(cells, changes, writes, results, values)
        updated = {name for name in written if is_readable(cells, name)}
        updated.update(rose)
        if triggers and updated.isdisjoint(self.spec.trigger_to_nodes):
            cells = self._finish(cells, updated, results, values)
        seen = tuple(
            [
                (task.name, tuple([(channel, versions[channel]) for channel in task.triggers if channel in versions]))
                for task in tasks
                if task.triggers
            ]
        )
        changed = results or rose
        version = max(versions.values(), default=0) + 1 if changed else 0
        return Closed(cells, untracked, results, version, tuple(rose), seen, writes, frozenset(updated))

    def fold_pinned(self, cells: Cells, writes: Mapping[str, Sequence[Written]], values: Values) -> Cells:
        """Return the channels after writes to those whose fold runs no code of a user; others stay as they are."""
        changes: list[ChannelResult] = []
        for name, written in writes.items():
            channel = self.spec.channels.get(name)
            if channel is None or not channel.is_pinned():
                continue
            try:
                change = channel.decide(cells.get(name), written, values)
            except InvalidUpdateError:
                # The step will be refused when it closes; until then the channel shows what it held.
                continue
            if change is not None:
                changes.append(ChannelResult(name, *change, b""))
        return _fold(cells, changes, writes, [], values)

    def _consume(self, cells: Cells, triggers: Iterable[str], results: list[ChannelResult], values: Values) -> Cells:
        channels = self.spec.channels
        changes = [
            ChannelResult(name, *change, b"")
            for name in triggers
            if name in channels
            and (cell := cells.get(name)) is not None
            and (change := channels[name].consume(cell, values))
        ]
        return _fold(cells, changes, {}, results, values)

    def _decide(
        self, cells: Cells, untracked: Cells, writes: Mapping[str, Sequence[Written]], values: Values
    ) -> tuple[list[ChannelResult], Cells, list[str]]:
        """Return what the writes make of tracked channels, the untracked ones after them, and which of these rose."""
        changes: list[ChannelResult] = []
        rose: list[str] = []
        name = ""
        try:
            for name, written in writes.items():
                if name in self.untracked:
                    self.spec.channels[name].decide(untracked.get(name), written, values)
                    untracked = {**untracked, name: UntrackedCell(written[-1].value)}
                    rose.append(name)
                elif (change := self.spec.channels[name].decide(cells.get(name), written, values)) is not None:
                    changes.append(ChannelResult(name, *change, b""))
        except Exception as error:
            raise StepRefusal(name, error) from error
        return changes, untracked, rose

    def _pass_step(self, cells: Cells, written: Sequence[str], values: Values) -> list[ChannelResult]:
        """Return what becomes of channels that forget, where the step wrote nothing to them."""
        channels = self.spec.channels
        return [
            ChannelResult(name, *change, b"")
            for name, cell in cells.items()
            if name in self.forgetting
            and name not in written
            and cell.readable
            and (change := channels[name].pass_step(cell, values)) is not None
        ]

    def _fold(
        self,
        cells: Cells,
        changes: list[ChannelResult],
        writes: Mapping[str, Sequence[Written]],
        results: list[ChannelResult],
        values: Values,
    ) -> Cells:
        channel = ""

        def told() -> Iterator[ChannelResult]:
            nonlocal channel
            for change in changes:
                channel = change.channel
                yield change

        results += changes
        try:
            return fold_step(cells, told(), writes, values)
        except Exception as error:
            raise StepRefusal(channel, error) from error

    def _finish(self, cells: Cells, updated: set[str], results: list[ChannelResult], values: Values) -> Cells:
        channels = self.spec.channels
        changes = [
            ChannelResult(name, *change, b"")
            for name in self.finishing
            if (cell := cells.get(name)) is not None and (change := channels[name].finish(cell, values))
        ]
        cells = _fold(cells, changes, {}, results, values)
        updated.update(name for name, _op, _data, _digest in changes if is_readable(cells, name))
        return cells


def is_readable(cells: Cells, channel: str) -> bool:
    """Tell whether a channel holds something that can be read and can trigger."""
    cell = cells.get(channel)
    return cell is not None and cell.readable


def is_call(path: tuple[Any, ...]) -> bool:
    """Tell whether a task's path says that another task called it."""
    return len(path) == 4 and path[0] == PUSH and path[3] is True


def path_key(task: Finished) -> str:
    """Return what tasks are sorted by for applying: LangGraph's text of a task path, numbers zero-padded."""
    return path_text(task.path)


def path_text(path: Any) -> str:
    """Return a task path as text whose order is the apply order."""
    if isinstance(path, tuple | list):
        return "~" + ", ".join(path_text(part) for part in cast("tuple[Any, ...]", path))
    return f"{path:010d}" if isinstance(path, int) and not isinstance(path, bool) else str(path)


def group(tasks: Iterable[Finished], channels: Mapping[str, Channel]) -> dict[str, list[Written]]:
    """Return the tasks' writes by channel, in the order given; marks, and keys without a channel, left out."""
    writes: dict[str, list[Written]] = {}
    for task in tasks:
        for channel, written in task.writes:
            if channel in writes:
                writes[channel].append(written)
            elif channel not in MARKS and channel in channels:
                writes[channel] = [written]
    return writes


def _fold(
    cells: Cells,
    changes: list[ChannelResult],
    writes: Mapping[str, Sequence[Written]],
    results: list[ChannelResult],
    values: Values,
) -> Cells:
    if not changes:
        return cells
    results += changes
    return fold_step(cells, changes, writes, values)
