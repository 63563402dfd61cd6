"""What the tests of projections share: a log on each engine, another reader of it, and a graph that asks."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import END, START, StateGraph, interrupt
from lithograph.graph.compiled import CompiledStateGraph

Config = dict[str, Any]


@pytest.fixture(params=["memory", "lmdb"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EventLog]:
    """A new log on each engine."""
    with EventLog.in_memory() if request.param == "memory" else EventLog(tmp_path / "log") as made:
        yield made


def thread(name: str, checkpoint: str | None = None) -> Config:
    """Return the config of a thread, or of one of its checkpoints."""
    place = {"thread_id": name} if checkpoint is None else {"thread_id": name, "checkpoint_id": checkpoint}
    return {"configurable": place}


def fresh(log: EventLog) -> EventLog:
    """Return another log over the same engine, which has read nothing yet. Do not close it."""
    return EventLog.over(log.engine, clock=log.clock)


def longest(left: str, right: str) -> str:
    """A reducer that the log does not know: of two texts the longer one."""
    return max(left, right, key=len)


class Desk(TypedDict):
    """A growing list, a user's reducer, a last value."""

    done: Annotated[list[str], operator.add]
    word: Annotated[str, longest]
    note: str


def desk(log: EventLog, *, seen: Callable[[str], None] = lambda node: None) -> CompiledStateGraph:
    """Return a graph: `first`, then `second` beside `ask`, which asks, then `last`. `seen` is told what runs."""

    def node(name: str) -> Callable[[Any], dict[str, Any]]:
        def run(state: Any) -> dict[str, Any]:
            seen(name)
            return {"done": [name], "word": name}

        return run

    def ask(state: Any) -> dict[str, Any]:
        seen("ask")
        return {"done": [interrupt("which?")], "note": "answered"}

    builder = StateGraph(Desk)
    for name in ("first", "second", "last"):
        builder.add_node(name, node(name))
    builder.add_node("ask", ask)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    builder.add_edge("first", "ask")
    builder.add_edge(["second", "ask"], "last")
    builder.add_edge("last", END)
    return builder.compile(checkpointer=log)


def counter(log: EventLog) -> CompiledStateGraph:
    """Return a graph of one node that never asks: each input adds two entries."""
    builder = StateGraph(Desk)
    builder.add_node("add", lambda state: {"done": [f"{len(state['done'])}"], "word": "x" * len(state["done"])})
    builder.add_edge(START, "add")
    return builder.compile(checkpointer=log)


def place(name: str = "1", checkpoint: str | None = None, namespace: str = "") -> Config:
    """Return a config as a foreign runtime passes it to a saver."""
    keys = {"thread_id": name, "checkpoint_ns": namespace}
    return {"configurable": keys if checkpoint is None else {**keys, "checkpoint_id": checkpoint}}


def checkpoint(values: dict[str, Any], versions: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a checkpoint as a foreign runtime makes it."""
    return {
        "v": 4,
        "id": str(uuid4()),
        "ts": "2026-01-01T00:00:00+00:00",
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": {"__input__": {}},
        "updated_channels": None,
        **more,
    }


METADATA = {"source": "loop", "step": 1, "parents": {}}
