"""A run that lost its thread to another goes on in a fork of its own: `invoke(…, on_conflict="fork")`."""

from __future__ import annotations

from typing import Any

from ..eventlog.clock import id_text
from ..eventlog.events import CheckpointCommitted
from ..projections.types import RunnableConfig
from .config import configurable, merge_configs
from .persistence import Persistence


def branch_name(thread_id: str, run: bytes) -> str:
    """Return the thread id of the branch on which a run goes on that lost its thread."""
    return f"{thread_id}~{id_text(run)}"


def branch(
    persistence: Persistence, config: RunnableConfig, run: bytes, base: bytes | None, given: Any
) -> tuple[RunnableConfig, Any]:
    """Open the branch of a run and return the config and input with which it goes on there.

    It begins at the run's last durable checkpoint and goes on with what is pending; a run that recorded none begins
    where it had begun, with its input.
    """
    thread = persistence.open(config)
    name = branch_name(thread.id, run)
    own = _last_own(persistence, thread.stream, run)
    start = own or base
    if start is not None:
        source = {"configurable": {"thread_id": thread.id, "checkpoint_id": id_text(start)}}
        persistence.log.fork(source, name)
    place = {key: value for key, value in configurable(config).items() if not key.startswith("checkpoint_")}
    there = merge_configs(config, {"configurable": {"thread_id": name}})
    there["configurable"] = {**place, "thread_id": name}
    return there, None if own is not None else given


def _last_own(persistence: Persistence, stream: bytes, run: bytes) -> bytes | None:
    """Return the last checkpoint that a run committed to a stream."""
    last: bytes | None = None
    for page in persistence.log.scan_stream(stream):
        for record in page:
            if record.header.run == run and record.header.kind == CheckpointCommitted.kind:
                event = record.event
                assert isinstance(event, CheckpointCommitted)
                last = event.id
    return last
