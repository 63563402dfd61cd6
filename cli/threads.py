"""`lithograph threads`: which threads a log has, and how far each of them is."""

from __future__ import annotations

from collections.abc import Mapping
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
_LOOKED_INTO = (_INTERRUPTED, "forked")
"""Threads that are folded to know more: what one waits for, and how far the one was that a fork goes on from."""


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
        every = (
            _row(opened_log, info) for info in all_threads(opened_log) if not waiting or info.status in _LOOKED_INTO
        )
        wanted = (row for row in every if not waiting or row["status"] == _INTERRUPTED or row["interrupts"])
        rows = list(islice(wanted, limit or None))
        more = next(wanted, None) is not None
    if as_json:
        for row in rows:
            write_json(row)
        return 0
    if not rows:
        raise NothingFound("no thread waits for an answer" if waiting else "the log has no thread yet")
    _write_table(rows)
    if more:
        say(f"only the first {limit} shown; --limit 0 shows all")
    return 0


def _row(log: EventLog, info: ThreadInfo) -> dict[str, Any]:
    from ..projections import snapshot

    found = snapshot(log, config_of(info.thread_id)) if info.status in _LOOKED_INTO else None
    step, planned = info.step, list(info.planned)
    if found is not None and step is None:
        metadata: Mapping[str, Any] = found.metadata or {}
        step, planned = metadata.get("step"), list(found.next)
    return {
        "thread_id": info.thread_id,
        "status": info.status,
        "step": step,
        "planned": planned,
        "interrupts": [] if found is None else [plain(each.value) for each in found.interrupts],
        "checkpoint_id": info.checkpoint_id,
        "events": info.version,
        "created_at": info.created_at,
        "updated_at": info.updated_at,
    }


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
        whole="latest checkpoint",
        below=["at", "events", "question"],
    )
