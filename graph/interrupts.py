"""`interrupt()`: a node asks a person, pauses, and runs again from its top when the answer is there.

The n-th call in a task gets the n-th answer given to that task. Ids are functions of the task and n, so an answer
finds its question after any restart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from ..projections.cells import MISSING
from ..projections.ids import interrupt_id
from ..projections.snapshot import TaskStatus
from ..projections.types import Interrupt
from .config import current_scope
from .errors import AmbiguousResume, GraphInterrupt, NotSupportedYet, UnknownInterruptError
from .tasks import Task, TaskScope

_HEX = frozenset("0123456789abcdef")


def interrupt(value: Any, *, response_schema: Any = None) -> Any:
    """Ask `value` and return the answer; on the first pass, pause the graph until there is one.

    The node runs again from its top on resume, so what stands before this call should be repeatable.

    answer = interrupt({"question": "Approve?", "application": state["application"]})
    """
    if response_schema is not None and not isinstance(response_schema, dict):
        raise NotSupportedYet("interrupt(response_schema=…) takes a JSON schema dict in this release")
    scope = current_scope.get()
    if not isinstance(scope, TaskScope):
        raise RuntimeError("Called interrupt outside of a runnable context: it works only while a node runs.")
    task = scope.task
    place = task.next_question()
    if place < len(task.answers):
        return task.run.ground.copied(task.answers[place])
    answer = task.run.ground.take_answer()
    if answer is not MISSING:
        task.answers.append(answer)
        return task.run.ground.copied(answer)
    id_ = question_id(task, place)
    raise GraphInterrupt((Interrupt(value, id_, response_schema=cast("Any", response_schema)),))


def question_id(task: Task, place: int) -> str:
    """Return the id of a task's question at `place`, from 0."""
    return interrupt_id(task.planned.id, task.run.namespace, place)


def place_of(task: bytes, namespace: str, id_: str, answers: int) -> int | None:
    """Return which of a task's questions has an id, looking one past the answers given so far."""
    for place in range(answers + 1):
        if interrupt_id(task, namespace, place) == id_:
            return place
    return None


def is_answer_map(resume: Any) -> bool:
    """Tell whether a resume value looks like a map from interrupt ids to answers."""
    if not isinstance(resume, dict) or not resume:
        return False
    return all(
        isinstance(key, str) and len(key) == 32 and _HEX.issuperset(key) for key in cast("dict[Any, Any]", resume)
    )


def only_one(pending: Iterable[Interrupt]) -> None:
    """Raise `AmbiguousResume` when one bare answer could be meant for several questions."""
    ids = sorted({question.id for question in pending})
    if len(ids) > 1:
        raise AmbiguousResume(
            "When there are multiple pending interrupts, you must specify the interrupt id when resuming: "
            f"Command(resume={{id: answer}}) with any of {', '.join(ids)}.",
            pending_ids=ids,
        )


def all_pending(answers: dict[str, Any], pending: set[str]) -> None:
    """Raise `UnknownInterruptError` when a map answers a question that does not wait."""
    unknown = sorted(answers.keys() - pending)
    if unknown:
        raise UnknownInterruptError(
            f"The interrupt {unknown[0]} is not pending (it was answered, or its checkpoint was left). Nothing was "
            f"applied. Pending: {', '.join(sorted(pending)) or 'none'}.",
            reason="not_pending",
            interrupt_ids=unknown,
            pending_ids=sorted(pending),
        )


def waiting(statuses: Iterable[TaskStatus]) -> list[Interrupt]:
    """Return the questions that wait for an answer."""
    return [question for status in statuses if not status.finished for question in status.interrupts]
