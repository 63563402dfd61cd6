"""`CompiledStateGraph`: a graph ready to run, under LangGraph's method names.

Each call that runs is a `Run`. Reading a thread's state and history is `Persistence`; editing it is `update`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from functools import partial
from typing import TYPE_CHECKING, Any

from ..eventlog.beside import beside
from ..eventlog.clock import CheckpointIds, SystemClock
from ..eventlog.log import EventLog
from ..eventlog.serde import Serializer
from ..projections.errors import CheckpointerRequired, NotSupportedYet
from ..projections.types import RunnableConfig, StateSnapshot, StateUpdate
from .batches import abatch, batch
from .config import control_now, merge_configs
from .editing import edit
from .errors import MethodNotYet
from .last_stream import LastStream
from .persistence import Persistence
from .rules import Rules
from .run import Options, Run
from .runtime import RunControl
from .spec import GraphSpec
from .stream import Stream
from .types import All, Durability

if TYPE_CHECKING:
    from .builder import StateGraph

_MODES = frozenset({"values", "updates", "checkpoints", "tasks", "debug", "custom", "messages", "tools"})
_LATER = frozenset(
    {
        *("get_graph", "aget_graph", "get_subgraphs", "aget_subgraphs", "clear_cache"),
        *("get_input_schema", "get_output_schema", "get_input_jsonschema", "get_output_jsonschema"),
        *("get_context_jsonschema", "aclear_cache"),
    }
)
_DURABILITIES = ("sync", "async", "exit")


class CompiledStateGraph:
    """A compiled graph. Holds no state of runs: one object serves any number of threads.

    graph = builder.compile(checkpointer=EventLog("audit.lithograph"))
    graph.invoke({"messages": []}, {"configurable": {"thread_id": "1"}})
    """

    def __init__(
        self,
        spec: GraphSpec,
        *,
        builder: StateGraph[Any],
        checkpointer: Any = None,
        store: Any = None,
        debug: bool = False,
        config: RunnableConfig | None = None,
    ) -> None:
        self.spec = spec
        self.builder = builder
        self.checkpointer = checkpointer
        self.store = store
        self.debug = debug
        self.config = config
        self.name = spec.name
        self._rules = Rules(spec)
        self._persistence = _persistence(checkpointer, spec)
        log = None if self._persistence is None else self._persistence.log
        self._clock = SystemClock() if log is None else log.clock
        self._ids = CheckpointIds(self._clock) if log is None else log.checkpoint_ids

    def invoke(
        self,
        input: Any,
        config: RunnableConfig | Mapping[str, Any] | None = None,
        *,
        context: Any = None,
        stream_mode: str | Sequence[str] = "values",
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: All | Sequence[str] | None = None,
        interrupt_after: All | Sequence[str] | None = None,
        durability: Durability | None = None,
        control: RunControl | None = None,
        on_conflict: str = "raise",
    ) -> Any:
        """Run the graph and return its last values; with pending questions, under `__interrupt__` too.

        `input` is the graph's input, a `Command`, or `None` to go on with what is pending.

        `durability` says what a crash can cost. In each of them the run's claim on the thread, with its input, is on
        disk before any node runs, and what was recorded when this returns or raises.

        - `"async"` (the default): recorded behind the run. A crash loses at most the last moments of it.
        - `"sync"`: each superstep is on disk before the next one begins. A crash loses the steps that were not done.
        - `"exit"`: one checkpoint, the last, written at the end, and with it what a `Command` answers or writes. A
          crash leaves the thread as it was before the run.

        `on_conflict` says what becomes of this run when another call continues its thread meanwhile: `"raise"` (the
        default) stops it with `ConflictError`, what it had committed stays; `"fork"` goes on in a new thread, named
        after this one and the run, from the last checkpoint that the run committed here, and returns what comes of it
        there. What a node itself raises is never taken for such a conflict.

        `control`: whoever holds it may ask the run to stop before its next superstep (`GraphDrained`);
        `invoke(None)` goes on.

        Raises what a node raised, `ConflictError`, `CheckpointNotFound`, `EmptyInputError`, `NothingToResume`,
        `GraphRecursionError`; whatever was recorded before stays. `ValueError` for any other word in the two options.
        """
        if stream_mode != "values":
            return list(
                self.stream(
                    input,
                    config,
                    context=context,
                    stream_mode=stream_mode,
                    output_keys=output_keys,
                    interrupt_before=interrupt_before,
                    interrupt_after=interrupt_after,
                    durability=durability,
                    control=control,
                    on_conflict=on_conflict,
                )
            )
        options = self._options(config, context, interrupt_before, interrupt_after, durability, control)
        output = _keys(output_keys, self.spec.output_channels)
        last = LastStream(output=output, shown=self.spec.stream_channels, now_us=self._clock.now_us)
        for _ in self._run(options, last, on_conflict).steps(input):
            pass
        return last.result()

    def stream(
        self,
        input: Any,
        config: RunnableConfig | Mapping[str, Any] | None = None,
        *,
        context: Any = None,
        stream_mode: str | Sequence[str] | None = None,
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: All | Sequence[str] | None = None,
        interrupt_after: All | Sequence[str] | None = None,
        durability: Durability | None = None,
        subgraphs: bool = False,
        debug: bool | None = None,
        control: RunControl | None = None,
        on_conflict: str = "raise",
    ) -> Iterator[Any]:
        """Run the graph and yield what happens: payloads in one mode, `(mode, payload)` in a list of modes.

        Modes: `values`, `updates` (the default), `checkpoints`, `tasks`, `debug`, `custom`. Closing the iterator early
        stops the run: a step of which all was shown is closed, tasks that run at that moment are waited for and kept
        (but at `"exit"`), and the run can be gone on with.

        `durability` and `on_conflict` promise what they do for `invoke`, where "returns" is the iterator's end: with
        `"async"` and `"exit"` a chunk may be seen before what it shows is on disk. With `on_conflict="fork"` the chunks
        go on with those of the fork; the ones of steps that were not committed here come again. Raises what
        `invoke` raises, from the iterator.
        """
        single, stream, run = self._streamed(
            config,
            context=context,
            stream_mode=stream_mode,
            output_keys=output_keys,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            durability=durability,
            subgraphs=subgraphs,
            debug=debug,
            control=control,
            on_conflict=on_conflict,
        )
        with closing(run.steps(input)) as steps:
            for _ in steps:
                yield from stream.taken(single=single)
        yield from stream.taken(single=single)

    async def ainvoke(
        self,
        input: Any,
        config: RunnableConfig | Mapping[str, Any] | None = None,
        *,
        context: Any = None,
        stream_mode: str | Sequence[str] = "values",
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: All | Sequence[str] | None = None,
        interrupt_after: All | Sequence[str] | None = None,
        durability: Durability | None = None,
        control: RunControl | None = None,
        on_conflict: str = "raise",
    ) -> Any:
        """Do what `invoke` does on the event loop, which goes on meanwhile: nodes that are coroutines run on it.

        A plain function as a node runs on a worker thread. After a failure the step's other tasks are cancelled. When
        the calling task is cancelled, what finished is recorded, and the run can be gone on with.
        """
        if stream_mode != "values":
            steps = self.astream(
                input,
                config,
                context=context,
                stream_mode=stream_mode,
                output_keys=output_keys,
                interrupt_before=interrupt_before,
                interrupt_after=interrupt_after,
                durability=durability,
                control=control,
                on_conflict=on_conflict,
            )
            return [chunk async for chunk in steps]
        options = self._options(config, context, interrupt_before, interrupt_after, durability, control)
        output = _keys(output_keys, self.spec.output_channels)
        last = LastStream(output=output, shown=self.spec.stream_channels, now_us=self._clock.now_us)
        async with aclosing(self._run(options, last, on_conflict).asteps(input)) as steps:
            async for _ in steps:
                pass
        return last.result()

    def batch(
        self,
        inputs: Sequence[Any],
        config: RunnableConfig | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        *,
        return_exceptions: bool = False,
        **options: Any,
    ) -> list[Any]:
        """Invoke the graph on several inputs side by side and return the results in their order.

        `config`: one for all, or one for each; its `max_concurrency` says how many run at a time, each input a run with
        its own thread id where there is a log. With `return_exceptions` what a run raises is its result.
        """
        return batch(partial(self.invoke, **options), inputs, config, return_exceptions=return_exceptions)

    async def abatch(
        self,
        inputs: Sequence[Any],
        config: RunnableConfig | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        *,
        return_exceptions: bool = False,
        **options: Any,
    ) -> list[Any]:
        """Do what `batch` does on the event loop."""
        return await abatch(partial(self.ainvoke, **options), inputs, config, return_exceptions=return_exceptions)

    async def astream(
        self,
        input: Any,
        config: RunnableConfig | Mapping[str, Any] | None = None,
        *,
        context: Any = None,
        stream_mode: str | Sequence[str] | None = None,
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: All | Sequence[str] | None = None,
        interrupt_after: All | Sequence[str] | None = None,
        durability: Durability | None = None,
        subgraphs: bool = False,
        debug: bool | None = None,
        control: RunControl | None = None,
        on_conflict: str = "raise",
    ) -> AsyncIterator[Any]:
        """Do what `stream` does on the event loop; see `ainvoke`. Custom chunks come while their nodes run."""
        single, stream, run = self._streamed(
            config,
            context=context,
            stream_mode=stream_mode,
            output_keys=output_keys,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            durability=durability,
            subgraphs=subgraphs,
            debug=debug,
            control=control,
            on_conflict=on_conflict,
        )
        async with aclosing(run.asteps(input)) as steps:
            async for _ in steps:
                for chunk in stream.taken(single=single):
                    yield chunk
        for chunk in stream.taken(single=single):
            yield chunk

    # The thread's state

    def get_state(
        self,
        config: RunnableConfig | Mapping[str, Any],
        *,
        subgraphs: bool = False,
        fold: str = "recorded",
    ) -> StateSnapshot:
        """Return a thread's state: as it stands now, or as a record of the checkpoint that `config` names.

        `fold="reducers"` runs this graph's own reducers over the recorded writes instead of reading what was recorded,
        and raises `ReducerDrift` where the two differ. Raises `CheckpointNotFound`, `MissingThreadId`.
        """
        persistence = self._needed("get_state")
        if subgraphs:
            raise NotSupportedYet("get_state(subgraphs=True): graphs inside graphs come with the complete runtime")
        config = merge_configs(self.config, config)
        if fold == "recorded":
            return persistence.get_state(config, self._rules)
        if fold != "reducers":
            raise ValueError(f'fold is "recorded" or "reducers", not {fold!r}')
        from .refold import refolded_state

        return refolded_state(persistence, self._rules, config)

    def get_state_history(
        self,
        config: RunnableConfig | Mapping[str, Any],
        *,
        filter: Mapping[str, Any] | None = None,
        before: RunnableConfig | Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> Iterator[StateSnapshot]:
        """Yield a thread's checkpoints, newest first by their place in the log; lazily.

        `filter`: metadata that must be equal. `before`: only what was committed before that checkpoint.
        """
        persistence = self._needed("get_state_history")
        return persistence.history(merge_configs(self.config, config), filter=filter, before=before, limit=limit)

    def update_state(
        self,
        config: RunnableConfig | Mapping[str, Any],
        values: Any,
        as_node: str | None = None,
        task_id: str | None = None,
    ) -> RunnableConfig:
        """Write to a thread's state as if a node had, and return the config of the checkpoint that this makes.

        Without `as_node` it is the node that wrote last. Raises `InvalidUpdateError`, `ConflictError`.
        """
        return self.bulk_update_state(config, [[StateUpdate(values, as_node, task_id)]])

    def bulk_update_state(
        self,
        config: RunnableConfig | Mapping[str, Any],
        supersteps: Sequence[Sequence[StateUpdate]],
    ) -> RunnableConfig:
        """Make several supersteps of updates, each a checkpoint; several updates in one need `as_node`."""
        persistence = self._needed("update_state")
        return edit(
            persistence,
            self._rules,
            self._ids,
            merge_configs(self.config, config),
            supersteps,
            store=self.store,
        )

    async def aget_state(
        self,
        config: RunnableConfig | Mapping[str, Any],
        *,
        subgraphs: bool = False,
        fold: str = "recorded",
    ) -> StateSnapshot:
        """Do what `get_state` does beside the event loop."""
        return await beside(self.get_state, config, subgraphs=subgraphs, fold=fold)

    async def aget_state_history(
        self,
        config: RunnableConfig | Mapping[str, Any],
        *,
        filter: Mapping[str, Any] | None = None,
        before: RunnableConfig | Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StateSnapshot]:
        """Do what `get_state_history` does beside the event loop; lazily."""
        history = self.get_state_history(config, filter=filter, before=before, limit=limit)
        while (entry := await beside(next, history, None)) is not None:
            yield entry

    async def aupdate_state(
        self,
        config: RunnableConfig | Mapping[str, Any],
        values: Any,
        as_node: str | None = None,
        task_id: str | None = None,
    ) -> RunnableConfig:
        """Do what `update_state` does beside the event loop."""
        return await beside(self.update_state, config, values, as_node, task_id)

    async def abulk_update_state(
        self,
        config: RunnableConfig | Mapping[str, Any],
        supersteps: Sequence[Sequence[StateUpdate]],
    ) -> RunnableConfig:
        """Do what `bulk_update_state` does beside the event loop."""
        return await beside(self.bulk_update_state, config, supersteps)

    def with_config(self, config: RunnableConfig | Mapping[str, Any] | None = None, **parts: Any) -> CompiledStateGraph:
        """Return the same graph with a config that every call begins from; `parts` are further keys of it.

        What a call's own config says wins, key by key in `configurable` and `metadata`; tags add up. This graph stays
        as it is.

        >>> desk = graph.with_config({"configurable": {"thread_id": "case-7"}}, tags=["desk"])
        >>> desk.invoke({"amount": 1}), desk.get_state({})
        """
        return CompiledStateGraph(
            self.spec,
            builder=self.builder,
            checkpointer=self.checkpointer,
            store=self.store,
            debug=self.debug,
            config=merge_configs(self.config, config, parts),
        )

    def __getattr__(self, name: str) -> Any:
        """Say of LangGraph's methods that are to come that they are; of anything else what Python says."""
        if name in _LATER:
            raise MethodNotYet(f"{name}() of a compiled graph comes in a later release")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def get_name(self) -> str:
        """Return the graph's name."""
        return self.name

    # Parts

    def _needed(self, what: str) -> Persistence:
        if self._persistence is None:
            raise CheckpointerRequired(
                f"No checkpointer set: {what} needs one. Compile with checkpointer=EventLog(path)."
            )
        return self._persistence

    def _streamed(
        self,
        config: Mapping[str, Any] | None,
        *,
        context: Any,
        stream_mode: str | Sequence[str] | None,
        output_keys: str | Sequence[str] | None,
        interrupt_before: Sequence[str] | str | None,
        interrupt_after: Sequence[str] | str | None,
        durability: str | None,
        subgraphs: bool,
        debug: bool | None,
        control: RunControl | None,
        on_conflict: str,
    ) -> tuple[bool, Stream, Run]:
        """Return whether one mode was asked for by name, the stream, and the run that fills it."""
        if subgraphs:
            raise NotSupportedYet("stream(subgraphs=True): graphs inside graphs come with the complete runtime")
        modes, single = _modes(stream_mode, debug=self.debug if debug is None else debug)
        options = self._options(config, context, interrupt_before, interrupt_after, durability, control)
        output = _keys(output_keys, self.spec.stream_channels)
        stream = Stream(modes, output=output, shown=self.spec.stream_channels, now_us=self._clock.now_us)
        return single, stream, self._run(options, stream, on_conflict)

    def _run(self, options: Options, stream: Stream, on_conflict: str) -> Run:
        if on_conflict not in ("raise", "fork"):
            raise ValueError(f'on_conflict is "raise" or "fork", not {on_conflict!r}')
        return Run(
            self._rules,
            self._persistence,
            self._clock,
            self._ids,
            options,
            stream,
            forks_on_conflict=on_conflict == "fork",
        )

    def _options(
        self,
        config: Mapping[str, Any] | None,
        context: Any,
        interrupt_before: Sequence[str] | str | None,
        interrupt_after: Sequence[str] | str | None,
        durability: str | None,
        control: RunControl | None,
    ) -> Options:
        durability = durability or "async"
        if durability not in _DURABILITIES:
            raise ValueError(f"durability is one of {', '.join(_DURABILITIES)}, not {durability!r}")
        return Options(
            merge_configs(self.config, config),
            self.spec.coerce_context(context),
            self.store,
            durability,
            interrupt_before or self.spec.interrupt_before,
            interrupt_after or self.spec.interrupt_after,
            control or control_now(),
        )


def _keys(given: str | Sequence[str] | None, default: tuple[str, ...] | str) -> tuple[str, ...] | str:
    if given is None:
        return default
    return given if isinstance(given, str) else tuple(given)


def _modes(stream_mode: str | Sequence[str] | None, *, debug: bool) -> tuple[tuple[str, ...], bool]:
    if stream_mode is None:
        return (("debug",) if debug else ("updates",)), True
    modes = (stream_mode,) if isinstance(stream_mode, str) else tuple(stream_mode)
    for mode in modes:
        if mode not in _MODES:
            raise ValueError(f"stream_mode is one of {', '.join(sorted(_MODES))}, not {mode!r}")
    return modes, isinstance(stream_mode, str)


def _persistence(checkpointer: Any, spec: GraphSpec) -> Persistence | None:
    if checkpointer is None or checkpointer is False:
        return None
    if isinstance(checkpointer, EventLog):
        return Persistence(checkpointer, spec)
    log = getattr(checkpointer, "log", None)
    if isinstance(log, EventLog):
        serializer = getattr(checkpointer, "serializer", None)
        return Persistence(log, spec, serializer=serializer if isinstance(serializer, Serializer) else None)
    raise TypeError(
        f"checkpointer must be an EventLog, an EventLogSaver or an InMemorySaver, not {type(checkpointer).__name__}"
    )
