"""The types of what `stream` yields and `invoke` returns: payloads, the parts of `version="v2"`, `GraphOutput`.

LangGraph's names and fields. Parts and payloads are plain dictionaries; these classes say which keys are there.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar, cast

from ..projections.checkpoints import CheckpointMetadata
from ..projections.types import INTERRUPT, Interrupt, RunnableConfig, StateSnapshot

StateT = TypeVar("StateT")
OutputT = TypeVar("OutputT")


class TaskPayload(TypedDict):
    """A task that starts. `metadata`: the run's and the node's, when there is any."""

    id: str
    name: str
    input: Any
    triggers: list[str]
    metadata: NotRequired[dict[str, Any]]


class TaskResultPayload(TypedDict):
    """A task that ended: what it wrote by channel, or its error, or the questions it asked."""

    id: str
    name: str
    error: str | None
    interrupts: list[dict[str, Any]]
    result: dict[str, Any]


class CheckpointTask(TypedDict):
    """A task of a checkpoint. `error` when it failed, `result` when it is done, `interrupts` unless it failed."""

    id: str
    name: str
    error: NotRequired[str]
    result: NotRequired[Any]
    interrupts: NotRequired[list[dict[str, Any]]]
    state: StateSnapshot | RunnableConfig | None


class CheckpointPayload(TypedDict, Generic[StateT]):
    """A checkpoint: where it is, its values, and the tasks that are planned on it."""

    config: RunnableConfig | None
    metadata: CheckpointMetadata
    values: StateT
    next: list[str]
    parent_config: RunnableConfig | None
    tasks: list[CheckpointTask]


class DebugCheckpoint(TypedDict, Generic[StateT]):
    """A checkpoint, as `debug` tells it."""

    step: int
    timestamp: str
    type: Literal["checkpoint"]
    payload: CheckpointPayload[StateT]


class DebugTask(TypedDict):
    """A task that starts, as `debug` tells it."""

    step: int
    timestamp: str
    type: Literal["task"]
    payload: TaskPayload


class DebugTaskResult(TypedDict):
    """A task that ended, as `debug` tells it."""

    step: int
    timestamp: str
    type: Literal["task_result"]
    payload: TaskResultPayload


DebugPayload = DebugCheckpoint[StateT] | DebugTask | DebugTaskResult
"""What `debug` tells; look at `type` first."""


class ValuesStreamPart(TypedDict, Generic[OutputT]):
    """The state after a step, and the questions at which the run pauses."""

    type: Literal["values"]
    ns: tuple[str, ...]
    data: OutputT
    interrupts: tuple[Interrupt, ...]


class UpdatesStreamPart(TypedDict):
    """What one node wrote, under its name; also `__interrupt__` and `__metadata__`."""

    type: Literal["updates"]
    ns: tuple[str, ...]
    data: dict[str, Any]


class MessagesStreamPart(TypedDict):
    """A message or a piece of one, and the metadata of whoever made it."""

    type: Literal["messages"]
    ns: tuple[str, ...]
    data: tuple[Any, dict[str, Any]]


class CustomStreamPart(TypedDict):
    """What user code sent."""

    type: Literal["custom"]
    ns: tuple[str, ...]
    data: Any


class CheckpointStreamPart(TypedDict, Generic[StateT]):
    """A checkpoint that was made."""

    type: Literal["checkpoints"]
    ns: tuple[str, ...]
    data: CheckpointPayload[StateT]


class TasksStreamPart(TypedDict):
    """A task that starts or ended."""

    type: Literal["tasks"]
    ns: tuple[str, ...]
    data: TaskPayload | TaskResultPayload


class DebugStreamPart(TypedDict, Generic[StateT]):
    """What `checkpoints` and `tasks` tell, with step and time."""

    type: Literal["debug"]
    ns: tuple[str, ...]
    data: DebugPayload[StateT]


StreamPart = (
    CheckpointStreamPart[StateT]
    | ValuesStreamPart[OutputT]
    | UpdatesStreamPart
    | MessagesStreamPart
    | CustomStreamPart
    | TasksStreamPart
    | DebugStreamPart[StateT]
)
"""What `stream(version="v2")` yields; look at `type` first. `StreamPart[State, Output]` names the two schemas."""


@dataclass(frozen=True)
class GraphOutput(Generic[OutputT]):
    """What `invoke(version="v2")` returns: the last values, as the output schema has them, and open questions.

    >>> output = graph.invoke({"amount": 1}, version="v2")
    >>> output.value["amount"], output.interrupts
    """

    value: OutputT
    interrupts: tuple[Interrupt, ...] = ()

    def __getitem__(self, key: str) -> Any:
        """Return a key of the values, or the questions under `__interrupt__`. Deprecated: ask the two fields."""
        _warn("result[key]")
        if key == INTERRUPT:
            return self.interrupts
        value = cast("Any", self.value)
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)[key]
        try:
            return getattr(value, key)
        except AttributeError:
            raise KeyError(key) from None

    def __contains__(self, key: object) -> bool:
        """Return whether `result[key]` is there. Deprecated: ask the two fields."""
        _warn("key in result")
        if key == INTERRUPT:
            return bool(self.interrupts)
        value = cast("Any", self.value)
        return key in value if isinstance(value, dict) else isinstance(key, str) and hasattr(value, key)


def _warn(access: str) -> None:
    warnings.warn(
        f"`{access}` of a GraphOutput is deprecated: use `result.value` for the values, `result.interrupts` for the "
        "questions.",
        DeprecationWarning,
        stacklevel=3,
    )
