"""`Runtime`: what surrounds a node while it runs, in one object; and `RunControl`, with which a run is asked to stop.

Plain values under LangGraph's names and in its order of fields. A task's runtime is made by `task_scope` when somebody
asks for it; `get_runtime` in `config` hands it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar, cast, runtime_checkable

StreamWriter = Callable[[Any], None]
"""Sends one chunk to the `custom` stream; injected into a parameter `writer: StreamWriter`."""

ContextT = TypeVar("ContextT")


@runtime_checkable
class BaseUser(Protocol):
    """Who called, as a server knows: attributes and keys say the same."""

    @property
    def is_authenticated(self) -> bool:
        """Whether the server knows who it is."""
        ...

    @property
    def display_name(self) -> str:
        """What to call the user."""
        ...

    @property
    def identity(self) -> str:
        """Who it is: unique, for ever."""
        ...

    @property
    def permissions(self) -> Sequence[str]:
        """What the user may do."""
        ...

    def __getitem__(self, key: str) -> Any:
        """Return what is known under a key."""
        ...

    def __contains__(self, key: object) -> bool:
        """Tell whether something is known under a key."""
        ...

    def __iter__(self) -> Iterator[str]:
        """Yield the keys."""
        ...


@dataclass(frozen=True, slots=True)
class ExecutionInfo:
    """Where a task runs: its checkpoint, namespace, thread, run and attempt."""

    checkpoint_id: str
    checkpoint_ns: str
    task_id: str
    thread_id: str | None = None
    """`None` without a checkpointer."""
    run_id: str | None = None
    node_attempt: int = 1
    """1 for the first, one more for each retry."""
    node_first_attempt_time: float | None = None
    """When the first attempt began: seconds since the Unix epoch."""

    def patch(self, **overrides: Any) -> ExecutionInfo:
        """Return a copy with some fields replaced."""
        return replace(self, **overrides)


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a server says of a call in `config["configurable"]`: `assistant_id`, `graph_id`, `langgraph_auth_user`."""

    assistant_id: str
    graph_id: str
    user: BaseUser | None = None


class RunControl:
    """Asks one run to stop at the next boundary of supersteps. Any thread may; make a new one for each run.

    control = RunControl()
    signal.signal(signal.SIGTERM, lambda *_: control.request_drain("SIGTERM"))
    graph.invoke(given, config, control=control)
    """

    __slots__ = ("_reason",)

    def __init__(self) -> None:
        self._reason: str | None = None

    def request_drain(self, reason: str = "shutdown") -> None:
        """Let the run stop with `GraphDrained` before its next superstep; the one that runs is finished and kept."""
        self._reason = reason

    @property
    def drain_requested(self) -> bool:
        """Whether somebody asked."""
        return self._reason is not None

    @property
    def drain_reason(self) -> str | None:
        """Why, as whoever asked said."""
        return self._reason


def write_nowhere(_chunk: Any) -> None:
    """Stand in for a stream that nobody reads."""


def beat_nowhere() -> None:
    """Stand in for a heartbeat that nobody waits for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime(Generic[ContextT]):
    """What surrounds a run: the caller's `context`, the store, the stream writer, where it runs.

    def node(state: State, runtime: Runtime[Context]) -> dict: ...
    """

    context: ContextT = field(default=None)  # pyright: ignore[reportAssignmentType]
    store: Any = None
    stream_writer: StreamWriter = write_nowhere
    heartbeat: Callable[[], None] = beat_nowhere
    """Says that the node is alive, to its `idle_timeout`; without one nobody listens."""
    previous: Any = None
    """What the functional API saved last on this thread."""
    execution_info: ExecutionInfo | None = None
    server_info: ServerInfo | None = None
    control: RunControl | None = None

    def merge(self, other: Runtime[ContextT]) -> Runtime[ContextT]:
        """Return a runtime with what `other` was given, and this one's where it was given nothing."""
        return Runtime(
            context=other.context or self.context,
            store=other.store or self.store,
            stream_writer=self.stream_writer if other.stream_writer is write_nowhere else other.stream_writer,
            heartbeat=self.heartbeat if other.heartbeat is beat_nowhere else other.heartbeat,
            previous=self.previous if other.previous is None else other.previous,
            execution_info=other.execution_info or self.execution_info,
            server_info=other.server_info or self.server_info,
            control=other.control or self.control,
        )

    def override(self, **overrides: Any) -> Runtime[ContextT]:
        """Return a copy with some fields replaced."""
        return replace(self, **overrides)

    def patch_execution_info(self, **overrides: Any) -> Runtime[ContextT]:
        """Return a copy with some fields of `execution_info` replaced; raises `RuntimeError` when there is none."""
        if self.execution_info is None:
            raise RuntimeError("Cannot patch execution_info before it has been set: outside of a node there is none.")
        return replace(self, execution_info=self.execution_info.patch(**overrides))

    @property
    def drain_requested(self) -> bool:
        """Whether the run was asked to stop: a long node may give up early."""
        return self.control is not None and self.control.drain_requested

    @property
    def drain_reason(self) -> str | None:
        """Why the run was asked to stop."""
        return None if self.control is None else self.control.drain_reason


def server_info_of(configurable: Mapping[str, Any]) -> ServerInfo | None:
    """Return what a config's `configurable` says of the server and its user; `None` when it says nothing."""
    assistant, graph = configurable.get("assistant_id"), configurable.get("graph_id")
    user = configurable.get("langgraph_auth_user")
    # A server's user may give its other attributes on demand: who it is, is what makes it one.
    known = cast("BaseUser", user) if hasattr(user, "identity") else None
    if assistant is None and graph is None and known is None:
        return None
    return ServerInfo(str(assistant or ""), str(graph or ""), known)
