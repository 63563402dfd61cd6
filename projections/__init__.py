"""Folds over the log: a thread's state at any checkpoint, its history, forks, differences; the checkpointer.

Start reading at `fold` (one pure function), then `state`, `thread`, `reader`, `snapshot`.
"""

from .checkpointer import EventLogSaver, InMemorySaver
from .checkpoints import Checkpoint, CheckpointMetadata, CheckpointTuple
from .connections import HoldsOtherCheckpoints
from .diff import Change, ChannelDiff, diff
from .errors import (
    CheckpointerRequired,
    CheckpointNotFound,
    EmptyChannelError,
    FoldError,
    InvalidUpdateError,
    MissingThreadId,
    NotSupportedYet,
    ReadError,
    ReducerDrift,
)
from .lineage import Ancestor, lineage
from .queries import history, snapshot
from .threads import ThreadInfo, threads
from .types import PregelTask, StateSnapshot
from .view_writer import rebuild_views

__all__ = [
    "EventLogSaver",
    "InMemorySaver",
    "CheckpointTuple",
    "Checkpoint",
    "CheckpointMetadata",
    "HoldsOtherCheckpoints",
    "StateSnapshot",
    "PregelTask",
    "snapshot",
    "history",
    "diff",
    "Change",
    "ChannelDiff",
    "lineage",
    "Ancestor",
    "threads",
    "rebuild_views",
    "ThreadInfo",
    "CheckpointNotFound",
    "CheckpointerRequired",
    "EmptyChannelError",
    "FoldError",
    "InvalidUpdateError",
    "MissingThreadId",
    "NotSupportedYet",
    "ReadError",
    "ReducerDrift",
]
