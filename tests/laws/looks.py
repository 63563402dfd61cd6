"""Ways to look at a thread, for comparing: what must never change, what may fill in, and everything folded.

`fixed` is the part of a snapshot that law L3 freezes; `Sight` is all that a reader can see of a thread; `inside` is
what a fold holds beneath that. Each is plain data, compared with `same`: equal and of the same type in every part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from lithograph.eventlog import EventLog, StreamName
from lithograph.eventlog.serde import Serializer
from lithograph.projections.reader import threads_of
from lithograph.projections.values import LogValues

from tests.eventlog.serde.values import identical

from .world import config_of


class Sight(NamedTuple):
    """A thread as a reader sees it: live, and each checkpoint as a record, newest first."""

    live: dict[str, Any]
    history: list[dict[str, Any]]

    @property
    def ids(self) -> list[str]:
        """The checkpoints' ids, newest first."""
        return [id_of(entry) for entry in self.history]


def fixed(snapshot: Any) -> dict[str, Any]:
    """Return what of a checkpoint never changes."""
    return {
        "values": snapshot.values,
        "next": snapshot.next,
        "config": snapshot.config,
        "metadata": snapshot.metadata,
        "created_at": snapshot.created_at,
        "parent_config": snapshot.parent_config,
    }


def whole(snapshot: Any) -> dict[str, Any]:
    """Return all of a snapshot as plain data."""
    return {
        **fixed(snapshot),
        "tasks": [
            (task.id, task.name, task.path, task.error, tuple(task.interrupts), task.result) for task in snapshot.tasks
        ],
        "interrupts": tuple(snapshot.interrupts),
        "writes": snapshot.writes,
    }


def id_of(entry: dict[str, Any]) -> str:
    """Return the checkpoint id of a snapshot's plain form."""
    return entry["config"]["configurable"]["checkpoint_id"]


def sight(graph: Any, thread: str) -> Sight:
    """Return a thread as a graph reads it."""
    config = config_of(thread)
    return Sight(whole(graph.get_state(config)), [whole(snapshot) for snapshot in graph.get_state_history(config)])


def inside(log: EventLog, thread: str, serializer: Serializer) -> dict[str, Any]:
    """Return what a fold of a thread holds: the cells with their digests, versions, what is open and planned."""
    name = StreamName("thread", thread)
    values = LogValues(log, name, serializer)
    folded = threads_of(log).head(log, log.stream_id(name), values)
    return {
        "version": folded.version,
        "running": folded.running,
        "open": {checkpoint: dict(writes) for checkpoint, writes in folded.open.items() if writes},
        "paused": dict(folded.paused),
        "refused": dict(folded.refused),
        "heads": {namespace: state_of(state, values) for namespace, state in folded.heads.items()},
    }


def state_of(state: Any, values: Any) -> dict[str, Any]:
    """Return everything that a checkpoint's state holds, values encoded."""
    plain = {
        field: getattr(state, field)
        for field in ("id", "parent", "version", "step", "source", "metadata", "time_us", "run", "tasks", "applied")
    }
    return {
        **plain,
        "versions": dict(sorted(state.versions.items())),
        "seen": {node: dict(sorted(channels.items())) for node, channels in sorted(state.seen.items())},
        "inputs": dict(state.inputs),
        "updated": state.updated,
        "cells": {
            channel: (type(cell).__name__ == "FinishedCell", values.raw(cell.value), cell.digest)
            for channel, cell in sorted(state.cells.items())
        },
    }


def same(one: Any, other: Any) -> bool:
    """Say whether two looks are equal, and of the same type in every part."""
    return one == other and identical(one, other)


def difference(one: Any, other: Any, path: str = "") -> str:
    """Return where two looks part first, for a failure's message."""
    if isinstance(one, dict) and isinstance(other, dict) and list(one) == list(other):
        return next((difference(one[k], other[k], f"{path}.{k}") for k in one if not same(one[k], other[k])), path)
    if isinstance(one, (list, tuple)) and isinstance(other, type(one)) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return next((difference(a, b, f"{path}[{n}]") for n, (a, b) in pairs if not same(a, b)), path)
    if isinstance(one, dict) and isinstance(other, dict):
        return f"{path}: keys {list(one)} against {list(other)}"
    return f"{path}: {one!r} against {other!r}"
