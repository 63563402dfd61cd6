"""What a node, a router or a tool can ask for while it runs.

The loop hands one `NodeScope` to each call; injection (`injection.py`) looks only at the parts that the
user's function accepts, so an implementation may build them on first use.
"""

from __future__ import annotations

from typing import Any, Protocol

from ..projections.types import RunnableConfig
from .types import Runtime, StreamWriter


class NodeScope(Protocol):
    """The parts that are injected by parameter name and annotation."""

    @property
    def config(self) -> RunnableConfig:
        """The task's config."""
        ...

    @property
    def runtime(self) -> Runtime[Any]:
        """Context, store, stream writer, previous and execution info in one object."""
        ...

    @property
    def store(self) -> Any:
        """The store given to `compile`, or `None`."""
        ...

    @property
    def writer(self) -> StreamWriter:
        """Sends a chunk to the `custom` stream."""
        ...

    @property
    def previous(self) -> Any:
        """The functional API's saved value of the last call."""
        ...

    @property
    def error(self) -> Any:
        """The failure that an error handler is called for, else `None`."""
        ...

    def send(self, key: str, value: Any) -> None:
        """Write to a key of the state, before what the node returns."""
        ...

    def show_message(self, message: Any) -> None:
        """Show a message in the `messages` stream."""
        ...
