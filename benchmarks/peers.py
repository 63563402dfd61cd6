"""The same graphs for each runtime: ours, and LangGraph with the savers it comes with, when they are installed."""

from __future__ import annotations

import importlib.util
import operator
import random
import sqlite3
import string
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from lithograph.eventlog import EventLog
from typing_extensions import TypedDict

PEERS = importlib.util.find_spec("langgraph") and importlib.util.find_spec("langgraph.checkpoint.sqlite")
"""Whether the extra `bench` is there; without it only our side runs."""

AGGREGATES = importlib.util.find_spec("eventsourcing")
"""The same for the peer of the fold."""

CHAIN = 10
_LETTERS = string.ascii_letters + string.digits + "+/"


class Count(TypedDict):
    """The state of the chain."""

    n: int


class Talk(TypedDict):
    """The state of the chat, with a list that grows."""

    messages: Annotated[list[str], operator.add]


def ours() -> Any:
    """Return our graph module."""
    import lithograph.graph

    return lithograph.graph


def theirs() -> Any:
    """Return LangGraph's."""
    import langgraph.graph

    return langgraph.graph


def chain(module: Any, node: Callable[[Any], Any] | None = None) -> Any:
    """Return a builder of ten nodes in a row, each adding one."""
    builder = module.StateGraph(Count)
    for place in range(CHAIN):
        builder.add_node(f"n{place}", node or _add_one)
        builder.add_edge(f"n{place - 1}" if place else module.START, f"n{place}")
    return builder


def _add_one(state: Count) -> Any:
    return {"n": state["n"] + 1}


def chat(module: Any, text: Callable[[], Any], schema: Any = Talk) -> Any:
    """Return a builder of a chat: one node that answers."""
    builder = module.StateGraph(schema)
    builder.add_node("answer", lambda state: {"messages": [text()]})
    builder.add_edge(module.START, "answer")
    return builder


def talker(seed: int = 0, size: int = 1024) -> Callable[[], str]:
    """Return a function that gives incompressible text of `size` characters, the same for each seed."""
    draw = random.Random(seed)
    return lambda: "".join(draw.choices(_LETTERS, k=size))


@contextmanager
def sqlite_saver(path: Path) -> Iterator[Any]:
    """Lend LangGraph's SqliteSaver on a file, as its documentation shows it."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    connection = sqlite3.connect(path, check_same_thread=False)
    try:
        yield SqliteSaver(connection)
    finally:
        connection.close()


def memory_saver() -> Any:
    """Return LangGraph's InMemorySaver."""
    from langgraph.checkpoint.memory import InMemorySaver

    return InMemorySaver()


@contextmanager
def log(path: Path) -> Iterator[EventLog]:
    """Lend our log in a folder."""
    with EventLog(path) as opened:
        yield opened


def config(thread: str) -> Any:
    """Return the config of a thread."""
    return {"configurable": {"thread_id": thread}}
