"""How rungs are made: a pure function of a stream's records and of the rungs before, whoever runs it and when.

A rung is due at a root checkpoint when 64 of them, or 64 KB of records, have come since the last. It is folded from the
rung before it; a list that only grew goes on with that rung's chain, a value that is the same keeps its place. What was
folded stays in memory for the next, so that a thread's rung costs what came since the last one.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final, NamedTuple

from ..eventlog.blobs import lift_blob
from ..eventlog.errors import (
    CorruptionError,
    LogClosed,
    LogGap,
    MissingExtra,
    ScopeErased,
    ValueEncodingError,
    ViewDamaged,
)
from ..eventlog.events import CheckpointCommitted, ResultOp
from ..eventlog.log import EventLog
from .cells import Cell, LazyCell, ListCell
from .digests import channel_key, digest_of, whole_digest
from .fold import BarrierCell, WaitingCell
from .inherited import in_source, inherited
from .reader import FOLD_PAGE, StreamPast, feed_page
from .rungs import (
    LIST,
    CellRow,
    RowSource,
    Rung,
    RungRow,
    StreamRungs,
    chunk_key,
    digest_in,
    encode_row,
    rung_key,
    sizes_after,
)
from .state import CheckpointState
from .thread import Thread
from .values import LogValues

RUNG_BYTES: Final = 64 * 1024
_INLINE_BYTES: Final = 128
_KEPT: Final = 64
_UNFOLDABLE: Final = (
    *(CorruptionError, ScopeErased, ValueEncodingError, MissingExtra),
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
)
"""What folding raises for values that this version, or this process, cannot fold."""


class RungRows(NamedTuple):
    """What a rung adds to the tables `rungs` and `chunks`."""

    rungs: dict[bytes, bytes]
    chunks: dict[bytes, bytes]


class _Kept(NamedTuple):
    """The rung before, as the next one begins with it."""

    version: int
    thread: Thread
    alone: bool
    cells: dict[str, tuple[CellRow, Cell, bytes]]
    """By channel: its row, its cell, its digest."""


class RungBuilder:
    """Makes the rungs of one log, each from the one before. Not shared by threads; holds no reference to the log."""

    def __init__(self, rows: RowSource, values: LogValues) -> None:
        self._rows = rows
        self._values = values
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()

    def build(self, log: EventLog, stream: bytes, previous: int, version: int) -> RungRows | None:
        """Return the rows of the rung at a version, made from the one at `previous` (0: from the beginning).

        `None` when there can be none: the values cannot be folded, or not checked against their digests, or the key
        of these was destroyed.
        """
        try:
            return self._build(log, stream, previous, version)
        except (ViewDamaged, LogClosed):
            raise
        except _UNFOLDABLE:
            return None

    def _build(self, log: EventLog, stream: bytes, previous: int, version: int) -> RungRows | None:
        kept = self._kept.pop(stream, None)
        if kept is None or kept.version != previous:
            kept = self._load(log, stream, previous)
            if kept is None:
                return None
        thread = kept.thread
        base = thread.head
        # What the fold may look up must not depend on what else this process has folded.
        thread.ladder = {} if base is None else {base.version: base}
        past = StreamPast(log, stream, self._values, thread, rungs_of=lambda other: self._rungs(log, other))
        for page in log.scan_events(stream, after=previous, until=version, page=FOLD_PAGE):
            feed_page(thread, page, self._values, past)
        thread.ladder = {}
        job = _Job(log, stream, kept, past, self._values)
        rows = job.rows()
        if rows is not None:
            self._kept[stream] = job.kept
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return rows

    def _rungs(self, log: EventLog, stream: bytes) -> StreamRungs:
        return StreamRungs(log, stream, self._values, self._rows)

    def _load(self, log: EventLog, stream: bytes, version: int) -> _Kept | None:
        if not version:
            return _Kept(0, Thread(stream), True, {})
        if self._rows.get("rungs", rung_key(stream, version)) is None:
            raise ViewDamaged(f"the view of stream {stream.hex()} has lost its rung at version {version}")
        rung = self._rungs(log, stream).rung(version)
        return None if rung is None else _kept(rung, rung.thread(stream))


def _kept(rung: Rung, thread: Thread) -> _Kept:
    cells = {row.channel: (row, rung.state.cells[row.channel]) for row in rung.row.cells}
    return _Kept(
        rung.state.version,
        thread,
        rung.row.alone,
        {channel: (row, cell, cell.digest) for channel, (row, cell) in cells.items()},
    )


class _Job:
    """One rung in the making."""

    def __init__(self, log: EventLog, stream: bytes, before: _Kept, past: StreamPast, values: LogValues) -> None:
        state = before.thread.head
        assert state is not None, "a rung is due at a root checkpoint"
        self._log = log
        self._stream = stream
        self._before = before
        self._past = past
        self._values = values
        self._state: CheckpointState = state
        self._scope_key = log.scope_key(log.head(stream).scope)
        self._chunks: dict[bytes, bytes] = {}

    def rows(self) -> RungRows | None:
        """Return the rung's rows, or `None` when a value does not have the digest that was recorded."""
        places = self._places()
        cells: list[CellRow] = []
        for channel, cell in self._state.cells.items():
            row = self._cell(channel, cell, places.get(channel, 0))
            if row is None:
                return None
            cells.append(row)
        state, thread = self._state, self._before.thread
        row = RungRow(
            thread.commits,
            thread.running,
            thread.running_since,
            self._alone(),
            thread.fork,
            state.versions,
            state.seen,
            tuple(cells),
        )
        self.kept = _kept(Rung(row, state), thread)
        return RungRows({rung_key(self._stream, state.version): encode_row(row)}, self._chunks)

    def _alone(self) -> bool:
        return self._before.alone and self._before.thread.heads.keys() == {""}

    def _cell(self, channel: str, cell: Cell, recorded: int) -> CellRow | None:
        same = self._same(channel, cell)
        if same is not None:
            return same
        if cell.digest and not recorded:
            return None
        key = channel_key(self._scope_key, self._state.namespace, channel)
        if isinstance(cell, ListCell):
            return self._list(channel, cell, key, recorded)
        form, data = self._stored(cell, key)
        if data is None:
            return None
        if not isinstance(data, bytes) or len(data) <= _INLINE_BYTES:
            return CellRow(channel, form, 0, data, recorded)
        at = self._state.version
        self._chunks[chunk_key(self._stream, channel, at)] = data
        return CellRow(channel, form, at, None, recorded)

    def _same(self, channel: str, cell: Cell) -> CellRow | None:
        """Return the row of the rung before, when the channel holds what it held there."""
        old = self._before.cells.get(channel)
        return old[0] if old is not None and old[1] is cell and old[2] == cell.digest else None

    def _list(self, channel: str, cell: ListCell, key: bytes, recorded: int) -> CellRow | None:
        old = self._before.cells.get(channel)
        place, chunks, start, sizes = self._state.version, 0, 0, 0
        # A chain without digests and one with them are checked apart.
        if old and old[0].form == LIST and cell.extends(old[1]) and bool(old[2]) == bool(cell.digest):
            place = old[0].place
            chunks, start, sizes = old[0].data
        if cell.digest and digest_of(key, cell, self._values) != cell.digest:
            return None
        if start < cell.length:
            chunks, sizes = chunks + 1, sizes_after(sizes, cell.length - start)
            self._chunks[chunk_key(self._stream, channel, place, chunks)] = self._values.raw(cell.since(start))
        return CellRow(channel, LIST, place, [chunks, cell.length, sizes], recorded)

    def _stored(self, cell: Cell, key: bytes) -> tuple[int, Any]:
        """Return a cell's form and stored value; `None` for a value that does not have its digest."""
        values = self._values
        if isinstance(cell, BarrierCell):
            return ResultOp.WHOLE_BARRIER, values.raw([cell.value, cell.names, cell.finished])
        if isinstance(cell, WaitingCell):
            return ResultOp.WHOLE_WAITING, values.raw(cell.value)
        if isinstance(cell, LazyCell) and self._vouched(cell.data, cell.digest, key):
            return ResultOp.WHOLE, cell.data
        # What was written may be an `Overwrite` around the value.
        data = values.raw(cell.value)
        return ResultOp.WHOLE, data if self._vouched(data, cell.digest, key) else None

    def _vouched(self, data: Any, digest: bytes, key: bytes) -> bool:
        if not digest:
            return True
        if not isinstance(data, bytes):
            data = self._log.get_blob(lift_blob(data))
        return whole_digest(key, data) == digest

    def _places(self) -> dict[str, int]:
        """Return where the digests of the channels that changed are recorded: back along the line of checkpoints."""
        wanted = {
            channel: cell.digest
            for channel, cell in self._state.cells.items()
            if cell.digest and self._same(channel, cell) is None
        }
        places: dict[str, int] = {}
        number = self._state.version
        while wanted and number:
            event = self._past.event_at(number)
            if not isinstance(event, CheckpointCommitted):
                raise LogGap(f"record {number} of stream {self._stream.hex()} is no checkpoint: run `verify`")
            for channel in [ch for ch, digest in wanted.items() if digest_in(event, ch) == digest]:
                places[channel] = number
                del wanted[channel]
            number = _as_known(event.parent_version, number)
        return places


def _as_known(version: int, teller: int) -> int:
    """Return the number of the record that another one, known under `teller`, calls `version`."""
    while version and teller < 0:
        version, teller = inherited(version), in_source(teller)
    return version
