"""Which node leads to which: found by walking a graph's edges and what its routers may answer, without calling anybody.

The walk closes supersteps by the same rules as a run, so that joins wait and deferred nodes come last. A node that
nothing declared leads to hangs, as a guess, on all nodes of the step before. What comes out is LangGraph's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..eventlog.events import PlannedTask
from ..eventlog.record import NO_ID
from ..projections.cells import PLAIN, Written
from ..projections.fold import Cells
from ..projections.types import END
from .rules import Closed, Finished, Rules
from .spec import NodeSpec, branch_channel

_MOST_STEPS = 250


class Way(NamedTuple):
    """From one node to another; `conditional`: a router, or a command, says so, under the name `label`."""

    source: str
    target: str
    conditional: bool
    label: str | None


class _Trigger(NamedTuple):
    channel: str
    conditional: bool
    label: str | None


class Walk:
    """One walk: `ways` found, the first tasks, and the nodes of the last step."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.ways: set[Way] = set()
        self.first: tuple[str, ...] = ()
        self.last: tuple[str, ...] = ()
        self._seen_routers: set[tuple[str, str]] = set()
        self._declared: dict[str, set[_Trigger]] = defaultdict(set)
        self._sources: dict[str, set[_Trigger]] = {}
        self._go()

    def _go(self) -> None:
        rules = self._rules
        cells: Cells = {}
        versions: dict[str, int] = {}
        seen: dict[str, dict[str, int]] = {}
        inputs = (
            (rules.spec.input_channels,) if isinstance(rules.spec.input_channels, str) else rules.spec.input_channels
        )
        given = [Finished("", (), (), [(channel, _written(channel, {})) for channel in inputs])]
        tasks: Sequence[PlannedTask] = ()
        for step in range(-1, _MOST_STEPS):
            finished = given if step < 0 else [self._finished(task) for task in tasks]
            closed: Closed = rules.close(cells, {}, versions, finished, PLAIN)
            before = {name: set(self._sources[name]) for name in dict.fromkeys(task.name for task in tasks)}
            versions = _versions_after(versions, closed)
            seen = _seen_after(seen, closed)
            cells = closed.cells
            tasks = rules.plan(
                cells, versions, seen, checkpoint=NO_ID, namespace="", step=step + 1, updated=closed.updated
            )
            if step < 0:
                self.first = tuple(task.name for task in tasks)
            else:
                self.last = tuple(before)
                self._lead(tasks, before)
            if not tasks:
                return

    def _finished(self, task: PlannedTask) -> Finished:
        """Return a task with what it writes as far as is declared, and note what it leads to."""
        node = self._rules.spec.nodes[task.name]
        writes = [(channel, _written(channel, value)) for channel, value in node.edges]
        conditional: dict[str, str | None] = {}
        for end, label in self._answers(node):
            if end == END:
                self.ways.add(Way(node.name, END, True, label))
                continue
            channel = branch_channel(end)
            conditional[channel] = label
            self._declared[node.name].add(_Trigger(channel, True, label))
            writes.append((channel, _written(channel, None)))
        written = {_Trigger(name, name in conditional, conditional.get(name)) for name, _ in writes}
        self._sources[node.name] = written | self._declared[node.name]
        return Finished(task.name, task.path, task.triggers, writes)

    def _answers(self, node: NodeSpec) -> list[tuple[str, str | None]]:
        """Return where a node's commands and routers may go, at its first visit."""
        found: list[tuple[str, str | None]] = []
        if (node.name, "") not in self._seen_routers:
            self._seen_routers.add((node.name, ""))
            found += node.ends.items()
        for branch in node.branches:
            if branch.ends is not None and (node.name, branch.name) not in self._seen_routers:
                self._seen_routers.add((node.name, branch.name))
                found += [(end, str(label)) for label, end in branch.ends.items()]
        return found

    def _lead(self, tasks: Sequence[PlannedTask], step: dict[str, set[_Trigger]]) -> None:
        leading: dict[str, set[tuple[str, bool, str | None]]] = defaultdict(set)
        for source, triggers in self._sources.items():
            for trigger in triggers:
                leading[trigger.channel].add((source, trigger.conditional, trigger.label))
        for task in tasks:
            triggers = self._rules.spec.nodes[task.name].triggers
            ways = [
                (Way(source, task.name, conditional, label), _Trigger(channel, conditional, label))
                for channel in triggers
                for source, conditional, label in sorted(leading[channel], key=repr)
            ]
            fresh = [trigger in step.get(way.source, ()) for way, trigger in ways]
            self.ways.update(way for way, _trigger in ways)
            for is_fresh, (way, trigger) in zip(fresh, ways, strict=True):
                if not is_fresh:
                    self._sources[way.source].discard(trigger)
            if not any(fresh):
                self.ways.update(Way(source, task.name, True, None) for source in step)


def _versions_after(versions: dict[str, int], closed: Closed) -> dict[str, int]:
    """Return the channel versions after a step of the walk."""
    after = dict(versions)
    for change in closed.results:
        after[change.channel] = closed.version
    for channel in closed.consumed:
        after[channel] = closed.version
    return after


def _seen_after(seen: dict[str, dict[str, int]], closed: Closed) -> dict[str, dict[str, int]]:
    """Return the versions seen after a step of the walk."""
    after = {node: dict(channels) for node, channels in seen.items()}
    for node, channels in closed.seen:
        after.setdefault(node, {}).update(channels)
    return after


def _written(channel: str, value: Any) -> Written:
    return Written(value, (channel,), lambda data: data, value)
