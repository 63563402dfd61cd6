"""`lithograph threads`: which threads a log has, and how far each of them is."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import AsJson, LogPath
from .output import say, write_json, write_table
from .plain import plain, short
from .reading import NothingFound, config_of, opened

if TYPE_CHECKING:
    from ..eventlog import EventLog
    from ..projections import ThreadInfo

_INTERRUPTED = "interrupted"


def threads(
    log: LogPath,
    *,
    waiting: Annotated[bool, typer.Option("--waiting", help="Only threads that wait for an answer.")] = False,
    limit: Annotated[int, typer.Option(metavar="N", min=0, help="At most so many threads; 0 for all.")] = 50,
    as_json: AsJson = False,
) -> int:
    """List the threads of a log: status, latest checkpoint, and the question that waits, if one does."""
    from ..projections import threads as all_threads

    with opened(log) as opened_log:
        wanted = (info for info in all_threads(opened_log) if info.status == _INTERRUPTED or not waiting)
        rows = [_row(opened_log, info) for info in islice(wanted, limit or None)]
        more = next(wanted, None) is not None
    if not rows:
        raise NothingFound("no thread waits for an answer" if waiting else "the log has no thread yet")
    if as_json:
        for row in rows:
            write_json(row)
        return 0
    _write_table(rows)
    if more:
        say(f"only the first {limit} are shown; --limit 0 shows all")
    return 0


def _row(log: EventLog, info: ThreadInfo) -> dict[str, Any]:
    return {
        "thread_id": info.thread_id,
        "status": info.status,
        "step": info.step,
        "planned": list(info.planned),
        "interrupts": _questions(log, info),
        "checkpoint_id": info.checkpoint_id,
        "events": info.version,
        "created_at": info.created_at,
        "updated_at": info.updated_at,
    }


def _questions(log: EventLog, info: ThreadInfo) -> list[Any]:
    """Return what a thread waits for; only one that stopped at a question is folded to know."""
    from ..projections import snapshot

    if info.status != _INTERRUPTED:
        return []
    return [plain(each.value) for each in snapshot(log, config_of(info.thread_id)).interrupts]


def _write_table(rows: list[dict[str, Any]]) -> None:
    write_table(
        ["thread", "status", "step", "next", "latest checkpoint", "events", "at", "question"],
        [
            [
                row["thread_id"],
                row["status"],
                "" if row["step"] is None else str(row["step"]),
                ", ".join(row["planned"]),
                row["checkpoint_id"] or "",
                str(row["events"]),
                row["updated_at"][:19],
                short(row["interrupts"][0], width=60) if row["interrupts"] else "",
            ]
            for row in rows
        ],
        right=["step", "events"],
    )
