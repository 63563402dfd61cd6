"""Opening a log to read, and finding in it what a verb was asked for.

Every verb but `demo` opens the log read-only and runs no user code. What is not there is `NothingFound`, a
finding (exit code 1); a log that cannot be opened is `CannotOpen` (exit code 2).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..eventlog import EventLog
    from ..projections import StateSnapshot


class NothingFound(Exception):
    """What was asked for is not in the log; the message says how to see what is."""


class CannotOpen(Exception):
    """The log cannot be opened; the message says why and what to do. `damaged`: because of what is stored."""

    def __init__(self, message: str, *, damaged: bool = False) -> None:
        super().__init__(message)
        self.damaged = damaged


class Who(NamedTuple):
    """Who acted, and why; `None` where nobody said."""

    actor: str | None
    reason: str | None


@contextmanager
def opened(path: Path, *, read_only: bool = True) -> Generator[EventLog]:
    """Open the log at `path` for the length of a `with` block."""
    from ..eventlog import EventLog
    from ..eventlog.errors import CorruptionError, LithographError, NotALog

    try:
        if read_only and not path.exists():
            raise CannotOpen(f"there is nothing at {path}; `lithograph demo --log {path}` makes a log there")
        log = EventLog(path, read_only=read_only)
    except NotALog as error:
        raise CannotOpen(f"{error} [{error.code}]") from error
    except LithographError as error:
        damaged = isinstance(error, CorruptionError)
        raise CannotOpen(f"cannot open {path}: {error} [{error.code}]", damaged=damaged) from error
    except PermissionError as error:
        raise CannotOpen(f"cannot open {path}: permission denied; check who owns it") from error
    with log:
        yield log


def config_of(thread: str, checkpoint: str | None = None, *, namespace: str = "") -> dict[str, Any]:
    """Return the config that addresses a thread, or one checkpoint of it."""
    configurable = {"thread_id": thread, "checkpoint_ns": namespace}
    if checkpoint is not None:
        configurable["checkpoint_id"] = checkpoint
    return {"configurable": configurable}


def find_snapshot(log: EventLog, thread: str, checkpoint: str | None = None, *, namespace: str = "") -> StateSnapshot:
    """Return a thread's state at a checkpoint, its latest by default."""
    from ..projections import snapshot
    from ..projections.errors import CheckpointNotFound

    require_thread(log, thread)
    try:
        found = snapshot(log, config_of(thread, checkpoint, namespace=namespace))
    except CheckpointNotFound as error:
        raise NothingFound(f"thread {thread} has no checkpoint {checkpoint}; `history` lists them") from error
    if checkpoint_id(found) is None:
        raise no_checkpoint(thread, namespace)
    return found


def no_checkpoint(thread: str, namespace: str) -> NothingFound:
    """Return the error for a thread, or a namespace of it, without a checkpoint."""
    where = f" in namespace {namespace!r}" if namespace else ""
    return NothingFound(f"thread {thread} has no checkpoint{where}; `tail --thread {thread}` shows its events")


def require_thread(log: EventLog, thread: str) -> None:
    """Raise `NothingFound` unless the log has the thread."""
    if not log.head(thread_stream(log, thread)).version:
        raise NothingFound(f"no thread {thread!r} in this log; `threads` lists them")


def thread_stream(log: EventLog, thread: str) -> bytes:
    """Return the id of a thread's stream."""
    from ..eventlog import StreamName

    return log.stream_id(StreamName("thread", thread))


def checkpoint_id(found: StateSnapshot) -> str | None:
    """Return the id of a snapshot's checkpoint, or `None` when the thread has none."""
    return _id_in(found.config)


def parent_id(found: StateSnapshot) -> str | None:
    """Return the id of the checkpoint that a snapshot's goes on from, or `None` for the first."""
    return _id_in(found.parent_config or {})


def actors(log: EventLog, thread: str) -> dict[str, Who]:
    """Return who made each of a thread's checkpoints, by id; for a fork also those it inherited."""
    from ..eventlog.clock import id_text
    from ..eventlog.events import CheckpointCommitted, ThreadForked
    from ..projections import lineage

    who: dict[str, Who] = {}
    forked = False
    for page in log.scan_stream(thread_stream(log, thread)):
        for record in page:
            forked = forked or record.header.kind == ThreadForked.kind
            if record.header.kind != CheckpointCommitted.kind:
                continue
            body = record.body
            assert isinstance(body.event, CheckpointCommitted), "the header names the kind of its event"
            who[id_text(body.event.id)] = Who(body.actor, body.reason)
    if forked:
        for each in lineage(log, config_of(thread)):
            who.setdefault(each.checkpoint_id, Who(each.actor, each.reason))
    return who


def who_text(who: Who | None) -> str:
    """Return who acted and why as one text, empty when nobody said."""
    if who is None or who.actor is None:
        return ""
    return f"{who.actor}: {who.reason}" if who.reason else who.actor


def _id_in(config: Mapping[str, Any]) -> str | None:
    return config.get("configurable", {}).get("checkpoint_id")
