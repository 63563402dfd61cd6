"""`RunWriter`: the one writer of a run. It owns the thread's expected version and decides when appends are durable.

The first append claims the thread and is durable in every mode. After it: `sync` appends at once; `async` queues behind
the run, flushed in the background, when the queue is full, and before the run returns; `exit` keeps everything for one
append at the end. Whoever else appends to the thread meanwhile takes it over: the next flush raises `ConflictError`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import ClassVar

from ..eventlog.context import NOBODY, Actor, acting_for
from ..eventlog.errors import ConflictError
from ..eventlog.events import Event
from ..eventlog.log import Draft, EventLog, StreamName, StreamWrite, draft

MAX_QUEUED_STEPS = 64
MAX_QUEUED_BYTES = 4 * 1024 * 1024
_RECORDS_PER_APPEND = 256
_BYTES_PER_APPEND = 2 * 1024 * 1024


class RunWriter:
    """Appends one run's events to its thread, in order. Not shared between runs."""

    def __init__(
        self,
        log: EventLog,
        name: StreamName,
        version: int,
        run: bytes,
        *,
        durability: str,
        actor: Actor = NOBODY,
        whole: bool = False,
    ) -> None:
        """`actor`: who acts when nobody does in this context.

        `whole`: everything that a drain finds is one append, or refused as too large; never part of it.
        """
        self._log = log
        self._name = name
        self._run = run
        self._durability = durability
        self._whole = whole
        self._actor = acting_for(actor)
        self.version = version
        """The thread's version after everything appended so far, queued or durable."""
        self._durable = version
        self._queue: list[Draft] = []
        self._bytes = 0
        self._steps = 0
        self._lock = threading.Lock()
        """Guards the queue, for moments only."""
        self._flushing = threading.Lock()
        """Held while a batch is on its way, so that batches keep their order."""
        self._failure: BaseException | None = None
        self.queued_since = 0.0

    def append(self, events: Sequence[Event], time_us: int) -> int:
        """Take events in order and return the first one's version. Raises what a flush before this one met."""
        if self._failure is not None:
            raise self._failure
        first = self.version + 1
        run, (actor, reason) = self._run, self._actor
        drafts = [draft(event, time_us, run, actor, reason) for event in events]
        with self._lock:
            if not self._queue:
                self.queued_since = time.monotonic()
            self._queue += drafts
            for made in drafts:
                self._bytes += len(made.body)
            self.version += len(drafts)
        return first

    def step_done(self) -> None:
        """Say that what was appended so far may be waited for: flushes as the durability asks."""
        if self._durability == "exit":
            return
        self._steps += 1
        if self._durability == "sync" or self._steps >= MAX_QUEUED_STEPS or self._bytes >= MAX_QUEUED_BYTES:
            self.drain()

    def drain(self) -> None:
        """Return when everything appended is durable; raises `ConflictError` when the thread was taken over."""
        with self._flushing:
            self._flush()
        if self._failure is not None:
            raise self._failure

    def flush_behind(self) -> None:
        """Flush from another thread; a failure is kept for the run to meet."""
        if self._flushing.acquire(blocking=False):
            try:
                self._flush()
            finally:
                self._flushing.release()

    def run_behind(self) -> None:
        """Have the background flusher look after this writer, when its durability is `async`."""
        if self._durability == "async":
            Flusher.of_process().watch(self)

    def release(self) -> None:
        """Tell the background flusher that the run is over."""
        if self._durability == "async":
            Flusher.of_process().forget(self)

    def _flush(self) -> None:
        while self._failure is None:
            with self._lock:
                batch = self._batch()
            if not batch:
                return
            try:
                self._log.append([StreamWrite(self._name, self._durable, batch)])
            except BaseException as error:
                self._failure = error
                if not isinstance(error, Exception):
                    raise
                return
            self._durable += len(batch)
            with self._lock:
                del self._queue[: len(batch)]
                if not self._queue:
                    self._bytes = self._steps = 0

    def _batch(self) -> list[Draft]:
        if self._whole or (len(self._queue) <= _RECORDS_PER_APPEND and self._bytes <= _BYTES_PER_APPEND):
            return list(self._queue)
        size = 0
        for count, queued in enumerate(self._queue):
            size += len(queued.body)
            if count and (count == _RECORDS_PER_APPEND or size > _BYTES_PER_APPEND):
                return self._queue[:count]
        return list(self._queue)

    @property
    def durable(self) -> int:
        """The thread's version after what of this run is on disk."""
        return self._durable

    @property
    def conflict(self) -> ConflictError | None:
        """The conflict that ended this writer, if one did."""
        return self._failure if isinstance(self._failure, ConflictError) else None


class Flusher:
    """One background thread a process: flushes what a running `async` run queued a moment ago."""

    INTERVAL_SECONDS: ClassVar[float] = 0.01
    _IDLE_SECONDS: ClassVar[float] = 1.0
    _instance: ClassVar[Flusher | None] = None
    _instance_lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        self._writers: set[RunWriter] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @classmethod
    def of_process(cls) -> Flusher:
        """Return the process's flusher."""
        if cls._instance is None:
            with cls._instance_lock:
                cls._instance = cls._instance or cls()
        return cls._instance

    @classmethod
    def forget_parent(cls) -> None:
        """Begin anew in a forked child: the parent's thread is not here, and may have held a lock."""
        cls._instance, cls._instance_lock = None, threading.Lock()

    def watch(self, writer: RunWriter) -> None:
        """Look after a writer until it is forgotten."""
        with self._lock:
            self._writers.add(writer)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="lithograph-flusher", daemon=True)
                self._thread.start()

    def forget(self, writer: RunWriter) -> None:
        """Stop looking after a writer."""
        with self._lock:
            self._writers.discard(writer)

    def _work(self) -> None:
        busy = time.monotonic()
        while True:
            time.sleep(self.INTERVAL_SECONDS)
            now = time.monotonic()
            with self._lock:
                writers = list(self._writers)
                if writers:
                    busy = now
                elif now - busy > self._IDLE_SECONDS:
                    self._thread = None
                    return
            for writer in writers:
                if writer.version and now - writer.queued_since >= self.INTERVAL_SECONDS:
                    writer.flush_behind()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Flusher.forget_parent)
