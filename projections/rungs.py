"""Rungs: checkpoint states on disk, at places that only the log decides, so that a reader need not begin at the start.

    rungs    stream + version                   -> `RungRow`: what the commit at that version left behind
    chunks   stream + channel + place + number  -> a value, or the elements that a list grew by since the rung before

What a commit says of itself (id, step, tasks, …) is not stored: it is read from the log. A list is a chain of chunks:
`place` is the version of the rung that began it, each rung adds one chunk, and refers to the chain by place and count.
Any other value is stored where it changed, small ones in the rung's own row.

A value is given out only when its bytes have the running digest that the log recorded for it; otherwise `ViewDamaged`.
Elements of a list are hashed for that and for nothing else: the checksums of their rows are not looked at by readers.
How many elements a chunk says it has is not in the digest: the rung's row says that once more, by `sizes_after`.
Read `rung_builder` for how rungs are made, `views` for who looks them up.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

import msgspec
from blake3 import blake3
from msgspec import Struct

from ..eventlog.blobs import lift_blob
from ..eventlog.errors import ScopeErased, ViewDamaged
from ..eventlog.events import (
    ChannelResult,
    ChannelWritten,
    CheckpointCommitted,
    ResultOp,
    ThreadForked,
)
from ..eventlog.log import EventLog, Record
from ..eventlog.record import NO_ID
from ..eventlog.serde.format import array_header, array_length
from .cells import Backing, Cell, LazyCell, ListCell, Values
from .digests import ListDigest, channel_key, whole_digest
from .fold import Cells, fold_step
from .inherited import in_source
from .state import CheckpointState, Inputs
from .thread import Thread
from .types import INPUT

LIST: Final = 0
"""The form of a list cell; every other form is a `ResultOp`: the one that records the whole of such a cell."""
_INLINE: Final = 0


class CellRow(Struct, frozen=True, array_like=True, gc=False):
    """Where a channel's value is, and where the log recorded its digest."""

    channel: str
    form: int
    place: int
    """Version of the rung under which the value's chunk lies, or the list's chain; 0: `data` is the value."""
    data: Any
    """The stored value; of a list [number of chunks, number of elements, `sizes_after` these]; otherwise `None`."""
    version: int
    """Number of the commit that recorded the digest; 0 for a channel of the graph's own, which has none."""


class RungRow(Struct, frozen=True, array_like=True, gc=False):
    """A rung as stored."""

    commits: int
    """Root checkpoints of the stream up to here."""
    running: bytes | None
    running_since: int
    alone: bool
    """Whether the root is the stream's only namespace, so that this state is all there is to go on from."""
    fork: ThreadForked | None
    versions: dict[str, int]
    seen: dict[str, dict[str, int]]
    cells: tuple[CellRow, ...]


class Rung(NamedTuple):
    """A rung in memory."""

    row: RungRow
    state: CheckpointState

    def thread(self, stream: bytes) -> Thread:
        """Return the thread as it stood when the rung's checkpoint was committed."""
        thread = Thread(stream)
        thread.version = self.state.version
        thread.heads = {"": self.state}
        thread.running = self.row.running
        thread.running_since = self.row.running_since
        thread.fork = self.row.fork
        thread.commits = self.row.commits
        thread.ladder = {self.state.version: self.state}
        return thread


class RowSource(Protocol):
    """Where rows come from: a `views/` folder, or what a builder is about to write over one."""

    def get(self, table: str, key: bytes) -> bytes | None:
        """Return a row's value, or `None`."""
        ...

    def range(self, table: str, low: bytes, high: bytes, *, vouched: bool = False) -> list[tuple[bytes, bytes]]:
        """Return the rows with keys from `low` up to and including `high`, in order; `vouched`: not checked yet."""
        ...

    def keys(self, table: str, low: bytes, high: bytes) -> list[bytes]:
        """Return the keys from `low` up to and including `high`, in order."""
        ...


_ROW_ENCODER = msgspec.msgpack.Encoder()
_ROW_DECODER = msgspec.msgpack.Decoder(RungRow)


def encode_row(row: RungRow) -> bytes:
    """Return a rung's row as stored."""
    return _ROW_ENCODER.encode(row)


def rung_key(stream: bytes, version: int) -> bytes:
    """Return the key of a rung."""
    return stream + version.to_bytes(8, "big")


def chunk_key(stream: bytes, channel: str, place: int, number: int = 0) -> bytes:
    """Return the key of a chunk."""
    name = blake3(channel.encode("utf-8", "surrogatepass")).digest(8)
    return stream + name + place.to_bytes(8, "big") + number.to_bytes(4, "big")


def chunk_keys(stream: bytes, channel: str, place: int, count: int) -> list[bytes]:
    """Return the keys of a list's first chunks."""
    chain = chunk_key(stream, channel, place)[:-4]
    return [chain + number.to_bytes(4, "big") for number in range(1, count + 1)]


class StreamRungs:
    """The rungs of one stream for one reader, who shares what long lists have in common. Not shared by threads.

    Every method raises `ViewDamaged` for what the log does not vouch for.
    """

    def __init__(self, log: EventLog, stream: bytes, values: Values, rows: RowSource) -> None:
        self._log = log
        self._stream = stream
        self._values = values
        self._rows = rows
        self._chains: dict[tuple[str, int], _Chain] = {}
        self._commits: dict[int, tuple[Record, CheckpointCommitted]] = {}
        self._versions: dict[int, None] | None = None

    @property
    def versions(self) -> dict[int, None]:
        """The versions at which there are rungs, in order."""
        if self._versions is None:
            low, high = rung_key(self._stream, 0), rung_key(self._stream, (1 << 64) - 1)
            keys = self._rows.keys("rungs", low, high)
            self._versions = {int.from_bytes(key[16:], "big"): None for key in keys}
        return self._versions

    def rung(self, version: int) -> Rung | None:
        """Return the rung at a version, or `None` when there is none, or none that can be checked any more."""
        stored = self._rows.get("rungs", rung_key(self._stream, version))
        if stored is None:
            return None
        try:
            row = _ROW_DECODER.decode(stored)
            record, event = self._commit(version)
            header = record.header
            state = CheckpointState(event, version=version, time_us=header.time_us, run=header.run)
            state.inputs = self._inputs(event)
            state.versions = row.versions
            state.seen = row.seen
            state.cells = self._cells(row)
        except ScopeErased:
            return None
        except msgspec.MsgspecError as error:
            raise self._damaged(version, str(error)) from error
        return Rung(row, state)

    def _inputs(self, event: CheckpointCommitted) -> Inputs:
        for version in event.applied:
            write = self._record(version).event
            if isinstance(write, ChannelWritten) and write.checkpoint == NO_ID and write.node == INPUT:
                return dict(write.writes)
        return {}

    def _cells(self, row: RungRow) -> Cells:
        return {cell.channel: self._cell(cell) for cell in row.cells}

    def _cell(self, row: CellRow) -> Cell:
        digest, key = self._digest(row)
        if row.form == LIST:
            chunks, length, sizes = row.data
            chain = self._chain(row, chunks, key)
            if chain.ends[chunks] != (digest, length, sizes):
                raise self._mismatch(row)
            # Only now: what reads a shorter list out of it decodes all of it.
            self._chains[row.channel, row.place] = chain
            cell: Cell = ListCell([], length, chain.backing)
        else:
            data = row.data if row.place == _INLINE else self._chunk(row)
            cell = self._whole(row, data, digest, key)
        cell.digest = digest
        return cell

    def _whole(self, row: CellRow, data: Any, digest: bytes, key: bytes) -> Cell:
        if digest and not isinstance(data, bytes):
            data = self._log.get_blob(lift_blob(data))
        if row.form == ResultOp.WHOLE:
            if digest and whole_digest(key, data) != digest:
                raise self._mismatch(row)
            return LazyCell(data, self._values.decode)
        result = ChannelResult(row.channel, row.form, data, b"")
        cell = fold_step({}, [result], {}, self._values)[row.channel]
        if digest and whole_digest(key, self._values.raw(cell.value)) != digest:
            raise self._mismatch(row)
        return cell

    def _chunk(self, row: CellRow) -> bytes:
        data = self._rows.get("chunks", chunk_key(self._stream, row.channel, row.place))
        if data is None:
            raise self._mismatch(row)
        return data

    def _chain(self, row: CellRow, chunks: int, key: bytes) -> _Chain:
        """Return the list that begins with so many chunks; a longer one that was read before will do."""
        chain = self._chains.get((row.channel, row.place))
        if chain is not None and len(chain.ends) > chunks:
            return chain
        keys = chunk_keys(self._stream, row.channel, row.place, chunks)
        found = self._rows.range("chunks", keys[0], keys[-1], vouched=bool(key)) if chunks else []
        chunks_found = [data for _at, data in found]
        if [at for at, _data in found] != keys or not all(map(_has_header, chunks_found)):
            raise self._mismatch(row)
        return _Chain(chunks_found, key, self._values.decode)

    def _digest(self, row: CellRow) -> tuple[bytes, bytes]:
        """Return a channel's digest as the log recorded it, and the key it was made with; both may be empty."""
        if not row.version:
            return b"", b""
        record, event = self._commit(row.version)
        digest = digest_in(event, row.channel)
        if not digest:
            raise self._mismatch(row)
        return digest, channel_key(self._log.scope_key(record.header.scope), event.namespace, row.channel)

    def _commit(self, number: int) -> tuple[Record, CheckpointCommitted]:
        known = self._commits.get(number)
        if known is None:
            record = self._record(number)
            event = record.event
            if not isinstance(event, CheckpointCommitted):
                raise self._damaged(number, "the log has no checkpoint there")
            known = self._commits[number] = (record, event)
        return known

    def _record(self, number: int) -> Record:
        """Return a record that the stream reaches, from the stream that holds it."""
        stream = self._stream
        while number < 0:
            first = self._log.read_stream(stream, 0, 1)[0].event
            if not isinstance(first, ThreadForked):
                raise self._damaged(number, "the stream inherits nothing")
            stream, number = first.source, in_source(number)
        found = self._log.read_stream(stream, number - 1, 1)
        if not found:
            raise self._damaged(number, "the log does not go so far")
        return found[0]

    def _mismatch(self, row: CellRow) -> ViewDamaged:
        return self._damaged(row.place, f"channel {row.channel!r} is not what its commit recorded")

    def _damaged(self, version: int, what: str) -> ViewDamaged:
        return ViewDamaged(f"a view of stream {self._stream.hex()} at version {version} is of no use: {what}")


class _Chain:
    """A list as its chunks: digest, length and sizes behind each, elements decoded when somebody looks."""

    def __init__(self, chunks: list[bytes], key: bytes, decode: Callable[[Any], Any]) -> None:
        running = ListDigest(key) if key else None
        length = sizes = 0
        self.ends = [(b"" if running is None else running.digest(), length, sizes)]
        for chunk in chunks:
            if running is not None:
                running.extend(chunk)
            size = array_length(chunk)
            length, sizes = length + size, sizes_after(sizes, size)
            self.ends.append((b"" if running is None else running.digest(), length, sizes))
        self.backing = Backing(load=lambda: _elements(chunks, decode))
        self.backing.running = running


def _has_header(data: bytes) -> bool:
    """Tell whether bytes begin as an encoded list does, in the one way in which its length is written."""
    return bool(data) and data.startswith(array_header(array_length(data)))


def _elements(chunks: list[Any], decode: Callable[[Any], Any]) -> list[Any]:
    """Return the elements of encoded chunks, and let go of the bytes of each as soon as it is decoded."""
    for place, chunk in enumerate(chunks):
        # Who was interrupted begins again, with some that are decoded.
        if type(chunk) is bytes:
            chunks[place] = decode(chunk)
    return [element for chunk in chunks for element in chunk]


def sizes_after(sizes: int, size: int) -> int:
    """Return the checksum over the sizes of a list's chunks, in order, with one more."""
    return zlib.crc32(size.to_bytes(4, "big"), sizes)


def digest_in(event: CheckpointCommitted, channel: str) -> bytes:
    """Return the digest that a commit recorded for a channel; empty when it recorded none."""
    for result in reversed(event.results):
        if result.channel == channel:
            return result.digest
    return b""
