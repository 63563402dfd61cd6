"""What a compiled graph knows of its log: the serializer with the graph's types, what reads need of the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..eventlog.errors import ConflictError
from ..eventlog.events import GraphRegistered
from ..eventlog.log import EventLog, StreamName, StreamWrite
from ..eventlog.record import NO_ID
from ..eventlog.serde import BASE, Serializer
from ..projections.fallback import serializer_like
from ..projections.fold import Cells
from ..projections.open_thread import OpenThread, Place
from ..projections.queries import empty_snapshot
from ..projections.snapshot import statuses
from ..projections.state import gather
from ..projections.types import StateSnapshot
from .config import configurable, thread_id_of
from .rules import Rules, path_text
from .spec import GraphSpec

__all__ = ["OpenThread", "Persistence", "Place"]


class Persistence:
    """A compiled graph's log."""

    def __init__(self, log: EventLog, spec: GraphSpec, *, serializer: Serializer | None = None) -> None:
        self.log = log
        self.spec = spec
        registry = (serializer.registry if serializer is not None else BASE).extended(())
        for annotation in spec.types:
            registry.collect(annotation)
        self.serializer = serializer_like(serializer, registry)
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
        """Return the head's channels with what commands and finished tasks wrote, when no run's end recorded it.

        Only pinned reducers are folded here: reading runs no code of a user.
        """
        state = place.state
        if state.id in thread.thread.paused:
            return None
        known = statuses(place.writes, thread.values)
        events = place.writes.values()
        done = [event for event in events if event.task in known and known[event.task].finished]
        ahead = [event for event in events if event.task == NO_ID]
        if not done and not ahead:
            return None
        cells = state.cells
        # One command after another, as their runs applied them; then the step.
        for together in (*([event] for event in ahead), sorted(done, key=lambda event: path_text(event.path))):
            writes, _inputs = gather(state, together, thread.values)
            cells = rules.fold_pinned(cells, writes, thread.values)
        return cells

    def history(
        self,
        config: Mapping[str, Any],
        *,
        filter: Mapping[str, Any] | None,
        before: Mapping[str, Any] | None,
        limit: int | None,
    ) -> Iterator[StateSnapshot]:
        """Return a thread's checkpoints, newest first by position; read as they are looked at."""
        thread = self.open(config)
        keys = self.spec.stream_channels
        places = thread.places(config, filter=filter, before=before, limit=limit)
        return (thread.lens(place.past, keys).record(place.state, place.writes) for place in places)
