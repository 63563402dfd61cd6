"""`CachedGraph`: what can be done with a graph's cache from outside of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .cache import BaseCache
from .caching import namespaces_of
from .ready_graph import ReadyGraph


class CachedGraph(ReadyGraph):
    """Clears what is kept of a graph's nodes."""

    def clear_cache(self, nodes: Sequence[str] | None = None) -> None:
        """Forget what the cache keeps of some nodes, or of all; raises `ValueError` when the graph has no cache."""
        self._needed_cache().clear(namespaces_of(self.spec, nodes))

    async def aclear_cache(self, nodes: Sequence[str] | None = None) -> None:
        """Do what `clear_cache` does on the event loop."""
        await self._needed_cache().aclear(namespaces_of(self.spec, nodes))

    def _needed_cache(self) -> BaseCache[Any]:
        if self.cache is None:
            raise ValueError("No cache is set for this graph. Cannot clear cache. Compile with cache=InMemoryCache().")
        return self.cache
