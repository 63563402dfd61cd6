"""What a run's config says, and how user code reaches its surroundings without parameters.

A config is a plain dictionary (langchain-core's too). The loop sets `current_scope` around each call of user
code; `get_config` and its siblings read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Final, cast

from ..eventlog.configs import configurable, thread_id_of
from ..projections.types import RunnableConfig
from .runtime import RunControl, Runtime, StreamWriter
from .scope import NodeScope

DEFAULT_RECURSION_LIMIT: Final = 10007

current_scope: ContextVar[NodeScope | None] = ContextVar("lithograph_scope", default=None)
"""The scope of the user code that runs now; set by the loop, per task."""

_PLACES = ("thread_id", "checkpoint_id", "checkpoint_ns", "task_id", "run_id", "assistant_id", "graph_id")
"""What metadata repeats of `configurable`."""

_MERGED_DICTS = ("metadata", "configurable")
CONFIG_TASK: Final = "__lithograph_task"
"""The key of a task's config under which a graph that is called with it finds the task that calls it."""
_PLACE_OF_A_TASK = frozenset({CONFIG_TASK, "checkpoint_ns", "checkpoint_id", "checkpoint_map"})
_COORDINATES = ("thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map")

__all__ = [
    "DEFAULT_RECURSION_LIMIT",
    "call_config",
    "checkpoint_map_of",
    "configurable",
    "control_now",
    "current_scope",
    "get_config",
    "get_runtime",
    "get_store",
    "get_stream_writer",
    "max_concurrency_of",
    "merge_configs",
    "metadata_of",
    "recursion_limit_of",
    "running_scope",
    "thread_id_of",
]


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


def metadata_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's metadata, with where it runs; its own keys win."""
    given: Mapping[str, Any] = config.get("metadata") or {}
    asked: Mapping[str, Any] = config.get("configurable") or {}
    return {**{key: asked[key] for key in _PLACES if asked.get(key)}, **given}


def call_config(*configs: Mapping[str, Any] | None) -> RunnableConfig:
    """Return the config that a call goes by: of several, later ones win; within a node they refine the node's own.

    One that says where to run (a thread, say) leaves the node's place: that call is a run of its own.
    """
    scope = current_scope.get()
    around: Mapping[str, Any] = {} if scope is None else scope.config
    if around and any(configurable(config).get(key) for config in configs for key in _COORDINATES):
        around = {key: value for key, value in around.items() if key != "configurable"}
    merged = merge_configs(around, *configs)
    asked = configurable(merged)
    if CONFIG_TASK in asked and str(asked.get("thread_id")) != asked[CONFIG_TASK].config_thread:
        # The node's own config with another thread in it.
        merged["configurable"] = {key: value for key, value in asked.items() if key not in _PLACE_OF_A_TASK}
    return merged


def checkpoint_map_of(config: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the checkpoints that a config names, by namespace: those of the graphs around the one it is of."""
    return cast("dict[str, str]", configurable(config).get("checkpoint_map") or {})


def recursion_limit_of(config: Mapping[str, Any] | None) -> int:
    """Return how many supersteps a run may take; raises `ValueError` below one, `TypeError` for no number."""
    limit = (config or {}).get("recursion_limit")
    if limit is None:
        return DEFAULT_RECURSION_LIMIT
    return _at_least_one(limit, "recursion_limit")


def max_concurrency_of(config: Mapping[str, Any] | None) -> int | None:
    """Return how many tasks may run side by side, `None` for no limit; raises as `recursion_limit_of` does."""
    limit = (config or {}).get("max_concurrency")
    return None if limit is None else _at_least_one(limit, "max_concurrency")


def _at_least_one(given: object, key: str) -> int:
    if not isinstance(given, int) or isinstance(given, bool):
        raise TypeError(f"{key} must be a whole number, not {type(given).__name__}: {given!r}")
    if given < 1:
        raise ValueError(f"{key} must be at least 1")
    return given


def get_config() -> RunnableConfig:
    """Return the config of the task that runs now; raises `RuntimeError` outside of a node."""
    return running_scope("get_config").config


def get_store() -> Any:
    """Return the store of the graph that runs now; raises `RuntimeError` outside of a node."""
    return running_scope("get_store").store


def get_stream_writer() -> StreamWriter:
    """Return what sends to the `custom` stream of the run; raises `RuntimeError` outside of a node."""
    return running_scope("get_stream_writer").writer


def get_runtime(context_schema: type[Any] | None = None) -> Runtime[Any]:
    """Return the runtime of the task that runs now; `context_schema` is for type checkers only."""
    return running_scope("get_runtime").runtime


def control_now() -> RunControl:
    """Return what may ask a run that begins here to stop: within a node, what may ask the run around it."""
    scope = current_scope.get()
    around = None if scope is None else scope.runtime.control
    return RunControl() if around is None else around


def running_scope(caller: str) -> NodeScope:
    """Return the scope of the user code that runs now; raises `RuntimeError`, naming `caller`, outside of a node."""
    scope = current_scope.get()
    if scope is None:
        raise RuntimeError(f"Called {caller} outside of a runnable context: it works only while a node runs.")
    return scope
