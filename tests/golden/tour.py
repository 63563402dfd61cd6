"""A day in a log that holds one of everything: each kind of event, each operation, each type of value.

All of it is written through public calls, as a user would. Everything that chooses (time, ids, keys) comes from a clock
that counts, so two logs made by the same code differ in nothing.
"""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

import operator
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Union

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.clock import ManualClock
from lithograph.graph import (
    START,
    AnyValue,
    CachePolicy,
    Command,
    EphemeralValue,
    EventLogCache,
    InvalidUpdateError,
    LastValueAfterFinish,
    MessagesState,
    Overwrite,
    Send,
    StateGraph,
    TimeoutPolicy,
    Topic,
    UntrackedValue,
    interrupt,
)
from lithograph.projections import EventLogSaver
from lithograph.store import EventLogStore
from typing_extensions import TypedDict

from tests.eventlog.serde.test_stored_form import STORED
from tests.eventlog.serde.values import CLASSES

Known = Union[tuple(CLASSES)]  # noqa: UP007  made of a list
BLOB = "a large value; " * 10_000
"""So long that it is stored beside its record, in chunks."""


def run_tour(folder: Path) -> None:
    """Make the log in `folder`, which does not exist."""
    with EventLog(folder, clock=ManualClock()) as log:
        with log.as_actor("notary", reason="a log to be read for ever"):
            log.record("opened", {"of": [1, 2.5, None, b"bytes"]})
        _values(log)
        _operations(log)
        _questions(log)
        _accidents(log)
        _journeys(log)
        _foreign(log)
        _memory(log)
        _caches(log)


def config_of(thread: str, **more: Any) -> Any:
    """Return the config of a thread."""
    return {"configurable": {"thread_id": thread, **more}}


class Values(TypedDict, total=False):
    """Values of every type, each under its stored form."""

    kept: dict[str, Known | Any]
    large: str


def values_graph(log: EventLog) -> Any:
    """Return the graph that keeps a value of each type, and a large one."""
    builder: StateGraph[Any] = StateGraph(Values)
    builder.add_node("grow", lambda state: {"large": BLOB})
    builder.add_node("give", lambda state: {"kept": {stored: value for value, stored in STORED}})
    builder.add_edge(START, "grow")
    builder.add_edge("grow", "give")
    return builder.compile(checkpointer=log)


def _values(log: EventLog) -> None:
    values_graph(log).invoke({}, config_of("values"))


def _append(left: list[Any] | None, right: list[Any]) -> list[Any]:
    return [*(left or []), *right]


def _fill(left: dict[str, Any] | None, right: dict[str, Any]) -> dict[str, Any]:
    merged = {**(left or {}), **right}
    return {key: value for key, value in merged.items() if value is not None}


def _highest(left: int | None, right: int) -> int:
    return max(left or 0, right)


class Operations(MessagesState, total=False):
    """A channel for each way in which an outcome is recorded."""

    last: str
    added: Annotated[list[int], operator.add]
    united: Annotated[dict[str, int], operator.or_]
    seen: Annotated[set[str], operator.or_]
    topic: Annotated[list[str], Topic(str)]
    topics: Annotated[list[str], Topic(str, accumulate=True)]
    listed: Annotated[list[str], _append]
    filled: Annotated[dict[str, Any], _fill]
    high: Annotated[int, _highest]
    brief: Annotated[str, EphemeralValue(str)]
    any_of: Annotated[str, AnyValue(str)]
    held: Annotated[str, LastValueAfterFinish(str)]
    secret: Annotated[str, UntrackedValue(str)]


def operations_graph(log: EventLog) -> Any:
    """Return a graph that writes to all of them: two branches in parallel and their join."""

    def plan(state: Operations) -> Any:
        return {
            "messages": [("user", "what stands?"), {"role": "assistant", "content": "the stone", "id": "m2"}],
            "last": "planned",
            "added": [1, 2],
            "united": {"a": 1},
            "listed": ["one", "two"],
            "filled": {"a": [1], "b": 2},
            "high": 7,
            "brief": "for one step",
            "secret": "for this run",
            "held": "until the end",
        }

    def left(state: Operations) -> Any:
        return {"added": [3], "topic": "from the left", "topics": ["left"], "listed": ["three"], "any_of": "same"}

    def right(state: Operations) -> Any:
        return {
            "united": {"b": 2},
            "seen": {"right"},
            "topic": ["from the right"],
            "topics": "right",
            "any_of": "same",
            "filled": {"a": None, "c": {"deep": (1, 2)}},
        }

    def join(state: Operations) -> Any:
        return {"messages": [{"role": "assistant", "content": "the stone, always", "id": "m2"}], "high": 3}

    def last(state: Operations) -> Any:
        return {"added": Overwrite([9]), "last": "done"}

    builder: StateGraph[Any] = StateGraph(Operations)
    for node in (plan, left, right, join):
        builder.add_node(node)
    builder.add_node(last)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "left")
    builder.add_edge("plan", "right")
    builder.add_edge(["left", "right"], "join")
    builder.add_edge("join", "last")
    return builder.compile(checkpointer=log)


def _operations(log: EventLog) -> None:
    graph = operations_graph(log)
    for durability in ("sync", "async", "exit"):
        for turn in range(2):
            graph.invoke({"last": f"turn {turn}"}, config_of(f"operations {durability}"), durability=durability)
    for node in ("left", "join"):
        stops: Any = {"interrupt_after": [node]} if node == "left" else {"interrupt_before": [node]}
        graph.invoke({"last": "stops"}, config_of(f"stopped at {node}"), durability="exit", **stops)


class Questions(TypedDict, total=False):
    """What was asked and answered."""

    answers: Annotated[list[Any], operator.add]
    packets: Annotated[list[Any], operator.add]


def questions_graph(log: EventLog) -> Any:
    """Return a graph that sends packets, asks twice in parallel and goes where the answer says."""

    def ask(packet: Any) -> Any:
        return {"answers": [(packet["about"], interrupt({"about": packet["about"]}))]}

    def take(packet: Any) -> Any:
        return {"packets": [packet]}

    def route(state: Questions) -> Any:
        return Command(update={"packets": ["routed"]}, goto=[Send("take", {"sent": 1}), Send("take", {"sent": 2})])

    builder: StateGraph[Any] = StateGraph(Questions)
    for node in (ask, take, route):
        builder.add_node(node)
    builder.add_conditional_edges(
        START, lambda state: [Send("ask", {"about": about}) for about in ("income", "debts")], ["ask"]
    )
    builder.add_edge("ask", "route")
    return builder.compile(checkpointer=log)


def _questions(log: EventLog) -> None:
    graph = questions_graph(log)
    for thread in ("asked", "answered"):
        paused = graph.invoke({}, config_of(thread, case="c-7"))
    asked = {question.id: question.value["about"] for question in paused["__interrupt__"]}
    with log.as_actor("officer", reason="called the applicant"):
        graph.invoke(
            Command(resume={key: f"{about}: confirmed" for key, about in asked.items()}), config_of("answered")
        )


class Accidents(TypedDict, total=False):
    """A value that two may not write at once."""

    one: str


def accidents_graph(log: EventLog, *, fails: bool = False) -> Any:
    """Return a graph whose parallel nodes write the same value, or of which one fails."""

    def first(state: Accidents) -> Any:
        return {"one": "first"}

    def second(state: Accidents) -> Any:
        if fails:
            raise ValueError("no such applicant", 4711)
        return {"one": "second"}

    builder: StateGraph[Any] = StateGraph(Accidents)
    for node in (first, second):
        builder.add_node(node)
        builder.add_edge(START, node.__name__)
    return builder.compile(checkpointer=log)


def _accidents(log: EventLog) -> None:
    with pytest.raises(InvalidUpdateError):
        accidents_graph(log).invoke({"one": "given"}, config_of("refused"))
    with pytest.raises(ValueError, match="no such applicant"):
        accidents_graph(log, fails=True).invoke({"one": "given"}, config_of("failed"))


def _journeys(log: EventLog) -> None:
    """Edit, travel back, fork, and lose a race."""
    graph = operations_graph(log)
    edited = graph.update_state(config_of("operations sync"), {"last": "edited", "added": [100]}, as_node="plan")
    graph.invoke(None, edited)
    oldest = [*graph.get_state_history(config_of("operations sync"))][-2].config
    graph.invoke(None, oldest)
    log.fork(oldest, "a fork of an old checkpoint")
    graph.invoke({"last": "on the fork"}, log.fork(config_of("operations async"), "a fork of the head"))
    _race(log)


def _race(log: EventLog) -> None:
    """Let a run find that its thread went on without it, and go on as a branch."""
    graph = operations_graph(log)
    run = graph.stream({"last": "ours"}, config_of("raced"), durability="sync", on_conflict="fork")
    next(run)
    graph.update_state(config_of("raced"), {"last": "theirs"}, as_node="plan")
    for _ in run:
        pass


def _foreign(log: EventLog) -> None:
    """Put checkpoints as a foreign runtime does."""
    saver = EventLogSaver(log)
    config = config_of("foreign", checkpoint_ns="")
    for step in range(3):
        checkpoint = {
            "v": 4,
            "ts": f"2026-01-01T00:00:0{step}+00:00",
            "id": f"1f0a0000-0000-6000-8000-00000000000{step}",
            "channel_values": {"messages": [f"m{n}" for n in range(step + 1)], "count": step},
            "channel_versions": {"messages": f"{step + 1}.x", "count": step + 1},
            "versions_seen": {"node": {"messages": f"{step}.x"}},
            "updated_channels": ["messages"],
        }
        metadata = {"source": "loop", "step": step, "parents": {}}
        config = saver.put(config, checkpoint, metadata, checkpoint["channel_versions"])
        saver.put_writes(config, [("count", step + 1), ("__error__", "none")], "task-1", "path")


def _memory(log: EventLog) -> None:
    store = EventLogStore(log)
    store.put(("desk", "notes"), "4711", {"text": "income confirmed", "tags": ("phone",)})
    store.put(("desk", "notes"), "4712", {"text": "gone soon"}, index=["text"])
    store.put(("desk", "scans"), "4711", {"pages": BLOB})
    with log.as_actor("officer", reason="the applicant asked for it"):
        store.delete(("desk", "notes"), "4712")


class Cached(TypedDict, total=False):
    """What a node wrote that need not be called, and packets with limits of time."""

    found: Annotated[list[Any], operator.add]


LIMITS = TimeoutPolicy(run_timeout=60, idle_timeout=1.5, refresh_on="heartbeat")


def cached_graph(log: EventLog) -> Any:
    """Return a graph that takes what its first node wrote from the log, and pauses before the second."""

    def rate(state: Cached) -> Any:
        packets = [Send("take", {"sent": 1}, timeout=LIMITS), Send("take", {"sent": 2})]
        return Command(update={"found": ["rated"]}, goto=packets)

    async def take(packet: Any) -> Any:
        return {"found": [packet]}

    builder: StateGraph[Any] = StateGraph(Cached)
    builder.add_node("rate", rate, cache_policy=CachePolicy(ttl=3600))
    builder.add_node("take", take)
    builder.add_edge(START, "rate")
    return builder.compile(checkpointer=log, cache=EventLogCache(log), interrupt_before=["take"])


def _caches(log: EventLog) -> None:
    """Keep what a node wrote, find it, forget it; values of any size, with and without an end."""
    graph = cached_graph(log)
    for thread in ("kept", "found"):
        graph.invoke({"found": []}, config_of(thread))
    cache: EventLogCache[Any] = EventLogCache(log)
    cache.set({(("desk", "rates"), "large"): (BLOB[:70_000], None), (("desk", "rates"), "none"): (None, 60)})
    cache.set({(("desk", "gone"), "4711"): ([("found", (1, 2))], None)})
    cache.clear([("desk", "gone")])


GRAPHS: dict[str, Callable[[EventLog], Any]] = {
    "values": values_graph,
    "asked": questions_graph,
    "answered": questions_graph,
    "refused": accidents_graph,
    "failed": partial(accidents_graph, fails=True),
    "kept": cached_graph,
    "found": cached_graph,
    **dict.fromkeys(
        (
            "operations sync",
            "operations async",
            "operations exit",
            "stopped at left",
            "stopped at join",
            "a fork of an old checkpoint",
            "a fork of the head",
            "raced",
        ),
        operations_graph,
    ),
}
"""Which graph wrote which thread."""
