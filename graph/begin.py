"""How a run begins: on an input, an answer, a command, a replay, or with nothing but what is pending.

Each way ends with the loop at a checkpoint whose tasks can be planned, and with the run's claim on the thread durable.
Everything that can be refused is refused before the claim, so a refused call leaves no event. What a caller gives is in
`run_input` and, for commands, `ahead`; which answer goes where in `answering`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from ..eventlog.events import ChannelWritten, Event, RunStarted
from ..eventlog.record import NO_ID
from ..projections.fold import fold_step
from ..projections.snapshot import statuses
from ..projections.state import CheckpointState, Inputs
from ..projections.thread import OpenWrites
from ..projections.types import INPUT, RESUME, START, Command
from .ahead import close_command, command_event, reapply_commands, write_ahead
from .answering import answer_events, nothing_waits, raised_here
from .commits import commit
from .errors import EmptyInputError, InvalidUpdateError, NothingToResume
from .ground import Bound
from .interrupts import all_pending, is_answer_map, place_of
from .loop import Loop
from .rules import Closed, StepRefusal
from .run_input import close_input, input_entries
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
    raised: frozenset[str] = frozenset()
    """Ids of interrupts this thread ever raised, when the input looks like a map of answers."""
    owner: bytes = NO_ID
    """The task that runs the graph inside of it; none runs the root."""


def begin(loop: Loop, start: Start, given: Any) -> None:
    """Bring a loop to its first step and claim the thread.

    Raises `EmptyInputError`, `NothingToResume`, `AmbiguousResume`, `UnknownInterruptError`, `NodeNotFound`: nothing
    was recorded then. So does what a channel or a reducer raises about the writes of a `Command`.
    """
    try:
        _begin(loop, start, given)
    except StepRefusal as refusal:
        raise refusal.error from None


def begin_inside(loop: Loop, start: Start, given: Any, *, continues: bool) -> None:
    """Bring the loop of a graph inside a node to its first step, in a run that has the thread already.

    `continues`: what an earlier run began there is gone on with; the input was taken then, and is not taken again.
    """
    base = _open(loop, start)
    try:
        if base is not None and start.addressed:
            _replay(loop, start)
        elif base is not None and continues:
            _continue(loop, start)
        elif isinstance(given, Command):
            _on_command(loop, start, cast("Command[Any]", given))
        elif given is not None:
            _on_input(loop, start, given)
        else:
            raise EmptyInputError(f"Received no input for {START}: graph {loop.spec.name!r} was run within a node.")
    except StepRefusal as refusal:
        raise refusal.error from None


def _begin(loop: Loop, start: Start, given: Any) -> None:
    base = _open(loop, start)
    if base is not None and (given is None or isinstance(given, Command)):
        loop.check_nodes(base.tasks)
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


def _open(loop: Loop, start: Start) -> CheckpointState | None:
    """Put the loop where the run begins, with what commands wrote there ahead of the step."""
    base = start.base
    loop.base = loop.state = base
    loop.cells = base.cells if base is not None else {}
    loop.step = base.step + 1 if base is not None else -1
    loop.ahead = loop.rules.initial_results(loop.cells, loop.values)
    if loop.ahead:
        loop.cells = fold_step(loop.cells, loop.ahead, {}, loop.values)
    reapply_commands(loop, start.writes)
    return base


def _refuse_without_base(loop: Loop, command: Command[Any]) -> None:
    if command.resumes:
        raise NothingToResume(nothing_waits(loop))
    if not _command_writes(loop, command):
        raise EmptyInputError(_EMPTY_COMMAND)


def _claim(loop: Loop, start: Start, trigger: str, *events: Event) -> int:
    """Record that the run has the thread, with what started it; durable when this returns.

    Returns the version of the first of `events`. In a graph inside a node they alone are recorded: the run has it.
    """
    journal = loop.journal
    if journal is None:
        return 0
    if loop.deferred is not None:
        loop.deferred += events
        return 0
    if loop.is_inside:
        return journal.append(events, loop.now_us()) if events else 0
    base = None if start.base is None else start.base.id
    started = RunStarted(loop.graph, base, trigger, start.durability, start.metadata)
    if loop.commits:
        return journal.append([started, *events], loop.now_us()) + 1
    # At exit an answer or a command counts when the run got to its end; an input alone belongs to no checkpoint yet.
    inputs = [event for event in events if isinstance(event, ChannelWritten) and event.checkpoint == NO_ID]
    first = journal.append([started, *inputs], loop.now_us()) + 1
    journal.writer.drain()
    journal.append([event for event in events if event not in inputs], loop.now_us())
    return first


def _settle(loop: Loop) -> None:
    if loop.journal is None or not loop.commits:
        return
    if loop.is_inside:
        loop.journal.writer.step_done()
        return
    loop.journal.writer.drain()
    loop.journal.writer.run_behind()


# On an input


def _on_input(loop: Loop, start: Start, given: Any) -> None:
    entries = input_entries(given, loop.values)
    writes = {key: written.data for key, written in entries}
    loop.limit_steps(fresh=True)
    event = ChannelWritten(NO_ID, loop.run.namespace, start.owner, INPUT, (), tuple(writes.items()))
    version = _claim(loop, start, "input", event)
    closed = close_input(loop, given, entries)
    commit(loop, "input", closed, (version,), cast("Inputs", writes), step=loop.step)
    _settle(loop)


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
    loop.run.continues = True
    if start.addressed:
        _fork(loop, start, "command", writes)
    elif base.tasks:
        loop.passed_interrupts = _newest(base)
        _claim(loop, start, "command", *write_ahead(loop, writes))
        _settle(loop)
    else:
        loop.passed_interrupts = _newest(base)
        event, stored = command_event(loop, writes)
        version = _claim(loop, start, "command", event)
        closed = close_command(loop, stored)
        commit(loop, "update", closed, (version,), {}, step=loop.step)
        _settle(loop)
    loop.stream.values(loop.output_values)


# On an answer


def _answer(loop: Loop, start: Start, resume: Any, writes: list[Write]) -> None:
    base = start.base
    assert base is not None
    loop.limit_steps(fresh=False)
    loop.run.continues = True
    known = statuses(start.writes, loop.values)
    events = answer_events(loop, base, known, resume, start.raised)
    loop.passed_interrupts = _newest(base)
    _claim(loop, start, "resume", *events, *write_ahead(loop, writes))
    _settle(loop)
    loop.stream.values(loop.output_values)


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
        raise NothingToResume(nothing_waits(loop))
    else:
        loop.run.ground.offer(resume)
    loop.limit_steps(fresh=False)
    _fork(loop, start, "resume", writes, carried)
    loop.stream.values(loop.output_values)


# On nothing


def _replay(loop: Loop, start: Start) -> None:
    """Run again from a checkpoint that the caller named: on a fork of it, unless it is one that nothing followed."""
    base = start.base
    assert base is not None
    loop.limit_steps(fresh=False)
    loop.run.continues = loop.reruns = True
    _look_back(loop, base)
    if base.source in ("update", "fork") and not start.superseded:
        loop.passed_interrupts = _newest(base)
        _claim(loop, start, "replay")
        _settle(loop)
    else:
        _fork(loop, start, "replay", [])
    loop.stream.values(loop.output_values)


def _look_back(loop: Loop, base: CheckpointState) -> None:
    """Have graphs inside nodes begin where they stood before the checkpoint that is run again."""
    ground = loop.run.ground
    if loop.is_inside or ground.thread is None:
        return
    ground.bound = Bound(base.id, base.version)
    if base.source in ("update", "fork") and base.parent is not None:
        version = ground.thread.past().version_of(base.parent)
        ground.bound = Bound(base.parent, base.version if version is None else version)


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
    _look_back(loop, base)
    events: list[Event] = []
    applied: tuple[int, ...] = ()
    closed = Closed(loop.cells, loop.untracked, [], 0, (), (), {}, frozenset())
    if writes:
        event, stored = command_event(loop, writes)
        events.append(event)
        closed = close_command(loop, stored)
    version = _claim(loop, start, trigger, *events)
    if events and loop.journal is not None:
        applied = (version,)
    state = commit(loop, "fork", closed, applied, {}, step=loop.step)
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
    loop.run.continues = True
    loop.passed_interrupts = _newest(base)
    if loop.planned():
        _claim(loop, start, "continue")
        _settle(loop)
    else:
        loop.records = False
    loop.stream.values(loop.output_values)


def _newest(base: CheckpointState) -> int:
    return max(base.versions.values(), default=0)
