"""A graph that runs inside a node of another: part of that run, under a namespace of its own.

Its checkpoints and its tasks' writes go to the journal of the run around it, as they are made. Whether what it did is
there when the node runs again is the graph's `checkpointer`: `None` keeps it as long as the task that ran it is the
same, so a question finds its graph where it stopped; `True` keeps it from task to task; `False` keeps nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..eventlog.clock import any_id
from ..eventlog.events import ChannelWritten, CheckpointCommitted
from ..eventlog.record import NO_ID
from ..projections.cells import PLAIN
from ..projections.history import history
from ..projections.reader import StreamPast
from ..projections.snapshot import statuses
from ..projections.state import CheckpointState
from .begin import Start, begin_inside
from .config import checkpoint_map_of, recursion_limit_of
from .errors import GraphInterrupt
from .ground import Bound
from .inside import Inside
from .loop import Loop
from .options import Options
from .rules import Rules
from .run_metadata import encoded_metadata
from .run_scope import RunScope
from .stream import Stream
from .tasks import TaskScope


class Place(NamedTuple):
    """Where a graph inside a node begins."""

    base: CheckpointState | None
    writes: dict[int, ChannelWritten]
    addressed: bool = False
    superseded: bool = False
    continues: bool = False


def open_inside(
    rules: Rules,
    call: Inside,
    options: Options,
    stream: Stream,
    given: Any,
) -> Loop:
    """Return the loop of a graph that a task runs, at its first step."""
    caller, namespace = call.caller, call.namespace
    around, ground = caller.task.run, caller.task.run.ground
    journal = ground.journal if call.records else None
    values = PLAIN if journal is None or ground.thread is None else ground.thread.values
    if journal is not None and ground.register is not None:
        ground.register(rules.spec)
    run = RunScope(
        stream.heard(options.config),
        ground=ground,
        context=around.context if options.context is None else options.context,
        store=around.store,
        stream=stream,
        thread_id=around.thread_id,
        run_id=around.run_id,
        namespace=namespace,
        parents=caller.parents,
        is_inside=True,
        actor=around.actor,
        control=options.control,
        caching=options.caching,
        progress=caller.progress,
    )
    loop = Loop(
        rules,
        values,
        run,
        stream,
        journal=journal,
        commits=ground.durability != "exit",
        new_id=ground.new_id,
        now_us=ground.now_us,
        interrupt_before=options.interrupt_before,
        interrupt_after=options.interrupt_after,
        metadata=None if journal is None else encoded_metadata(options.config, values),
    )
    loop.limit = recursion_limit_of(options.config)
    if journal is not None and not loop.commits and not call.keeps:
        loop.deferred = []
    place = Place(None, {}) if journal is None else _place(loop, caller, keeps=call.keeps)
    owner = caller.task.planned.id
    start = Start(
        place.base, place.writes, place.addressed, place.superseded, ground.durability, loop.metadata, owner=owner
    )
    with loop.recording_alone():
        begin_inside(loop, start, given, continues=place.continues)
        ground.owners[namespace] = owner
    return loop


def _place(loop: Loop, caller: TaskScope, *, keeps: bool) -> Place:
    """Return where a graph with a log begins: at a checkpoint that was asked for, or its last one."""
    run, ground, journal = loop.run, loop.run.ground, loop.journal
    assert journal is not None
    assert ground.thread is not None
    with journal.lock:
        head = journal.thread.heads.get(run.namespace)
        writes = {} if head is None else dict(journal.thread.open.get(head.id, {}))
    asked = checkpoint_map_of(caller.task.run.config)
    if run.namespace in asked and ground.is_first_visit(run.namespace):
        found = ground.thread.find(asked[run.namespace])
        superseded = head is None or head.id != any_id(asked[run.namespace])
        return Place(found.state, found.writes, addressed=True, superseded=superseded)
    if ground.bound is not None:
        if ground.is_first_visit(run.namespace):
            head = _before(loop, ground.bound)
            writes = {}
        return Place(head, writes)
    continues = caller.task.run.continues or caller.task.attempt > 1
    if continues and keeps and head is not None:
        continues = _began(loop, caller, head)
    return Place(head, writes, continues=continues)


def _before(loop: Loop, bound: Bound) -> CheckpointState | None:
    """Return the last checkpoint of the namespace from before a checkpoint of the root, its own step excepted.

    At durability `exit` what was made in a checkpoint's step is committed before it.
    """
    thread, namespace = loop.run.ground.thread, loop.run.namespace
    assert thread is not None
    earlier = history(thread.log, thread.thread, thread.values, before=bound.version)
    ours = (state for state, _writes in earlier if state.namespace == namespace)
    return next((state for state in ours if state.parents.get("") != bound.checkpoint), None)


def _began(loop: Loop, caller: TaskScope, head: CheckpointState) -> bool:
    """Tell whether it is this task, and not one beside it, that the graph's last steps were made in."""
    task, journal = caller.task, loop.journal
    if task.before is None or journal is None:
        return True
    with journal.lock:
        owner = loop.run.ground.owners.get(loop.run.namespace)
        if owner is None and task.planned.id not in statuses(
            journal.thread.open.get(caller.checkpoint, {}), loop.values
        ):
            owner = _owner(journal.past, head)
    return owner is None or owner == task.planned.id


def _owner(past: StreamPast, state: CheckpointState) -> bytes:
    """Return the task that gave the input that led to a checkpoint of an earlier run; `NO_ID` for none."""
    while state.source != "input" and state.parent is not None:
        event = past.event_at(state.version)
        assert isinstance(event, CheckpointCommitted), "a checkpoint lies at its own version"
        state = past.state_at(event.parent_version)
    first = past.event_at(state.applied[0]) if state.applied else None
    return first.task if isinstance(first, ChannelWritten) else NO_ID


def raise_outcome(loop: Loop) -> None:
    """Raise what a graph inside a node has to tell the node: that it waits, or that it failed."""
    if loop.failure is not None:
        raise loop.failure
    if loop.status in ("interrupted", "interrupt_before", "interrupt_after"):
        raise GraphInterrupt(tuple(question for task in loop.tasks if not task.done for question in task.interrupts))
