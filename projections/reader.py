"""Reading a thread: its head, any checkpoint, its history. Folds what the caches do not hold; runs no user code.

A log has one `Threads`: recently read threads, folded to a version, and advanced by their stream's tail at each read,
which gives read-your-writes across threads and processes. History goes backwards in blocks between rungs of the
ladder, each folded forward once, so memory stays a small multiple of one state.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from ..eventlog.errors import LogGap
from ..eventlog.events import ChannelWritten, CheckpointCommitted, Event, ThreadForked
from ..eventlog.log import EventLog, Record
from .cells import Values
from .state import CheckpointState, apply_commit
from .thread import OpenWrites, Thread

_PAGE = 128
_CACHED_PAGES = 16
_CACHED_THREADS = 256
_CACHED_STATES = 64

Entry = tuple[CheckpointState, OpenWrites]
"""A checkpoint of the history with its tasks' writes."""


class Threads:
    """The threads of one log, folded and kept; made once a log by `threads_of`."""

    def __init__(self) -> None:
        # Lives as long as the log, and must not keep it alive: so no reference to it.
        self._cache: OrderedDict[bytes, Thread] = OrderedDict()
        self._ids: OrderedDict[bytes, tuple[int, dict[bytes, int]]] = OrderedDict()
        self._lock = threading.Lock()

    def head(self, log: EventLog, stream: bytes, values: Values) -> Thread:
        """Return the thread folded up to its stream's present end. Do not change it."""
        with self._lock:
            cached = self._cache.get(stream)
        head = log.head(stream)
        if cached is not None and cached.version == head.version:
            return cached
        if cached is None or cached.version > head.version:
            cached = Thread(stream)
        thread = cached.copy()
        past = StreamPast(log, stream, values, thread)
        for page in log.scan_stream(stream, after=thread.version, until=head.version):
            for record in page:
                _feed(thread, record, values, past)
        self.publish(thread)
        return thread

    def version_of(self, log: EventLog, stream: bytes, checkpoint: bytes) -> int | None:
        """Return the version at which a stream committed a checkpoint; reads each commit once a process."""
        with self._lock:
            upto, ids = self._ids.get(stream, (0, {}))
        found = ids.get(checkpoint)
        if found is not None:
            return found
        fresh: dict[bytes, int] = {}
        for page in log.scan_stream(stream, after=upto):
            for record in page:
                upto = record.header.version
                if record.header.kind == CheckpointCommitted.kind:
                    event = record.event
                    assert isinstance(event, CheckpointCommitted)
                    fresh[event.id] = upto
        with self._lock:
            known = self._ids.get(stream, (0, {}))[1]
            self._ids[stream] = (upto, {**known, **fresh} if fresh else known)
            self._ids.move_to_end(stream)
            while len(self._ids) > _CACHED_THREADS:
                self._ids.popitem(last=False)
        return fresh.get(checkpoint)

    def publish(self, thread: Thread) -> None:
        """Keep a thread that was folded further: by a reader, or live by a run whose appends are durable."""
        with self._lock:
            known = self._cache.get(thread.stream)
            if known is None or known.version <= thread.version:
                self._cache[thread.stream] = thread
                self._cache.move_to_end(thread.stream)
            while len(self._cache) > _CACHED_THREADS:
                self._cache.popitem(last=False)


_THREADS: WeakKeyDictionary[EventLog, Threads] = WeakKeyDictionary()
_THREADS_LOCK = threading.Lock()


def threads_of(log: EventLog) -> Threads:
    """Return the log's cache of folded threads."""
    with _THREADS_LOCK:
        threads = _THREADS.get(log)
        if threads is None:
            threads = _THREADS[log] = Threads()
        return threads


def _feed(thread: Thread, record: Record, values: Values, past: StreamPast) -> None:
    header = record.header
    if header.version != thread.version + 1:
        raise LogGap(f"stream {header.stream.hex()} has version {header.version} after {thread.version}: run `verify`")
    event = record.event
    thread.feed(
        event, version=header.version, time_us=header.time_us, run=header.run, values=values, past=past
    )


class StreamPast:
    """Random access to a stream's past, by pages; and to the streams it was forked from."""

    def __init__(self, log: EventLog, stream: bytes, values: Values, thread: Thread | None = None) -> None:
        self._log = log
        self._stream = stream
        self._values = values
        self._ladder = thread.ladder if thread is not None else {}
        self._pages: OrderedDict[int, list[Record]] = OrderedDict()
        self._states: OrderedDict[int, CheckpointState] = OrderedDict()

    def event_at(self, version: int) -> Event:
        """Return the event at a version."""
        return self._record(version).event

    def written_at(self, version: int) -> ChannelWritten:
        """Return the write event at a version."""
        event = self.event_at(version)
        if not isinstance(event, ChannelWritten):
            raise LogGap(f"version {version} of stream {self._stream.hex()} holds no writes: run `verify`")
        return event

    def state_at(self, version: int) -> CheckpointState:
        """Return the state of the checkpoint committed at a version: walks back to a known state, folds forward."""
        chain: list[tuple[Record, CheckpointCommitted]] = []
        base: CheckpointState | None = None
        at = version
        while True:
            base = self._ladder.get(at) or self._states.get(at)
            if base is not None:
                break
            record = self._record(at)
            event = record.event
            if isinstance(event, ThreadForked):
                base = self._inherited_head(event)
                break
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
        writes: OpenWrites = {}
        for page in self._log.scan_stream(self._stream, after=state.version, page=_PAGE):
            for record in page:
                if record.header.kind == ChannelWritten.kind:
                    event = record.event
                    if isinstance(event, ChannelWritten) and event.checkpoint == state.id:
                        writes[record.header.version] = event
                elif record.header.kind == CheckpointCommitted.kind:
                    event = record.event
                    if isinstance(event, CheckpointCommitted) and event.namespace == state.namespace:
                        return writes
        return writes

    def inherited(self, fork: ThreadForked) -> Thread:
        """Return the thread that a fork begins with: the source as of where it was left."""
        source = Thread(self._stream)
        past = StreamPast(self._log, fork.source, self._values)
        if fork.checkpoint is None:
            thread = fold_until(self._log, fork.source, fork.version, self._values)
            source.heads = {ns: _moved(state) for ns, state in thread.heads.items()}
            source.open, source.refused, source.paused = thread.open, thread.refused, thread.paused
            return source
        state = past.state_at(fork.version)
        source.heads = {state.namespace: _moved(state)}
        for version in range(fork.version + 1, fork.cut + 1):
            event = past.event_at(version)
            if isinstance(event, ChannelWritten) and event.checkpoint == fork.checkpoint:
                source.open.setdefault(event.checkpoint, {})[version] = event
        return source

    def source(self, fork: ThreadForked) -> StreamPast:
        """Return the past of the stream that this one was forked from."""
        return StreamPast(self._log, fork.source, self._values)

    def _inherited_head(self, fork: ThreadForked) -> CheckpointState:
        if fork.checkpoint is None:
            return self.inherited(fork).heads[""]
        return _moved(self.source(fork).state_at(fork.version))

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


def find(
    log: EventLog, thread: Thread, values: Values, checkpoint: bytes
) -> tuple[StreamPast, CheckpointState, OpenWrites] | None:
    """Return a checkpoint of a thread by id, inherited ones too, with its tasks' writes; `None` when it has none."""
    threads = threads_of(log)
    past = StreamPast(log, thread.stream, values, thread)
    version = threads.version_of(log, thread.stream, checkpoint)
    if version is not None and version <= thread.version:
        state = past.state_at(version)
        return past, state, past.writes_at(state)
    fork = thread.fork
    if fork is None:
        return None
    if fork.checkpoint is None or fork.checkpoint != checkpoint:
        source = fold_until(log, fork.source, fork.version, values)
        return find(log, source, values, checkpoint)
    state = past.inherited(fork)
    return past, state.heads[""], state.open.get(checkpoint, {})


def fold_until(log: EventLog, stream: bytes, version: int, values: Values) -> Thread:
    """Return a thread folded from its beginning up to a version."""
    thread = Thread(stream)
    past = StreamPast(log, stream, values, thread)
    for page in log.scan_stream(stream, after=0, until=version):
        for record in page:
            _feed(thread, record, values, past)
    return thread


def _moved(state: CheckpointState) -> CheckpointState:
    """Return the state as a fork's first: committed, for the fork's own stream, at its first version."""
    moved = state.__class__.__new__(state.__class__)
    for name in state.__class__.__slots__:
        setattr(moved, name, getattr(state, name))
    moved.version = 1
    return moved


class _Block(Thread):
    """A fold that also keeps each closed checkpoint with its tasks' writes."""

    __slots__ = ("entries",)

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self.entries: list[Entry] = []

    def _close(self, state: CheckpointState) -> None:
        for namespace, head in self.heads.items():
            if namespace == state.namespace:
                self.entries.append((head, self.open.get(head.id, {})))
        super()._close(state)


def history(log: EventLog, thread: Thread, values: Values, *, before: int | None = None) -> Iterator[Entry]:
    """Yield a thread's checkpoints of all namespaces, newest first by position, each with its tasks' writes.

    `before` is a version of the stream: only checkpoints committed before it. Lazy: a block is folded when it is
    reached.
    """
    past = StreamPast(log, thread.stream, values, thread)
    top = thread.version
    for low in [*sorted(thread.ladder, reverse=True), 0]:
        if before is not None and low >= before:
            top = low
            continue
        yield from _block(log, thread, past, values, low, top, before)
        top = low
    if thread.fork is not None:
        yield from _before_fork(log, thread.fork, values)


def _block(
    log: EventLog,
    thread: Thread,
    past: StreamPast,
    values: Values,
    low: int,
    high: int,
    before: int | None,
) -> Iterator[Entry]:
    """Yield the checkpoints committed in versions [low, high), newest first; at the thread's end the heads too."""
    block = _Block(thread.stream)
    if low:
        state = thread.ladder[low]
        block.heads[state.namespace] = state
        block.version = low
    for page in log.scan_stream(thread.stream, after=low, until=high):
        for record in page:
            _feed(block, record, values, past)
    entries = block.entries
    entries.extend((head, block.open.get(head.id, {})) for head in block.heads.values())
    entries.sort(key=lambda entry: entry[0].version, reverse=True)
    # The state at `high` is the next block's first, where its own tasks' writes are; a fork's first is inherited.
    end = high + 1 if high == thread.version else high
    if before is not None:
        end = min(end, before)
    start = 2 if thread.fork is not None and low == 0 else low
    for state, writes in entries:
        if start <= state.version < end:
            yield state, writes


def _before_fork(log: EventLog, fork: ThreadForked, values: Values) -> Iterator[Entry]:
    """Yield what a fork inherits: its base's ancestors, or for a copied thread everything up to the cut."""
    if fork.checkpoint is None:
        yield from history(log, fold_until(log, fork.source, fork.version, values), values)
        return
    source = threads_of(log).head(log, fork.source, values)
    wanted: bytes | None = fork.checkpoint
    for state, writes in history(log, source, values, before=fork.version + 1):
        if state.id == wanted:
            inherited = {v: w for v, w in writes.items() if v <= fork.cut} if state.id == fork.checkpoint else writes
            yield state, inherited
            wanted = state.parent
