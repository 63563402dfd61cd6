"""What a checkpoint keeps of the config that its run came with: the scalars of `metadata` and `configurable`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

PLACES = frozenset(
    {
        "thread_id",
        "checkpoint_id",
        "checkpoint_ns",
        "checkpoint_map",
        "langgraph_step",
        "langgraph_node",
        "langgraph_triggers",
        "langgraph_path",
        "langgraph_checkpoint_ns",
    }
)
"""Keys of a config that say where a run is, and are no metadata of its checkpoints."""


def run_metadata(config: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a checkpoint's metadata with the scalars of the run's config that are not in it yet.

    `metadata` of the config wins over `configurable`; keys that begin with two underscores are private.
    """
    merged = {key: _without_nul(value) for key, value in metadata.items()}
    for part in ("metadata", "configurable"):
        given = cast("Mapping[Any, Any]", config.get(part) or {})
        for key, value in given.items():
            if not isinstance(key, str) or key in merged or key in PLACES or key.startswith("__"):
                continue
            if isinstance(value, str | int | float | bool):
                merged[key] = _without_nul(value)
    return merged


def _without_nul(value: Any) -> Any:
    return value.replace("\0", "") if isinstance(value, str) else value
