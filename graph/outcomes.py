"""What is recorded of a task's outcome. Each value is encoded once and decoded once, here; all that follows uses that.

A value that cannot be stored makes its task fail, with the node's name on the error. How outcomes are shown and steps
closed is in `loop`.
"""

from __future__ import annotations

from typing import Any

from ..eventlog.errors import ValueEncodingError
from ..eventlog.serde import describe_error
from ..projections.cells import Values, Written
from ..projections.state import CheckpointState, Inputs
from ..projections.types import ERROR, ERROR_SOURCE_NODE, INTERRUPT, NO_WRITES, RESUME, START
from ..projections.values import encoded_for
from .message_ids import with_message_ids
from .rules import Rules
from .tasks import Task, note, unchanged

_NONE_STORED = b"\xc0"
_NOTHING_WRITTEN = [(NO_WRITES, _NONE_STORED)]

Stored = list[tuple[str, Any]]
"""(channel or mark, stored data), as a write event holds them."""


def stored_writes(task: Task, state: CheckpointState, rules: Rules, values: Values) -> Stored | None:
    """Encode a finished task's writes, keep on it what comes back decoded, and return what is recorded.

    `None` when a value cannot be stored: then the task has failed.
    """
    try:
        stored = _encoded(task, state, rules, values)
    except ValueEncodingError as error:
        error.add_note(f"The value was written by the node {task.planned.name!r}.")
        note(error, task)
        task.writes, task.written, task.error = None, [], error
        return None
    parts = [data for _channel, data in stored]
    fitting = values.fit(parts)
    if fitting is not parts:
        stored = [(channel, data) for (channel, _data), data in zip(stored, fitting, strict=True)]
    return stored or _NOTHING_WRITTEN


def stored_break(task: Task, values: Values) -> Stored:
    """Return what is recorded of a task that did not finish: answers that it used, and its error or its questions.

    Of one whose graph was stopped there is nothing to say but the answers.
    """
    stored: Stored = []
    if len(task.answers) > task.given:
        stored.append((RESUME, values.encode(task.answers)))
    if task.drained is not None:
        return stored
    questions = _questions(task, values)
    if task.error is not None:
        stored.append((ERROR, values.encode(list(describe_error(task.error)))))
        if task.node.handler is not None:
            stored.append((ERROR_SOURCE_NODE, values.encode(task.planned.name)))
        return stored
    return [(INTERRUPT, questions), *stored]


def _encoded(task: Task, state: CheckpointState, rules: Rules, values: Values) -> Stored:
    assert task.writes is not None
    planned, channels = task.planned, rules.spec.channels
    inputs: Inputs = state.inputs if planned.name == START else {}
    stored: Stored = []
    for place, (channel, value) in enumerate(task.writes):
        if values.plain or channel in rules.untracked:
            origin = (state.id, planned.path, channel, place)
            # Here, too, the stream shows the ids that the state has.
            value = with_message_ids(channels.get(channel), value, origin)
            task.written.append((channel, Written(value, origin, unchanged, value)))
            continue
        # The place among the recorded writes: a reader finds the same one.
        origin = (state.id, planned.path, channel, len(stored))
        if value is None:
            data: Any = _NONE_STORED
            decoded = None
        elif channel in inputs:
            data = inputs[channel]
            decoded = values.decode(data)
        else:
            data = encoded_for(channel, with_message_ids(channels.get(channel), value, origin), values)
            decoded = values.decode(data)
        task.written.append((channel, Written(data, origin, values.decode, decoded)))
        stored.append((channel, None if channel in inputs and value is not None else data))
    return stored


def _questions(task: Task, values: Values) -> Any:
    """Return a task's questions as they are stored; one that cannot be stored makes the task fail."""
    try:
        return values.encode(list(task.interrupts))
    except ValueEncodingError as error:
        error.add_note(f"The question was asked by the node {task.planned.name!r}.")
        note(error, task)
        task.interrupts, task.error = (), error
        return None
