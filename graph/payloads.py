"""What `checkpoints`, `tasks` and `debug` chunks hold: LangGraph's shapes, and its orders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from ..eventlog.clock import id_text
from ..eventlog.events import PlannedTask
from ..projections.cells import Values
from ..projections.run_metadata import PLACES
from ..projections.snapshot import config_of, result_of, statuses
from ..projections.state import CheckpointState
from ..projections.thread import OpenWrites
from .rules import PUSH
from .tasks import Task


def checkpoint_payload(
    state: CheckpointState,
    planned: Iterable[PlannedTask],
    writes: OpenWrites,
    shown: Any,
    *,
    thread_id: str,
    parent: bytes | None,
    own: Mapping[str, Any],
    values: Values,
    output: tuple[str, ...] | str,
    inside: Callable[[PlannedTask], str | None],
) -> dict[str, Any]:
    """Return a checkpoint's chunk. `shown` are its values, `own` is what the caller's config says beside the place.

    `inside`: the namespace of the graph that runs in a task, if one does.
    """

    shown_own = {key: value for key, value in own.items() if not key.startswith("__")}

    def config(checkpoint: bytes) -> dict[str, Any]:
        place = config_of(thread_id, state.namespace, checkpoint, state.parents)["configurable"]
        return {"configurable": {**shown_own, **place}}

    return {
        "config": config(state.id),
        "parent_config": None if parent is None else config(parent),
        "values": shown,
        "metadata": {
            "source": state.source,
            "step": state.step,
            "parents": {ns: id_text(parent) for ns, parent in state.parents.items()},
        },
        "next": [task.name for task in run_order(planned, state)],
        "tasks": _tasks(state, planned, writes, values, output, partial(_place, thread_id, inside)),
    }


def _place(thread_id: str, inside: Callable[[PlannedTask], str | None], task: PlannedTask) -> dict[str, Any] | None:
    namespace = inside(task)
    return None if namespace is None else {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace}}


def _tasks(
    state: CheckpointState,
    planned: Iterable[PlannedTask],
    writes: OpenWrites,
    values: Values,
    output: tuple[str, ...] | str,
    place: Callable[[PlannedTask], dict[str, Any] | None],
) -> list[dict[str, Any]]:
    known = statuses(writes, values)
    payloads: list[dict[str, Any]] = []
    for task in run_order(planned, state):
        payload: dict[str, Any] = {"id": id_text(task.id), "name": task.name}
        status = known.get(task.id)
        if status is not None and status.error is not None:
            payloads.append({**payload, "error": status.error, "state": place(task)})
            continue
        if status is not None and status.finished:
            written = [(channel, data) for channel, data, _event in status.output]
            if result := result_of(written, state, values, output):
                payload["result"] = result
        questions = () if status is None else status.interrupts
        asked = tuple(asdict(question) for question in questions)
        payloads.append({**payload, "interrupts": asked, "state": place(task)})
    return payloads


def run_order(planned: Iterable[PlannedTask], state: CheckpointState) -> list[PlannedTask]:
    """Return tasks in the order in which they start: sends by index, then nodes by name.

    After a manual edit nodes start as they were added, as in LangGraph.
    """
    if not state.updated:
        return list(planned)
    return sorted(planned, key=lambda task: (task.path[0] != PUSH, "" if task.path[0] == PUSH else task.name))


def task_metadata(task: Task, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a task chunk tells of a task beside itself: the run's metadata, the node's, the run's tags."""
    metadata: dict[str, Any] = {**(config.get("metadata") or {}), **(task.node.metadata or {})}
    shown = {key: value for key, value in metadata.items() if key not in PLACES}
    if tags := config.get("tags"):
        shown["tags"] = list(tags)
    return shown
