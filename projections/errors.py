"""Errors of folding and reading: what a channel refuses, and what a reader cannot find."""

from __future__ import annotations

from ..eventlog.errors import CheckpointNotFound, LithographError, MissingThreadId, ReadError

__all__ = [
    "FoldError",
    "InvalidUpdateError",
    "EmptyChannelError",
    "ReducerDrift",
    "ReadError",
    "MissingThreadId",
    "CheckpointNotFound",
    "CheckpointerRequired",
    "NotSupportedYet",
]


class FoldError(LithographError):
    """A step's writes cannot be folded into the channels."""

    code = "LG500"


class InvalidUpdateError(FoldError):
    """Writes that a channel refuses, or an update that names no node; nothing was committed."""

    code = "LG501"

    def __init__(self, message: str, *, channel: str = "") -> None:
        super().__init__(message)
        self.channel = channel


class EmptyChannelError(FoldError, KeyError):
    """A channel was read that holds nothing."""

    code = "LG502"


class ReducerDrift(FoldError):
    """Refolding with today's reducers gives another result than the one recorded, at `checkpoint`, of `channel`."""

    code = "LG503"

    def __init__(self, message: str, *, checkpoint: str = "", channel: str = "") -> None:
        super().__init__(message)
        self.checkpoint = checkpoint
        self.channel = channel


class InvalidSearchError(ReadError, ValueError):
    """A filter, a limit or an offset is not one that is understood; nothing was read."""

    code = "LG514"


class CheckpointerRequired(ReadError, ValueError):
    """Something about persistence was asked of a graph compiled without a checkpointer."""

    code = "LG513"


class NotSupportedYet(LithographError, NotImplementedError):
    """A feature with a name and a place, which this release does not have; the message names it."""

    code = "LG520"
