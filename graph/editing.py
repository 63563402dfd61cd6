"""Editing a thread by hand, step by step, under its version: the calls behind `update_state`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

from ..eventlog.clock import CheckpointIds
from ..eventlog.events import RunEnded, RunStarted
from ..projections.cells import own
from ..projections.fold import fold_step
from ..projections.namespaces import nodes_of
from ..projections.snapshot import config_of
from ..projections.types import RunnableConfig, StateUpdate
from .config import configurable
from .errors import SubgraphNotFound
from .fence import not_from_within
from .ground import Ground
from .journal import Journal
from .loop import Loop
from .persistence import OpenThread, Persistence
from .reading import namespace_in
from .rules import Rules
from .run_metadata import actor_of, encoded_metadata
from .run_scope import RunScope
from .run_writer import RunWriter
from .stream import Stream
from .update import apply_updates


def edit(
    persistence: Persistence,
    rules: Rules,
    inner: Any,
    ids: CheckpointIds,
    config: RunnableConfig,
    supersteps: Sequence[Sequence[StateUpdate]],
    *,
    store: Any,
) -> RunnableConfig:
    """Make each superstep of updates a checkpoint and return the last one's config. All of them, or none.

    `inner`: the graph that the config's namespace leads to, when it is not the root that is edited.
    """
    if not supersteps:
        raise ValueError("No supersteps provided")
    if any(not updates for updates in supersteps):
        raise ValueError("No updates provided")
    asked = configurable(config)
    if inner is not None:
        rules = inner.rules
    elif asked.get("checkpoint_ns"):
        raise SubgraphNotFound(
            f"Subgraph {nodes_of(asked['checkpoint_ns'])} not found: no node that this namespace leads through shows a "
            "graph inside it. Leave `checkpoint_ns` out of the config to edit the state of the graph itself."
        )
    namespace = namespace_in(config, inner)
    log = persistence.log
    actor = actor_of(config)
    log.demand_actor("manual edit", actor=actor.name)
    thread = persistence.open(config)
    not_from_within(thread)
    place = thread.find(asked["checkpoint_id"]) if asked.get("checkpoint_id") and thread.thread.version else None
    place = place or thread.head(namespace)
    run = log.clock.random(16)
    # Durability `exit`: everything in one append, so the edit is there as a whole or not at all.
    writer = RunWriter(log, thread.name, thread.thread.version, run, durability="exit", actor=actor, whole=True)
    journal = Journal(
        log,
        thread.thread.copy(),
        thread.values,
        writer,
        run=run,
        scope_key=log.scope_key(log.scope_of(thread.name)),
        before_first=partial(persistence.register_graph, rules.spec),
    )
    state = place.state if place is not None else None
    parents = {} if state is None else state.parents
    loop = _loop(rules, ids, thread, journal, config, store, namespace, parents)
    loop.edits = True
    loop.base = loop.state = state
    loop.cells = state.cells if state is not None else {}
    loop.step = state.step + 1 if state is not None else 0
    trigger = RunStarted(loop.graph, state.id if state else None, "update", "sync", loop.metadata)
    journal.append([trigger], loop.now_us())
    for number, updates in enumerate(supersteps):
        _with_first_values(loop)
        writes = place.writes if place is not None and number == 0 else {}
        apply_updates(loop, [StateUpdate(*update) for update in updates], writes)
    assert loop.state is not None
    journal.append([RunEnded("edited", loop.state.id)], loop.now_us())
    writer.drain()
    journal.publish()
    return cast("RunnableConfig", config_of(thread.id, namespace, loop.state.id, parents))


def _loop(
    rules: Rules,
    ids: CheckpointIds,
    thread: OpenThread,
    journal: Journal,
    config: Mapping[str, Any],
    store: Any,
    namespace: str,
    parents: Mapping[str, bytes],
) -> Loop:
    now_us = thread.log.clock.now_us
    shown = rules.spec.stream_channels
    stream = Stream((), output=rules.spec.output_channels, shown=shown, now_us=now_us)
    ground = Ground(
        new_id=ids.next,
        now_us=now_us,
        durability="exit",
        copied=own,
        journal=journal,
        thread=thread,
    )
    scope = RunScope(
        cast("RunnableConfig", config),
        ground=ground,
        context=None,
        store=store,
        stream=stream,
        thread_id=thread.id,
        run_id=None,
        namespace=namespace,
        parents=parents,
    )
    return Loop(
        rules,
        thread.values,
        scope,
        stream,
        journal=journal,
        commits=True,
        new_id=ids.next,
        now_us=now_us,
        metadata=encoded_metadata(config, thread.values),
    )


def _with_first_values(loop: Loop) -> None:
    """Give channels that hold nothing yet their first value, recorded with the next checkpoint."""
    loop.ahead = loop.rules.initial_results(loop.cells, loop.values)
    if loop.ahead:
        loop.cells = fold_step(loop.cells, loop.ahead, {}, loop.values)
