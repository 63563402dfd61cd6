"""`lithograph show`: a thread's state at one checkpoint, with who made it and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from .options import AsJson, LogPath, Namespace, ThreadId
from .output import say, write_json, write_pairs, write_table
from .plain import dumps, plain, short, told
from .reading import Who, actors, checkpoint_id, find_snapshot, opened, parent_id

if TYPE_CHECKING:
    from ..projections import PregelTask, StateSnapshot

_VALUE_WIDTH = 2000

Checkpoint = Annotated[
    str | None, typer.Argument(metavar="CHECKPOINT", help="A checkpoint id; default the thread's latest.")
]


def show(
    log: LogPath,
    thread: ThreadId,
    checkpoint: Checkpoint = None,
    *,
    namespace: Namespace = "",
    as_json: AsJson = False,
) -> int:
    """Show a thread's state at a checkpoint: values, what runs next, questions that wait, who and why."""
    with opened(log) as opened_log:
        found = find_snapshot(opened_log, thread, checkpoint, namespace=namespace)
        made = actors(opened_log, thread).get(checkpoint_id(found) or "", Who(None, None))
        document = _document(thread, found, made)
    if as_json:
        write_json(document)
    else:
        _write(document, found.values)
    return 0


def _document(thread: str, found: StateSnapshot, made: Who) -> dict[str, Any]:
    return {
        "thread_id": thread,
        "checkpoint_id": checkpoint_id(found),
        "parent_id": parent_id(found),
        "created_at": found.created_at,
        "actor": made.actor,
        "reason": made.reason,
        "values": plain(found.values),
        "next": list(found.next),
        "tasks": [_task(task) for task in found.tasks],
        "interrupts": [{"id": each.id, "value": plain(each.value)} for each in found.interrupts],
        "metadata": plain(found.metadata),
    }


def _task(task: PregelTask) -> dict[str, Any]:
    return {
        "id": task.id,
        "name": task.name,
        "path": plain(task.path),
        "error": None if task.error is None else str(task.error),
        "interrupts": [plain(each.value) for each in task.interrupts],
        "result": plain(task.result),
    }


def _write(document: dict[str, Any], values: Any) -> None:
    head = {
        "thread": document["thread_id"],
        "checkpoint": document["checkpoint_id"],
        "parent": document["parent_id"] or "none: the first",
        "at": document["created_at"] or "",
        "actor": document["actor"] or "nobody named",
        "reason": document["reason"] or "",
        "metadata": dumps(document["metadata"]),
        "next": ", ".join(document["next"]) or "nothing: finished",
    }
    write_pairs({name: text for name, text in head.items() if text})
    say()
    channels = cast("dict[str, Any]", values) if isinstance(values, dict) else {"(value)": values}
    write_table(["channel", "value"], [[name, told(value, width=_VALUE_WIDTH)] for name, value in channels.items()])
    if document["tasks"]:
        write_table(
            ["task", "id", "error", "result", "waits for"],
            [
                [
                    task["name"],
                    task["id"],
                    task["error"] or "",
                    "" if task["result"] is None else short(task["result"]),
                    "; ".join(short(each, width=400) for each in task["interrupts"]),
                ]
                for task in document["tasks"]
            ],
            whole="id",
            below=["error", "result", "waits for"],
        )
