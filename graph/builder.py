"""`StateGraph`: where a graph is written down, before anything runs.

The builder checks names and edges as they are added, and the whole graph at `compile`. It runs no user code;
it reads signatures and annotations once. Messages and `ValueError`s are LangGraph's.

Read next: `assembly.py` (notes -> spec), `spec.py` (what the loop runs).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, Union, cast, get_args, get_origin

from ..eventlog.texts import checked_text
from ..projections.channels import Channel, LastValue
from ..projections.timeouts import TimeoutPolicy
from ..projections.types import END, START, Command
from .assembly import BranchNote, GraphNotes, NodeNote, assemble, handler_note
from .branch import destinations as branch_destinations
from .handlers import DEFAULT_HANDLER, HANDLER_OF
from .injection import callee, default_name
from .retry import policies_of
from .runnables import is_runnable, made_runnable
from .schema import Schema, analyse, input_hint, visible_hints
from .spec import GraphSpec

if TYPE_CHECKING:
    from .compiled import CompiledStateGraph

StateT = TypeVar("StateT")

_RESERVED_CHARACTERS = ("|", ":")


class StateGraph(Generic[StateT]):
    """A graph whose nodes read a shared state and return updates of it.

        graph = StateGraph(State).add_node(work).add_edge(START, "work").compile(checkpointer=log)

    `state_schema` is a TypedDict, dataclass, pydantic model or any plain type; `input_schema` and
    `output_schema` narrow what goes in and comes out; `context_schema` types what `invoke(context=…)` takes.
    """

    if not TYPE_CHECKING:

        def __class_getitem__(cls, _parameters: Any) -> type[StateGraph]:
            """Take LangGraph's one to four type parameters."""
            return cls

    def __init__(
        self,
        state_schema: type[StateT],
        context_schema: type[Any] | None = None,
        *,
        input_schema: type[Any] | None = None,
        output_schema: type[Any] | None = None,
    ) -> None:
        self.state_schema = state_schema
        self.context_schema = context_schema
        self.input_schema: Any = input_schema or state_schema
        self.output_schema: Any = output_schema or state_schema
        self.compiled = False
        self._notes = GraphNotes(state_schema, self.input_schema, self.output_schema, context_schema)
        for schema in (state_schema, self.input_schema, self.output_schema):
            self._add_schema(schema)
            if schema is not state_schema and self._notes.schemas[schema].managed:
                names = ", ".join(key for key, _ in self._notes.schemas[schema].managed)
                raise ValueError(
                    f"Invalid managed channels detected in {getattr(schema, '__name__', schema)}: {names}. Managed "
                    "channels are not permitted in Input/Output schema."
                )

    @property
    def nodes(self) -> Mapping[str, NodeNote]:
        """The nodes added so far, in order."""
        return self._notes.nodes

    @property
    def edges(self) -> set[tuple[str, str]]:
        """The single edges added so far."""
        return set(self._notes.edges)

    @property
    def channels(self) -> Mapping[str, Channel]:
        """The channels of all schemas so far."""
        return self._notes.channels

    @property
    def schemas(self) -> Mapping[Any, Schema]:
        """The schemas met so far."""
        return self._notes.schemas

    def add_node(
        self,
        node: str | Callable[..., Any] | Any,
        action: Callable[..., Any] | Any = None,
        *,
        defer: bool = False,
        metadata: Mapping[str, Any] | None = None,
        input_schema: type[Any] | None = None,
        retry_policy: Any = None,
        cache_policy: Any = None,
        error_handler: Any = None,
        destinations: Mapping[str, str] | tuple[str, ...] | None = None,
        timeout: Any = None,
    ) -> Self:
        """Add a node: `add_node(fn)` takes the function's name, `add_node("name", fn)` the one given.

        The node's input schema is `input_schema`, else what annotates its first parameter, else the state's.
        `defer`: the node runs when the run would otherwise end. `retry_policy`: one or several; of several the first
        that matches an error says whether the node is tried again. `timeout`: seconds, a `timedelta` or a
        `TimeoutPolicy` for each attempt; only for asynchronous nodes, which `compile` checks. `cache_policy`: the node
        is skipped when the cache that `compile` is given holds what it wrote. `error_handler`: what runs, in the same
        superstep and with the same input, when the node failed for good; a parameter `error: NodeError` says why.
        Raises `ValueError` for a name that is taken, reserved or holds `|` or `:`.
        """
        name, action = (node, action) if isinstance(node, str) else (default_name(node), node)
        self._warn_if_compiled("a node")
        if name is None:
            raise ValueError("Node name must be provided if action is not a function")
        action = made_runnable(action)
        if action is None:
            raise ValueError(f"Node `{name}` needs a function: add_node({name!r}, function)")
        self._check_name(name)
        called = callee(action, name=name)
        ends = _command_ends(action) if destinations is None else _labelled(destinations)
        inferred = input_schema or (None if is_runnable(action) else input_hint(action))
        is_graph = isinstance(getattr(action, "spec", None), GraphSpec)
        retry = None if retry_policy is None else policies_of(retry_policy)
        limits = TimeoutPolicy.coerce(timeout)
        note = NodeNote(
            called,
            inferred or self.state_schema,
            metadata,
            ends,
            is_graph,
            retry,
            defer,
            limits,
            cache_policy,
            self._add_handler(name, error_handler, inferred),
        )
        self._notes.nodes[name] = note
        if inferred is not None:
            self._add_schema(inferred)
        return self

    def set_node_defaults(
        self,
        *,
        retry_policy: Any = None,
        cache_policy: Any = None,
        error_handler: Any = None,
        timeout: Any = None,
    ) -> Self:
        """Say how nodes go that were told nothing of their own; what `add_node` was told wins, before or after this.

        Error handlers have no handlers, and no cache; graphs inside nodes have their own defaults.
        """
        self._warn_if_compiled("a default")
        if error_handler is not None:
            self._notes.handler = handler_note(error_handler, DEFAULT_HANDLER, self.state_schema)
        if cache_policy is not None:
            self._notes.cache = cache_policy
        if timeout is not None:
            self._notes.timeout = TimeoutPolicy.coerce(timeout)
        if retry_policy is not None:
            self._notes.retry = policies_of(retry_policy)
        return self

    def add_edge(self, start_key: str | Sequence[str], end_key: str) -> Self:
        """Add an edge; with several starts, `end_key` waits until all of them have run."""
        self._warn_if_compiled("an edge")
        if isinstance(start_key, str):
            if start_key == END:
                raise ValueError("END cannot be a start node")
            if end_key == START:
                raise ValueError("START cannot be an end node")
            self._notes.edges[(start_key, end_key)] = None
            return self
        for start in start_key:
            if start == END:
                raise ValueError("END cannot be a start node")
            if start not in self._notes.nodes:
                raise ValueError(f"Need to add_node `{start}` first")
        if end_key == START:
            raise ValueError("START cannot be an end node")
        if end_key != END and end_key not in self._notes.nodes:
            raise ValueError(f"Need to add_node `{end_key}` first")
        self._notes.joins[(tuple(start_key), end_key)] = None
        return self

    def add_conditional_edges(
        self,
        source: str,
        path: Callable[..., Any] | Any,
        path_map: dict[Any, str] | list[str] | None = None,
    ) -> Self:
        """After `source`, ask `path` where to go: a node name, END, a `Send`, or a list of these.

        `path_map` (or a `Literal` return annotation) declares what the router may answer.
        """
        self._warn_if_compiled("an edge")
        path = made_runnable(path)
        router = callee(path)
        name = router.name or "condition"
        branches = self._notes.branches.setdefault(source, {})
        if name in branches:
            raise ValueError(f"Branch with name `{router.name}` already exists for node `{source}`")
        schema = None if is_runnable(path) else input_hint(path)
        branches[name] = BranchNote(router, branch_destinations(path, path_map), schema)
        if schema is not None:
            self._add_schema(schema)
        return self

    def add_sequence(self, nodes: Sequence[Callable[..., Any] | tuple[str, Any] | Any]) -> Self:
        """Add nodes that run one after another; each is a function or a pair (name, function)."""
        if len(nodes) < 1:
            raise ValueError("Sequence requires at least one node.")
        previous: str | None = None
        for entry in nodes:
            name, action = _named(entry)
            if name in self._notes.nodes:
                raise ValueError(
                    f"Node names must be unique: node with the name '{name}' already exists. "
                    "If you need to use two different runnables/callables with the same name (for example, "
                    "using `lambda`), please provide them as tuples (name, runnable/callable)."
                )
            self.add_node(name, action)
            if previous is not None:
                self.add_edge(previous, name)
            previous = name
        return self

    def set_entry_point(self, key: str) -> Self:
        """Begin with the node `key`."""
        return self.add_edge(START, key)

    def set_conditional_entry_point(
        self, path: Callable[..., Any] | Any, path_map: dict[Any, str] | list[str] | None = None
    ) -> Self:
        """Begin where `path` says."""
        return self.add_conditional_edges(START, path, path_map)

    def set_finish_point(self, key: str) -> Self:
        """End after the node `key`."""
        return self.add_edge(key, END)

    def validate(self, interrupt: Sequence[str] | None = None) -> Self:
        """Raise `ValueError` unless every edge joins nodes that exist and something follows START."""
        sources = self._sources()
        for source in sources:
            if source not in self._notes.nodes and source != START:
                raise ValueError(f"Found edge starting at unknown node '{source}'")
        if START not in sources:
            raise ValueError("Graph must have an entrypoint: add at least one edge from START to another node")
        self._check_branch_targets()
        for target in self._targets():
            if target not in self._notes.nodes and target != END:
                raise ValueError(f"Found edge ending at unknown node `{target}`")
        for node in interrupt or ():
            if node not in self._notes.nodes:
                raise ValueError(f"Interrupt node `{node}` not found")
        self.compiled = True
        return self

    def spec(
        self,
        *,
        name: str | None = None,
        interrupt_before: Literal["*"] | Sequence[str] | None = None,
        interrupt_after: Literal["*"] | Sequence[str] | None = None,
        strict: bool = False,
        aliases: Mapping[str, str] | None = None,
    ) -> GraphSpec:
        """Validate the graph and return its static description, without a runtime around it."""
        before, after = _node_names(interrupt_before), _node_names(interrupt_after)
        self.validate([node for nodes in (before, after) if nodes != "*" for node in nodes])
        for old, new in (aliases or {}).items():
            if new not in self._notes.nodes:
                raise ValueError(f"Alias '{old}' means unknown node '{new}'; map it to a node of this graph")
        return assemble(
            self._notes,
            name=checked_text(name or "LangGraph", "the graph's name"),
            interrupt_before=before,
            interrupt_after=after,
            aliases=aliases or {},
            strict=strict,
        )

    def compile(
        self,
        checkpointer: Any = None,
        *,
        cache: Any = None,
        store: Any = None,
        interrupt_before: Literal["*"] | Sequence[str] | None = None,
        interrupt_after: Literal["*"] | Sequence[str] | None = None,
        debug: bool = False,
        name: str | None = None,
        strict: bool = False,
        aliases: Mapping[str, str] | None = None,
    ) -> CompiledStateGraph:
        """Return the graph ready to run.

        `checkpointer` is an `EventLog` or a saver; `cache` is for nodes with a `CachePolicy`; `interrupt_before` and
        `interrupt_after` name nodes to pause at (`"*"`: all); `strict` makes errors of what would otherwise pass: a
        node that edits its input in place (`MutatedInputError`), a key that no channel has (`InvalidUpdateError`);
        `aliases` maps old node names, which pending work of older graphs may still use, to today's.
        """
        from .compiled import CompiledStateGraph  # the runtime is heavier than the builder and imports it

        spec = self.spec(
            name=name,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            strict=strict,
            aliases=aliases,
        )
        return CompiledStateGraph(spec, builder=self, checkpointer=checkpointer, cache=cache, store=store, debug=debug)

    def _add_schema(self, schema: Any) -> None:
        if schema in self._notes.schemas:
            return
        analysed = analyse(schema)
        self._notes.schemas[schema] = analysed
        for key, channel in analysed.channels.items():
            checked_text(key, "the state key")
            known = self._notes.channels.setdefault(key, channel)
            if known != channel and not isinstance(channel, LastValue):
                raise ValueError(f"Channel '{key}' already exists with a different type")

    def _add_handler(self, node: str, handler: Any, schema: Any) -> str | None:
        """Add the node that handles a node's errors, and return its name."""
        if handler is None:
            return None
        name = f"{HANDLER_OF}{node}"
        if name in self._notes.nodes:
            raise ValueError(f"Auto-generated error handler node `{name}` already exists.")
        self._notes.nodes[name] = handler_note(handler, name, schema or self.state_schema)
        return name

    def _check_name(self, name: str) -> None:
        checked_text(name, "the node name")
        if name in self._notes.nodes:
            raise ValueError(f"Node `{name}` already present.")
        if name in (START, END):
            raise ValueError(f"Node `{name}` is reserved.")
        for character in _RESERVED_CHARACTERS:
            if character in name:
                raise ValueError(f"'{character}' is a reserved character and is not allowed in the node names.")

    def _warn_if_compiled(self, what: str) -> None:
        if self.compiled:
            warnings.warn(
                f"Adding {what} to a graph that has already been compiled. "
                "This will not be reflected in the compiled graph.",
                stacklevel=3,
            )

    def _sources(self) -> dict[str, None]:
        sources = [start for start, _ in self._notes.edges]
        sources += [start for starts, _ in self._notes.joins for start in starts]
        sources += self._notes.branches
        sources += [name for name, note in self._notes.nodes.items() if note.ends]
        return dict.fromkeys(sources)

    def _targets(self) -> dict[str, None]:
        targets = [end for _, end in self._notes.edges] + [end for _, end in self._notes.joins]
        targets += [end for note in self._notes.nodes.values() for end in note.ends]
        return dict.fromkeys(targets)

    def _check_branch_targets(self) -> None:
        known = {*self._notes.nodes, END}
        named = [(s, name, branch) for s, named in self._notes.branches.items() for name, branch in named.items()]
        for source, name, branch in named:
            for end in (branch.ends or {}).values():
                if end not in known:
                    raise ValueError(f"At '{source}' node, '{name}' branch found unknown target '{end}'")


def _named(entry: Any) -> tuple[str, Any]:
    """Return an entry of a sequence as (name, action)."""
    if isinstance(entry, tuple):
        pair = cast("tuple[Any, ...]", entry)
        if len(pair) == 2:
            return pair[0], pair[1]
    name = default_name(entry)
    if name is None:
        raise ValueError("Node name must be provided if action is not a function")
    return name, cast("Any", entry)


def _node_names(given: Literal["*"] | Sequence[str] | None) -> tuple[str, ...] | str:
    return "*" if given == "*" else tuple(given or ())


def _labelled(destinations: Mapping[str, str] | Sequence[str]) -> dict[str, str | None]:
    if isinstance(destinations, Mapping):
        return dict(destinations)
    return dict.fromkeys(destinations)


def _command_ends(action: Any) -> dict[str, str | None]:
    """Return the nodes that a `-> Command[Literal[…]]` annotation names; for validation and drawing only."""
    returned = visible_hints(action).get("return")
    options = get_args(returned) if get_origin(returned) in (Union, type(int | None)) else (returned,)
    for option in options:
        named = get_args(option)
        if get_origin(option) is Command and named and get_origin(named[0]) is Literal:
            return dict.fromkeys(get_args(named[0]))
    return {}
