"""Which answer goes to which task: by the ids of the questions, or to the only one that waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from ..eventlog.events import ChannelWritten, Event, PlannedTask
from ..eventlog.record import NO_ID
from ..projections.ids import interrupt_id
from ..projections.snapshot import TaskStatus, statuses
from ..projections.state import CheckpointState
from ..projections.types import RESUME
from .errors import NothingToResume
from .interrupts import all_pending, is_answer_map, only_one, place_of, waiting
from .loop import Loop

_FRESH = TaskStatus((), (), None, ())


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
        loop.run.ground.offer(resume)
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
    """Return the answers as events; one to a question that no record shows the asker of is kept for who asks first."""
    asked = {
        question.id: task
        for task in base.tasks
        if task.id in known and not known[task.id].finished
        for question in known[task.id].interrupts
    }
    events: list[Event] = []
    for id_, task in {**first, **asked}.items():
        if id_ not in answers:
            continue
        asker = _Asker(base, task, known.get(task.id, _FRESH))
        if asker.place_of(id_) is None:
            asker = _inside(loop, id_) or (None if loop.hosts_graph(task) else asker)
        if asker is None:
            loop.run.ground.offer(answers[id_])
        else:
            events.append(asker.answer(loop, id_, answers[id_]))
    return events


class _Asker(NamedTuple):
    """A task that asked, at the checkpoint in whose step it did."""

    state: CheckpointState
    task: PlannedTask
    status: TaskStatus

    def place_of(self, id_: str) -> int | None:
        """Return which of the task's questions has an id."""
        return place_of(self.task.id, self.state.namespace, id_, len(self.status.answers))

    def answer(self, loop: Loop, id_: str, answer: Any) -> ChannelWritten:
        """Return the event that gives the task its answer."""
        place, answers = self.place_of(id_), self.status.answers
        data = loop.values.encode([*(answers if place is None else answers[:place]), answer])
        state, task = self.state, self.task
        return ChannelWritten(state.id, state.namespace, task.id, task.name, task.path, ((RESUME, data),))


def _inside(loop: Loop, id_: str) -> _Asker | None:
    """Return the task that asked within another: in a graph inside a node, at any depth, or as a call."""
    journal = loop.journal
    assert journal is not None, "only a thread is answered"
    for state in journal.thread.heads.values():
        writes = journal.thread.open.get(state.id, {})
        known = statuses(writes, loop.values)
        for event in writes.values():
            asker = _Asker(state, PlannedTask(event.task, event.node, event.path, ()), known.get(event.task, _FRESH))
            if event.task != NO_ID and asker.place_of(id_) is not None:
                return asker
    return None


def raised_here(asked: Mapping[str, Any], resume: Any, raised: frozenset[str]) -> bool:
    """Tell whether every key of a map is the id of an interrupt that this thread raised."""
    return all(key in asked or key in raised for key in cast("dict[str, Any]", resume))
