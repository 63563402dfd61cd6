"""Which answer goes to which task: by the ids of the questions, or to the only one that waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..eventlog.events import ChannelWritten, Event, PlannedTask
from ..projections.ids import interrupt_id
from ..projections.snapshot import TaskStatus
from ..projections.state import CheckpointState
from ..projections.types import RESUME
from .errors import NothingToResume
from .interrupts import all_pending, is_answer_map, only_one, place_of, waiting
from .loop import Loop


def answer_events(
    loop: Loop,
    base: CheckpointState,
    known: dict[bytes, TaskStatus],
    resume: Any,
    raised: frozenset[str],
) -> list[Event]:
    """Return the events that give each answer to the task that asked."""
    planned = [task for task in base.tasks if task.id in known and not known[task.id].finished]
    pending = waiting(known[task.id] for task in planned)
    if is_answer_map(resume):
        # A task that did not run yet asks under an id that the thread it was forked from may have shown.
        first = {interrupt_id(task.id, base.namespace, 0): task for task in base.tasks if task.id not in known}
        answers = cast("dict[str, Any]", resume)
        if all(id_ in raised or id_ in first for id_ in answers):
            all_pending(answers, {*first, *(question.id for question in pending)})
            return _by_id(loop, base, known, answers, first)
    if pending:
        only_one(pending)
        answers = {pending[0].id: resume}
    else:
        if not base.tasks:
            raise NothingToResume(nothing_waits(loop))
        loop.run.offer(resume)
        return []
    return _by_id(loop, base, known, answers, {})


def nothing_waits(loop: Loop) -> str:
    """Return what is said to an answer when nothing waits for one."""
    return (
        f"Nothing on thread {loop.run.thread_id!r} waits for an answer: no task is interrupted, paused at a breakpoint "
        "or failed. Start a run with an input, or address an older checkpoint to answer it anew."
    )


def _by_id(
    loop: Loop,
    base: CheckpointState,
    known: Mapping[bytes, TaskStatus],
    answers: Mapping[str, Any],
    first: Mapping[str, PlannedTask],
) -> list[Event]:
    asked = {
        question.id: task
        for task in base.tasks
        if task.id in known and not known[task.id].finished
        for question in known[task.id].interrupts
    }
    fresh = TaskStatus((), (), None, ())
    return [
        _answer_event(loop, base, task, known.get(task.id, fresh), id_, answers[id_])
        for id_, task in {**first, **asked}.items()
        if id_ in answers
    ]


def _answer_event(
    loop: Loop, base: CheckpointState, task: PlannedTask, status: TaskStatus, id_: str, answer: Any
) -> ChannelWritten:
    place = place_of(task.id, base.namespace, id_, len(status.answers))
    earlier = status.answers if place is None else status.answers[:place]
    data = loop.values.encode([*earlier, answer])
    return ChannelWritten(base.id, base.namespace, task.id, task.name, task.path, ((RESUME, data),))


def raised_here(asked: Mapping[str, Any], resume: Any, raised: frozenset[str]) -> bool:
    """Tell whether every key of a map is the id of an interrupt that this thread raised."""
    return all(key in asked or key in raised for key in cast("dict[str, Any]", resume))
