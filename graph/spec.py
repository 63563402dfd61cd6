"""The static description of a compiled graph: what the superstep loop runs.

The builder makes a `GraphSpec` once; the loop only reads it. Everything a node does is one of four pure-ish
functions: `read` (values -> input), `call` (input -> raw result), `writes` (raw result -> channel writes),
and the branches' `route`. No schema, signature or annotation is looked at after compile.

Read next: `builder.py` (who makes this), `writes.py` and `branch.py` (what the functions do).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ..projections.timeouts import TimeoutPolicy
from .cache import CachePolicy
from .managed import Managed
from .retry import RetryPolicy
from .scope import NodeScope

if TYPE_CHECKING:
    from ..projections.channels import Channel

Write = tuple[str, Any]
"""A channel's name and the value written to it."""

MISSING: Final = object()
"""What `NodeSpec.read` gives when the root channel has no value: there is nothing to run the node on."""


def branch_channel(node: str) -> str:
    """Return the channel that triggers `node` by an edge."""
    return f"branch:to:{node}"


def join_channel(starts: tuple[str, ...], end: str) -> str:
    """Return the channel on which `end` waits for all of `starts`."""
    return f"join:{'+'.join(starts)}:{end}"


@dataclass(frozen=True, slots=True)
class BranchSpec:
    """A conditional edge: a router that runs after its node's writes, on the fresh state.

    `route(values, node_output, scope)` gets the values of the channels in `reads` that are available, with
    the node's own writes applied, and gives writes to `branch:to:*` or of `Send`s. `ends` maps what the
    router may return to node names, when that is declared.
    """

    name: str
    reads: tuple[str, ...]
    route: Callable[[Mapping[str, Any], Any, NodeScope], list[Write]]
    aroute: Callable[[Mapping[str, Any], Any, NodeScope], Awaitable[list[Write]]]
    is_async: bool
    ends: Mapping[Any, str] | None
    path: Any
    managed: Managed = ()
    """What it reads beside channels."""


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One node: when it runs, what it reads, what it calls, what its result means.

    `read` and `writes` are total and raise only typed errors (or a schema's own validation error); `call`
    is the user's code. `edges` are written after every success, then `branches` are asked in order.
    """

    name: str
    triggers: tuple[str, ...]
    reads: tuple[str, ...]
    read: Callable[[Mapping[str, Any]], Any]
    call: Callable[[Any, NodeScope], Any]
    acall: Callable[[Any, NodeScope], Awaitable[Any]]
    is_async: bool
    writes: Callable[[Any], list[Write]]
    unknown_keys: Callable[[Any], tuple[str, ...]]
    edges: tuple[Write, ...] = ()
    branches: tuple[BranchSpec, ...] = ()
    metadata: Mapping[str, Any] | None = None
    hidden: bool = False
    input_schema: Any = None
    fn: Any = None
    ends: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    """Where its commands may go, as declared, with labels: for validation and drawing only."""
    managed: Managed = ()
    """What it reads beside channels."""
    retry: tuple[RetryPolicy, ...] = ()
    """Whether the node is tried again when it failed: the first policy that matches says."""
    cache: CachePolicy[Any] | None = None
    """Whether its writes may come from a cache."""
    timeout: TimeoutPolicy | None = None
    """How long one attempt may take; only for nodes that are asynchronous."""
    handler: str | None = None
    """The node that is run in the same superstep when this one failed for good."""
    graph: Any = None
    """The compiled graph that runs inside the node, where its code shows one."""


@dataclass(frozen=True, slots=True)
class GraphSpec:
    """A whole graph as the loop sees it; nodes in `add_node` order, START first.

    `input_channels`, `output_channels` and `stream_channels` are a tuple of keys, or the one key
    `"__root__"` (or `"__start__"`) when the value is not a dictionary. `description()` and `digest()`
    identify the graph by content: two processes that build the same graph get the same digest.
    """

    name: str
    nodes: Mapping[str, NodeSpec]
    channels: Mapping[str, Channel]
    input_channels: tuple[str, ...] | str
    output_channels: tuple[str, ...] | str
    stream_channels: tuple[str, ...] | str
    trigger_to_nodes: Mapping[str, tuple[str, ...]]
    state_schema: Any
    input_schema: Any
    output_schema: Any
    context_schema: Any
    types: tuple[Any, ...]
    interrupt_before: tuple[str, ...] | str
    interrupt_after: tuple[str, ...] | str
    aliases: Mapping[str, str]
    strict: bool
    coerce_context: Callable[[Any], Any]
    description: Callable[[], dict[str, Any]]
    digest: Callable[[], bytes]
    eager: bool = False
    """Whether what a task shows is seen while other tasks of the step still run."""
