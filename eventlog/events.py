"""The closed vocabulary: everything that can ever have happened, in the past tense.

Events are frozen structs, stored as arrays, so a field's place is its name: new fields go at the end, with a
default, under a new schema version; a change that is more than that gets a step in `upcast`. Values of users are
`bytes` here: encoded by the serializer, opaque to the log. Ids are 16 bytes. Read `record` for the bytes around
an event and `codec` for how they are written and read.
"""

from __future__ import annotations

from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from msgspec import Raw, Struct

SKIPPABLE = 0x8000
"""A kind with this bit set may be skipped by a reader that does not know it."""


class Event(Struct, frozen=True, array_like=True, gc=False):
    """Base of all events. `kind` is the number in the record's header, `schema` its version."""

    kind: ClassVar[int] = 0
    schema: ClassVar[int] = 1


class GraphRegistered(Event, frozen=True):
    """A compiled graph, described once per digest in a stream of its own."""

    kind: ClassVar[int] = 1
    digest: bytes
    name: str
    description: bytes
    """msgpack: channels with their reducers' version or source digest, nodes, edges."""


class RunStarted(Event, frozen=True):
    """A run claimed a thread: the fence that later continuations see."""

    kind: ClassVar[int] = 2
    graph: bytes
    base: bytes | None
    """The checkpoint it continues from; `None` on an empty thread."""
    trigger: str
    """What started it: `input`, `resume`, `command`, `replay`, `continue` or `update`."""
    durability: str
    metadata: bytes | None
    """Encoded dict: the scalars of `config["metadata"]` and `config["configurable"]` that the run came with."""
    branch: str | None = None
    """The name of the branch that a fork-on-conflict opened."""


class ChannelResult(NamedTuple):
    """What became of one channel in a step: an operation, its data, and the digest of the value after it."""

    channel: str
    op: int
    """A `ResultOp`."""
    data: Any
    """What the operation needs: see `ResultOp`."""
    digest: bytes
    """The salted running digest after the step; empty for a channel that is no state of the user's."""


class ResultOp:
    """How a channel's recorded result is to be read. Numbers are for ever; so is what each one does.

    Those below `WHOLE` say *as the writes say*: fold the step's writes to the channel, in apply order.
    """

    LAST = 1
    """The last write is the value."""
    ADD = 2
    """`operator.add` over built-in types."""
    UNION = 3
    """`operator.or_` over sets and dicts."""
    TOPIC = 4
    """The step's values, flattened, replace the list."""
    TOPIC_ACCUMULATE = 5
    """The step's values, flattened, extend the list."""
    MESSAGES = 6
    """`add_messages`."""
    BARRIER = 7
    """The names seen so far, with those written now; data is encoded [names waited for, whether the run must end]."""
    INPUT = 8
    """The run's input, a dict: data names the keys, the step's writes hold the values, stored once."""
    LAST_WAITING = 9
    """The last write is the value, seen by nobody until `FINISHED`."""
    WHOLE = 16
    """Data is the whole value, encoded."""
    SPLICE = 17
    """A list or string: data is [kept prefix, kept suffix, encoded middle]; lengths in elements or characters."""
    ENTRIES = 18
    """A dict: data is [encoded list of removed keys, encoded list of [key, value] set, in order]."""
    EMPTY = 19
    """The channel holds nothing any more."""
    FINISHED = 20
    """An after-finish channel became available with the value it holds."""
    INITIAL = 21
    """Data is the whole value, encoded, that the channel began with; its version does not rise."""
    WHOLE_BARRIER = 22
    """Data is encoded [names seen, names waited for, whether it may open]."""
    WHOLE_WAITING = 23
    """Data is the whole value, encoded, seen by nobody until `FINISHED`."""


class OpenStep(Struct, frozen=True, array_like=True, gc=False):
    """What the finished tasks of a step that did not close amount to: the live view of a paused or failed run."""

    namespace: str
    checkpoint: bytes
    applied: tuple[int, ...]
    """Stream versions of the finished tasks' `ChannelWritten` events, in apply order."""
    results: tuple[ChannelResult, ...]


class RunEnded(Event, frozen=True):
    """How a run ended, and what a paused step's finished tasks amount to."""

    kind: ClassVar[int] = 3
    outcome: str
    """`finished`, `interrupted`, `failed`, `stopped`; `edited`: it was a manual edit."""
    checkpoint: bytes | None
    open: tuple[OpenStep, ...] = ()


class ChannelWritten(Event, frozen=True):
    """A task wrote values to channels, in order; reserved channels carry errors, interrupts, resumes, marks."""

    kind: ClassVar[int] = 4
    checkpoint: bytes
    """The checkpoint whose step the task belongs to."""
    namespace: str
    task: bytes
    node: str
    path: tuple[Any, ...]
    """The task's path as LangGraph has it: `("__pregel_pull", node)`, `("__pregel_push", index, …)`."""
    writes: tuple[tuple[str, Any], ...]
    """(channel, encoded value): `bytes`, or a `BlobRef`'s array, or `None`: the run's input, stored once."""


class PlannedTask(Struct, frozen=True, array_like=True, gc=False):
    """A task that a committed checkpoint plans next."""

    id: bytes
    name: str
    path: tuple[Any, ...]
    triggers: tuple[str, ...]


class CheckpointCommitted(Event, frozen=True):
    """A superstep closed: everything a read needs, so that a read never plans and never runs a reducer."""

    kind: ClassVar[int] = 5
    id: bytes
    parent: bytes | None
    parent_version: int
    """Stream version of the checkpoint that the results are folded onto; 0 for none. That is the parent, but for a
    copied checkpoint, which has the parent of the one it copies. Below zero: what a fork inherits from its source."""
    namespace: str
    step: int
    source: str
    """`input`, `loop`, `update` or `fork`."""
    metadata: bytes | None
    """Encoded dict: run metadata beside source, step and parents."""
    parents: dict[str, bytes]
    """The enclosing namespaces' checkpoints, for a subgraph's."""
    graph: bytes
    tasks: tuple[PlannedTask, ...]
    """What runs next, in the order that `next` shows."""
    applied: tuple[int, ...]
    """Stream versions of the `ChannelWritten` events applied, in apply order."""
    results: tuple[ChannelResult, ...]
    version: int
    """The channel version given to every channel changed here; 0 when none changed."""
    consumed: tuple[str, ...]
    """Channels whose version rose without a result (consumed or cleared in silence)."""
    seen: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    """(node, ((channel, version) …)): the versions that the step's nodes have now seen."""
    updated: tuple[str, ...] | None
    """The channels written in this step, sorted, as LangGraph's `updated_channels`."""
    skips: bool = False
    """Whether this one commit stands for all steps of a run (durability `exit`): its results say what they made."""


class StepRefused(Event, frozen=True):
    """The closing fold of a step was refused: which tasks' writes are void, and why."""

    kind: ClassVar[int] = 6
    checkpoint: bytes
    namespace: str
    channel: str
    tasks: tuple[bytes, ...]
    error: tuple[str, str, str]
    """(type name, str, repr)."""


class BlobChunk(Event, frozen=True):
    """A piece of a large value, appended before the record that names it."""

    kind: ClassVar[int] = 8
    digest: bytes
    """Keyed digest of the whole value, under the key of its erasure scope."""
    index: int
    data: bytes


class ThreadForked(Event, frozen=True):
    """A thread began as a fork: it owns what it inherits, up to and including the source's version."""

    kind: ClassVar[int] = 9
    source: bytes
    """The source's stream id."""
    version: int
    """Where the fork leaves the source: the version of the checkpoint's commit, or of the last record copied."""
    checkpoint: bytes | None
    """The head of the new thread; `None` when the fork copies the whole thread."""
    cut: int = 0
    """The last version whose task writes on that checkpoint are inherited too; 0: its tasks start anew."""


class ItemPut(Event, frozen=True):
    """A memory item was written."""

    kind: ClassVar[int] = 10
    namespace: tuple[str, ...]
    key: str
    value: Any
    index: Any = None


class ItemDeleted(Event, frozen=True):
    """A memory item was deleted."""

    kind: ClassVar[int] = 11
    namespace: tuple[str, ...]
    key: str


class CacheStored(Event, frozen=True):
    """A value was put into a cache that lies in the log: nothing recorded depends on it."""

    kind: ClassVar[int] = 13 | SKIPPABLE
    namespace: tuple[str, ...]
    key: str
    tag: str
    """What the cache's serde calls the form of its bytes."""
    value: Any
    """`bytes`, or a `BlobRef`'s array."""
    ends_us: int | None
    """When it is not good any more, in microseconds since the Unix epoch; `None`: never."""


class CacheCleared(Event, frozen=True):
    """All that a cache held under a namespace is not good any more; `None`: under any."""

    kind: ClassVar[int] = 14 | SKIPPABLE
    namespace: tuple[str, ...] | None


class Recorded(Event, frozen=True):
    """An application's own audit event, in the same order and chain."""

    kind: ClassVar[int] = 12 | SKIPPABLE
    topic: str
    data: Any


E_co = TypeVar("E_co", bound=Event, covariant=True)


class Body(Struct, Generic[E_co], frozen=True, array_like=True, gc=False):
    """The erasable part behind its salt: who, why, the stream's name where it is needed, and the event."""

    event: E_co
    actor: str | None = None
    reason: str | None = None
    name: bytes | None = None
    """The stream's full name; on the first record of each stream."""


class RawBody(Struct, frozen=True, array_like=True):
    """A body whose event is left as it was encoded: of a kind that is unknown, or of an older schema."""

    event: Raw
    actor: str | None = None
    reason: str | None = None
    name: bytes | None = None


EVENTS: dict[int, type[Event]] = {
    cls.kind: cls
    for cls in (
        GraphRegistered,
        RunStarted,
        RunEnded,
        ChannelWritten,
        CheckpointCommitted,
        StepRefused,
        BlobChunk,
        ThreadForked,
        ItemPut,
        ItemDeleted,
        CacheStored,
        CacheCleared,
        Recorded,
    )
}
"""Every kind this version knows, by number."""
