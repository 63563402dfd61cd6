"""`update_state`: a person's edit, recorded as what a node would have written, in a checkpoint of its own.

The edit runs the node's writers and routers, so the next tasks are those that the node would have led to. It appends
under the thread's version, so a run that holds the thread meets `ConflictError` at its next append.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..eventlog.clock import id_bytes
from ..eventlog.events import ChannelWritten, PlannedTask
from ..eventlog.record import NO_ID
from ..projections.cells import Written
from ..projections.errors import InvalidUpdateError
from ..projections.ids import task_id
from ..projections.snapshot import statuses
from ..projections.state import CheckpointState
from ..projections.types import COPY, END, INPUT, INTERRUPT, NO_WRITES, START, StateUpdate
from .ahead import reapply_commands
from .commits import commit
from .loop import Loop
from .message_ids import with_message_ids
from .rules import Closed, Finished, StepRefusal
from .run_input import close_input, input_entries, stored_once
from .spec import NodeSpec, Write
from .tasks import Task, TaskScope, fresh_values


def apply_updates(loop: Loop, updates: Sequence[StateUpdate], writes: Mapping[int, ChannelWritten]) -> None:
    """Make one superstep of manual updates on the loop's checkpoint and record it.

    Raises `InvalidUpdateError` for an update that no node could have made; nothing is recorded then.
    """
    values, as_node = updates[0][:2]
    if len(updates) > 1 and (as_node in (INPUT, COPY) or (values is None and as_node == END)):
        raise InvalidUpdateError(f"Cannot apply multiple updates in one step with as_node {as_node!r}")
    try:
        if values is None and as_node == END:
            _clear(loop, writes)
        elif as_node == INPUT:
            _as_input(loop, values)
        elif as_node == COPY:
            _copy(loop, values)
        else:
            _as_nodes(loop, _named(loop, updates))
    except StepRefusal as refusal:
        raise refusal.error from None


def _clear(loop: Loop, writes: Mapping[int, ChannelWritten]) -> None:
    """Give up the pending tasks; what finished ones wrote is applied, behind what commands wrote ahead of them."""
    base = loop.state
    if base is None:
        commit(loop, "update", _nothing(loop), (), {}, step=loop.step)
        return
    reapply_commands(loop, writes)
    known = statuses(dict(writes), loop.values)
    finished: list[Finished] = []
    applied: list[int] = []
    for task in base.tasks:
        output = known[task.id].output if task.id in known else ()
        written = [
            (channel, Written(data, (event.checkpoint, event.path, channel, place), loop.values.decode))
            for place, (channel, data, event) in enumerate(output)
            if data is not None
        ]
        finished.append(Finished(task.name, task.path, task.triggers, written))
        applied += [v for v, event in writes.items() if event.task == task.id and output]
    closed = loop.rules.close(loop.cells, {}, loop.versions(), finished, loop.values)
    commit(loop, "update", closed, tuple(applied), {}, step=loop.step)


def _as_input(loop: Loop, given: Any) -> None:
    if given is None:
        raise InvalidUpdateError(f"Received no input writes for {START}")
    entries = input_entries(given, loop.values)
    stored = {key: written.data for key, written in entries}
    base = loop.state
    assert loop.journal is not None
    event = ChannelWritten(NO_ID, loop.run.namespace, NO_ID, INPUT, (), tuple(stored.items()))
    closed = close_input(loop, given, entries, abandon=False)
    version = loop.journal.append([event], loop.now_us())
    commit(loop, "input", closed, (version,), stored, step=-1 if base is None else loop.step)


def _copy(loop: Loop, values: Any) -> None:
    base = loop.state
    if base is None:
        raise InvalidUpdateError("Cannot copy a non-existent checkpoint")
    if isinstance(values, list) and values:
        _copy_of(loop, base)
        _as_nodes(loop, _regrouped(cast("list[Any]", values)))
        return
    _copy_of(loop, base)


def _copy_of(loop: Loop, base: CheckpointState) -> CheckpointState:
    """Record a copy of a checkpoint under the same parent."""
    return commit(loop, "fork", _nothing(loop), (), {}, step=loop.step, sibling_of=base)


def _regrouped(items: list[Any]) -> list[tuple[str, Any, str | None]]:
    """Return the updates that follow a copy, those of one node together, in the order in which nodes appear."""
    by_node: dict[str, list[tuple[str, Any, str | None]]] = {}
    for item in items:
        if not isinstance(item, tuple | list):
            raise InvalidUpdateError(f"Invalid update item: {item} when copying checkpoint")
        values, as_node = cast("Sequence[Any]", item)[:2]
        by_node.setdefault(as_node, []).append((as_node, values, None))
    return [update for group in by_node.values() for update in group]


def _nothing(loop: Loop) -> Closed:
    return Closed(loop.cells, loop.untracked, [], 0, (), (), {}, frozenset())


# As nodes


def _named(loop: Loop, updates: Sequence[StateUpdate]) -> list[tuple[str, Any, str | None]]:
    named: list[tuple[str, Any, str | None]] = []
    for values, as_node, given_id in updates:
        if as_node is None and len(updates) > 1:
            raise InvalidUpdateError("as_node is required when applying multiple updates")
        node = infer_as_node(loop, loop.state) if as_node is None else as_node
        if node is None:
            raise InvalidUpdateError("Ambiguous update, specify as_node")
        if node not in loop.spec.nodes:
            raise InvalidUpdateError(f"Node {node} does not exist")
        named.append((node, values, given_id))
    return named


def infer_as_node(loop: Loop, state: CheckpointState | None) -> str | None:
    """Return the node that updated the state last, START on an untouched thread, `None` when several did."""
    nodes = loop.spec.nodes
    if len(nodes) == 1:
        return next(iter(nodes))
    seen = state.seen if state is not None else {}
    last = sorted((version, node) for node, channels in seen.items() if node in nodes for version in channels.values())
    if not any(channels for channels in seen.values()):
        return START
    if len(last) == 1 or (last and last[-1][0] != last[-2][0]):
        return last[-1][1]
    return None


def _as_nodes(loop: Loop, updates: list[tuple[str, Any, str | None]]) -> None:
    base, journal = loop.state, loop.journal
    assert journal is not None
    available: dict[str, deque[bytes]] = {}
    for task in base.tasks if base is not None else ():
        available.setdefault(task.name, deque()).append(task.id)
    checkpoint = base.id if base is not None else NO_ID
    finished: list[Finished] = []
    events: list[ChannelWritten] = []
    for place, (node_name, values, given_id) in enumerate(updates):
        node = loop.spec.nodes[node_name]
        queue = available.get(node_name)
        id_ = _id_for(given_id) or (queue.popleft() if queue else _made_up(checkpoint, loop, place))
        path = (INTERRUPT, place)
        writes = _writes_as(loop, node, values, PlannedTask(id_, node_name, path, (INTERRUPT,)))
        written, stored = _stored(loop, checkpoint, path, writes)
        finished.append(Finished(node_name, path, (INTERRUPT,), written))
        events.append(ChannelWritten(checkpoint, loop.run.namespace, id_, node_name, path, stored))
    versions: Mapping[str, int] = base.versions if base is not None else {}
    closed = loop.rules.close(loop.cells, {}, versions, finished, loop.values)
    first = journal.append(events, loop.now_us())
    commit(loop, "update", closed, tuple(range(first, first + len(events))), {}, step=loop.step)


def _writes_as(loop: Loop, node: NodeSpec, values: Any, planned: PlannedTask) -> list[Write]:
    """Return what a node that returned `values` would have written, routes included."""
    task = Task(planned, node, loop.run, loop.step)
    scope = TaskScope(task, loop.state.id if loop.state is not None else NO_ID)
    unknown = node.unknown_keys(values)
    if unknown and loop.spec.strict:
        raise InvalidUpdateError(f"update_state as '{node.name}' wrote unknown keys {unknown}")
    if unknown:
        loop.run.warn_unknown(node.name, unknown)
    writes = node.writes(values) + list(node.edges)
    for branch in node.branches:
        fresh = fresh_values(branch, task, writes, loop.cells, loop.spec.channels, loop.values)
        writes += branch.route(fresh, values, scope)
    return writes


def _stored(
    loop: Loop, checkpoint: bytes, path: tuple[Any, ...], writes: list[Write]
) -> tuple[list[tuple[str, Written]], tuple[tuple[str, Any], ...]]:
    tracked = [write for write in writes if write[0] not in loop.rules.untracked]
    with_ids = [
        (channel, with_message_ids(loop.spec.channels.get(channel), value, (checkpoint, path, channel, place)))
        for place, (channel, value) in enumerate(tracked)
    ]
    written = stored_once(with_ids, checkpoint, path, loop.values)
    return written, tuple((channel, part.data) for channel, part in written) or ((NO_WRITES, b"\xc0"),)


def _id_for(text: str | None) -> bytes | None:
    if text is None:
        return None
    number = id_bytes(text)
    if number is None:
        raise InvalidUpdateError(f"{text!r} is no task id; take one from a snapshot's tasks")
    return number


def _made_up(checkpoint: bytes, loop: Loop, place: int) -> bytes:
    return task_id(checkpoint, loop.run.namespace, loop.step, INTERRUPT, str(place), ())
