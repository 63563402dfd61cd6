"""What a compiled graph knows of its log: the serializer with the graph's types, threads by id, reads of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..eventlog.clock import id_bytes
from ..eventlog.errors import ConflictError
from ..eventlog.events import ChannelWritten, GraphRegistered
from ..eventlog.log import EventLog, StreamName, StreamWrite
from ..eventlog.serde import BASE, Serializer
from ..projections.errors import CheckpointNotFound
from ..projections.fold import Cells
from ..projections.reader import StreamPast, find, history, threads_of
from ..projections.snapshot import Lens, metadata_of, statuses
from ..projections.state import CheckpointState, gather
from ..projections.thread import OpenWrites, Thread
from ..projections.types import INTERRUPT, StateSnapshot
from ..projections.values import LogValues
from .config import configurable, thread_id_of
from .rules import Rules, path_text
from .spec import GraphSpec


class Place(NamedTuple):
    """A checkpoint that was asked for: its state, its tasks' writes, and a look into its stream."""

    past: StreamPast
    state: CheckpointState
    writes: OpenWrites


class OpenThread:
    """One thread of the log as this moment's reader sees it."""

    def __init__(self, log: EventLog, thread_id: str, serializer: Serializer) -> None:
        self.log = log
        self.id = thread_id
        self.name = StreamName("thread", thread_id)
        self.stream = log.stream_id(self.name)
        self.values = LogValues(log, self.name, serializer)
        self.thread: Thread = threads_of(log).head(log, self.stream, self.values)

    def find(self, checkpoint_id: str) -> Place:
        """Return a checkpoint by its id; raises `CheckpointNotFound`."""
        number = id_bytes(checkpoint_id)
        found = None if number is None else find(self.log, self.thread, self.values, number)
        if found is None:
            raise CheckpointNotFound(
                f"Thread {self.id!r} has no checkpoint {checkpoint_id!r}. List what it has with get_state_history."
            )
        return Place(*found)

    def head(self, namespace: str = "") -> Place | None:
        """Return a namespace's last checkpoint, or `None`."""
        state = self.thread.heads.get(namespace)
        if state is None:
            return None
        past = StreamPast(self.log, self.stream, self.values, self.thread)
        return Place(past, state, self.thread.open.get(state.id, {}))

    def lens(self, place_past: StreamPast, keys: tuple[str, ...] | str | None) -> Lens:
        """Return how snapshots of this thread are built."""
        return Lens(self.id, self.values, place_past.written_at, keys=keys)

    def raised(self) -> frozenset[str]:
        """Return the ids of all interrupts that this thread ever raised; reads the whole thread."""
        ids: set[str] = set()
        for page in self.log.scan_stream(self.stream):
            for record in page:
                if record.header.kind != ChannelWritten.kind:
                    continue
                event = record.event
                assert isinstance(event, ChannelWritten)
                for channel, data in event.writes:
                    if channel == INTERRUPT:
                        ids.update(question.id for question in self.values.decode(data))
        return frozenset(ids)


class Persistence:
    """A compiled graph's log."""

    def __init__(self, log: EventLog, spec: GraphSpec, *, serializer: Serializer | None = None) -> None:
        self.log = log
        self.spec = spec
        registry = (serializer.registry if serializer is not None else BASE).extended(())
        for annotation in spec.types:
            registry.collect(annotation)
        self.serializer = Serializer(registry)
        self._registered = False

    def open(self, config: Mapping[str, Any]) -> OpenThread:
        """Return the thread that a config names, empty when there is none; raises `MissingThreadId`."""
        return OpenThread(self.log, thread_id_of(config), self.serializer)

    def register_graph(self) -> None:
        """Describe the graph in the log, once for each digest; nothing when the log knows it."""
        if self._registered or self.log.read_only:
            return
        digest = self.spec.digest()
        name = StreamName("graph", digest)
        if not self.log.head(self.log.stream_id(name)).version:
            description = self.serializer.encode(self.spec.description())
            event = GraphRegistered(digest, self.spec.name, description)
            try:
                self.log.append([StreamWrite(name, 0, [self.log.stamp(event)])])
            except ConflictError:
                # Somebody else described the same graph a moment ago: what matters is that it is there.
                assert self.log.head(self.log.stream_id(name)).version > 0
        self._registered = True

    def get_state(self, config: Mapping[str, Any], rules: Rules) -> StateSnapshot:
        """Return a thread's state: live at its head, or as a record of the checkpoint that `config` names."""
        thread = self.open(config)
        asked = configurable(config)
        namespace = asked.get("checkpoint_ns", "")
        keys = self.spec.stream_channels
        checkpoint_id = asked.get("checkpoint_id")
        if checkpoint_id and thread.thread.version:
            place = thread.find(checkpoint_id)
            return thread.lens(place.past, keys).record(place.state, place.writes)
        place = thread.head(namespace)
        if place is None:
            return empty_snapshot(config)
        lens = thread.lens(place.past, keys)
        if "checkpoint_id" in asked:
            return lens.record(place.state, place.writes)
        return lens.live(thread.thread, place.state, self._cells_now(thread, place, rules))

    def _cells_now(self, thread: OpenThread, place: Place, rules: Rules) -> Cells | None:
        """Return the head's channels with what finished tasks wrote, when no run's end recorded it.

        Only pinned reducers are folded here: reading runs no code of a user.
        """
        state = place.state
        if state.id in thread.thread.paused:
            return None
        known = statuses(place.writes, thread.values)
        done = [event for event in place.writes.values() if event.task in known and known[event.task].finished]
        if not done:
            return None
        writes, _inputs = gather(state, sorted(done, key=lambda event: path_text(event.path)), thread.values)
        return rules.fold_pinned(state.cells, writes, thread.values)

    def history(
        self,
        config: Mapping[str, Any],
        *,
        filter: Mapping[str, Any] | None,
        before: Mapping[str, Any] | None,
        limit: int | None,
    ) -> Iterator[StateSnapshot]:
        """Yield a thread's checkpoints, newest first by position; lazily."""
        if limit is not None and limit < 0:
            raise ValueError(f"limit must be 0 or more, or None for no limit, not {limit}")
        thread = self.open(config)
        asked = configurable(config)
        namespace = asked.get("checkpoint_ns", "")
        if checkpoint_id := asked.get("checkpoint_id"):
            if not thread.thread.version:
                return
            place = thread.find(checkpoint_id)
            entries: Iterator[tuple[CheckpointState, OpenWrites]] = iter([(place.state, place.writes)])
        else:
            entries = history(self.log, thread.thread, thread.values, before=self._version_of(thread, before))
        past = StreamPast(self.log, thread.stream, thread.values, thread.thread)
        lens = thread.lens(past, self.spec.stream_channels)
        count = 0
        for state, writes in entries:
            if limit is not None and count >= limit:
                return
            if state.namespace != namespace or not _matches(state, filter, thread.values):
                continue
            count += 1
            yield lens.record(state, writes)

    def _version_of(self, thread: OpenThread, before: Mapping[str, Any] | None) -> int | None:
        checkpoint_id = configurable(before).get("checkpoint_id")
        return None if checkpoint_id is None else thread.find(checkpoint_id).state.version


def empty_snapshot(config: Mapping[str, Any]) -> StateSnapshot:
    """Return what a thread without checkpoints looks like."""
    return StateSnapshot({}, (), config, None, None, None, (), ())


def _matches(state: CheckpointState, filter: Mapping[str, Any] | None, values: LogValues) -> bool:
    if not filter:
        return True
    metadata = metadata_of(state, values)
    return all(key in metadata and metadata[key] == value for key, value in filter.items())
