"""The public types of the graph room, under LangGraph's names.

Values that projections read too live in `projections/types.py`, `RetryPolicy` in `retry`, `CachePolicy` in `cache`,
`Runtime` in `runtime`; they are re-exported here.
"""

from __future__ import annotations

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
from .cache import CachePolicy
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
