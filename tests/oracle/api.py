"""The two namespaces a graph of the corpus is written against: LangGraph's and ours.

A scenario never imports a runtime. It takes an `Api` and asks it for names (`api.StateGraph`,
`api.interrupt`), which are looked up in that runtime's own modules; so the very same lines of code build
both graphs. A `Place` is where a scenario's threads live; reopening it is the nearest thing to another
process. Read `harness.py` next.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HAVE_ORACLE = importlib.util.find_spec("langgraph") is not None
NEEDED = "needs LangGraph: pip install '.[test]'"

_LANGGRAPH = (
    "langgraph.graph",
    "langgraph.graph.message",
    "langgraph.types",
    "langgraph.channels",
    "langgraph.errors",
    "langgraph.config",
    "langgraph.runtime",
    "langgraph.func",
    "langgraph.cache.memory",
    "langgraph.managed",
    "langgraph.store.base",
    "langgraph.store.memory",
    "langchain_core.runnables",
    "langchain_core.messages",
)
_LITHOGRAPH = ("lithograph.graph", "lithograph.store", "lithograph.projections", "langchain_core.messages")


@dataclass(frozen=True, slots=True)
class Api:
    """One runtime's public names; any attribute is looked up in `modules`, in order."""

    name: str
    modules: tuple[str, ...] = field(repr=False)

    def __getattr__(self, attribute: str) -> Any:
        for module in self.modules:
            found = getattr(importlib.import_module(module), attribute, None)
            if found is not None:
                return found
        raise AttributeError(f"{self.name} has no public name {attribute!r}")


def langgraph() -> Api:
    """LangGraph, the oracle."""
    return Api("langgraph", _LANGGRAPH)


def lithograph() -> Api:
    """The runtime under test."""
    return Api("lithograph", _LITHOGRAPH)


class MemoryPlace:
    """LangGraph's memory saver; reopening it compiles a fresh graph over the same rows."""

    def __init__(self) -> None:
        from langgraph.checkpoint.memory import InMemorySaver

        self.checkpointer: Any = InMemorySaver()

    def reopen(self) -> None:
        """Nothing to do: the rows are all there is."""

    def close(self) -> None:
        """Nothing to release."""


class LogPlace:
    """A log of ours: on disk when a path is given, else in memory."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.checkpointer: Any = self._open()

    def _open(self, engine: Any = None) -> Any:
        from lithograph.eventlog import EventLog

        if engine is not None:
            return EventLog.over(engine)
        return EventLog.in_memory() if self._path is None else EventLog(self._path)

    def reopen(self) -> None:
        """Open the log anew, so that nothing but its records is left; one in memory keeps its engine."""
        if self._path is None:
            self.checkpointer = self._open(self.checkpointer.engine)
            return
        self.checkpointer.close()
        self.checkpointer = self._open()

    def close(self) -> None:
        """Release the log."""
        self.checkpointer.close()


def place(api: Api, path: Path | None = None) -> MemoryPlace | LogPlace:
    """Where `api` keeps the threads of one scenario; `path` puts a log of ours on disk."""
    return MemoryPlace() if api.name == "langgraph" else LogPlace(path)
