"""`Views`: what a log's readers find in its `views/` folder, and how far they may believe it.

Views are used when they belong to this log: same id and epoch, and at their position the record that they name. A row
that is damaged, or a value that the log does not vouch for, makes this reader do without views until somebody has
made them anew; the log is then folded, so that the answer is the same and only later. Reading never writes.

Read next: `rungs` (checkpoint states), `view_writer` (who writes, and when).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from ..eventlog.derived import DerivedRows, Moment, open_rows
from ..eventlog.errors import ViewDamaged
from ..eventlog.events import CheckpointCommitted
from ..eventlog.log import EventLog
from .cells import Values
from .rungs import Rung, StreamRungs

T = TypeVar("T")
NEVER: Final = -1
"""Instead of a rung's version: the thread has none any more. What cannot be folded once is not tried again."""
NEWER: Final = "newer"
"""The status of a thread that a later version went on with in a way that this one does not know."""


class ThreadRow(msgspec.Struct, array_like=True):
    """A thread as the list of threads has it, with what decides where its next rung is."""

    name: bytes
    first: int
    """Position of its first record."""
    created_us: int
    version: int = 0
    """The stream's version, as far as the views go."""
    updated_us: int = 0
    rung: int = 0
    """The last rung's version; 0 for none yet, `NEVER` when one could not be made."""
    commits: int = 0
    """Root checkpoints since a rung was due."""
    weight: int = 0
    """Bytes of records since then."""
    status: str = ""
    """`open` while a run is on it, or how its last run ended; `forked` or `stored` when it had none."""
    checkpoint: bytes | None = None
    """The root's last checkpoint."""
    step: int | None = None
    source: str | None = None
    planned: tuple[str, ...] = ()


_DECODER = msgspec.msgpack.Decoder(ThreadRow)


class Views:
    """The views of one log. Thread-safe; holds no reference to the log."""

    def __init__(self) -> None:
        self._rows: DerivedRows | None = None
        self._trusted: Moment | None = None
        """The transaction whose stamp was found to be the log's."""
        self._distrusted: Moment | None = None
        """The transaction of which something was found to be wrong."""
        self._lock = threading.Lock()
        self._is_known = False
        """Whether the log says when it is closed."""
        self._closed = False
        self._pid = os.getpid()

    def rungs(self, log: EventLog, stream: bytes, values: Values) -> Rungs:
        """Return the rungs of a stream; none when there are no views to believe."""
        rows = self.rows(log)
        return Rungs(self, None if rows is None else StreamRungs(log, stream, values, rows))

    def version_of(self, log: EventLog, stream: bytes, checkpoint: bytes) -> int | None:
        """Return the version at which a stream committed a checkpoint; `None` when the views do not know it."""
        rows = self.rows(log)
        if rows is None:
            return None
        row = self.careful(lambda: rows.get("ids", stream + checkpoint), None)
        if row is None:
            return None
        version = int.from_bytes(row, "big")
        found = log.read_stream(stream, version - 1, 1) if version else []
        event = found[0].event if found else None
        if isinstance(event, CheckpointCommitted) and event.id == checkpoint:
            return version
        self.distrust()
        return None

    def threads(self, log: EventLog, first: bytes, last: bytes) -> dict[bytes, ThreadRow]:
        """Return the rows of the threads with stream ids from `first` to `last`; they may be behind the log."""
        rows = self.rows(log)
        if rows is None:
            return {}
        return self.careful(
            lambda: {stream: decode_thread(row) for stream, row in rows.range("threads", first, last)}, {}
        )

    def rows(self, log: EventLog) -> DerivedRows | None:
        """Return the rows, when they are of this log and nothing is known to be wrong with them."""
        if log.path is None:
            return None
        with self._lock:
            if not self._is_known:
                self._is_known = True
                log.on_close(self.close)
            try:
                return self._believed(log)
            except ViewDamaged:
                self._distrust()
            except OSError:
                # Too many open files, say. Without views all is as good.
                self._rows = None
            return None

    def position(self, log: EventLog) -> int:
        """Return the log's position up to which the views go; 0 when there are none to believe."""
        rows = self.rows(log)
        stamp = None if rows is None else self.careful(rows.stamp, None)
        return 0 if stamp is None else stamp.position

    def careful(self, read: Callable[[], T], otherwise: T) -> T:
        """Return what `read` gives, or `otherwise` when a view turns out to be damaged."""
        try:
            return read()
        except ViewDamaged:
            self.distrust()
            return otherwise

    def distrust(self) -> None:
        """Do without the views as they are now."""
        with self._lock:
            self._distrust()

    @property
    def distrusted(self) -> bool:
        """Whether the views must be made anew."""
        with self._lock:
            rows = self._rows
            if rows is None or self._distrusted is None or not rows.is_in_place():
                return False
            return self._distrusted == self._moment(rows)

    def close(self) -> None:
        """Let go of the folder."""
        if self._pid != os.getpid():
            return
        with self._lock:
            self._rows, self._closed = None, True

    def _believed(self, log: EventLog) -> DerivedRows | None:
        rows = self._rows
        if rows is None or not rows.is_in_place():
            assert log.path is not None
            self._rows = None
            self._rows = rows = None if self._closed else open_rows(log.path, read_only=True)
            if rows is None:
                return None
        moment = rows.transaction()
        if moment == self._trusted:
            return rows if moment != self._distrusted else None
        if moment == self._distrusted or not is_current(log, rows):
            return None
        self._trusted = moment
        return rows

    def _distrust(self) -> None:
        if self._rows is not None:
            self._distrusted = self._moment(self._rows)

    def _moment(self, rows: DerivedRows) -> Moment | None:
        """Return what is another once somebody has written; `None` for a file that does not even tell that."""
        try:
            return rows.transaction()
        except ViewDamaged:
            return None


class Rungs:
    """The rungs of one stream for a reader, who gets nothing rather than anything wrong. Not shared by threads."""

    def __init__(self, views: Views, rungs: StreamRungs | None) -> None:
        self._views = views
        self._rungs = rungs

    @property
    def versions(self) -> dict[int, None]:
        """The versions at which there are rungs."""
        return self._try(lambda rungs: rungs.versions, {})

    def rung(self, version: int) -> Rung | None:
        """Return the rung at a version, or `None`."""
        return self._try(lambda rungs: rungs.rung(version) if version in rungs.versions else None, None)

    def _try(self, read: Callable[[StreamRungs], T], otherwise: T) -> T:
        rungs = self._rungs
        if rungs is None:
            return otherwise
        found = self._views.careful(lambda: (read(rungs),), None)
        if found is None:
            self._rungs = None
            return otherwise
        return found[0]


def is_current(log: EventLog, rows: DerivedRows) -> bool:
    """Tell whether views belong to a log, and to what it says up to their position."""
    stamp = rows.stamp()
    if stamp is None or not stamp.belongs_to(log.identity) or not stamp.position:
        return False
    found = log.read(stamp.position - 1, 1)
    return bool(found) and found[0].hash == stamp.hash


def decode_thread(data: bytes) -> ThreadRow:
    """Return a row of the table `threads`; raises `ViewDamaged`."""
    try:
        return _DECODER.decode(data)
    except msgspec.MsgspecError as error:
        raise ViewDamaged(f"a row of the list of threads cannot be read: {error}") from error
