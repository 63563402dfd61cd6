"""`EventLog`: append, read, follow, verify. The one object that the other rooms and applications hold.

It ties the parts of this room together and owns none of their rules: read `writing` for the way of an append,
`reading` for what is checked on the way back, `engine` for the seam below, `events` for what can be said.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from . import context
from .blobs import BlobRef, blob_digest, blob_stream, chunk_count, join_blob, store_blob
from .clock import CheckpointIds, Clock, SystemClock
from .engine import ANY, Appended, Conflict, Draft, Engine, Head, LogHead, Page
from .engines.memory import MemoryEngine
from .errors import ActorRequired, ConflictError, CorruptionError, IntegrityError, LogClosed, LogError, ReadOnlyLog
from .events import Event, Recorded
from .follow import follow
from .forking import backwards, fork
from .reading import Record, Told, checked, checked_stream, told_stream
from .record import NO_ID
from .streams import StreamName, decode_name, stream_ids
from .texts import checked_text
from .verify import VerifyReport, verify
from .writing import StreamWrite, Writer, draft

_CACHED_NAMES = 16_384
_FOLLOW_PAGE = 1000
T = TypeVar("T")


class EventLog:
    """An append-only log of events: a folder on disk, or in memory.

    Appends are atomic over several streams, conditional, and durable when they return; positions are dense
    and in commit order; every read checks what it reads. Thread-safe; several processes may have the same
    folder open.

    >>> with EventLog("audit.lithograph") as log:
    ...     log.record("opened", b"...")
    ...     [record.event for record in log.read()]

    A folder that is absent or empty is made into a log unless `read_only`; no folder named `~` is made (`NotALog`):
    a home directory is for the caller to expand. Raises `NotALog` when the path
    holds something else, `NewerFormat`, `LogLocked`, `CorruptionError`, and `NetworkFileSystem` unless
    `force_network`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Clock | None = None,
        require_actor: bool = False,
        read_only: bool = False,
        force_network: bool = False,
    ) -> None:
        from .engines.folder import open_folder

        clock = clock or SystemClock()
        folder = Path(path)
        engine = open_folder(folder, read_only=read_only, force_network=force_network, random=clock.random)
        self._set_up(engine, clock, require_actor=require_actor, read_only=read_only, path=folder)

    @classmethod
    def in_memory(cls, *, clock: Clock | None = None, require_actor: bool = False) -> EventLog:
        """Return a new log that lives as long as the process."""
        clock = clock or SystemClock()
        return cls.over(MemoryEngine(random=clock.random), clock=clock, require_actor=require_actor)

    @classmethod
    def over(
        cls,
        engine: Engine,
        *,
        clock: Clock | None = None,
        require_actor: bool = False,
        read_only: bool = False,
        path: Path | None = None,
    ) -> EventLog:
        """Return a log over any engine, which it will close."""
        log = cls.__new__(cls)
        log._set_up(engine, clock or SystemClock(), require_actor=require_actor, read_only=read_only, path=path)
        return log

    def _set_up(self, engine: Engine, clock: Clock, *, require_actor: bool, read_only: bool, path: Path | None) -> None:
        self.engine = engine
        self.clock = clock
        self.checkpoint_ids = CheckpointIds(clock)
        self.identity = engine.identity()
        self.path = path
        self.read_only = read_only
        self.require_actor = require_actor
        self.stream_id: Callable[[StreamName], bytes] = stream_ids(self.identity.secret)
        """Return the 16-byte id of a stream in this log, whether it exists or not."""
        self.stream_name: Callable[[bytes], StreamName] = lru_cache(_CACHED_NAMES)(self._read_name)
        """Return the name of an existing stream, from its first record."""
        self._closing: list[Callable[[], None]] = []
        self._closed = False
        self._writer = Writer(engine, clock, self.stream_id, self.stream_name)

    def close(self) -> None:
        """Close the log; further calls raise `LogClosed`."""
        self._closed = True
        try:
            while self._closing:
                self._closing.pop()()
        finally:
            self.engine.close()

    def on_close(self, callback: Callable[[], None]) -> None:
        """Have `callback()` called when the log is closed, before it is: the last one registered first."""
        self._closing.append(callback)

    def __enter__(self) -> EventLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"EventLog({str(self.path)!r})" if self.path else f"EventLog.over({type(self.engine).__name__})"

    # Who acts

    def as_actor(self, actor: str, *, reason: str | None = None) -> AbstractContextManager[context.Actor]:
        """Act as `actor` within the block: every event stamped there says so.

        >>> with log.as_actor("alice", reason="second look"):
        ...     graph.update_state(config, {"approved": True})
        """
        return context.as_actor(actor, reason=reason)

    def demand_actor(self, what: str, *, actor: str | None = None) -> None:
        """Raise `ActorRequired` when this log demands an actor for `what` and there is none."""
        if self.require_actor and not actor and not context.current_actor().name:
            raise ActorRequired(
                f"this log records no {what} without saying who did it: "
                'wrap the call in `with log.as_actor("name", reason="…"):`'
            )

    # Writing

    def stamp(self, event: Event, *, run: bytes = NO_ID, time_us: int | None = None) -> Draft:
        """Return the event, encoded, with the clock's time and the acting actor and reason."""
        actor, reason = context.current_actor()
        return draft(event, self.clock.now_us() if time_us is None else time_us, run, actor, reason)

    def append(
        self, writes: Sequence[StreamWrite], *, append_id: bytes | None = None, since: int | None = None
    ) -> Appended:
        """Append to one or several streams, all or nothing; durable when it returns.

        Raises `ConflictError` when a stream is not at its expected version, `LimitExceeded`, `ReadOnlyLog`,
        `ScopeErased`, `Unavailable`: nothing was written. `OutcomeUnknown` is raised only after several
        tries: repeat the call with the same `append_id` (and, when all is `ANY`, `since`: the log's head
        position before the first try), and it is written once.
        """
        self._demand_writable()
        return self._writer.append(writes, append_id, since)

    def record(self, topic: str, data: Any, *, run: bytes = NO_ID) -> Appended:
        """Append an application's own audit event to the stream of its topic, in the same order and chain.

        `data` is bytes, or what msgpack can hold. Raises `InvalidText` for a topic that cannot be written as text.
        """
        checked_text(topic, "the topic")
        write = StreamWrite(StreamName("app", topic), ANY, (self.stamp(Recorded(topic, data), run=run),))
        return self.append((write,))

    def fork(self, source_config: Mapping[str, Any], new_thread_id: Any) -> dict[str, Any]:
        """Begin a thread where another one is, or was at the checkpoint that the config names; return its
        config.

        One event, whatever the length of the source. A fork of the head inherits what its open tasks wrote:
        finished ones do not run again, questions wait for answers. An older checkpoint's tasks start anew.

        >>> log.fork({"configurable": {"thread_id": "case-7"}}, "case-7 without the guarantor")

        Raises `CheckpointNotFound`, and `ConflictError` when the new thread exists.
        """
        return fork(self, source_config, new_thread_id)

    def scope_of(self, name: StreamName) -> int:
        """Return a stream's erasure scope; for a new stream, the one its first append will use."""
        self._demand_writable()
        return self._writer.scope_of(name)

    def scope_key(self, scope: int) -> bytes:
        """Return an erasure scope's key; raises `ScopeErased` when it was destroyed."""
        return self._writer.scopes.key(scope)

    # Reading

    def head(self, stream_id: bytes) -> Head:
        """Return the end of a stream; version 0 when it does not exist."""
        return self.engine.head(stream_id)

    def log_head(self) -> LogHead:
        """Return the end of the log: last position and the tree's frontier."""
        return self.engine.log_head()

    def streams(self, after: bytes = b"", limit: int = 1000) -> list[tuple[bytes, Head]]:
        """Return up to `limit` stream ids with their heads, in bytewise order, beginning after id `after`."""
        return self.engine.streams(after, limit)

    def read(self, after: int = 0, limit: int = 1000) -> list[Record]:
        """Return the records at positions `after + 1` …: `limit` of them, fewer only at the end of the log.

        Raises `LogGap` or `IntegrityError` when records are missing or changed.
        """
        records: list[Record] = []
        while len(records) < limit:
            more = checked(self.engine.read(after + len(records), limit - len(records)), after + len(records))
            if not more:
                break
            records += more
        return records

    def read_stream(self, stream_id: bytes, after: int = 0, limit: int = 1000) -> list[Record]:
        """Return a stream's records at versions `after + 1` …: `limit`, fewer only at its end."""
        records: list[Record] = []
        for page in self.scan_stream(stream_id, after, after + limit, page=limit):
            records += page
        return records

    def scan(self, after: int = 0, *, page: int = 1024) -> Iterator[list[Record]]:
        """Yield checked pages of the whole log up to its end: the fast way to fold it."""
        while records := checked(self.engine.read(after, page), after):
            yield records
            after = records[-1].position

    def scan_stream(
        self, stream_id: bytes, after: int = 0, until: int | None = None, *, page: int = 1024
    ) -> Iterator[list[Record]]:
        """Yield checked pages of a stream, from version `after + 1` up to and including version `until`."""
        return self._pages(checked_stream, stream_id, after, until, page)

    def backwards(self, stream_id: bytes, version: int | None = None) -> Iterator[Record]:
        """Yield a stream's records from its end, or from `version`, down to the first."""
        return backwards(self, stream_id, self.head(stream_id).version if version is None else version)

    def scan_events(
        self, stream_id: bytes, after: int = 0, until: int | None = None, *, page: int = 1024
    ) -> Iterator[list[Told]]:
        """Yield pages of what a stream's records tell, from version `after + 1` up to `until`: the way to fold it.

        All that `scan_stream` checks is checked, and the digest of every record's content.
        """
        return self._pages(told_stream, stream_id, after, until, page)

    def follow(self, after: int = 0, *, timeout: float | None = None, poll: float = 0.5) -> Iterator[Record]:
        """Yield the records after position `after`, then those that come, from any process; each once, in
        order.

        Ends when none has come for `timeout` seconds; with `None`, never.
        """

        def read(position: int) -> list[Record]:
            return self.read(position, _FOLLOW_PAGE)

        return follow(read, self.engine.wait, after=after, timeout=timeout, poll=poll)

    # Large values

    def put_blob(self, name: StreamName, data: bytes) -> BlobRef:
        """Store a large value once in the erasure scope of stream `name`; durable when it returns."""
        self._demand_writable()
        scope = self.scope_of(name)
        digest = blob_digest(self._writer.scopes.key(scope), data)
        blob = blob_stream(scope, digest)
        stream = self.stream_id(blob)

        def append(expected: int, chunks: Sequence[Event]) -> Conflict | None:
            try:
                self.append((StreamWrite(blob, expected, [self.stamp(chunk) for chunk in chunks], scope),))
            except ConflictError as error:
                return Conflict(stream, error.expected, error.actual)
            return None

        store_blob(data, digest, stored=lambda: self.head(stream).version, append=append)
        return BlobRef(digest, len(data), self.read_stream(stream, 0, 1)[0].position)

    def get_blob(self, ref: BlobRef) -> bytes:
        """Return a large value, checked against its digest."""
        first = self.read(ref.position - 1, 1) if ref.position > 0 else []
        if not first:
            raise IntegrityError(f"there is no record at position {ref.position} where a blob should begin; run verify")
        header = first[0].header
        pages = self.scan_stream(header.stream, 0, chunk_count(ref.size), page=32)
        records = (record for page in pages for record in page)
        return join_blob(ref, self.engine.key(header.scope), records)

    def verify(self, *, quick: bool = False, progress: Callable[[int, int], None] | None = None) -> VerifyReport:
        """Check every stored byte of the log and return what was found; raises nothing about damage.

        `quick=True` takes the same time however long the log is: it checks the files, the end of the log, and the
        last 4,096 records with their streams' heads; `report.not_checked` says what it leaves out.

        A log on disk is read by a child process, so damage cannot take this one down. `progress(done, total)`
        is told how many records are done. Raises `LogClosed`.
        """
        if self._closed:
            raise LogClosed("the log is closed; open it again to verify it")
        return verify(self.engine, self.path, quick=quick, progress=progress)

    def _demand_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyLog(f"{self!r} was opened read-only; open it without read_only to write")

    def _pages(
        self, look: Callable[[Page, bytes, int], list[T]], stream_id: bytes, after: int, until: int | None, page: int
    ) -> Iterator[list[T]]:
        """Yield what `look` makes of the pages of a stream, up to its end or to version `until`."""
        while until is None or after < until:
            limit = page if until is None else min(page, until - after)
            found = look(self.engine.read_stream(stream_id, after, limit), stream_id, after)
            if not found:
                return
            yield found
            after += len(found)

    def _read_name(self, stream_id: bytes) -> StreamName:
        records = self.read_stream(stream_id, 0, 1)
        if not records:
            raise LogError(f"there is no stream with id {stream_id.hex()} in this log")
        name = records[0].body.name
        if name is None:
            raise CorruptionError(f"the first record of stream {stream_id.hex()} does not name it; run verify")
        return decode_name(name)
