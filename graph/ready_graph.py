"""`ReadyGraph`: what all methods of a graph that can run share: its rules, its log, its clock, its defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..eventlog.clock import CheckpointIds, SystemClock
from ..eventlog.log import EventLog
from ..eventlog.serde import Serializer
from ..projections.errors import CheckpointerRequired
from ..projections.namespaces import levels
from ..projections.types import RunnableConfig
from .asked import Asked, asked_for, checked_keys
from .cache import BaseCache
from .caching import caching_of
from .config import call_config, control_now
from .errors import NoRootCheckpointer
from .inside import Inside, caller_of
from .last_stream import LastStream
from .nested_run import NestedRun
from .options import Options
from .persistence import Persistence
from .rules import Rules
from .run import Run
from .runtime import RunControl
from .spec import GraphSpec
from .stream import Stream

_DURABILITIES = ("sync", "async", "exit")


class ReadyGraph:
    """A graph and what it runs with. Holds no state of runs: one object serves any number of threads."""

    stream_mode: str | Sequence[str] = "values"
    """What `stream` yields when its caller does not say."""

    def __init__(
        self,
        spec: GraphSpec,
        *,
        checkpointer: Any = None,
        cache: Any = None,
        store: Any = None,
        debug: bool = False,
        config: RunnableConfig | None = None,
    ) -> None:
        self.spec = spec
        self.checkpointer = checkpointer
        self.cache: BaseCache[Any] | None = cache
        self.store = store
        self.debug = debug
        self.config = config
        self.name = spec.name
        self.rules = Rules(spec)
        self._persistence = _persistence(checkpointer, spec)
        self._caching = caching_of(cache, spec, None if self._persistence is None else self._persistence.serializer)
        log = None if self._persistence is None else self._persistence.log
        self._clock = SystemClock() if log is None else log.clock
        self._ids = CheckpointIds(self._clock) if log is None else log.checkpoint_ids

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
        print_mode: str | Sequence[str],
        output_keys: str | Sequence[str] | None,
        interrupt_before: Sequence[str] | str | None,
        interrupt_after: Sequence[str] | str | None,
        durability: str | None,
        subgraphs: bool,
        debug: bool | None,
        control: RunControl | None,
        version: str,
        on_conflict: str,
    ) -> tuple[Asked, Stream, Run | NestedRun]:
        """Return what was asked for, the stream, and the run that fills it."""
        mode = self.stream_mode if stream_mode is None else stream_mode
        asked = self._asked(mode, print_mode, debug, subgraphs, version)
        options = self._options(config, context, interrupt_before, interrupt_after, durability, control)
        spec = self.spec
        stream = Stream(
            (*asked.modes, *asked.printed),
            output=checked_keys(spec, output_keys, spec.stream_channels),
            shown=spec.stream_channels,
            now_us=self._clock.now_us,
            subgraphs=subgraphs,
            eager=spec.eager,
            **_seen_from(options),
        )
        return asked, stream, self._run(options, stream, on_conflict)

    def _invoked(
        self,
        options: Options,
        print_mode: str | Sequence[str],
        output_keys: str | Sequence[str] | None,
        debug: bool | None,
        subgraphs: bool,
        version: str,
    ) -> tuple[Asked, LastStream]:
        """Return what is to be told of a run beside its result, and what takes both."""
        asked, spec = self._asked((), print_mode, debug, subgraphs, version), self.spec
        last = LastStream(
            asked.printed,
            output=checked_keys(spec, output_keys, spec.output_channels),
            shown=spec.stream_channels,
            now_us=self._clock.now_us,
            subgraphs=subgraphs,
            **_seen_from(options),
        )
        return asked, last

    def _asked(
        self,
        stream_mode: str | Sequence[str],
        print_mode: str | Sequence[str],
        debug: bool | None,
        subgraphs: bool,
        version: str,
    ) -> Asked:
        debug = bool(debug or self.debug)
        return asked_for(
            self.spec, stream_mode, print_mode=print_mode, debug=debug, subgraphs=subgraphs, version=version
        )

    def _run(self, options: Options, stream: Stream, on_conflict: str) -> Run | NestedRun:
        if on_conflict not in ("raise", "fork"):
            raise ValueError(f'on_conflict is "raise" or "fork", not {on_conflict!r}')
        if options.inside is not None:
            return NestedRun(self.rules, options, options.inside, stream)
        if self.checkpointer is True:
            raise NoRootCheckpointer(
                "checkpointer=True cannot be used for root graphs. It keeps a graph's state in the thread of the graph "
                "in a node of which it runs; to run it by itself compile it with an EventLog."
            )
        return Run(
            self.rules,
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
        merged = call_config(self.config, config)
        caller = caller_of(merged)
        return Options(
            merged,
            self.spec.coerce_context(context),
            self.store,
            durability,
            interrupt_before or self.spec.interrupt_before,
            interrupt_after or self.spec.interrupt_after,
            control or control_now(),
            self._caching,
            None if caller is None else Inside(caller, self.checkpointer),
        )


def _seen_from(options: Options) -> dict[str, Any]:
    """Return where in the thread a stream is, and which stream it is within."""
    call = options.inside
    return {} if call is None else {"namespace": levels(call.namespace), "outer": call.caller.task.run.stream}


def _persistence(checkpointer: Any, spec: GraphSpec) -> Persistence | None:
    if checkpointer is None or isinstance(checkpointer, bool):
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
