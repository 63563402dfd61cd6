"""Errors and signals of the graph room (codes LG4xx).

Signals (`GraphBubbleUp` and what derives from it) are no errors: they carry an interrupt or a command out
of user code and derive from `BaseException`, so that `except Exception` in a node cannot swallow one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ..eventlog.errors import LithographError
from ..projections.errors import (
    CheckpointNotFound,
    EmptyChannelError,
    InvalidUpdateError,
    MissingThreadId,
    NotSupportedYet,
    ReducerDrift,
)
from ..projections.types import Command, Interrupt

__all__ = [
    "AmbiguousResume",
    "CacheKeyError",
    "CheckpointNotFound",
    "EmptyChannelError",
    "EmptyInputError",
    "GraphBubbleUp",
    "GraphDrained",
    "GraphError",
    "GraphInterrupt",
    "GraphRecursionError",
    "InvalidRunId",
    "InvalidStreamOption",
    "InvalidUpdateError",
    "MissingThreadId",
    "MutatedInputError",
    "NodeCancelledError",
    "NodeError",
    "NoRootCheckpointer",
    "NodeInterrupt",
    "NodeNotFound",
    "NodeTimeoutError",
    "NotSupportedYet",
    "NothingToResume",
    "ParentCommand",
    "RecordedError",
    "ReducerDrift",
    "SubgraphNotFound",
    "SyncNodeMissing",
    "SyncTimeout",
    "TaskNotFound",
    "UnknownInterruptError",
    "UnknownKeyWarning",
]


class GraphError(LithographError):
    """A graph, a run or an update of one was refused or ended early."""

    code = "LG420"


class GraphRecursionError(GraphError, RecursionError):
    """The run reached its `recursion_limit`; the last checkpoint is kept and `invoke(None)` goes on."""

    code = "LG421"


class EmptyInputError(GraphError):
    """There was nothing to run: no input, and nothing pending on the thread."""

    code = "LG422"


class NodeNotFound(GraphError, ValueError):
    """Pending work, a `Send` or a `goto` names a node that the graph no longer has."""

    code = "LG423"


class NothingToResume(GraphError, RuntimeError):
    """An answer was given, and no interrupt of the thread waits for one."""

    code = "LG424"


class AmbiguousResume(GraphError, RuntimeError):
    """One bare answer, several pending interrupts; `pending_ids` lists them."""

    code = "LG425"

    def __init__(self, message: str, *, pending_ids: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.pending_ids = tuple(pending_ids)


class UnknownInterruptError(GraphError):
    """A map of answers names interrupts that are not pending; nothing was applied."""

    code = "LG426"

    def __init__(
        self,
        message: str,
        *,
        reason: Literal["not_pending", "empty_map", "ambiguous"] = "not_pending",
        interrupt_ids: Sequence[str] = (),
        pending_ids: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.interrupt_ids = tuple(interrupt_ids)
        self.pending_ids = tuple(pending_ids)


class TaskNotFound(GraphError):
    """A task id names no task of the superstep."""

    code = "LG427"


class MutatedInputError(GraphError):
    """A node changed its input in place (found with `compile(strict=True)`)."""

    code = "LG428"

    def __init__(self, message: str, *, node: str = "", channel: str = "") -> None:
        super().__init__(message)
        self.node = node
        self.channel = channel


class SyncNodeMissing(GraphError, TypeError):
    """A synchronous run met a node or router that is only asynchronous."""

    code = "LG429"


class UnknownKeyWarning(UserWarning):
    """A node wrote a key that no channel of the graph has; it was not stored."""

    code: ClassVar[str] = "LG430"


class InvalidRunId(GraphError, ValueError):
    """A config's `run_id` is no UUID; nothing was stored."""

    code = "LG431"


class InvalidStreamOption(GraphError, ValueError):
    """A call asked for a mode, a version or a key to be streamed that there is not; nothing was run."""

    code = "LG440"


class SubgraphNotFound(GraphError, ValueError):
    """A config names the namespace of a graph inside this one, and there is none; nothing was stored."""

    code = "LG432"


class NoRootCheckpointer(GraphError, RuntimeError):
    """A graph that keeps its state inside another's thread was run by itself."""

    code = "LG434"


class MethodNotYet(NotSupportedYet, AttributeError):
    """A method of LangGraph's that is wanted and not there; `hasattr` says no."""

    code: ClassVar[str] = "LG433"


class NodeTimeoutError(GraphError):
    """An attempt of a node took longer than its `TimeoutPolicy` allows; `kind` says which limit, `timeout` its seconds.

    No `TimeoutError`, which is an `OSError`: the default `RetryPolicy` tries again.
    """

    code = "LG451"

    def __init__(
        self,
        node: str,
        elapsed: float,
        *,
        kind: Literal["idle", "run"],
        idle_timeout: float | None = None,
        run_timeout: float | None = None,
    ) -> None:
        timeout = {"idle": idle_timeout, "run": run_timeout}.get(kind)
        if kind not in ("idle", "run"):
            raise ValueError("kind must be 'idle' or 'run'")
        if timeout is None:
            raise ValueError(f"{kind}_timeout is required when kind={kind!r}")
        without = " without making progress" if kind == "idle" else ""
        super().__init__(
            f"Node '{node}' exceeded its {kind} timeout of {timeout:.3f}s{without} (elapsed: {elapsed:.3f}s)."
        )
        self.node = node
        self.timeout = timeout
        self.elapsed = elapsed
        self.kind = kind
        self.idle_timeout = idle_timeout
        self.run_timeout = run_timeout


class NodeCancelledError(GraphError):
    """A node raised `asyncio.CancelledError` itself, with nobody cancelling it: it failed; it is not tried again."""

    code = "LG452"

    def __init__(self, node: str, message: str | None = None) -> None:
        super().__init__(message or f"Node {node!r} raised asyncio.CancelledError")
        self.node = node


class SyncTimeout(GraphError, ValueError):
    """A `timeout` was given to a node that is not asynchronous: what runs on a thread cannot be stopped."""

    code = "LG453"

    def __init__(self, node: str, *, kind: str = "Node") -> None:
        super().__init__(
            "Node timeouts are only supported for async nodes because sync Python execution cannot be safely cancelled "
            f"in-process. {kind} {node!r} is sync."
        )
        self.node = node


class CacheKeyError(GraphError, TypeError):
    """A node's input has no stored form, so nothing can be looked for in the cache."""

    code = "LG454"


@dataclass(frozen=True, slots=True)
class NodeError:
    """What an error handler is told of: the node that failed, and what it raised.

    def handler(state: State, error: NodeError) -> Command: ...
    """

    node: str
    error: BaseException
    """What the node raised; a `RecordedError` when it failed in an earlier run."""


class RecordedError(GraphError):
    """An error of an earlier run, as the log has it: its text is the `repr` of what was raised."""

    code = "LG455"


class GeneratorRefused(GraphError, NotImplementedError):
    """An entrypoint is a generator."""

    code = "LG456"


class GraphBubbleUp(BaseException):
    """The root of the signals that leave user code."""

    code: ClassVar[str] = "LG440"


class GraphInterrupt(GraphBubbleUp):
    """A task paused with one or more interrupts."""

    code: ClassVar[str] = "LG441"

    def __init__(self, interrupts: Sequence[Interrupt] = ()) -> None:
        super().__init__(interrupts)
        self.interrupts = tuple(interrupts)


class HeldBack(GraphInterrupt):
    """A task's graph keeps a state in which another task of the step waits for an answer; it has not begun."""

    code: ClassVar[str] = "LG446"


class NodeInterrupt(GraphInterrupt):
    """The old way to pause from a node; use `interrupt(value)`."""

    code: ClassVar[str] = "LG442"

    def __init__(self, value: Any, id: str | None = None) -> None:
        super().__init__([Interrupt(value) if id is None else Interrupt(value, id)])


class GraphDrained(GraphBubbleUp, Exception):
    """The run stopped before a superstep, because its `RunControl` was asked to; `invoke(None)` goes on from there.

    It reaches whoever called the run, so it is an `Exception` too, as in LangGraph.
    """

    code: ClassVar[str] = "LG450"

    def __init__(self, reason: str = "shutdown") -> None:
        super().__init__(f"Graph drained: {reason}")
        self.reason = reason


class ParentCommand(GraphBubbleUp):
    """A command meant for the graph around this one."""

    code: ClassVar[str] = "LG443"

    def __init__(self, command: Command[Any]) -> None:
        super().__init__(command)
        self.command = command
