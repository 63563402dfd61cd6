"""How a run begins: on an input, an answer, a command, a replay, or with nothing but what is pending.

Each way ends with the loop at a checkpoint whose tasks can be planned, and with the run's claim on the thread durable.
Everything that can be refused is refused before the claim, so a refused call leaves no event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from ..eventlog.events import ChannelResult, ChannelWritten, Event, PlannedTask, ResultOp, RunStarted
from ..eventlog.record import NO_ID
from ..eventlog.texts import checked_text
from ..projections.cells import Values, Written
from ..projections.fold import fold_step
from ..projections.ids import interrupt_id
from ..projections.snapshot import TaskStatus, statuses
from ..projections.state import CheckpointState, Inputs
from ..projections.thread import OpenWrites
from ..projections.types import INPUT, RESUME, START, Command
from ..projections.values import encoded_for
from .at_exit import describe_cell
from .errors import EmptyInputError, InvalidUpdateError, NothingToResume
from .interrupts import all_pending, is_answer_map, only_one, place_of, waiting
from .loop import Loop
from .rules import Closed, Finished, StepRefusal
from .spec import Write
from .writes import Targets, command_pairs

_EMPTY_COMMAND = "Received empty Command input: it updates nothing, answers nothing and goes nowhere."


class Start(NamedTuple):
    """Where a run begins."""

    base: CheckpointState | None
    """The checkpoint to continue from; `None` on an empty thread."""
    writes: OpenWrites
    """What its tasks wrote so far."""
    addressed: bool
    """Whether the caller named the checkpoint."""
    superseded: bool
    """Whether the thread has moved past it."""
    durability: str
    metadata: bytes | None
    raised: frozenset[str]
    """Ids of interrupts this thread ever raised, when the input looks like a map of answers."""


def begin(loop: Loop, start: Start, given: Any) -> None:
    """Bring a loop to its first step and claim the thread.

    Raises `EmptyInputError`, `NothingToResume`, `AmbiguousResume`, `UnknownInterruptError`, `NodeNotFound`: nothing
    was recorded then. So does what a channel or a reducer raises about the writes of a `Command`.
    """
    try:
        _begin(loop, start, given)
    except StepRefusal as refusal:
        raise refusal.error from None


def _begin(loop: Loop, start: Start, given: Any) -> None:
    base = start.base
    loop.base = loop.state = base
    loop.cells = base.cells if base is not None else {}
    loop.step = base.step + 1 if base is not None else -1
    loop.ahead = loop.rules.initial_results(loop.cells, loop.values)
    if loop.ahead:
        loop.cells = fold_step(loop.cells, loop.ahead, {}, loop.values)
    if base is not None and (given is None or isinstance(given, Command)):
        loop.check_nodes(base.tasks)
    reapply_commands(loop, start.writes)
    if isinstance(given, Command) and base is not None:
        _on_command(loop, start, cast("Command[Any]", given))
    elif given is not None:
        if isinstance(given, Command):
            _refuse_without_base(loop, cast("Command[Any]", given))
        _on_input(loop, start, given)
    elif base is None:
        raise EmptyInputError(
            f"Received no input for {START}: the thread is empty, so there is nothing to continue. Pass an input."
        )
    elif start.addressed:
        _replay(loop, start)
    else:
        _continue(loop, start)


def _refuse_without_base(loop: Loop, command: Command[Any]) -> None:
    if command.resumes:
        raise NothingToResume(_nothing(loop))
    if not _command_writes(loop, command):
        raise EmptyInputError(_EMPTY_COMMAND)


def _claim(loop: Loop, start: Start, trigger: str, *events: Event) -> None:
    """Record that the run has the thread, with what started it; durable when this returns."""
    journal = loop.journal
    if journal is None:
        return
    base = None if start.base is None else start.base.id
    started = RunStarted(loop.graph, base, trigger, start.durability, start.metadata)
    if loop.commits:
        journal.append([started, *events], loop.now_us())
        return
    # At exit an answer or a command counts when the run got to its end; an input alone belongs to no checkpoint yet.
    inputs = [event for event in events if isinstance(event, ChannelWritten) and event.checkpoint == NO_ID]
    journal.append([started, *inputs], loop.now_us())
    journal.writer.drain()
    journal.append([event for event in events if event not in inputs], loop.now_us())


def _settle(loop: Loop) -> None:
    if loop.journal is not None and loop.commits:
        loop.journal.writer.drain()
        loop.journal.writer.run_behind()


# On an input


def _on_input(loop: Loop, start: Start, given: Any) -> None:
    entries = input_entries(given, loop.values)
    writes = {key: written.data for key, written in entries}
    loop.limit_steps(fresh=True)
    event = ChannelWritten(NO_ID, loop.run.namespace, NO_ID, INPUT, (), tuple(writes.items()))
    version = loop.journal.next_version + 1 if loop.journal is not None else 0
    _claim(loop, start, "input", event)
    closed = close_input(loop, given, entries)
    loop.commit("input", closed, (version,), cast("Inputs", writes), step=loop.step)
    _settle(loop)


def input_entries(given: Any, values: Values) -> list[tuple[str, Written]]:
    """Return an input as it is stored: key by key for a dict, else whole under `__start__`."""
    if type(given) is dict and all(type(key) is str for key in cast("dict[Any, Any]", given)):
        pairs: list[tuple[str, Any]] = list(cast("dict[str, Any]", given).items())
        for key, _value in pairs:
            checked_text(key, "the input's key")
    else:
        pairs = [(START, given)]
    stored = values.fit([encoded_for(key, value, values) for key, value in pairs])
    entries: list[tuple[str, Written]] = []
    for place, ((key, value), data) in enumerate(zip(pairs, stored, strict=True)):
        decoded = value if values.plain else values.decode(data)
        entries.append((key, Written(data, (NO_ID, (), key, place), values.decode, decoded)))
    return entries


def close_input(loop: Loop, given: Any, entries: list[tuple[str, Written]], *, abandon: bool = True) -> Closed:
    """Return the step that an input makes: `__start__` holds it, and pending tasks are given up."""
    base = loop.state
    pending = loop.planned() if base is not None and abandon else ()
    abandoned = [Finished(task.name, task.path, task.triggers, ()) for task in pending]
    as_keys = type(given) is dict and (len(entries) != 1 or entries[0][0] != START)
    value = {key: written.value for key, written in entries} if as_keys else entries[0][1].value
    written = Written(None, (NO_ID, (), START, 0), _never, value)
    started = Finished(INPUT, (), (), ((START, written),))
    closed = loop.rules.close(loop.cells, loop.untracked, loop.versions(), [*abandoned, started], loop.values)
    if not as_keys:
        return closed
    keys = [key for key, _written in entries]
    results = [
        ChannelResult(START, ResultOp.INPUT, keys, b"") if change.channel == START else change
        for change in closed.results
    ]
    return closed._replace(results=results)


def _never(_data: Any) -> Any:
    raise AssertionError("the input's value is given, so it is never decoded")


# On a command


def _on_command(loop: Loop, start: Start, command: Command[Any]) -> None:
    base = start.base
    assert base is not None
    if command.graph == Command.PARENT:
        raise InvalidUpdateError("There is no parent graph: Command(graph=Command.PARENT) cannot be an input")
    writes = _command_writes(loop, command)
    if not writes and not command.resumes:
        raise EmptyInputError(_EMPTY_COMMAND)
    if not command.resumes:
        _on_update(loop, start, writes)
    elif start.superseded:
        _answer_the_past(loop, start, command.resume, writes)
    else:
        _answer(loop, start, command.resume, writes)


def _command_writes(loop: Loop, command: Command[Any]) -> list[Write]:
    targets = Targets.of([name for name in loop.spec.nodes if name != START], loop.spec.aliases)
    given: Any = command.goto
    goto = tuple(cast("list[Any]", given)) if isinstance(given, list | tuple) else (given,)
    pairs = [(key, value) for key, value in command_pairs(command) if key in loop.spec.channels]
    return [*targets.writes(goto, source="Command"), *pairs]


def _on_update(loop: Loop, start: Start, writes: list[Write]) -> None:
    """A command that only updates or goes: a checkpoint of its own, unless tasks wait at this one."""
    base = start.base
    assert base is not None
    loop.limit_steps(fresh=False)
    if start.addressed:
        _fork(loop, start, "command", writes)
    elif base.tasks:
        loop.passed_interrupts = _newest(base)
        _claim(loop, start, "command", *_write_ahead(loop, writes))
        _settle(loop)
    else:
        loop.passed_interrupts = _newest(base)
        event, stored = _command_event(loop, writes)
        version = loop.journal.next_version + 1 if loop.journal is not None else 0
        _claim(loop, start, "command", event)
        closed = _close_command(loop, stored)
        loop.commit("update", closed, (version,), {}, step=loop.step)
        _settle(loop)
    loop.stream.values(loop.output_values)


def _command_event(loop: Loop, writes: list[Write]) -> tuple[ChannelWritten, list[tuple[str, Written]]]:
    base, values = loop.state, loop.values
    assert base is not None
    tracked = [write for write in writes if write[0] not in loop.rules.untracked]
    stored = values.fit([encoded_for(channel, value, values) for channel, value in tracked])
    written: list[tuple[str, Written]] = []
    for place, ((channel, value), data) in enumerate(zip(tracked, stored, strict=True)):
        decoded = value if values.plain else values.decode(data)
        written.append((channel, Written(data, (base.id, (), channel, place), values.decode, decoded)))
    data = tuple((channel, part.data) for channel, part in written)
    for channel, value in writes:
        if channel in loop.rules.untracked:
            written.append((channel, Written(value, (base.id, (), channel, 0), _never, value)))
    return ChannelWritten(base.id, base.namespace, NO_ID, INPUT, (), data), written


def _close_command(loop: Loop, stored: list[tuple[str, Written]]) -> Closed:
    base = loop.state
    versions: Mapping[str, int] = base.versions if base is not None else {}
    return loop.rules.close(loop.cells, loop.untracked, versions, [Finished(INPUT, (), (), stored)], loop.values)


def _write_ahead(loop: Loop, writes: list[Write]) -> list[Event]:
    """Apply a command's writes ahead of the step that waits: its nodes see them, its commit carries them."""
    if not writes:
        return []
    event, stored = _command_event(loop, writes)
    _apply_ahead(loop, stored)
    return [event]


def _apply_ahead(loop: Loop, stored: list[tuple[str, Written]]) -> None:
    closed = _close_command(loop, stored)
    before, cells = loop.cells, closed.cells.copy()
    for change in closed.results:
        channel = change.channel
        old, new = before.get(channel), closed.cells.get(channel)
        if new is None:
            change = ChannelResult(channel, ResultOp.EMPTY, None, b"")
        elif change.op < ResultOp.WHOLE:
            # As the writes say would mix these writes with the step's own: what is carried is the outcome.
            op, data, cells[channel] = describe_cell(channel, old, new, loop.values)
            change = ChannelResult(channel, op, data, b"")
        loop.ahead.append(change)
    loop.cells, loop.untracked = cells, closed.untracked
    loop.ahead_version = max(loop.ahead_version, closed.version)


def reapply_commands(loop: Loop, writes: Mapping[int, ChannelWritten]) -> None:
    """Apply again what commands of earlier runs wrote ahead of a step that did not close with them."""
    for event in writes.values():
        if event.task != NO_ID:
            continue
        stored = [
            (
                channel,
                Written(data, (event.checkpoint, event.path, channel, place), loop.values.decode),
            )
            for place, (channel, data) in enumerate(event.writes)
            if channel != RESUME
        ]
        if stored:
            _apply_ahead(loop, stored)


# On an answer


def _answer(loop: Loop, start: Start, resume: Any, writes: list[Write]) -> None:
    base = start.base
    assert base is not None
    loop.limit_steps(fresh=False)
    known = statuses(start.writes, loop.values)
    events = _answers(loop, base, known, resume, start.raised)
    loop.passed_interrupts = _newest(base)
    _claim(loop, start, "resume", *events, *_write_ahead(loop, writes))
    _settle(loop)
    loop.stream.values(loop.output_values)


def _answers(
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
            raise NothingToResume(_nothing(loop))
        loop.run.offer(resume)
        return []
    return _by_id(loop, base, known, answers, {})


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


def _answer_the_past(loop: Loop, start: Start, resume: Any, writes: list[Write]) -> None:
    """A new answer at a checkpoint that the thread has left: a fork of it, on which the step runs anew."""
    base = start.base
    assert base is not None
    known = statuses(start.writes, loop.values)
    carried: dict[tuple[Any, ...], list[Any]] = {}
    asked = {q.id: task for task in base.tasks if task.id in known for q in known[task.id].interrupts}
    if is_answer_map(resume) and raised_here(asked, resume, start.raised):
        answers = cast("dict[str, Any]", resume)
        all_pending(answers, set(asked))
        for id_, answer in answers.items():
            task = asked[id_]
            status = known[task.id]
            place = place_of(task.id, base.namespace, id_, len(status.answers)) or 0
            carried[task.path] = [*status.answers[:place], answer]
    elif not base.tasks:
        raise NothingToResume(_nothing(loop))
    else:
        loop.run.offer(resume)
    loop.limit_steps(fresh=False)
    _fork(loop, start, "resume", writes, carried)
    loop.stream.values(loop.output_values)


def raised_here(asked: Mapping[str, Any], resume: Any, raised: frozenset[str]) -> bool:
    """Tell whether every key of a map is the id of an interrupt that this thread raised."""
    return all(key in asked or key in raised for key in cast("dict[str, Any]", resume))


# On nothing


def _replay(loop: Loop, start: Start) -> None:
    """Run again from a checkpoint that the caller named: on a fork of it, unless it is one that nothing followed."""
    base = start.base
    assert base is not None
    loop.limit_steps(fresh=False)
    loop.reruns = True
    if base.source in ("update", "fork") and not start.superseded:
        loop.passed_interrupts = _newest(base)
        _claim(loop, start, "replay")
        _settle(loop)
    else:
        _fork(loop, start, "replay", [])
    loop.stream.values(loop.output_values)


def _fork(
    loop: Loop,
    start: Start,
    trigger: str,
    writes: list[Write],
    carried: Mapping[tuple[Any, ...], list[Any]] | None = None,
) -> None:
    """Begin a branch: a checkpoint with the base's values, the same work planned under new task ids."""
    base = start.base
    assert base is not None
    loop.passed_interrupts = _newest(base)
    events: list[Event] = []
    applied: tuple[int, ...] = ()
    closed = Closed(loop.cells, loop.untracked, [], 0, (), (), {}, frozenset())
    if writes:
        event, stored = _command_event(loop, writes)
        events.append(event)
        applied = (loop.journal.next_version + 1,) if loop.journal is not None else ()
        closed = _close_command(loop, stored)
    _claim(loop, start, trigger, *events)
    state = loop.commit("fork", closed, applied, {}, step=loop.step)
    if carried:
        answers = [
            ChannelWritten(
                state.id,
                state.namespace,
                task.id,
                task.name,
                task.path,
                ((RESUME, loop.values.encode(carried[task.path])),),
            )
            for task in state.tasks
            if task.path in carried
        ]
        if loop.journal is not None:
            loop.journal.append(answers, loop.now_us())
    _settle(loop)


def _continue(loop: Loop, start: Start) -> None:
    """Go on with what is pending; a finished thread has nothing, and nothing is recorded."""
    base = start.base
    assert base is not None
    loop.limit_steps(fresh=False)
    loop.passed_interrupts = _newest(base)
    if loop.planned():
        _claim(loop, start, "continue")
        _settle(loop)
    else:
        loop.records = False
    loop.stream.values(loop.output_values)


# What is pending


def _newest(base: CheckpointState) -> int:
    return max(base.versions.values(), default=0)


def _nothing(loop: Loop) -> str:
    return (
        f"Nothing on thread {loop.run.thread_id!r} waits for an answer: no task is interrupted, paused at a breakpoint "
        "or failed. Start a run with an input, or address an older checkpoint to answer it anew."
    )
