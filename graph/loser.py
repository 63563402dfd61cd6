"""A run that lost its thread to another goes on in a fork of its own: `invoke(…, on_conflict="fork")`."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..eventlog.clock import id_text
from ..eventlog.events import CheckpointCommitted
from ..eventlog.forking import fork
from ..projections.types import RunnableConfig
from .config import configurable, merge_configs
from .persistence import Persistence


class Lost(NamedTuple):
    """A run that lost its thread, and what of it is on disk there: the versions after `begun`, up to `durable`."""

    run: bytes
    base: bytes | None
    """The checkpoint that it began at."""
    begun: int
    durable: int
    goes_on: bool
    """Whether its input is recorded as a whole, so that what is on disk can be gone on with."""


def branch_name(thread_id: str, run: bytes) -> str:
    """Return the thread id of the branch on which a run goes on that lost its thread."""
    return f"{thread_id}~{id_text(run)}"


def branch(persistence: Persistence, config: RunnableConfig, lost: Lost, given: Any) -> tuple[RunnableConfig, Any]:
    """Open the branch of a run and return the config and input with which it goes on there.

    It begins where the run was when it last wrote, tasks that had finished included, and goes on with what is pending;
    a run that recorded too little for that begins where it had begun, with its input.
    """
    thread = persistence.open(config)
    name = branch_name(thread.id, lost.run)
    source = {"configurable": {"thread_id": thread.id}}
    goes_on = _goes_on(persistence, thread.stream, lost)
    if goes_on:
        fork(persistence.log, source, name, until=lost.durable)
    elif lost.base is not None:
        source["configurable"]["checkpoint_id"] = id_text(lost.base)
        fork(persistence.log, source, name, until=lost.begun)
    place = {key: value for key, value in configurable(config).items() if not key.startswith("checkpoint_")}
    there = merge_configs(config, {"configurable": {"thread_id": name}})
    there["configurable"] = {**place, "thread_id": name}
    return there, None if goes_on else given


def _goes_on(persistence: Persistence, stream: bytes, lost: Lost) -> bool:
    """Tell whether what is on disk of a run is enough to go on from."""
    last: CheckpointCommitted | None = None
    for page in persistence.log.scan_stream(stream, after=lost.begun, until=lost.durable):
        for record in page:
            if isinstance(event := record.event, CheckpointCommitted):
                last = event
    if last is None:
        return lost.goes_on and lost.base is not None and lost.durable > lost.begun
    # An answer for whatever a branch asks first is recorded with the step that took it.
    return lost.goes_on or last.source != "fork"
