"""Where the chunks of one call go until its caller takes them: `(namespace, mode, payload)` in the order they came.

Each call of `stream` has one outlet. The streams of graphs that run inside its nodes send to it too, from any thread:
what one task sends keeps its order, tasks that run side by side interleave. `stream.py` makes the chunks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

Namespace = tuple[str, ...]
"""The tasks in which a graph runs, outermost first, each as `node:task id`; empty for a graph that was called."""

Chunk = tuple[Namespace, str, Any]
"""(namespace, mode, payload)."""

LIVE_MODES: Final = frozenset({"custom", "messages", "tools"})
"""What tasks send while they run."""


class Outlet:
    """The chunks of one call, in the modes that it asked for; `subgraphs`: those of graphs inside of nodes too."""

    __slots__ = ("chunks", "eager", "is_live", "modes", "namespace", "on_chunk", "seen", "subgraphs")

    def __init__(
        self, modes: Iterable[str], *, subgraphs: bool = False, eager: bool = False, namespace: Namespace = ()
    ) -> None:
        self.modes = frozenset(modes)
        self.eager = eager
        """Whether what tasks did is seen while others of their step still run."""
        self.subgraphs = subgraphs
        self.namespace = namespace
        """Of the graph that was called."""
        self.is_live = bool(self.modes) and (subgraphs or eager or not self.modes.isdisjoint(LIVE_MODES))
        """Whether chunks may come while tasks run."""
        self.chunks: deque[Chunk] = deque()
        self.on_chunk: Callable[[], Any] | None = None
        """Called when a task has sent one; from any thread."""
        self.seen: set[str] = set()
        """The ids of the messages that were shown, or that nodes were called with."""

    def put(self, chunk: Chunk) -> None:
        """Take a chunk if it is of a mode that was asked for."""
        if self.eager:
            self.put_live(chunk)
        elif chunk[1] in self.modes:
            self.chunks.append(chunk)

    def put_live(self, chunk: Chunk) -> None:
        """Take a chunk that a running task sent, and wake who waits for chunks."""
        if chunk[1] in self.modes:
            self.chunks.append(chunk)
            if (wake := self.on_chunk) is not None:
                wake()

    def put_message(
        self, namespace: Namespace, message: Any, metadata: Mapping[str, Any], *, once: bool = False
    ) -> None:
        """Take a message, or a piece of one, as `put_live` does; with `once` only if it has not been seen."""
        if "messages" not in self.modes or (once and message.id in self.seen):
            return
        self.seen.add(message.id)
        self.put_live((namespace, "messages", (message, dict(metadata))))
