"""What a run's config says, and how user code reaches its surroundings without parameters.

A config is a plain dictionary (langchain-core's too). The loop sets `current_scope` around each call of user
code; `get_config` and its siblings read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Final, cast
from uuid import UUID

from ..projections.errors import MissingThreadId
from ..projections.types import RunnableConfig
from .scope import NodeScope
from .types import Runtime, StreamWriter

DEFAULT_RECURSION_LIMIT: Final = 10007

current_scope: ContextVar[NodeScope | None] = ContextVar("lithograph_scope", default=None)
"""The scope of the user code that runs now; set by the loop, per task."""

_MERGED_DICTS = ("metadata", "configurable")


def merge_configs(*configs: Mapping[str, Any] | None) -> RunnableConfig:
    """Return one config of several: later ones win, `metadata` and `configurable` key by key, tags add up."""
    merged: dict[str, Any] = {}
    for config in configs:
        for key, value in (config or {}).items():
            if value is None and key in merged:
                continue
            if key in _MERGED_DICTS and value is not None:
                merged[key] = {**merged.get(key, {}), **value}
            elif key == "tags" and value is not None:
                merged[key] = list(dict.fromkeys([*merged.get(key, []), *value]))
            else:
                merged[key] = value
    return cast("RunnableConfig", merged)


def configurable(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the `configurable` part of a config, empty when there is none."""
    return cast("dict[str, Any]", (config or {}).get("configurable") or {})


def thread_id_of(config: Mapping[str, Any] | None) -> str:
    """Return the thread that a config names; `int` and `UUID` ids count as their text.

    Raises `MissingThreadId` without one and `TypeError` for an id of another type.
    """
    given = configurable(config).get("thread_id")
    if given is None:
        raise MissingThreadId(
            "Checkpointer requires one or more of the following 'configurable' keys: thread_id. "
            'Pass a config like {"configurable": {"thread_id": "1"}}.'
        )
    if isinstance(given, str):
        return given
    if isinstance(given, int | UUID) and not isinstance(given, bool):
        return str(given)
    raise TypeError(f"thread_id must be a str, int or UUID, not {type(given).__name__}: {given!r}")


def recursion_limit_of(config: Mapping[str, Any] | None) -> int:
    """Return how many supersteps a run may take; raises `ValueError` below one."""
    limit = (config or {}).get("recursion_limit")
    if limit is None:
        return DEFAULT_RECURSION_LIMIT
    if limit < 1:
        raise ValueError("recursion_limit must be at least 1")
    return cast("int", limit)


def get_config() -> RunnableConfig:
    """Return the config of the task that runs now; raises `RuntimeError` outside of a node."""
    return _scope("get_config").config


def get_store() -> Any:
    """Return the store of the graph that runs now; raises `RuntimeError` outside of a node."""
    return _scope("get_store").store


def get_stream_writer() -> StreamWriter:
    """Return what sends to the `custom` stream of the run; raises `RuntimeError` outside of a node."""
    return _scope("get_stream_writer").writer


def get_runtime(context_schema: type[Any] | None = None) -> Runtime[Any]:
    """Return the runtime of the task that runs now; `context_schema` is for type checkers only."""
    return _scope("get_runtime").runtime


def _scope(caller: str) -> NodeScope:
    scope = current_scope.get()
    if scope is None:
        raise RuntimeError(f"Called {caller} outside of a runnable context: it works only while a node runs.")
    return scope
