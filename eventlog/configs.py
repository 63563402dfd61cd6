"""What a config says about persistence: which thread, which checkpoint. Configs are plain dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID

from .errors import MissingThreadId
from .texts import checked_text


def configurable(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the `configurable` part of a config, empty when there is none."""
    return cast("dict[str, Any]", (config or {}).get("configurable") or {})


def thread_id_of(config: Mapping[str, Any] | None) -> str:
    """Return the thread that a config names; `int` and `UUID` ids count as their text.

    Raises `MissingThreadId` without one, `TypeError` for an id of another type and `InvalidText` for half characters.
    """
    given = configurable(config).get("thread_id")
    if given is None:
        raise MissingThreadId(
            "Checkpointer requires one or more of the following 'configurable' keys: thread_id. "
            'Pass a config like {"configurable": {"thread_id": "1"}}.'
        )
    return thread_text(given)


def thread_text(given: object) -> str:
    """Return a thread's id as text; `int` and `UUID` count as their text, anything else is a `TypeError`."""
    if isinstance(given, str):
        return checked_text(given, "the thread id")
    if isinstance(given, int | UUID) and not isinstance(given, bool):
        return str(given)
    raise TypeError(f"thread_id must be a str, int or UUID, not {type(given).__name__}: {given!r}")
