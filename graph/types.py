"""The public types of the graph room, under LangGraph's names.

Values that projections read too live in `projections/types.py`, `RetryPolicy` in `retry`, `Runtime` in `runtime`; they
are re-exported here.
This release keeps `CachePolicy` importable and refuses it where it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..projections.timeouts import TimeoutPolicy
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
from .runtime import BaseUser, ExecutionInfo, RunControl, Runtime, ServerInfo, StreamWriter

__all__ = [
    "END",
    "START",
    "All",
    "BaseUser",
    "CachePolicy",
    "Command",
    "Durability",
    "ExecutionInfo",
    "Interrupt",
    "Overwrite",
    "PregelTask",
    "RetryPolicy",
    "RunControl",
    "RunnableConfig",
    "Runtime",
    "Send",
    "ServerInfo",
    "StateSnapshot",
    "StateUpdate",
    "StreamMode",
    "StreamWriter",
    "TimeoutPolicy",
    "default_retry_on",
]

Durability = Literal["sync", "async", "exit"]
"""When a run's appends must be on disk: before the next superstep, behind the run, or at its end."""

All = Literal["*"]
"""Every node, where a list of node names is expected."""

StreamMode = Literal["values", "updates", "checkpoints", "tasks", "debug", "messages", "custom"]
"""What `stream` yields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePolicy:
    """When a node's writes may be taken from the cache; `ttl` in seconds."""

    key_func: Callable[..., str | bytes] | None = None
    ttl: int | None = None
