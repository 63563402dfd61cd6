"""Checkpoints in LangGraph's shape: what its savers return and its tools read.

For a thread that our runtime wrote, `checkpoint_tuple` builds that shape from the folded state; for one that a foreign
runtime stored, it gives back what was put (`foreign`).
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypedDict

from ..eventlog.clock import id_text
from ..eventlog.events import ChannelWritten
from .cells import Values
from .fold import BarrierCell, Cells
from .lending import lent
from .snapshot import created_at, metadata_of
from .state import CheckpointState
from .thread import OpenWrites
from .types import ERROR, EVERY_CHANNEL, INTERRUPT, RESUME

FORMAT = 4
_SPECIAL = {ERROR: -1, "__scheduled__": -2, INTERRUPT: -3, RESUME: -4}
"""Writes of which a task has one, the last: their place instead of an index."""

PendingWrite = tuple[str, str, Any]
"""(task id, channel, value)."""
ChannelVersions = dict[str, str | int | float]


class CheckpointMetadata(TypedDict, total=False):
    """What is known of a checkpoint beside its state; any key of the run's metadata may be there too."""

    source: str
    step: int
    parents: dict[str, str]
    run_id: str


class Checkpoint(TypedDict):
    """A thread's state at one checkpoint, with the versions by which tasks are planned."""

    v: int
    id: str
    ts: str
    channel_values: dict[str, Any]
    channel_versions: ChannelVersions
    versions_seen: dict[str, ChannelVersions]
    updated_channels: list[str] | None


class CheckpointTuple(NamedTuple):
    """A checkpoint with its address, its parent's, and what its tasks wrote so far."""

    config: Any
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    parent_config: Any = None
    pending_writes: list[PendingWrite] | None = None


def address(thread_id: str, namespace: str, checkpoint: bytes) -> dict[str, Any]:
    """Return the config that names a checkpoint, with the three keys that savers use."""
    return {
        "configurable": {
            "thread_id": thread_id,
            "checkpoint_ns": namespace,
            "checkpoint_id": id_text(checkpoint),
        }
    }


def checkpoint_of(state: CheckpointState, values: Values) -> Checkpoint:
    """Return the checkpoint of a thread that our runtime wrote."""
    versions: ChannelVersions = dict(state.versions)
    return {
        "v": FORMAT,
        "id": id_text(state.id),
        "ts": created_at(state.time_us),
        "channel_values": channel_values(state.cells, values),
        "channel_versions": versions,
        "versions_seen": {"__input__": {}, **_versions_seen(state)},
        "updated_channels": None if state.updated is None else list(state.updated),
    }


def channel_values(cells: Cells, values: Values) -> dict[str, Any]:
    """Return what all channels hold, the runtime's own too; a barrier's value is the set of names it has seen."""
    return {
        name: set(cell.value) if isinstance(cell, BarrierCell) else lent(cell, values) for name, cell in cells.items()
    }


def metadata_in_shape(state: CheckpointState, values: Values) -> CheckpointMetadata:
    """Return the metadata of a checkpoint that our runtime wrote."""
    metadata: Any = metadata_of(state, values)
    return metadata


def pending_writes(state: CheckpointState, writes: OpenWrites, values: Values) -> list[PendingWrite]:
    """Return what a checkpoint's tasks wrote, in the order in which their step applies it.

    The first write for a place stands, as when a task is retried; of errors, interrupts and answers the last.
    """
    found: dict[tuple[bytes, int], tuple[tuple[str, str, int], str, Any]] = {}
    for version in sorted(writes, key=abs):
        event = writes[version]
        path = path_text(event)
        for index, (channel, data) in enumerate(event.writes):
            place = (event.task, _SPECIAL.get(channel, index))
            if place[1] >= 0 and place in found:
                continue
            data = state.inputs.get(channel) if data is None else data
            found[place] = ((path, id_text(event.task), place[1]), channel, data)
    ordered = sorted(found.values(), key=lambda item: item[0])
    return [(key[1], channel, values.decode(data)) for key, channel, data in ordered]


def path_text(event: ChannelWritten) -> str:
    """Return a task's path as the text that savers are given."""
    if len(event.path) == 1 and isinstance(event.path[0], str):
        return event.path[0]
    return _path_text(event.path) if event.path else ""


def _path_text(path: Any) -> str:
    if isinstance(path, tuple | list):
        parts: list[str] = [_path_text(part) for part in path]  # pyright: ignore[reportUnknownVariableType]
        return "~" + ", ".join(parts)
    return f"{path:010d}" if isinstance(path, int) and not isinstance(path, bool) else str(path)


def _versions_seen(state: CheckpointState) -> dict[str, ChannelVersions]:
    seen: dict[str, ChannelVersions] = {node: dict(channels) for node, channels in state.seen.items()}
    passed = state.seen.get(INTERRUPT, {}).get(EVERY_CHANNEL)
    if passed is not None:
        seen[INTERRUPT] = {channel: min(version, passed) for channel, version in state.versions.items() if version}
    return seen
