"""Errors of folding, of snapshots and of the graph that the lower rooms raise themselves (codes LG4xx).

The graph room adds its own in `graph/errors.py` and re-exports these. Each derives from the built-in class
that a LangGraph user would catch at the same place.
"""

from __future__ import annotations

from ..eventlog.errors import LithographError


class FoldError(LithographError):
    """A fold, or a read of what a fold made, was refused."""

    code = "LG400"


class InvalidUpdateError(FoldError):
    """Writes do not fit the channel they are meant for, or a node returned what is no update."""

    code = "LG401"


class EmptyChannelError(FoldError):
    """A channel was read that has no value yet."""

    code = "LG402"


class CheckpointNotFound(FoldError, ValueError):
    """The config names a checkpoint id that its thread does not have; nothing was appended."""

    code = "LG403"


class MissingThreadId(FoldError, ValueError, KeyError):
    """The config names no thread: `{"configurable": {"thread_id": …}}` is needed with a checkpointer."""

    code = "LG404"

    def __str__(self) -> str:
        """Return the message itself; `KeyError` alone would show its repr."""
        return str(self.args[0]) if self.args else ""


class ReducerDrift(FoldError):
    """A refold with today's reducers differs from what the log recorded; a finding, never a read error."""

    code = "LG405"


class NotSupportedYet(LithographError, NotImplementedError):
    """An option that this release knows but does not carry out; it is refused, never ignored."""

    code = "LG406"
