"""`Journal`: what a running loop records, kept in step with the thread that readers will fold.

Every event the loop makes goes to the writer and, at once, into the run's own copy of the thread, by the same `feed`
that readers use. Without a log there is nothing to record and nothing to read: the loop then has no journal.

The loops of graphs inside nodes record in the journal of the run that they are part of, from the threads that their
tasks run on: who needs to know what version an event will have holds `lock` until it is appended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from ..eventlog.events import CheckpointCommitted, Event
from ..eventlog.log import EventLog
from ..projections.cells import Values
from ..projections.digests import channel_key
from ..projections.reader import StreamPast, threads_of
from ..projections.state import CheckpointState
from ..projections.thread import Thread
from ..projections.view_writer import poke_views
from .run_writer import RunWriter


class Journal:
    """One run's record: its writer, its thread, and the keys of its digests."""

    def __init__(
        self,
        log: EventLog,
        thread: Thread,
        values: Values,
        writer: RunWriter,
        *,
        run: bytes,
        scope_key: bytes,
        before_first: Callable[[], None],
    ) -> None:
        self.thread = thread
        self._log = log
        self.run = run
        self.writer = writer
        self._values = values
        self.past = StreamPast(log, thread.stream, values, thread)
        """A look into what is on disk of the thread: not into what is queued behind the run."""
        self._scope_key = scope_key
        self._keys: dict[tuple[str, str], bytes] = {}
        self._before_first: Callable[[], None] | None = before_first
        """Called before the first append: what the events refer to must be there."""
        self.lock = threading.RLock()
        """Held while events are appended, and by whoever must know their versions before."""

    @property
    def next_version(self) -> int:
        """The stream version that the next event will have."""
        return self.writer.version + 1

    def append(self, events: Sequence[Event], time_us: int, state: CheckpointState | None = None) -> int:
        """Record events in order; `state` is that of the commit among them. Returns the first one's version."""
        with self.lock:
            if self._before_first is not None:
                self._before_first()
                self._before_first = None
            first = self.writer.append(events, time_us)
            for version, event in enumerate(events, first):
                self.thread.feed(
                    event,
                    version=version,
                    time_us=time_us,
                    run=self.run,
                    values=self._values,
                    past=self.past,
                    state=state if isinstance(event, CheckpointCommitted) else None,
                )
        return first

    def digest_key(self, namespace: str, channel: str) -> bytes:
        """Return the key of a channel's running digest."""
        place = (namespace, channel)
        key = self._keys.get(place)
        if key is None:
            key = self._keys[place] = channel_key(self._scope_key, namespace, channel)
        return key

    def publish(self) -> None:
        """Let readers begin where the run ended, and views follow. Only after everything is durable."""
        threads_of(self._log).publish(self.thread, self._values)
        poke_views(self._log)
