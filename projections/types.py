"""The values that travel through a graph and come back in snapshots.

What a node returns or a caller passes (`Send`, `Command`, `Overwrite`, `StateUpdate`), what a reader gets
(`StateSnapshot`, `PregelTask`, `Interrupt`) and the reserved channel names. Plain data: no I/O, no user
code. Field names, order and `repr` are LangGraph's, so code and tests that look at them keep working.

Read next: `channels.py` (how writes become values), `graph/spec.py` (how a graph uses them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import timedelta
from typing import Any, ClassVar, Final, Generic, Literal, NamedTuple, TypedDict, TypeVar, cast

from ..eventlog.serde.registry import BASE
from .timeouts import TimeoutPolicy

START: Final = "__start__"
"""The entry of every graph: a node that is always there, and the channel its input is written to."""
END: Final = "__end__"
"""The exit of every graph: a destination, never a node."""
TASKS: Final = "__pregel_tasks"
INPUT: Final = "__input__"
ERROR: Final = "__error__"
ERROR_SOURCE_NODE: Final = "__error_source_node__"
INTERRUPT: Final = "__interrupt__"
EVERY_CHANNEL: Final = "*"
"""Under `__interrupt__` in the versions seen: every channel, up to a version."""
RESUME: Final = "__resume__"
NO_WRITES: Final = "__no_writes__"
RETURN: Final = "__return__"
PREVIOUS: Final = "__previous__"
COPY: Final = "__copy__"
ROOT: Final = "__root__"
OVERWRITE: Final = "__overwrite__"
FOREIGN: Final = "\0"
"""What the names of channels begin with that hold a foreign runtime's bookkeeping."""

RESERVED: Final = frozenset({INPUT, ERROR, ERROR_SOURCE_NODE, INTERRUPT, RESUME, NO_WRITES, RETURN, PREVIOUS, TASKS})
"""Write keys that no schema may use for a channel of its own."""


class RunnableConfig(TypedDict, total=False):
    """The config of a run: a plain dictionary; langchain-core's configs are the same thing and work."""

    tags: list[str]
    metadata: dict[str, Any]
    callbacks: Any
    run_name: str
    max_concurrency: int | None
    recursion_limit: int
    configurable: dict[str, Any]
    run_id: Any


@dataclass(frozen=True, slots=True, init=False)
class Send:
    """Run `node` in the next superstep with `arg` as its whole input, and within `timeout` instead of the node's own.

    return [Send("assess", {"application": a}) for a in state["applications"]]
    """

    node: str
    arg: Any
    timeout: TimeoutPolicy | None

    def __init__(self, /, node: str, arg: Any, *, timeout: float | timedelta | TimeoutPolicy | None = None) -> None:
        put = object.__setattr__
        put(self, "node", node)
        put(self, "arg", arg)
        put(self, "timeout", TimeoutPolicy.coerce(timeout))

    def __repr__(self) -> str:
        limit = "" if self.timeout is None else f", timeout={self.timeout!r}"
        return f"Send(node={self.node!r}, arg={self.arg!r}{limit})"


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Replace a reducer's value by `value` instead of combining; one for a channel and superstep."""

    value: Any
    type: Literal["__overwrite__"] = "__overwrite__"


@dataclass(frozen=True, slots=True)
class Interrupt:
    """A question that a task asked with `interrupt(value)`; `id` addresses the answer."""

    value: Any
    id: str = "placeholder-id"
    _: KW_ONLY
    response_schema: Any = None


N = TypeVar("N")


class _NotGiven:
    """The type of the mark for "no answer given", which no user value can be."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN: Final = _NotGiven()


class _Frozen:
    """Refuses assignment after construction, as the frozen dataclasses do."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be assigned; make a new one instead")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be deleted")


class Command(_Frozen, Generic[N]):
    """Update the state, answer interrupts and choose the next nodes, in one value.

    Returned by a node, or passed to `invoke`. `Command(resume=None)` is an answer (the value `None`), while
    a command without `resume` answers nothing: `resumes` tells them apart.

        return Command(update={"decision": "approve"}, goto="notice")
    """

    PARENT: ClassVar[Literal["__parent__"]] = "__parent__"
    __slots__ = ("goto", "graph", "resume", "resumes", "update")
    __match_args__ = ("graph", "update", "resume", "goto")

    graph: str | None
    update: Any
    resume: Any
    goto: Any
    resumes: bool

    def __init__(
        self,
        *,
        graph: str | None = None,
        update: Any = None,
        resume: Any = NOT_GIVEN,
        goto: Send | Sequence[Send | N] | N = (),
    ) -> None:
        put = object.__setattr__
        put(self, "graph", graph)
        put(self, "update", update)
        put(self, "resume", None if resume is NOT_GIVEN else resume)
        put(self, "goto", goto)
        put(self, "resumes", resume is not NOT_GIVEN)

    def _parts(self) -> tuple[Any, ...]:
        return (self.graph, self.update, self.resumes, self.resume, self.goto)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Command) and self._parts() == cast("Command[Any]", other)._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        shown = [f"{name}={getattr(self, name)!r}" for name in ("graph", "update") if getattr(self, name)]
        shown += [f"resume={self.resume!r}"] if self.resumes else []
        shown += [f"goto={self.goto!r}"] if self.goto else []
        return f"Command({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_command_from, self._parts())


def _command_from(graph: str | None, update: Any, resumes: bool, resume: Any, goto: Any) -> Command[Any]:
    return Command(graph=graph, update=update, resume=resume if resumes else NOT_GIVEN, goto=goto)


class StateUpdate(NamedTuple):
    """One manual update among several of `bulk_update_state`."""

    values: Any
    as_node: str | None = None
    task_id: str | None = None


class PregelTask(NamedTuple):
    """A task of a superstep as a snapshot shows it; `error` is the text that was recorded."""

    id: str
    name: str
    path: tuple[Any, ...]
    error: Any = None
    interrupts: tuple[Interrupt, ...] = ()
    state: Any = None
    result: Any = None


_SNAPSHOT_FIELDS: Final = (
    "values",
    "next",
    "config",
    "metadata",
    "created_at",
    "parent_config",
    "tasks",
    "interrupts",
)


class StateSnapshot(_Frozen):
    """A thread's state at one checkpoint; behaves like a named tuple of eight fields.

    `values` and `writes` are built at first access when the snapshot was made with `StateSnapshot.lazy`,
    so a history that is only counted or searched by metadata decodes no state. Never compares `writes`.
    """

    __slots__ = (
        "_build",
        "_build_writes",
        "_values",
        "config",
        "created_at",
        "interrupts",
        "metadata",
        "next",
        "parent_config",
        "tasks",
    )
    __match_args__ = _SNAPSHOT_FIELDS
    _fields: ClassVar[tuple[str, ...]] = _SNAPSHOT_FIELDS

    _values: Any
    _build: Callable[[], Any] | None
    _build_writes: Callable[[], Any] | None
    next: tuple[str, ...]
    config: Any
    metadata: Any
    created_at: str | None
    parent_config: Any
    tasks: tuple[PregelTask, ...]
    interrupts: tuple[Interrupt, ...]

    def __init__(
        self,
        values: Any,
        next: tuple[str, ...],
        config: Mapping[str, Any],
        metadata: Mapping[str, Any] | None,
        created_at: str | None,
        parent_config: Mapping[str, Any] | None,
        tasks: tuple[PregelTask, ...],
        interrupts: tuple[Interrupt, ...],
        *,
        build: Callable[[], Any] | None = None,
        writes: Callable[[], Any] | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "_values", values)
        put(self, "_build", build)
        put(self, "_build_writes", writes)
        put(self, "next", next)
        put(self, "config", config)
        put(self, "metadata", metadata)
        put(self, "created_at", created_at)
        put(self, "parent_config", parent_config)
        put(self, "tasks", tasks)
        put(self, "interrupts", interrupts)

    @classmethod
    def lazy(
        cls,
        build: Callable[[], Any],
        *,
        next: tuple[str, ...],
        config: Mapping[str, Any],
        metadata: Mapping[str, Any] | None,
        created_at: str | None,
        parent_config: Mapping[str, Any] | None,
        tasks: tuple[PregelTask, ...],
        interrupts: tuple[Interrupt, ...],
        writes: Callable[[], Any] | None = None,
    ) -> StateSnapshot:
        """Return a snapshot whose `values` are what `build()` gives when somebody looks."""
        return cls(
            None,
            next,
            config,
            metadata,
            created_at,
            parent_config,
            tasks,
            interrupts,
            build=build,
            writes=writes,
        )

    @property
    def values(self) -> Any:
        """The state's values: a dictionary, or the root value of a graph with one channel."""
        if self._build is not None:
            object.__setattr__(self, "_values", self._build())
            object.__setattr__(self, "_build", None)
        return self._values

    @property
    def writes(self) -> Any:
        """What made this checkpoint: the input, `None` right after it, then `{node: result}`."""
        return None if self._build_writes is None else self._build_writes()

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(_SNAPSHOT_FIELDS, self, strict=True))

    def _replace(self, **changes: Any) -> StateSnapshot:
        return StateSnapshot(**{**self._asdict(), **changes}, writes=self._build_writes)

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, name) for name in _SNAPSHOT_FIELDS)

    def __len__(self) -> int:
        return len(_SNAPSHOT_FIELDS)

    def __getitem__(self, index: int | slice) -> Any:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StateSnapshot):
            return tuple(self) == tuple(other)
        return isinstance(other, tuple) and tuple(self) == other

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'StateSnapshot'")

    def __repr__(self) -> str:
        return f"StateSnapshot({', '.join(f'{k}={v!r}' for k, v in self._asdict().items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_snapshot_from, (tuple(self), self.writes))


def _snapshot_from(fields: tuple[Any, ...], writes: Any) -> StateSnapshot:
    return StateSnapshot(*fields, writes=lambda: writes)


def _send_parts(send: Send) -> list[Any]:
    """Return what is stored of a packet; its limits are a part only when it has some."""
    limit = send.timeout
    if limit is None:
        return [send.node, send.arg]
    return [send.node, send.arg, [limit.run_timeout, limit.idle_timeout, limit.refresh_on]]


def _send_from(node: str, arg: Any, limits: list[Any] | None = None) -> Send:
    if limits is None:
        return Send(node, arg)
    run, idle, refresh_on = limits
    return Send(node, arg, timeout=TimeoutPolicy(run_timeout=run, idle_timeout=idle, refresh_on=refresh_on))


def _overwrite_from(value: Any) -> Overwrite:
    return Overwrite(value)


def _interrupt_from(value: Any, id: str, response_schema: Any) -> Interrupt:
    return Interrupt(value, id, response_schema=response_schema)


# Stored form: these numbers and the order of the parts are for ever. More or fewer parts are a TypeError.
BASE.register_native(64, Send, _send_parts, lambda parts: _send_from(*parts))
BASE.register_native(65, Overwrite, lambda v: [v.value], lambda parts: _overwrite_from(*parts))
BASE.register_native(
    66,
    Interrupt,
    lambda v: [v.value, v.id, v.response_schema],
    lambda parts: _interrupt_from(*parts),
)
BASE.register_native(
    67,
    Command,
    lambda v: [v.graph, v.update, v.resumes, v.resume, v.goto],
    lambda parts: _command_from(*parts),
)
