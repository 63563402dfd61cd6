"""Reading a thread with its graph at hand: snapshots of the root and of graphs inside nodes. Runs no code of a user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..eventlog.clock import id_text
from ..eventlog.events import PlannedTask
from ..eventlog.record import NO_ID
from ..projections.fold import Cells
from ..projections.namespaces import TASK, inside, levels, nodes_of, without_tasks
from ..projections.open_thread import OpenThread, Place
from ..projections.queries import empty_snapshot
from ..projections.snapshot import Lens, statuses
from ..projections.state import CheckpointState, gather
from ..projections.types import StateSnapshot
from .config import configurable
from .inner_graphs import keeps_state
from .rules import Rules, path_text


class Reading:
    """One graph's look at one thread, at a namespace. `subgraphs`: with the states of graphs inside its nodes."""

    def __init__(self, thread: OpenThread, rules: Rules, *, namespace: str = "", subgraphs: bool = False) -> None:
        self.thread = thread
        self.rules = rules
        self._namespace = namespace
        self._subgraphs = subgraphs

    def snapshot(self, config: Mapping[str, Any]) -> StateSnapshot:
        """Return the state: live at the namespace's head, or as a record of the checkpoint that `config` names."""
        return self._snapshot(self.place(config), config)

    def _snapshot(self, place: Place | None, config: Mapping[str, Any]) -> StateSnapshot:
        if place is None:
            return empty_snapshot(config)
        if "checkpoint_id" in configurable(config):
            return self.record(place)
        return self.lens(place).live(self.thread.thread, place.state, place.writes, self._cells_now(place))

    def place(self, config: Mapping[str, Any]) -> Place | None:
        """Return the checkpoint that a config names, else the namespace's head; `None` when there is none."""
        checkpoint_id = configurable(config).get("checkpoint_id")
        if checkpoint_id and self.thread.thread.version:
            return self.thread.find(checkpoint_id)
        return self.thread.head(self._namespace)

    def record(self, place: Place) -> StateSnapshot:
        """Return a checkpoint as a record of its step."""
        return self.lens(place).record(place.state, place.writes)

    def history(
        self,
        config: Mapping[str, Any],
        *,
        filter: Mapping[str, Any] | None,
        before: Mapping[str, Any] | None,
        limit: int | None,
    ) -> Iterator[StateSnapshot]:
        """Return the namespace's checkpoints, newest first by position; read as they are looked at."""
        namespace = self._namespace
        places = self.thread.places(config, filter=filter, before=before, limit=limit, namespace=namespace)
        return (self.record(place) for place in places)

    def lens(self, place: Place) -> Lens:
        """Return how snapshots of this graph are built."""
        return self.thread.lens(place.past, self.rules.spec.stream_channels, state_of=self._state_of)

    def _state_of(self, task: PlannedTask, state: CheckpointState) -> Any:
        """Return what a snapshot shows as a task's state: where that of the graph inside it is, or that state."""
        spec = self.rules.spec
        node = spec.nodes.get(spec.aliases.get(task.name, task.name))
        if node is None or not keeps_state(node.graph):
            return None
        namespace = inside(state.namespace, f"{task.name}{TASK}{id_text(task.id)}")
        if self._subgraphs and node.graph.checkpointer is True:
            namespace = without_tasks(namespace)
        config = {"configurable": {"thread_id": self.thread.id, "checkpoint_ns": namespace}}
        if not self._subgraphs:
            return config
        inner = Reading(self.thread, node.graph.rules, namespace=namespace, subgraphs=True)
        return inner._snapshot(self.thread.inside(state, namespace), config)

    def _cells_now(self, place: Place) -> Cells | None:
        """Return the head's channels with what commands and finished tasks wrote, when no run's end recorded it.

        Only pinned reducers are folded here: reading runs no code of a user.
        """
        thread, state = self.thread, place.state
        if state.id in thread.thread.paused:
            return None
        known = statuses(place.writes, thread.values)
        events = place.writes.values()
        done = [event for event in events if event.task in known and known[event.task].finished]
        ahead = [event for event in events if event.task == NO_ID]
        if not done and not ahead:
            return None
        cells = state.cells
        # One command after another, as their runs applied them; then the step.
        for together in (*([event] for event in ahead), sorted(done, key=lambda event: path_text(event.path))):
            writes, _inputs = gather(state, together, thread.values)
            cells = self.rules.fold_pinned(cells, writes, thread.values)
        return cells


def graph_at(rules: Rules, namespace: str) -> Any:
    """Return the graph whose checkpoints lie at a namespace, as the nodes' code shows it; `None` when it does not."""
    graph: Any = None
    for name in levels(nodes_of(namespace)):
        node = rules.spec.nodes.get(name)
        if node is None or not keeps_state(node.graph):
            return None
        graph = node.graph
        rules = graph.rules
    return graph


def namespace_in(config: Mapping[str, Any], graph: Any) -> str:
    """Return the namespace that a config means for the graph that was found there."""
    asked: str = configurable(config).get("checkpoint_ns") or ""
    return without_tasks(asked) if graph is not None and graph.checkpointer is True else asked
