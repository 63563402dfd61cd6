"""Reading a thread: its head, any checkpoint, its history. Folds what the caches do not hold; runs no user code.

A log has one `Threads`: recently read threads, folded to a version, and advanced by their stream's tail at each read,
which gives read-your-writes across threads and processes. One that nobody read yet begins at the nearest rung on disk
(`views`). A fork is read through: what it inherits it knows under numbers of its own (`inherited`). History is in
`history`.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Protocol, cast
from weakref import WeakKeyDictionary

from ..eventlog.errors import LogGap
from ..eventlog.events import (
    ChannelWritten,
    CheckpointCommitted,
    Event,
    OpenStep,
    RunStarted,
    StepRefused,
    ThreadForked,
)
from ..eventlog.log import EventLog, Record
from ..eventlog.reading import Told
from ..eventlog.record import NO_ID
from .cells import Values
from .inherited import in_source, inherited
from .namespaces import is_kept
from .rungs import Rung
from .state import CheckpointState, apply_commit
from .thread import OpenWrites, Thread, forget_run, without_voided
from .views import Views

FOLD_PAGE = 128
"""Records decoded at a time: few enough that they are still in the processor's cache when they are folded."""
_PAGE = 128
_CACHED_PAGES = 16
_CACHED_THREADS = 256
_CACHED_STATES = 64
_OF_A_STEP = frozenset({ChannelWritten.kind, CheckpointCommitted.kind, StepRefused.kind})


class AnyRungs(Protocol):
    """The rungs of one stream: a reader's, or those of the builder that makes them."""

    @property
    def versions(self) -> dict[int, None]:
        """The versions at which there are rungs, in order."""
        ...

    def rung(self, version: int) -> Rung | None:
        """Return the rung at a version, or `None` when there is none that can be used."""
        ...


class Threads:
    """The threads of one log, folded and kept; made once a log by `threads_of`."""

    def __init__(self) -> None:
        # Lives as long as the log, and must not keep it alive: so no reference to it.
        self._cache: OrderedDict[tuple[bytes, Any], Thread] = OrderedDict()
        """By stream and by the types that its values were decoded with."""
        self._ids: OrderedDict[bytes, tuple[int, dict[bytes, int]]] = OrderedDict()
        self._lock = threading.Lock()
        self.views = Views()

    def head(self, log: EventLog, stream: bytes, values: Values) -> Thread:
        """Return the thread folded up to its stream's present end. Do not change it."""
        cached = self.known(stream, values)
        head = log.head(stream)
        if cached is not None and cached.version == head.version:
            return cached
        if not head.version:
            return Thread(stream)
        if cached is not None and cached.version > head.version:
            cached = None
        thread = fold_until(log, stream, head.version, values, begin=cached)
        self.publish(thread, values)
        return thread

    def version_of(self, log: EventLog, stream: bytes, checkpoint: bytes) -> int | None:
        """Return the version at which a stream committed a checkpoint; reads each commit at most once a process."""
        with self._lock:
            upto, ids = self._ids.get(stream, (0, {}))
        found = ids.get(checkpoint) or self.views.version_of(log, stream, checkpoint)
        if found is not None:
            return found
        fresh: dict[bytes, int] = {}
        position = 0
        for record in _commits(log, stream, upto):
            id_ = cast("CheckpointCommitted", record.event).id
            upto = fresh[id_] = record.header.version
            if id_ == checkpoint:
                position = record.position
        if 0 < position <= self.views.position(log) and self.views.version_of(log, stream, checkpoint) is None:
            # They go that far, and do not know it: its row is gone or was changed.
            self.views.distrust()
        with self._lock:
            known = self._ids.get(stream, (0, {}))[1]
            self._ids[stream] = (upto, {**known, **fresh} if fresh else known)
            self._ids.move_to_end(stream)
            while len(self._ids) > _CACHED_THREADS:
                self._ids.popitem(last=False)
        return fresh.get(checkpoint)

    def known(self, stream: bytes, values: Values) -> Thread | None:
        """Return the thread as last read with the same types, however far that was."""
        with self._lock:
            return self._cache.get((stream, values.types))

    def publish(self, thread: Thread, values: Values) -> None:
        """Keep a thread that was folded further: by a reader, or live by a run whose appends are durable."""
        place = (thread.stream, values.types)
        with self._lock:
            known = self._cache.get(place)
            if known is None or known.version <= thread.version:
                self._cache[place] = thread
                self._cache.move_to_end(place)
            while len(self._cache) > _CACHED_THREADS:
                self._cache.popitem(last=False)


def _commits(log: EventLog, stream: bytes, after: int) -> Iterator[Record]:
    """Yield the records behind version `after` in which a stream commits a checkpoint."""
    for page in log.scan_stream(stream, after=after):
        yield from [record for record in page if record.header.kind == CheckpointCommitted.kind]


_THREADS: WeakKeyDictionary[EventLog, Threads] = WeakKeyDictionary()
_threads_lock = threading.Lock()


def threads_of(log: EventLog) -> Threads:
    """Return the log's cache of folded threads."""
    with _threads_lock:
        threads = _THREADS.get(log)
        if threads is None:
            threads = _THREADS[log] = Threads()
        return threads


def _after_fork() -> None:
    global _threads_lock
    _threads_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    # A thread of the parent's may have held the lock, and is not here to give it back.
    os.register_at_fork(after_in_child=_after_fork)


def feed_page(thread: Thread, page: list[Told], values: Values, past: StreamPast) -> None:
    """Give a thread what its stream's next records tell."""
    if page and page[0][1] != thread.version + 1:
        raise LogGap(f"stream {thread.stream.hex()} has version {page[0][1]} after {thread.version}: run `verify`")
    thread.feed_all(page, values, past)


class StreamPast:
    """Random access to a stream's past, by pages; and to the streams it was forked from."""

    def __init__(
        self,
        log: EventLog,
        stream: bytes,
        values: Values,
        thread: Thread | None = None,
        *,
        rungs_of: Callable[[bytes], AnyRungs] | None = None,
    ) -> None:
        """Look into a stream. `rungs_of`: where to find rungs of any stream, beside nothing that is in memory."""
        self._log = log
        self._stream = stream
        self._values = values
        self._ladder = thread.ladder if thread is not None else {}
        self._pages: OrderedDict[int, list[Record]] = OrderedDict()
        self._states: OrderedDict[int, CheckpointState] = OrderedDict()
        self._source: StreamPast | None = None
        self._inherited: Thread | None = None
        self._rungs_of = rungs_of

    @cached_property
    def rungs(self) -> AnyRungs:
        """The stream's rungs on disk."""
        if self._rungs_of is not None:
            return self._rungs_of(self._stream)
        return threads_of(self._log).views.rungs(self._log, self._stream, self._values)

    def known_at(self, number: int) -> CheckpointState | None:
        """Return the state of a checkpoint, when nothing has to be folded for it here."""
        state = self._ladder.get(number) or self._states.get(number) or self._inherited_at(number)
        if state is None and number in self.rungs.versions and (rung := self.rungs.rung(number)) is not None:
            state = rung.state
        return state

    def event_at(self, version: int) -> Event:
        """Return the event at a version."""
        return self.record_at(version).event

    def written_at(self, version: int) -> ChannelWritten:
        """Return the write event at a version."""
        event = self.event_at(version)
        if not isinstance(event, ChannelWritten):
            raise LogGap(f"version {version} of stream {self._stream.hex()} holds no writes: run `verify`")
        return event

    def version_of(self, checkpoint: bytes, until: int | None = None) -> int | None:
        """Return the version at which a checkpoint was committed, here or in what this stream inherits."""
        version = threads_of(self._log).version_of(self._log, self._stream, checkpoint)
        if version is not None and (until is None or version <= until):
            return version
        fork = self.fork()
        if fork is None:
            return None
        before = self.source_of(fork).version_of(checkpoint, fork.version)
        return None if before is None else inherited(before)

    def state_at(self, version: int) -> CheckpointState:
        """Return the state of the checkpoint committed at a version: walks back to a known state, folds forward."""
        chain: list[tuple[Record, CheckpointCommitted]] = []
        base: CheckpointState | None = None
        at = version
        while True:
            base = self.known_at(at)
            if base is not None:
                break
            record = self.record_at(at)
            event = record.event
            if not isinstance(event, CheckpointCommitted):
                raise LogGap(f"version {at} of stream {self._stream.hex()} is no checkpoint: run `verify`")
            chain.append((record, event))
            if event.parent_version == 0:
                break
            at = event.parent_version
        for record, event in reversed(chain):
            applied = [self.written_at(v) for v in event.applied]
            header = record.header
            base = apply_commit(
                base,
                event,
                applied,
                self._values,
                version=header.version,
                time_us=header.time_us,
                run=header.run,
            )
        assert base is not None, "a checkpoint was asked for, so the chain has at least one"
        self._states[version] = base
        if len(self._states) > _CACHED_STATES:
            self._states.popitem(last=False)
        return base

    def writes_at(self, state: CheckpointState) -> OpenWrites:
        """Return what the tasks of a checkpoint of this stream wrote, until its step closed."""
        if state.version > 0:
            return self._writes_after(state.version, state.id, state.namespace)
        fork = self.fork()
        assert fork is not None, "only a fork has a checkpoint under a number below zero"
        if self.is_base(fork, state):
            inherited_writes = self.inherited(fork).open.get(state.id, {})
            return {**inherited_writes, **self._writes_after(0, state.id, state.namespace)}
        original = moved(state)
        original.version = in_source(state.version)
        writes = self.source_of(fork).writes_at(original)
        return {inherited(v): event for v, event in writes.items() if v <= fork.version}

    def is_base(self, fork: ThreadForked, state: CheckpointState) -> bool:
        """Tell whether an inherited checkpoint is one that the fork goes on from."""
        if fork.checkpoint is not None:
            return state.id == fork.checkpoint
        head = self.inherited(fork).heads.get(state.namespace)
        return head is not None and head.id == state.id

    def inherited(self, fork: ThreadForked) -> Thread:
        """Return the thread that a fork begins with: the source as of where it was left, under the fork's numbers."""
        if self._inherited is not None:
            return self._inherited.copy()
        if fork.checkpoint is None:
            source = fold_until(self._log, fork.source, fork.version, self._values, rungs_of=self._rungs_of)
        else:
            source = self._left_at(fork)
        thread = Thread(self._stream)
        thread.heads = {namespace: moved(state) for namespace, state in source.heads.items()}
        thread.open = {checkpoint: _moved_writes(writes) for checkpoint, writes in source.open.items()}
        thread.paused = {checkpoint: _moved_step(step) for checkpoint, step in source.paused.items()}
        thread.refused = source.refused
        self._inherited = thread
        return thread.copy()

    def fork(self) -> ThreadForked | None:
        """Return the event that this stream began with, when it is a fork."""
        first = self.event_at(1)
        return first if isinstance(first, ThreadForked) else None

    def records(self, *, after: int = 0, until: int | None = None) -> Iterator[Record]:
        """Yield the stream's own records from version `after + 1` on."""
        for page in self._log.scan_stream(self._stream, after=after, until=until, page=_PAGE):
            yield from page

    def record_at(self, version: int) -> Record:
        """Return the record at a version, read from the stream that holds it."""
        if version > 0:
            return self._record(version)
        fork = self.fork()
        if fork is None:
            raise LogGap(f"stream {self._stream.hex()} is no fork and inherits nothing: run `verify`")
        return self.source_of(fork).record_at(in_source(version))

    def _writes_after(self, version: int, checkpoint: bytes, namespace: str) -> OpenWrites:
        writes: OpenWrites = {}
        claimed = 0
        for record in self.records(after=version):
            kind = record.header.kind
            if kind == RunStarted.kind:
                claimed = record.header.version
            if kind not in _OF_A_STEP:
                continue
            event = record.event
            if isinstance(event, ChannelWritten) and event.checkpoint == checkpoint:
                writes[record.header.version] = event
            elif isinstance(event, StepRefused) and event.checkpoint == checkpoint:
                writes = without_voided(writes, event)
            elif isinstance(event, CheckpointCommitted) and event.namespace == namespace:
                if event.skips:
                    forget_run(writes, claimed)
                # A command that made this next checkpoint did not wait at the one before.
                made = {v for v in event.applied if v in writes and writes[v].task == NO_ID}
                return {v: write for v, write in writes.items() if v not in made} if made else writes
        return writes

    def _left_at(self, fork: ThreadForked) -> Thread:
        """Return the source with the fork's checkpoint as its head, and what that one's tasks wrote up to the cut."""
        past = self.source_of(fork)
        first = past.event_at(fork.version)
        if isinstance(first, ThreadForked):
            thread = past.inherited(first)
        else:
            thread = Thread(fork.source)
            state = past.state_at(fork.version)
            thread.heads = {**self._kept_at(fork), state.namespace: state}
        for page in self._log.scan_events(fork.source, after=fork.version, until=max(fork.cut, fork.version)):
            for event, version, time_us, run in page:
                # The thread, and what ran inside it, may have gone on meanwhile: the fork has the base's own step only.
                if not isinstance(event, CheckpointCommitted) or _is_in_step(event, fork.checkpoint):
                    thread.feed(event, version, time_us, run, self._values, past)
        wanted = fork.checkpoint
        standing = {wanted, *(state.id for state in thread.heads.values())}
        thread.open = {checkpoint: writes for checkpoint, writes in thread.open.items() if checkpoint in standing}
        return thread

    def _kept_at(self, fork: ThreadForked) -> dict[str, CheckpointState]:
        """Return where graphs that keep their state stood when the fork's checkpoint was committed."""
        if self._rungs_of is None:
            now = threads_of(self._log).head(self._log, fork.source, self._values)
            if not any(is_kept(namespace) for namespace in now.heads):
                return {}
        thread = fold_until(self._log, fork.source, fork.version, self._values, rungs_of=self._rungs_of)
        return {namespace: state for namespace, state in thread.heads.items() if is_kept(namespace)}

    def source_of(self, fork: ThreadForked) -> StreamPast:
        """Return the past of the stream that this one was forked from."""
        if self._source is None:
            known = None
            if self._rungs_of is None:
                known = threads_of(self._log).known(fork.source, self._values)
            self._source = StreamPast(self._log, fork.source, self._values, known, rungs_of=self._rungs_of)
        return self._source

    def _inherited_at(self, number: int) -> CheckpointState | None:
        if number > 0:
            return None
        fork = self.fork()
        assert fork is not None, "only a fork has a checkpoint under a number below zero"
        return moved(self.source_of(fork).state_at(in_source(number)))

    def _record(self, version: int) -> Record:
        number = (version - 1) // _PAGE
        page = self._pages.get(number)
        offset = (version - 1) % _PAGE
        if page is None or offset >= len(page):
            page = self._log.read_stream(self._stream, number * _PAGE, _PAGE)
            self._pages[number] = page
            if len(self._pages) > _CACHED_PAGES:
                self._pages.popitem(last=False)
        if offset >= len(page):
            raise LogGap(f"stream {self._stream.hex()} has no version {version}: run `verify`")
        return page[offset]


def _is_in_step(event: CheckpointCommitted, checkpoint: bytes | None) -> bool:
    """Tell whether a graph inside a node committed in the step of a checkpoint of the root."""
    return bool(event.namespace) and event.parents.get("") == checkpoint


def find(
    log: EventLog, thread: Thread, values: Values, checkpoint: bytes
) -> tuple[StreamPast, CheckpointState, OpenWrites] | None:
    """Return a checkpoint of a thread by id, inherited ones too, with its tasks' writes; `None` when it has none."""
    if not thread.version:
        return None
    past = StreamPast(log, thread.stream, values, thread)
    version = past.version_of(checkpoint, thread.version)
    if version is None:
        return None
    state = past.state_at(version)
    return past, state, past.writes_at(state)


def fold_until(
    log: EventLog,
    stream: bytes,
    version: int,
    values: Values,
    *,
    begin: Thread | None = None,
    rungs_of: Callable[[bytes], AnyRungs] | None = None,
) -> Thread:
    """Return a thread as of a version of its stream: folded on from `begin`, or from the nearest rung."""
    if begin is not None:
        thread = begin.copy()
    else:
        thread = _nearest(StreamPast(log, stream, values, rungs_of=rungs_of).rungs, stream, version)
    past = StreamPast(log, stream, values, thread, rungs_of=rungs_of)
    for page in log.scan_events(stream, after=thread.version, until=version, page=FOLD_PAGE):
        feed_page(thread, page, values, past)
    return thread


def _nearest(rungs: AnyRungs, stream: bytes, version: int) -> Thread:
    """Return the thread as of the last rung at or before a version; an empty one where that is not all of it."""
    at = max((at for at in rungs.versions if at <= version), default=0)
    rung = rungs.rung(at) if at else None
    return rung.thread(stream) if rung is not None and rung.row.alone else Thread(stream)


def moved(state: CheckpointState) -> CheckpointState:
    """Return a source's state as its fork knows it: the same, under the fork's numbers."""
    copy = state.__class__.__new__(state.__class__)
    for name in state.__class__.__slots__:
        setattr(copy, name, getattr(state, name))
    copy.version = inherited(state.version)
    copy.applied = tuple(map(inherited, state.applied))
    return copy


def _moved_step(step: OpenStep) -> OpenStep:
    return OpenStep(step.namespace, step.checkpoint, tuple(map(inherited, step.applied)), step.results)


def _moved_writes(writes: OpenWrites) -> OpenWrites:
    return {inherited(version): event for version, event in writes.items()}
