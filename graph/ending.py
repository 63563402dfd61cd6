"""How a run's end is recorded: its last checkpoint when there is none yet, and what an open step amounts to so far."""

from __future__ import annotations

from ..eventlog.events import OpenStep, RunEnded
from ..projections.fitting import fitted
from ..projections.fold import fold_step
from .at_exit import exit_commit
from .journal import Journal
from .loop import Loop
from .rules import Closed, StepRefusal
from .tasks import Task


def end_run(loop: Loop, outcome: str) -> None:
    """Record how the run ended, and what the finished tasks of an open step amount to."""
    journal = loop.journal
    if journal is None:
        return
    with journal.lock:
        if not loop.commits:
            # The open step's writes follow the checkpoint that they belong to.
            _commit_at_exit(loop, journal)
        steps = (*_open_steps(loop), *_open_inside(loop, journal)) if outcome != "finished" else ()
        checkpoint = loop.state.id if loop.state is not None else None
        journal.append([*loop.record.take(), RunEnded(outcome, checkpoint, steps)], loop.now_us())


def end_inside(loop: Loop, outcome: str) -> None:
    """Record how a graph inside a node ended, in the run that goes on."""
    journal, steps = loop.journal, loop.run.ground.open_steps
    if journal is None:
        return
    with journal.lock:
        steps.pop(loop.run.namespace, None)
        if outcome == "finished" and loop.deferred is not None:
            return
        if loop.deferred:
            first = journal.append(loop.deferred, loop.now_us())
            if loop.state is not None and loop.state.inputs and loop.state is not loop.base:
                # It stands at its input still, and that has its place only now.
                loop.state.applied = (first,)
        if not loop.commits:
            _commit_at_exit(loop, journal)
        if held := loop.record.take():
            journal.append(held, loop.now_us())
        if outcome != "finished":
            steps.update((step.namespace, step) for step in _open_steps(loop))


def _open_inside(loop: Loop, journal: Journal) -> list[OpenStep]:
    """Return the open steps of graphs inside nodes, those at which they still stand."""
    heads = journal.thread.heads
    steps = loop.run.ground.open_steps.values()
    return [step for step in steps if step.namespace in heads and heads[step.namespace].id == step.checkpoint]


def _commit_at_exit(loop: Loop, journal: Journal) -> None:
    """Record the run's last checkpoint as one step from the state before the run."""
    state = loop.state
    if state is None or state is loop.base:
        return
    event, final = exit_commit(loop, state)
    journal.append([event], state.time_us, final)


def _open_steps(loop: Loop) -> tuple[OpenStep, ...]:
    state = loop.state
    finished = [task for task in loop.tasks if task.done and loop.record.has(task)]
    if state is None or loop.refused or (not finished and not loop.ahead_version):
        return ()
    try:
        closed = _closed_from_the_start(loop, finished) if finished else None
    except StepRefusal:
        return ()
    changes = [*loop.ahead, *(closed.results if closed is not None else ())]
    results = tuple(fitted(changes, loop.values))
    return (OpenStep(state.namespace, state.id, loop.record.applied(finished), results),)


def _closed_from_the_start(loop: Loop, finished: list[Task]) -> Closed:
    """Close the step over its checkpoint's channels: the loop's may show already what finished tasks wrote."""
    assert loop.state is not None
    shown = loop.cells
    loop.cells = fold_step(loop.state.cells, loop.ahead, {}, loop.values) if loop.ahead else loop.state.cells
    try:
        return loop.closed(finished)
    finally:
        loop.cells = shown
