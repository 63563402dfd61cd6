"""What a compiled graph knows of its log: the serializer with the types of the graph and of those inside its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..eventlog.errors import ConflictError
from ..eventlog.events import GraphRegistered
from ..eventlog.log import EventLog, StreamName, StreamWrite
from ..eventlog.serde import BASE, Serializer
from ..projections.fallback import serializer_like
from ..projections.open_thread import OpenThread, Place
from .config import thread_id_of
from .spec import GraphSpec

__all__ = ["OpenThread", "Persistence", "Place"]


class Persistence:
    """A compiled graph's log."""

    def __init__(self, log: EventLog, spec: GraphSpec, *, serializer: Serializer | None = None) -> None:
        self.log = log
        self.spec = spec
        registry = (serializer.registry if serializer is not None else BASE).extended(())
        for annotation in types_of(spec):
            registry.collect(annotation)
        self.serializer = serializer_like(serializer, registry)
        self._registered: set[bytes] = set()

    def open(self, config: Mapping[str, Any]) -> OpenThread:
        """Return the thread that a config names, empty when there is none; raises `MissingThreadId`."""
        return OpenThread(self.log, thread_id_of(config), self.serializer)

    def register_graph(self, spec: GraphSpec) -> None:
        """Describe a graph in the log, once for each digest; nothing when the log knows it."""
        digest = spec.digest()
        if digest in self._registered or self.log.read_only:
            return
        name = StreamName("graph", digest)
        if not self.log.head(self.log.stream_id(name)).version:
            description = self.serializer.encode(spec.description())
            event = GraphRegistered(digest, spec.name, description)
            try:
                self.log.append([StreamWrite(name, 0, [self.log.stamp(event)])])
            except ConflictError:
                # Somebody else described the same graph a moment ago: what matters is that it is there.
                assert self.log.head(self.log.stream_id(name)).version > 0
        self._registered.add(digest)


def types_of(spec: GraphSpec) -> Iterator[Any]:
    """Yield the types of a graph, and of the graphs that run inside of its nodes: their values are in its thread."""
    yield from spec.types
    for node in spec.nodes.values():
        if node.graph is not None:
            yield from types_of(node.graph.spec)
