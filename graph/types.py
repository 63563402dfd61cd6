"""The public types of the graph room, under LangGraph's names.

Values that projections read too live in `projections/types.py`, `RetryPolicy` in `retry`; they are re-exported here.
This release keeps `CachePolicy` importable and refuses it where it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

from ..projections.types import (
    END,
    START,
    Command,
    Interrupt,
    Overwrite,
    PregelTask,
    RunnableConfig,
    Send,
    StateSnapshot,
    StateUpdate,
)
from .retry import RetryPolicy, default_retry_on

__all__ = [
    "END",
    "START",
    "All",
    "CachePolicy",
    "Command",
    "Durability",
    "ExecutionInfo",
    "Interrupt",
    "Overwrite",
    "PregelTask",
    "RetryPolicy",
    "RunnableConfig",
    "Runtime",
    "Send",
    "StateSnapshot",
    "StateUpdate",
    "StreamMode",
    "StreamWriter",
    "default_retry_on",
]

Durability = Literal["sync", "async", "exit"]
"""When a run's appends must be on disk: before the next superstep, behind the run, or at its end."""

All = Literal["*"]
"""Every node, where a list of node names is expected."""

StreamMode = Literal["values", "updates", "checkpoints", "tasks", "debug", "messages", "custom"]
"""What `stream` yields."""

StreamWriter = Callable[[Any], None]
"""Sends one chunk to the `custom` stream; injected into a parameter `writer: StreamWriter`."""

ContextT = TypeVar("ContextT")


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePolicy:
    """When a node's writes may be taken from the cache; `ttl` in seconds."""

    key_func: Callable[..., str | bytes] | None = None
    ttl: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionInfo:
    """Where a task runs: its thread, checkpoint, run and attempt."""

    checkpoint_id: str | None = None
    checkpoint_ns: str = ""
    task_id: str = ""
    thread_id: str | None = None
    run_id: str | None = None
    node_attempt: int = 1
    node_first_attempt_time: float | None = None


def _write_nowhere(_chunk: Any) -> None:
    """Stand in for a stream that nobody reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime(Generic[ContextT]):
    """What surrounds a run: the caller's `context`, the store, the stream writer, where it runs.

    def node(state: State, runtime: Runtime[Context]) -> dict: ...
    """

    context: ContextT = field(default=None)  # pyright: ignore[reportAssignmentType]
    store: Any = None
    stream_writer: StreamWriter = _write_nowhere
    previous: Any = None
    execution_info: ExecutionInfo | None = None

    def override(self, **changes: Any) -> Runtime[ContextT]:
        """Return a copy with some fields replaced."""
        return replace(self, **changes)
