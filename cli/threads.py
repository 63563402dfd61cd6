"""`lithograph threads`: which threads a log has, and how far each of them is."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import AsJson, LogPath
from .output import say, write_json, write_table
from .plain import short
from .reading import NothingFound, checkpoint_id, config_of, opened

if TYPE_CHECKING:
    from ..projections import StateSnapshot


def threads(
    log: LogPath,
    *,
    waiting: Annotated[bool, typer.Option("--waiting", help="Only threads that wait for an answer.")] = False,
    limit: Annotated[int, typer.Option(metavar="N", min=0, help="At most so many threads; 0 for all.")] = 50,
    as_json: AsJson = False,
) -> int:
    """List the threads of a log: state, latest checkpoint, and the question that waits, if one does."""
    from ..projections import snapshot
    from ..projections import threads as all_threads

    with opened(log) as opened_log:
        rows = (_row(thread, snapshot(opened_log, config_of(thread))) for thread in all_threads(opened_log))
        wanted = (row for row in rows if row["interrupts"] or not waiting)
        shown = list(islice(wanted, limit or None))
        more = next(wanted, None) is not None
    if as_json:
        for row in shown:
            write_json(row)
    elif shown:
        _write_table(shown)
        if more:
            say(f"only the first {limit} are shown; --limit 0 shows all")
    if not shown:
        raise NothingFound("no thread waits for an answer" if waiting else "the log has no thread yet")
    return 0


def _row(thread: str, latest: StateSnapshot) -> dict[str, Any]:
    return {
        "thread_id": thread,
        "state": _state(latest),
        "step": (latest.metadata or {}).get("step"),
        "next": list(latest.next),
        "interrupts": [interrupt.value for interrupt in latest.interrupts],
        "checkpoint_id": checkpoint_id(latest),
        "created_at": latest.created_at,
    }


def _state(latest: StateSnapshot) -> str:
    if latest.interrupts:
        return "waiting"
    if any(task.error for task in latest.tasks):
        return "failed"
    return "unfinished" if latest.next else "finished"


def _write_table(rows: list[dict[str, Any]]) -> None:
    write_table(
        ["thread", "state", "step", "next", "latest checkpoint", "at", "question"],
        [
            [
                row["thread_id"],
                row["state"],
                str(row["step"]),
                ", ".join(row["next"]),
                row["checkpoint_id"] or "",
                (row["created_at"] or "")[:19],
                short(row["interrupts"][0], width=60) if row["interrupts"] else "",
            ]
            for row in rows
        ],
        right=["step"],
    )
