"""A scope for tests that call user code without a loop."""

from __future__ import annotations

from typing import Any

from lithograph.graph.types import RunnableConfig, Runtime, StreamWriter


class FixedScope:
    """The parts that are injected, made of a config and a runtime."""

    __slots__ = ("config", "error", "runtime")

    def __init__(self, config: RunnableConfig, runtime: Runtime[Any], *, error: Any = None) -> None:
        self.config = config
        self.runtime = runtime
        self.error = error

    @property
    def store(self) -> Any:
        """The runtime's store."""
        return self.runtime.store

    @property
    def writer(self) -> StreamWriter:
        """The runtime's stream writer."""
        return self.runtime.stream_writer

    @property
    def previous(self) -> Any:
        """The runtime's previous value."""
        return self.runtime.previous
