"""Runs a scenario on a runtime and keeps a trace of everything it showed.

A scenario builds a graph and performs operations through a `Script`; each operation's outcome (result,
chunks, snapshots, or error) becomes one `Entry` of the trace, and after each run the live state is read as
well. When the scenario is over the place is reopened, the graph compiled again, and state, history and
every checkpoint by id are read once more. Two traces agree when all entries agree after `normal.number`.
Read `test_oracle.py` next.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from . import normal
from .api import Api, LogPlace, MemoryPlace, place

STEPS_MAX = 100
"""Where a scenario sets no limit: one that goes round for ever fails soon."""
MODES = ("values", "updates", "debug", "tasks", "checkpoints", "custom")


@dataclass(frozen=True, slots=True)
class Face:
    """One way to perform a script: through `invoke` or `stream`, at a durability, in memory or on disk."""

    name: str
    durability: str
    modes: tuple[str, ...] | None = None
    on_disk: bool = False
    on_loop: bool = False
    """Whether the async twins are called, each on an event loop of its own."""


FACES = (
    Face("invoke", "async"),
    Face("stream", "sync", MODES, on_disk=True),
    Face("exit", "exit", ("values", "checkpoints")),
    Face("ainvoke", "async", on_loop=True),
    Face("astream", "sync", MODES, on_disk=True, on_loop=True),
    Face("aexit", "exit", ("values", "checkpoints"), on_loop=True),
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A graph of the corpus: what it shows, which features it joins, and the code that runs it."""

    name: str
    features: frozenset[str]
    run: Callable[[Api, Script], None]
    exit: bool = True
    past: bool = True
    on_loop: bool = True
    on_threads: bool = True

    def fits(self, face: Face) -> bool:
        """Whether the script can be compared when it is performed in this way."""
        return (self.exit or face.durability != "exit") and (self.on_loop if face.on_loop else self.on_threads)

    @property
    def face(self) -> Face:
        """The first way in which the script can be performed."""
        return next(face for face in FACES if self.fits(face))

    @property
    def summary(self) -> str:
        """The first line of the scenario's docstring."""
        return (self.run.__doc__ or "").strip().splitlines()[0]


@dataclass(slots=True)
class Entry:
    """One operation and what came of it; `kinds` holds every class name of a raised error."""

    label: str
    outcome: Any
    kinds: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)


SCENARIOS: dict[str, Scenario] = {}


def scenario(
    *features: str, exit: bool = True, past: bool = True, on_loop: bool = True, on_threads: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a scenario.

    `exit=False` when its script needs the checkpoint of every superstep; `past=False` when the design shows
    its past differently on purpose (a command's writes ahead of a step): then only the live state is reread;
    `on_loop=False` when LangGraph on an event loop shows how it was stopped instead of what the graph did;
    `on_threads=False` when the graph needs an event loop.
    """

    def register(run: Callable[..., None]) -> Callable[..., None]:
        assert run.__name__ not in SCENARIOS, f"two scenarios are called {run.__name__}"
        SCENARIOS[run.__name__] = Scenario(run.__name__, frozenset(features), run, exit, past, on_loop, on_threads)
        return run

    return register


def fail_after(finished: threading.Semaphore, count: int, error: Exception) -> NoReturn:
    """Called by a node that fails: wait for `count` siblings, and for their writes to be handed over."""
    for _ in range(count):
        finished.acquire(timeout=5)
    time.sleep(0.05)
    raise error


class Script:
    """What a scenario does to its graph; each call is recorded and returns what the runtime did."""

    def __init__(self, api: Api, home: MemoryPlace | LogPlace, face: Face) -> None:
        self.api = api
        self.face = face
        self.graph: Any = None
        self.trace: list[Entry] = []
        self._home = home
        self._builder: Any = None
        self._options: dict[str, Any] = {}
        self._persistent = True
        self._threads: dict[Any, None] = {}
        self._notes: list[str] = []
        self._lock = threading.Lock()

    @property
    def threads(self) -> list[Any]:
        """The threads that were run so far, those of graphs without persistence left out."""
        return list(self._threads) if self._persistent else []

    def compile(self, builder: Any, *, persist: bool = True, **options: Any) -> Any:
        """Compile `builder` over the scenario's threads and make it the current graph."""
        self._builder, self._options, self._persistent = builder, options, persist
        saver = {"checkpointer": self._home.checkpointer} if persist else {}
        self.graph = builder.compile(**saver, **options)
        return self.graph

    def note(self, *words: Any) -> None:
        """Called from inside a node: what it saw; notes of one operation are compared as a multiset."""
        with self._lock:
            self._notes.append(repr(normal.number(normal.plain(list(words)))))

    def go(self, value: Any, *, error: str | None = None, **options: Any) -> Any:
        """Run the graph as this face does, then read the live state of the thread."""
        if self.face.modes is None:
            options.pop("subgraphs", None)
            return self.invoke(value, error=error, **options)
        return self.stream(value, self.face.modes, error=error, **options)

    def invoke(self, value: Any, *, error: str | None = None, **options: Any) -> Any:
        """`graph.invoke`, whatever the face."""
        config, options = self._prepare(options)
        return self._perform("invoke", lambda: self._call("invoke", value, config, **options), error, config)

    def stream(self, value: Any, modes: str | Sequence[str], *, error: str | None = None, **options: Any) -> Any:
        """`graph.stream` to its end; chunks that came before an error are compared too."""
        config, options = self._prepare(options)
        chunks: list[dict[str, Any]] = []

        def consume() -> Any:
            wanted = modes if isinstance(modes, str) else list(modes)
            for item in self._items("stream", value, config, stream_mode=wanted, **options):
                chunks.append(_chunk(item, modes, subgraphs=options.get("subgraphs", False)))
            return None

        return self._perform("stream", consume, error, config, chunks)

    def parts(self, value: Any, modes: str | Sequence[str], *, error: str | None = None, **options: Any) -> Any:
        """`graph.stream` in its second version, to its end."""
        config, options = self._prepare(options)
        chunks: list[dict[str, Any]] = []

        def consume() -> None:
            for part in self._items("stream", value, config, stream_mode=modes, version="v2", **options):
                beside = {key: normal.plain(part[key]) for key in part if key not in ("type", "data")}
                chunks.append({**normal.chunk(part["type"], part["data"]), **beside})

        return self._perform("parts", consume, error, config, chunks)

    def leave(self, value: Any, mode: str, behind: int, **options: Any) -> None:
        """`graph.stream`, left behind a number of chunks."""
        config, options = self._prepare(options)
        chunks: list[dict[str, Any]] = []

        def read() -> None:
            stream = self._items("stream", value, config, stream_mode=mode, **options)
            for chunk in stream:
                chunks.append(normal.chunk(mode, chunk))
                if len(chunks) == behind:
                    break
            stream.close()

        self._perform("leave", read, None, config, chunks)

    def state(self, *, thread: Any = "1", at: Any = None, error: str | None = None, **options: Any) -> Any:
        """`graph.get_state`, live or at a checkpoint."""
        return self._perform("get_state", lambda: self._call("get_state", self.config(thread, at), **options), error)

    def history(self, *, thread: Any = "1", at: Any = None, error: str | None = None, **options: Any) -> Any:
        """`graph.get_state_history` as a list, newest first."""
        config = self.config(thread, at)
        return self._perform("history", lambda: list(self._items("get_state_history", config, **options)), error)

    def update(
        self, values: Any, *, thread: Any = "1", at: Any = None, error: str | None = None, **options: Any
    ) -> Any:
        """`graph.update_state`, then the live state."""
        config = self.config(thread, at)
        return self._perform(
            "update_state", lambda: self._call("update_state", config, values, **options), error, config
        )

    def bulk(self, steps: Any, *, thread: Any = "1", at: Any = None, error: str | None = None) -> Any:
        """`graph.bulk_update_state`, then the live state."""
        config = self.config(thread, at)
        return self._perform("bulk_update", lambda: self._call("bulk_update_state", config, steps), error, config)

    def config(self, thread: Any = "1", at: Any = None, extra: dict[str, Any] | None = None) -> dict[str, Any]:
        """The config of a thread, or of one of its checkpoints when `at` is a snapshot's config."""
        extra = extra or {}
        place_of = {} if thread is None else {"thread_id": thread}
        if thread is not None and self._persistent:
            self._threads[thread] = None
        configurable = {**place_of, **(at["configurable"] if at else {}), **extra.get("configurable", {})}
        return {**extra, "configurable": configurable}

    def _call(self, method: str, *given: Any, **options: Any) -> Any:
        """Call a method of the graph, or its async twin."""
        if not self.face.on_loop:
            return getattr(self.graph, method)(*given, **options)
        return asyncio.run(getattr(self.graph, f"a{method}")(*given, **options))

    def _items(self, method: str, *given: Any, **options: Any) -> Generator[Any, None, None]:
        """Yield what an iterator of the graph's yields, or its async twin; whoever leaves early closes it."""
        if not self.face.on_loop:
            yield from getattr(self.graph, method)(*given, **options)
            return
        with asyncio.Runner() as runner:
            items = getattr(self.graph, f"a{method}")(*given, **options)
            try:
                while True:
                    try:
                        yield runner.run(anext(items))
                    except StopAsyncIteration:
                        return
            finally:
                runner.run(items.aclose())

    def _prepare(self, options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        config = self.config(options.pop("thread", "1"), options.pop("at", None), options.pop("config", None))
        config.setdefault("recursion_limit", STEPS_MAX)
        if self._persistent:
            durability = options.get("durability", self.face.durability)
            # LangGraph's queued writes refer to state that the next step changes: a race of its own.
            racy = durability == "async" and self.api.name == "langgraph"
            options["durability"] = "sync" if racy else durability
        return config, options

    def _perform(
        self,
        label: str,
        act: Callable[[], Any],
        error: str | None,
        config: dict[str, Any] | None = None,
        chunks: list[dict[str, Any]] | None = None,
    ) -> Any:
        result, kinds = None, ()
        try:
            result = act()
            outcome = normal.plain(result)
        except Exception as raised:
            kinds = tuple(kind.__name__ for kind in type(raised).__mro__)
            if error not in kinds:
                raise
            outcome = str(raised) if _is_users(raised) else "raised by the runtime"
        assert error is None or kinds, f"{label} was expected to raise {error} on {self.api.name}"
        if chunks is not None:
            outcome = normal.Chunks([*chunks, {"mode": "result", "payload": outcome}])
        self._record(Entry(label, outcome, (error,) if error and kinds else ()))
        if config is not None and self._persistent and config["configurable"].get("thread_id") is not None:
            place = {"configurable": {"thread_id": config["configurable"]["thread_id"]}}
            live = self.graph.get_state(place, subgraphs=True)
            self._record(Entry(f"live state after {label}", normal.plain(live)))
        return result

    def _record(self, entry: Entry) -> None:
        with self._lock:
            entry.notes, self._notes = sorted(self._notes), []
        self.trace.append(entry)

    def reread(self, *, past: bool = True) -> None:
        """The second pass: reopen, compile again, and read all there is to read."""
        if not self._persistent:
            return
        self._home.reopen()
        self.compile(self._builder, **self._options)
        for thread in self.threads:
            self.state(thread=thread)
            self._reread_past(thread, None, past=past)

    def _reread_past(self, thread: Any, at: Any, *, past: bool) -> None:
        """Read each checkpoint of a namespace, and of those of the graphs inside its tasks."""
        inside: dict[str, Any] = {}
        for snapshot in self.history(thread=thread, at=at) if past else ():
            self.state(thread=thread, at=snapshot.config)
            inside.update((repr(task.state), task.state) for task in snapshot.tasks if task.state)
        for config in inside.values():
            self.state(thread=thread, at=config)
            self._reread_past(thread, config, past=past)


def _chunk(item: Any, modes: str | Sequence[str], *, subgraphs: bool) -> dict[str, Any]:
    """A chunk of a stream, with its namespace where graphs inside nodes are shown, too."""
    namespace, *rest = item if subgraphs else (None, *((item,) if isinstance(modes, str) else item))
    shown = normal.chunk(modes, *rest) if isinstance(modes, str) else normal.chunk(*rest)
    return {**shown, "ns": normal.plain(namespace)} if subgraphs else shown


def _is_users(raised: BaseException) -> bool:
    """True for an error that a node of the corpus raised: its text is part of what is compared."""
    frame = raised.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and "corpus" in frame.tb_frame.f_code.co_filename


@contextmanager
def opened(api: Api, path: Path | None) -> Iterator[MemoryPlace | LogPlace]:
    """A place for the threads of one scenario, closed at the end."""
    home = place(api, path)
    try:
        yield home
    finally:
        home.close()


def perform(api: Api, case: Scenario, face: Face, path: Path | None = None) -> list[Entry]:
    """Run `case` on `api` through `face`; the trace of both passes."""
    with opened(api, path if face.on_disk else None) as home:
        script = Script(api, home, face)
        case.run(api, script)
        script.reread(past=case.past)
        return script.trace


def render(trace: Sequence[Entry]) -> list[str]:
    """A trace as lines of text, ids numbered; equal traces give equal lines."""
    numbered = normal.number([[entry.label, list(entry.kinds), entry.outcome, entry.notes] for entry in trace])
    lines: list[str] = []
    for index, (label, kinds, outcome, notes) in enumerate(numbered):
        lines.append(f"== {index}: {label} {' '.join(kinds)}")
        lines += json.dumps(outcome, indent=1, sort_keys=True).splitlines()
        lines += [f"-- note {note}" for note in notes]
    return lines


def difference(theirs: Sequence[str], ours: Sequence[str], *, lines_max: int = 120) -> str:
    """What differs between two rendered traces, as a diff with context; empty when nothing does."""
    diff = difflib.unified_diff(theirs, ours, "langgraph", "lithograph", lineterm="", n=12)
    return "\n".join(list(diff)[:lines_max])
