"""`OpenThread`: one thread of a log as this moment's reader sees it. Where every read by name begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..eventlog.clock import any_id
from ..eventlog.configs import configurable
from ..eventlog.events import ChannelWritten
from ..eventlog.log import EventLog, StreamName
from ..eventlog.serde import Serializer
from .errors import CheckpointNotFound, InvalidSearchError
from .filters import Predicate, compile_filter
from .history import history
from .inside import last_in_step, last_of
from .namespaces import TASK
from .reader import StreamPast, find, threads_of
from .snapshot import Lens, StateOf, metadata_of
from .state import CheckpointState
from .thread import OpenWrites, Thread
from .types import INTERRUPT
from .values import LogValues


class Place(NamedTuple):
    """A checkpoint that was asked for: its state, its tasks' writes, and a look into its stream."""

    past: StreamPast
    state: CheckpointState
    writes: OpenWrites


class OpenThread:
    """A thread by id: its folded head, its older checkpoints, its history. Empty when the log has no such thread."""

    def __init__(self, log: EventLog, thread_id: str, serializer: Serializer) -> None:
        self.log = log
        self.id = thread_id
        self.name = StreamName("thread", thread_id)
        self.stream = log.stream_id(self.name)
        self.values = LogValues(log, self.name, serializer)
        self.thread: Thread = threads_of(log).head(log, self.stream, self.values)

    def find(self, checkpoint_id: str) -> Place:
        """Return a checkpoint by its id; raises `CheckpointNotFound`."""
        found = find(self.log, self.thread, self.values, any_id(checkpoint_id))
        if found is None:
            raise CheckpointNotFound(
                f"Thread {self.id!r} has no checkpoint {checkpoint_id!r}. List what it has with get_state_history."
            )
        return Place(*found)

    def head(self, namespace: str = "") -> Place | None:
        """Return a namespace's last checkpoint, or `None`."""
        state = self.thread.heads.get(namespace)
        if state is not None:
            return Place(self.past(), state, self.thread.open.get(state.id, {}))
        if TASK not in namespace:
            return None
        past = self.past()
        return self._left(past, last_of(self.log, self.stream, past, namespace))

    def inside(self, step_of: CheckpointState, namespace: str) -> Place | None:
        """Return the last checkpoint of a graph that ran inside a task of a checkpoint's step, or `None`."""
        head = self.thread.heads.get(step_of.namespace)
        if namespace in self.thread.heads or TASK not in namespace or (head is not None and head.id == step_of.id):
            return self.head(namespace) if namespace in self.thread.heads else None
        past = self.past()
        return self._left(past, last_in_step(past, step_of, namespace))

    def _left(self, past: StreamPast, state: CheckpointState | None) -> Place | None:
        return None if state is None else Place(past, state, past.writes_at(state))

    def past(self) -> StreamPast:
        """Return a look into the thread's stream."""
        return StreamPast(self.log, self.stream, self.values, self.thread)

    def lens(
        self, place_past: StreamPast, keys: tuple[str, ...] | str | None, *, state_of: StateOf | None = None
    ) -> Lens:
        """Return how snapshots of this thread are built."""
        return Lens(self.id, self.values, place_past.written_at, keys=keys, state_of=state_of)

    def places(
        self,
        config: Mapping[str, Any],
        *,
        filter: Mapping[str, Any] | None = None,
        before: Mapping[str, Any] | None = None,
        limit: int | None = None,
        namespace: str | None = None,
        everywhere: bool = False,
    ) -> Iterator[Place]:
        """Return the checkpoints of a namespace, newest first by position; read as they are looked at.

        A config with a checkpoint id means that one alone. `filter`: conditions on the metadata (see `filters`).
        `before`: only what was committed before that checkpoint. `namespace`: another one than the config's.
        `everywhere`: of all namespaces. Raises `CheckpointNotFound`.
        """
        check_limit(limit)
        wanted = compile_filter(filter)
        asked = configurable(config) if namespace is None else {**configurable(config), "checkpoint_ns": namespace}
        return self._matching(asked, wanted, before, limit, everywhere)

    def _matching(
        self,
        asked: Mapping[str, Any],
        wanted: Predicate | None,
        before: Mapping[str, Any] | None,
        limit: int | None,
        everywhere: bool,
    ) -> Iterator[Place]:
        namespace = asked.get("checkpoint_ns", "")
        count = 0
        for place in self._places(asked.get("checkpoint_id"), before):
            if limit is not None and count >= limit:
                return
            if place.state.namespace != namespace and not everywhere:
                continue
            if wanted is not None and not wanted(metadata_of(place.state, self.values)):
                continue
            count += 1
            yield place

    def raised(self) -> frozenset[str]:
        """Return the ids of all interrupts that this thread ever raised or inherited; reads the whole thread."""
        ids: set[str] = set()
        for event in self._written():
            for channel, data in event.writes:
                if channel == INTERRUPT:
                    ids.update(question.id for question in self.values.decode(data))
        return frozenset(ids)

    def _written(self) -> Iterator[ChannelWritten]:
        """Yield all write events that the thread reaches."""
        past, until, fork = self.past(), self.thread.version, self.thread.fork
        while True:
            yield from _written(past, until=until)
            if fork is None:
                return
            past, until = past.source_of(fork), max(fork.version, fork.cut)
            if fork.checkpoint is not None:
                # What its tasks asked behind the cut: forks ask it anew under the same ids.
                yield from (event for event in _written(past, after=until) if event.checkpoint == fork.checkpoint)
            fork = past.fork()

    def _places(self, checkpoint_id: str | None, before: Mapping[str, Any] | None) -> Iterator[Place]:
        if checkpoint_id:
            if self.thread.version:
                yield self.find(checkpoint_id)
            return
        earlier = configurable(before).get("checkpoint_id")
        version = self.find(earlier).state.version if earlier else None
        past = self.past()
        for state, writes in history(self.log, self.thread, self.values, before=version):
            yield Place(past, state, writes)


def _written(past: StreamPast, *, after: int = 0, until: int | None = None) -> Iterator[ChannelWritten]:
    for record in past.records(after=after, until=until):
        if record.header.kind == ChannelWritten.kind:
            event = record.event
            assert isinstance(event, ChannelWritten)
            yield event


def check_limit(limit: object) -> None:
    """Raise `InvalidSearchError` for a limit that is no number of results."""
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise InvalidSearchError(f"limit must be a whole number, 0 or more, or None for no limit, not {limit!r}")
