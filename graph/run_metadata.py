"""What a run's config says of it: who acts and why, and what its checkpoints keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..eventlog.context import Actor
from ..eventlog.texts import checked_text
from ..projections.cells import Values
from ..projections.run_metadata import run_metadata


def actor_of(config: Mapping[str, Any]) -> Actor:
    """Return who acts and why, as `config["metadata"]` says; raises `InvalidText` for half characters."""
    metadata: dict[str, Any] = config.get("metadata") or {}
    actor, reason = metadata.get("actor"), metadata.get("reason")
    return Actor(
        checked_text(actor, "the actor") if isinstance(actor, str) else None,
        checked_text(reason, "the reason") if isinstance(reason, str) else None,
    )


def encoded_metadata(config: Mapping[str, Any], values: Values) -> bytes | None:
    """Return what a checkpoint keeps of a run's config, encoded; `None` when there is nothing."""
    kept = run_metadata(config, {})
    return values.raw(kept) if kept else None
