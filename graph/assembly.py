"""From a builder's notes to a `GraphSpec`: which channels there are, what triggers whom, what each call
means.

Pure: the same builder gives an equal description and the same digest in any process.

Read next: `spec.py` for what comes out, `builder.py` for what goes in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import ormsgpack
from blake3 import blake3

from ..projections.channels import (
    Channel,
    EphemeralValue,
    LastValueAfterFinish,
    NamedBarrierValue,
    NamedBarrierValueAfterFinish,
    Topic,
)
from ..projections.timeouts import TimeoutPolicy
from ..projections.types import END, ROOT, START, TASKS, Send
from .branch import branch_spec
from .cache import CachePolicy
from .errors import SyncTimeout
from .handlers import DEFAULT_HANDLER
from .injection import INJECTED, Callee, callee
from .inner_graphs import inner_graph
from .native_async import has_native_async
from .retry import RetryPolicy
from .schema import Schema, coerce_context, visible_hints
from .scope import NodeScope
from .spec import MISSING, BranchSpec, GraphSpec, NodeSpec, Write, branch_channel, join_channel
from .writes import Targets, no_unknown_keys, unknown_key_finder, writer


@dataclass(slots=True)
class BranchNote:
    """What `add_conditional_edges` was told."""

    router: Callee
    ends: dict[Any, str] | None
    input_schema: Any


@dataclass(slots=True)
class NodeNote:
    """What `add_node` was told."""

    callee: Callee
    input_schema: Any
    metadata: Mapping[str, Any] | None
    ends: Mapping[str, str | None]
    is_graph: bool
    retry: tuple[RetryPolicy, ...] | None
    """`None`: the graph's default."""
    defer: bool
    timeout: TimeoutPolicy | None = None
    """`None`: the graph's default."""
    cache: CachePolicy[Any] | None = None
    """`None`: the graph's default."""
    handler: str | None = None
    """The node that handles its errors; `None`: the graph's default."""
    is_handler: bool = False


def handler_note(handler: Any, name: str, schema: Any) -> NodeNote:
    """Return the note of a node that handles errors, under its name."""
    return NodeNote(callee(handler, name=name), schema, None, {}, False, None, False, is_handler=True)


@dataclass(slots=True)
class GraphNotes:
    """Everything a builder knows; edges in the order in which they were added."""

    state_schema: Any
    input_schema: Any
    output_schema: Any
    context_schema: Any
    retry: tuple[RetryPolicy, ...] = ()
    """For nodes that were given no policy of their own."""
    timeout: TimeoutPolicy | None = None
    cache: CachePolicy[Any] | None = None
    handler: NodeNote | None = None
    schemas: dict[Any, Schema] = field(default_factory=dict[Any, Schema])
    channels: dict[str, Channel] = field(default_factory=dict[str, Channel])
    nodes: dict[str, NodeNote] = field(default_factory=dict[str, NodeNote])
    edges: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])
    joins: dict[tuple[tuple[str, ...], str], None] = field(default_factory=dict[tuple[tuple[str, ...], str], None])
    branches: dict[str, dict[str, BranchNote]] = field(default_factory=dict[str, dict[str, BranchNote]])


def assemble(
    notes: GraphNotes,
    *,
    name: str,
    interrupt_before: tuple[str, ...] | str,
    interrupt_after: tuple[str, ...] | str,
    aliases: Mapping[str, str],
    strict: bool,
) -> GraphSpec:
    """Return the static description of a validated graph."""
    notes = _with_default_handler(notes)
    targets = Targets.of(notes.nodes, aliases)
    nodes = {START: _start_node(notes, targets)}
    nodes.update((node, _node(notes, node, note, targets)) for node, note in notes.nodes.items())
    channels = _all_channels(notes)
    describe = partial(_describe, name, channels, nodes)
    return GraphSpec(
        name=name,
        nodes=nodes,
        channels=channels,
        input_channels=START,
        output_channels=_visible(notes.schemas[notes.output_schema].keys),
        stream_channels=_visible(tuple(notes.channels)),
        trigger_to_nodes=_trigger_map(nodes.values()),
        state_schema=notes.state_schema,
        input_schema=notes.input_schema,
        output_schema=notes.output_schema,
        context_schema=notes.context_schema,
        types=_types(notes),
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        aliases=dict(aliases),
        strict=strict,
        coerce_context=partial(coerce_context, notes.context_schema),
        description=describe,
        digest=cache(lambda: _digest(describe())),
    )


def spec_of(
    nodes: Mapping[str, NodeSpec],
    channels: Mapping[str, Channel],
    *,
    output: str,
    context_schema: Any,
    coerce_context: Callable[[Any], Any],
    types: tuple[Any, ...],
) -> GraphSpec:
    """Return the static description of a graph of these nodes and channels, whose input goes to START."""
    named = {key: channel.named(key) for key, channel in channels.items()}
    describe = partial(_describe, "LangGraph", named, nodes)
    return GraphSpec(
        name="LangGraph",
        nodes=nodes,
        channels=named,
        input_channels=START,
        output_channels=output,
        stream_channels=output,
        trigger_to_nodes=_trigger_map(nodes.values()),
        state_schema=None,
        input_schema=None,
        output_schema=None,
        context_schema=context_schema,
        types=tuple(part for part in types if part is not None),
        interrupt_before=(),
        interrupt_after=(),
        aliases={},
        strict=False,
        coerce_context=coerce_context,
        description=describe,
        digest=cache(lambda: _digest(describe())),
        eager=True,
    )


def _with_default_handler(notes: GraphNotes) -> GraphNotes:
    """Return the notes with a node for the errors of all nodes that have no handler of their own."""
    if notes.handler is None:
        return notes
    if DEFAULT_HANDLER in notes.nodes:
        raise ValueError(f"Auto-generated default error handler node `{DEFAULT_HANDLER}` already exists.")
    return replace(notes, nodes={**notes.nodes, DEFAULT_HANDLER: notes.handler})


def _handler(notes: GraphNotes, note: NodeNote) -> str | None:
    default = None if notes.handler is None or note.is_handler else DEFAULT_HANDLER
    return note.handler or default


def _start_node(notes: GraphNotes, targets: Targets) -> NodeSpec:
    async def apass(value: Any, _scope: NodeScope) -> Any:
        return value

    return NodeSpec(
        name=START,
        triggers=(START,),
        reads=(START,),
        read=lambda values: values.get(START, MISSING),
        call=lambda value, scope: value,
        acall=apass,
        is_async=False,
        writes=writer(START, notes.schemas[notes.input_schema].keys, targets),
        unknown_keys=no_unknown_keys,
        edges=_edges(notes, START),
        branches=_branches(notes, START, targets),
        hidden=True,
        input_schema=notes.input_schema,
    )


def _node(notes: GraphNotes, name: str, note: NodeNote, targets: Targets) -> NodeSpec:
    schema = notes.schemas[note.input_schema]
    keys = tuple(notes.channels)
    joins = tuple(join_channel(starts, end) for starts, end in notes.joins if end == name)
    return NodeSpec(
        name=name,
        triggers=(branch_channel(name), *joins),
        reads=schema.keys,
        read=schema.read,
        managed=schema.managed,
        call=note.callee.call,
        acall=note.callee.acall,
        is_async=note.callee.is_async,
        writes=writer(name, keys, targets),
        unknown_keys=no_unknown_keys if note.is_graph else unknown_key_finder(keys),
        edges=_edges(notes, name),
        branches=_branches(notes, name, targets),
        metadata=note.metadata,
        input_schema=note.input_schema,
        fn=note.callee.fn,
        ends=note.ends,
        retry=notes.retry if note.retry is None else note.retry,
        cache=notes.cache if note.cache is None and not note.is_handler else note.cache,
        handler=_handler(notes, note),
        timeout=_limits(notes, name, note),
        graph=inner_graph(note.callee.fn),
    )


def _limits(notes: GraphNotes, name: str, note: NodeNote) -> TimeoutPolicy | None:
    timeout = notes.timeout if note.timeout is None else note.timeout
    if timeout is not None and not has_native_async(note.callee.fn):
        raise SyncTimeout(name)
    return timeout


def _edges(notes: GraphNotes, source: str) -> tuple[Write, ...]:
    direct = [(branch_channel(end), None) for start, end in notes.edges if start == source and end != END]
    joined = [(join_channel(starts, end), source) for starts, end in notes.joins if source in starts and end != END]
    return (*direct, *joined)


def _branches(notes: GraphNotes, source: str, targets: Targets) -> tuple[BranchSpec, ...]:
    own = notes.nodes[source].input_schema if source in notes.nodes else notes.state_schema
    return tuple(
        branch_spec(
            name,
            source=source,
            router=branch.router,
            schema=notes.schemas[branch.input_schema or own],
            declares_schema=branch.input_schema is not None,
            ends=branch.ends,
            targets=targets,
        )
        for name, branch in notes.branches.get(source, {}).items()
    )


def _all_channels(notes: GraphNotes) -> dict[str, Channel]:
    channels: dict[str, Channel] = dict(notes.channels)
    channels[START] = EphemeralValue(notes.input_schema)
    for name, node in notes.nodes.items():
        channels[branch_channel(name)] = LastValueAfterFinish(Any) if node.defer else EphemeralValue(Any, guard=False)
    for starts, end in notes.joins:
        if end != END:
            barrier = NamedBarrierValueAfterFinish if notes.nodes[end].defer else NamedBarrierValue
            channels[join_channel(starts, end)] = barrier(str, starts)
    channels[TASKS] = Topic(Send)
    return {key: channel.named(key) for key, channel in channels.items()}


def _visible(keys: tuple[str, ...]) -> tuple[str, ...] | str:
    return ROOT if keys == (ROOT,) else keys


def _trigger_map(nodes: Iterable[NodeSpec]) -> dict[str, tuple[str, ...]]:
    triggered: dict[str, tuple[str, ...]] = {}
    for node in nodes:
        for channel in node.triggers:
            triggered[channel] = (*triggered.get(channel, ()), node.name)
    return triggered


def _types(notes: GraphNotes) -> tuple[Any, ...]:
    """Return every annotation that may name the class of a stored value, each once."""
    found: list[Any] = [*notes.schemas, notes.context_schema]
    for note in notes.nodes.values():
        hints = visible_hints(note.callee.fn)
        found += [hint for parameter, hint in hints.items() if parameter not in INJECTED]
    return tuple({id(part): part for part in found if part is not None}.values())


def _describe(name: str, channels: Mapping[str, Channel], nodes: Mapping[str, NodeSpec]) -> dict[str, Any]:
    """Return the graph as plain data: what a log keeps to say which graph made a checkpoint."""
    return {
        "name": name,
        "channels": {key: channel.describe() for key, channel in channels.items()},
        "nodes": {key: _describe_node(node) for key, node in nodes.items()},
    }


def _describe_node(node: NodeSpec) -> dict[str, Any]:
    handler = {} if node.handler is None else {"handler": node.handler}
    return {
        **handler,
        "triggers": list(node.triggers),
        "reads": list(node.reads),
        "edges": [channel for channel, _ in node.edges],
        "branches": {
            branch.name: None if branch.ends is None else [[str(key), end] for key, end in branch.ends.items()]
            for branch in node.branches
        },
        "ends": list(node.ends),
    }


def _digest(description: dict[str, Any]) -> bytes:
    return blake3(ormsgpack.packb(description)).digest(16)
