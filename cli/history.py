"""`lithograph history`: every checkpoint of a thread, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from .options import AsJson, LogPath, Namespace, ThreadId
from .output import say, write_json, write_table
from .plain import short
from .reading import (
    Who,
    actors,
    checkpoint_id,
    config_of,
    no_checkpoint,
    opened,
    parent_id,
    require_thread,
    who_text,
)

if TYPE_CHECKING:
    from ..projections import StateSnapshot


def history(
    log: LogPath,
    thread: ThreadId,
    *,
    limit: Annotated[int, typer.Option(metavar="N", min=0, help="At most so many checkpoints; 0 for all.")] = 50,
    namespace: Namespace = "",
    as_json: AsJson = False,
) -> int:
    """List a thread's checkpoints, newest first: step, what made it, what runs next, who and why."""
    from ..projections import history as all_history

    with opened(log) as opened_log:
        require_thread(opened_log, thread)
        who = actors(opened_log, thread)
        found = all_history(opened_log, config_of(thread, namespace=namespace))
        rows = [_row(each, who) for each in islice(found, limit or None)]
        more = next(found, None) is not None
    if not rows:
        raise no_checkpoint(thread, namespace)
    if as_json:
        for row in rows:
            write_json(row)
        return 0
    _write_table(rows)
    if more:
        say(f"only the newest {limit} shown; --limit 0 shows all")
    return 0


def _row(each: StateSnapshot, who: dict[str, Who]) -> dict[str, Any]:
    metadata: Mapping[str, Any] = each.metadata or {}
    number = checkpoint_id(each) or ""
    made = who.get(number, Who(None, None))
    return {
        "checkpoint_id": number,
        "parent_id": parent_id(each),
        "step": metadata.get("step"),
        "source": metadata.get("source"),
        "writes": each.writes,
        "next": list(each.next),
        "interrupts": [interrupt.value for interrupt in each.interrupts],
        "created_at": each.created_at,
        "actor": made.actor,
        "reason": made.reason,
    }


def _write_table(rows: list[dict[str, Any]]) -> None:
    write_table(
        ["step", "checkpoint", "source", "written by", "next", "at", "who"],
        [
            [
                str(row["step"]),
                row["checkpoint_id"],
                str(row["source"]),
                short(_writers(row), width=40),
                ", ".join(row["next"]) + (" (waits)" if row["interrupts"] else ""),
                (row["created_at"] or "")[:19],
                who_text(Who(row["actor"], row["reason"])),
            ]
            for row in rows
        ],
        right=["step"],
        whole="checkpoint",
        below=["at", "who"],
    )


def _writers(row: dict[str, Any]) -> str:
    """Return who wrote what made a checkpoint: the nodes; an input is the caller's."""
    writes = row["writes"]
    if row["source"] == "input":
        return "(the caller)"
    return ", ".join(cast("Mapping[str, Any]", writes)) if isinstance(writes, Mapping) else ""
