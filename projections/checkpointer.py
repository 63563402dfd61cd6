"""`EventLogSaver`: a log as a checkpointer, with the interface of LangGraph's savers.

For our own runtime it is little more than a name for the log. A foreign runtime may put checkpoints through it
(`foreign`); either kind of thread reads back in LangGraph's shape (`checkpoints`). Every method has an async twin that
runs the same code on a worker thread.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from ..eventlog.beside import beside
from ..eventlog.clock import any_id
from ..eventlog.configs import configurable, thread_id_of, thread_text
from ..eventlog.engine import ANY
from ..eventlog.errors import CheckpointNotFound
from ..eventlog.forking import copy
from ..eventlog.log import EventLog, StreamWrite
from ..eventlog.serde import Serializer, SerializerProtocol
from .checkpoints import (
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    address,
    checkpoint_of,
    metadata_in_shape,
    pending_writes,
)
from .connections import MEMORY, open_log
from .errors import NotSupportedYet
from .fallback import FallbackSerializer
from .filters import Predicate, compile_filter
from .foreign import check_texts, checkpoint_from, commit_of, is_foreign, next_version, writes_event
from .late_writes import LateWrites
from .open_thread import OpenThread, Place, check_limit
from .run_metadata import run_metadata
from .state import CheckpointState
from .threads import threads
from .view_writer import poke_views

Self_ = TypeVar("Self_", bound="EventLogSaver")


class EventLogSaver:
    """A log as a checkpointer.

    >>> graph = builder.compile(checkpointer=EventLogSaver("checkpoints.lithograph"))

    `connection` is an `EventLog`, the path of a log's folder, or what a SQLite saver was given: a `sqlite3.Connection`,
    a `.db` file or a `sqlite:///` URL, beside which the log lies (`checkpoint.db.lithograph`; `:memory:` in memory).
    `serde` stores only values that the log's own serializer refuses. Thread-safe. A log that the saver opened is closed
    with it.
    """

    def __init__(self, connection: Any, *, serde: Any = None) -> None:
        self._owns = not isinstance(connection, EventLog)
        self.serde = _checked(serde)
        self.log: EventLog = open_log(connection) if self._owns else connection
        self.serializer = Serializer() if serde is None else FallbackSerializer(None, serde)
        self._late = LateWrites()
        self._putting = threading.Lock()

    @classmethod
    def from_conn_string(cls: type[Self_], conn_string: str, *, serde: Any = None) -> Self_:
        """Return a saver: use it as it is, in a `with` block or in an `async with` block."""
        return cls(conn_string, serde=serde)

    def setup(self) -> _Ready:
        """Do nothing, any number of times: a log needs no tables. May be awaited."""
        return _Ready()

    def close(self) -> None:
        """Close the log, if this saver opened it."""
        if self._owns:
            self.log.close()

    def __enter__(self: Self_) -> Self_:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self: Self_) -> Self_:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await beside(self.close)

    # Reading

    def get(self, config: Mapping[str, Any]) -> Checkpoint | None:
        """Return the checkpoint that a config names, the latest without an id; `None` when there is none."""
        found = self.get_tuple(config)
        return None if found is None else found.checkpoint

    def get_tuple(self, config: Mapping[str, Any]) -> CheckpointTuple | None:
        """Return a checkpoint with its metadata, parent and pending writes; `None` when there is none."""
        thread, asked = self._open(thread_id_of(config)), configurable(config)
        checkpoint_id, namespace = asked.get("checkpoint_id"), asked.get("checkpoint_ns", "")
        if not checkpoint_id:
            place = thread.head(namespace)
        else:
            place = _found(thread, checkpoint_id)
            place = None if place is None or place.state.namespace != namespace else place
        return None if place is None else self._tuple(thread, place)

    def list(
        self,
        config: Mapping[str, Any] | None,
        *,
        filter: Mapping[str, Any] | None = None,
        before: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Return checkpoints, newest first by position: of a thread, or of every thread without a config.

        Without `checkpoint_ns` of all namespaces. `filter`: conditions on the metadata. Unknown ids: nothing.
        """
        check_limit(limit)
        return self._matching(config, compile_filter(filter), before, limit)

    def _matching(
        self,
        config: Mapping[str, Any] | None,
        wanted: Predicate | None,
        before: Mapping[str, Any] | None,
        limit: int | None,
    ) -> Iterator[CheckpointTuple]:
        count = 0
        for found in self._all(config, before):
            if limit is not None and count >= limit:
                return
            if wanted is None or wanted(found.metadata):
                count += 1
                yield found

    # Writing

    def put(
        self,
        config: Mapping[str, Any],
        checkpoint: Mapping[str, Any],
        metadata: Mapping[str, Any],
        new_versions: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Store a foreign runtime's checkpoint; the config's checkpoint id is its parent's. Returns its address.

        Durable when it returns. Raises `ConflictError` when another process appended to the thread meanwhile.
        """
        asked = configurable(config)
        namespace, parent = asked.get("checkpoint_ns", ""), asked.get("checkpoint_id")
        check_texts([namespace], checkpoint.get("channel_values") or {}, checkpoint.get("updated_channels") or ())
        with self._putting:
            thread = self._open(thread_id_of(config))
            base = None if parent is None else self._state(thread, namespace, parent)
            event = commit_of(
                checkpoint,
                run_metadata(config, metadata),
                new_versions,
                base,
                parent=parent,
                namespace=namespace,
                values=thread.values,
                scope_key=self.log.scope_key(self.log.scope_of(thread.name)),
            )
            self.log.append([StreamWrite(thread.name, thread.thread.version, [self.log.stamp(event)])])
        poke_views(self.log)
        return address(thread.id, namespace, event.id)

    def put_writes(
        self,
        config: Mapping[str, Any],
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a foreign runtime's task wrote at the config's checkpoint; durable when it returns.

        What a task wrote first at a place stands; of errors, interrupts and answers the last.
        """
        asked = configurable(config)
        checkpoint_id = asked.get("checkpoint_id")
        if not checkpoint_id:
            raise ValueError("put_writes needs configurable.checkpoint_id: writes belong to a checkpoint")
        check_texts([asked.get("checkpoint_ns", ""), task_path], [channel for channel, _value in writes])
        with self._putting:
            thread = self._open(thread_id_of(config))
            event = writes_event(
                writes,
                checkpoint_id,
                namespace=asked.get("checkpoint_ns", ""),
                task=task_id,
                path=task_path,
                values=thread.values,
            )
            self.log.append([StreamWrite(thread.name, ANY, [self.log.stamp(event)])])

    def get_next_version(self, current: Any, channel: Any) -> Any:
        """Return the version after `current`: 1 after `None`, and so on."""
        return next_version(current)

    # Lifecycle

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Begin a thread as a copy of a whole one, in one event; raises `ConflictError` when the target exists."""
        copy(self.log, thread_text(source_thread_id), thread_text(target_thread_id))

    def delete_thread(self, thread_id: str) -> None:
        """Refuse: this release deletes nothing."""
        raise NotSupportedYet("delete_thread comes with the life of threads; nothing was deleted")

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Refuse: this release deletes nothing."""
        raise NotSupportedYet("delete_for_runs comes with the life of threads; nothing was deleted")

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Refuse: this release deletes nothing."""
        raise NotSupportedYet("prune comes with the life of threads; nothing was deleted")

    # Async twins: beside the event loop, with the caller's actor

    async def aget(self, config: Mapping[str, Any]) -> Checkpoint | None:
        """Do what `get` does."""
        return await beside(self.get, config)

    async def aget_tuple(self, config: Mapping[str, Any]) -> CheckpointTuple | None:
        """Do what `get_tuple` does."""
        return await beside(self.get_tuple, config)

    async def alist(
        self,
        config: Mapping[str, Any] | None,
        *,
        filter: Mapping[str, Any] | None = None,
        before: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Do what `list` does: each checkpoint is read when it is asked for."""
        listed = self.list(config, filter=filter, before=before, limit=limit)
        while (found := await beside(next, listed, None)) is not None:
            yield found

    async def aput(
        self,
        config: Mapping[str, Any],
        checkpoint: Mapping[str, Any],
        metadata: Mapping[str, Any],
        new_versions: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Do what `put` does."""
        return await beside(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: Mapping[str, Any],
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Do what `put_writes` does."""
        await beside(self.put_writes, config, writes, task_id, task_path)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Do what `copy_thread` does."""
        await beside(self.copy_thread, source_thread_id, target_thread_id)

    async def adelete_thread(self, thread_id: str) -> None:
        """Do what `delete_thread` does."""
        await beside(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Do what `delete_for_runs` does."""
        await beside(self.delete_for_runs, run_ids)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Do what `prune` does."""
        await beside(self.prune, thread_ids, strategy=strategy)

    # Parts

    def _open(self, thread_id: str) -> OpenThread:
        return OpenThread(self.log, thread_id, self.serializer)

    def _state(self, thread: OpenThread, namespace: str, checkpoint_id: str) -> CheckpointState | None:
        head = thread.thread.heads.get(namespace)
        if head is not None and head.id == any_id(checkpoint_id):
            return head
        place = _found(thread, checkpoint_id)
        return None if place is None else place.state

    def _all(self, config: Mapping[str, Any] | None, before: Mapping[str, Any] | None) -> Iterator[CheckpointTuple]:
        if config is None:
            for info in threads(self.log):
                yield from self._of_thread(self._open(info.thread_id), {}, before)
        else:
            yield from self._of_thread(self._open(thread_id_of(config)), config, before)

    def _of_thread(
        self, thread: OpenThread, config: Mapping[str, Any], before: Mapping[str, Any] | None
    ) -> Iterator[CheckpointTuple]:
        asked = configurable(config)
        namespace = asked.get("checkpoint_ns")
        places = thread.places(config, before=before, everywhere=namespace is None)
        known: set[tuple[str, bytes]] = set()
        try:
            for place in places:
                # A foreign runtime may put a checkpoint again under its id: the last one counts.
                name = (place.state.namespace, place.state.id)
                if name not in known:
                    known.add(name)
                    yield self._tuple(thread, place)
        except CheckpointNotFound:
            return

    def _tuple(self, thread: OpenThread, place: Place) -> CheckpointTuple:
        state, values = place.state, thread.values
        parent = None if state.parent is None else address(thread.id, state.namespace, state.parent)
        where = address(thread.id, state.namespace, state.id)
        if not is_foreign(state):
            return CheckpointTuple(
                where,
                checkpoint_of(state, values),
                metadata_in_shape(state, values),
                parent,
                pending_writes(state, place.writes, values),
            )
        writes = self._late.of(self.log, thread, place)
        metadata: CheckpointMetadata = {} if state.metadata is None else values.decode(state.metadata)
        checkpoint = checkpoint_from(state, values)
        return CheckpointTuple(where, checkpoint, metadata, parent, pending_writes(state, writes, values))


class InMemorySaver(EventLogSaver):
    """A saver over a log that lives as long as the process."""

    def __init__(self, *, serde: Any = None) -> None:
        super().__init__(MEMORY, serde=serde)


class _Ready:
    """What `setup()` returns: done already, whether awaited or not."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


def _found(thread: OpenThread, checkpoint_id: str) -> Place | None:
    try:
        return thread.find(checkpoint_id)
    except CheckpointNotFound:
        return None


def _checked(serde: Any) -> SerializerProtocol | None:
    if serde is None:
        return None
    if hasattr(serde, "cipher"):
        raise NotSupportedYet("a serde that seals values comes with sealing; nothing would be sealed by it now")
    if not isinstance(serde, SerializerProtocol):
        raise TypeError(f"serde must have dumps_typed and loads_typed, which {type(serde).__name__} has not")
    return serde
