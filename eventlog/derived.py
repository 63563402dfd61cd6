"""`DerivedRows`: the folder `views/`, an LMDB environment of rows that can be computed again from the log.

Every row carries a checksum over table, key and value. One row, the stamp, says which log the rows belong to and how
far they go; it also counts the rows of each table and adds up their checksums (`tally`), so that one that is gone, or
an older one in its place, is missed. It is written in the transaction that changes the rows. What the rows mean is the
business of the rooms above: here they are bytes that either come back as written or raise `ViewDamaged`. Deleting the
folder loses nothing, and may be done at any time: who reads goes on with the file that it has open, or without views,
and who writes begins another one.

Whoever gets the folder's lock writes; everybody reads. LMDB writes, and does so after a look at the pages that it is
about to believe; it does not read (`pages`). Damaged rows are never removed one by one, which is up to damaged pages
too: the file is removed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import struct
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from blake3 import blake3

from .engine import Identity
from .environments import DATA_FILE, Environment, Transaction, open_environment
from .errors import CorruptionError, Unavailable, ViewDamaged
from .pages import PageFile, Snapshot
from .tally import CHECK_BYTES, Tally, pack_tallies, unpack_tallies

FOLDER = "views"
TABLES = ("stamp", "threads", "ids", "rungs", "chunks")
LAYOUT = 3
"""Raised when the rows of any view change their form: older views are then computed again."""
_STAMP_KEY = b"stamp"
_STAMP = struct.Struct(">I16sQQ32s")
_TALLIED = TABLES[1:]
_LOCK_FILE = "writer.lock"
_ENOUGH = 1000
"""Complaints that are listed; all of them go when the views are made anew."""
_LOST = (errno.ENOENT, errno.EIO, errno.ESTALE)
_REMEDY = "delete the folder views/ and all of it is computed again"
T = TypeVar("T")

Rows = Mapping[str, Mapping[bytes, bytes]]
"""Rows to write, by table and key."""
Moment = tuple[tuple[int, int], int]
"""Which file, and its last transaction: another one whenever anybody has written."""


class Stamp(NamedTuple):
    """Which log views belong to and how far they go: the hash is that of the record at `position`."""

    layout: int
    log_id: bytes
    epoch: int
    position: int
    hash: bytes

    def belongs_to(self, identity: Identity) -> bool:
        """Tell whether rows under this stamp are of that log, and of a form that this version writes."""
        return (self.layout, self.log_id, self.epoch) == (LAYOUT, identity.log_id, identity.epoch)


class DerivedRows:
    """The rows of one `views/` folder, opened for reading or, under the folder's lock, for writing. Thread-safe."""

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        self.read_only = read_only
        self._checked = -1
        """The transaction at which all was looked at that LMDB may come by when it writes."""
        self._folder = folder
        self._environment: Environment | None = None
        path = folder / DATA_FILE
        if not read_only and not _is_begun(path):
            self._environment = _told(lambda: _environment(folder))
        try:
            self._pages = _told(lambda: PageFile(path))
            if not read_only:
                # Before LMDB looks at any of it.
                self._check()
        except BaseException:
            self.rest()
            raise

    def is_in_place(self) -> bool:
        """Tell whether these are still the log's views: the folder may have been removed, and made again."""
        return self._pages.is_in_place()

    def stamp(self) -> Stamp | None:
        """Return how far the rows go; `None` before the first write."""
        row = self._read(_stamp_row)
        return None if row is None else Stamp._make(_STAMP.unpack_from(row))

    def transaction(self) -> Moment:
        """Return what is another whenever somebody has written."""
        return self._pages.identity, self._last()

    def get(self, table: str, key: bytes) -> bytes | None:
        """Return a row's value, or `None`; raises `ViewDamaged` when it is not as it was written."""
        stored = self._read(lambda snapshot: snapshot.get(table, key))
        return None if stored is None else _unseal(table, key, stored)

    def range(self, table: str, low: bytes, high: bytes, *, vouched: bool = False) -> list[tuple[bytes, bytes]]:
        """Return the rows with keys from `low` up to and including `high`, in order.

        `vouched`: without a look at checksums, for who holds keys and values against something better.
        """
        found = self._read(lambda snapshot: list(_in_order(table, snapshot.rows(table, low, high))))
        for place, (key, stored) in enumerate(found):
            # In place: a long list's rows are not held twice.
            found[place] = (key, stored[:-CHECK_BYTES] if vouched else _unseal(table, key, stored))
        return found

    def keys(self, table: str, low: bytes, high: bytes) -> list[bytes]:
        """Return the keys from `low` up to and including `high`, in order; the rows themselves are not looked at."""
        return self._read(
            lambda snapshot: [key for key, _ in _in_order(table, snapshot.rows(table, low, high, values=False))]
        )

    def write(self, rows: Rows, stamp: Stamp) -> None:
        """Write rows and the stamp that they take the views to: all of it or nothing, durable when it returns.

        Raises `ViewDamaged`, and writes nothing, when this is not the file of the log's views any more, or somebody
        else writes, or what is there is damaged.
        """
        assert not self.read_only, "opened to be read"
        sealed = {table: [(key, _seal(table, key, row[key])) for key in sorted(row)] for table, row in rows.items()}
        self._check()
        transaction_id, stamped = self._read(lambda snapshot: _stamped(snapshot, sealed, stamp))
        sealed["stamp"] = [(_STAMP_KEY, stamped)]
        environment = self._environment
        if environment is None:
            environment = self._environment = _told(lambda: _environment(self._folder))

        def work(transaction: Transaction) -> None:
            if transaction.id() != transaction_id:
                raise ViewDamaged("somebody who does not have the lock writes views")
            for table, changes in sealed.items():
                transaction.cursor(db=environment.tables[table]).putmulti(changes)

        _told(lambda: environment.write(work))
        self._checked = transaction_id

    def is_empty(self) -> bool:
        """Tell whether there is no row at all."""
        return not any(
            self._read(lambda snapshot, table=table: any(snapshot.rows(table, b"", None))) for table in TABLES
        )

    def damage(self) -> list[str]:
        """Return what is wrong with the file and its rows, in one look: who writes meanwhile does not disturb it."""
        complaints: list[str] = []

        def work(snapshot: Snapshot) -> None:
            # It begins again when the file was written to meanwhile.
            complaints.clear()
            _walk(snapshot, complaints)
            snapshot.check()

        try:
            self._read(work)
            complaints += self._pages.complaints()
        except (ViewDamaged, CorruptionError) as error:
            complaints.append(str(error))
        return complaints

    def rest(self) -> None:
        """Let go of what LMDB has open; it is opened again to write. What is being read can still be read."""
        environment, self._environment = self._environment, None
        if environment is not None:
            environment.close()

    def _check(self) -> None:
        """Look at what LMDB goes by, unless that was done and nobody else has written since."""
        if not self._pages.is_in_place():
            raise ViewDamaged(f"{self._pages.path} was removed")
        last = self._last()
        if last != self._checked:
            self._read(lambda snapshot: snapshot.check())
            self._checked = last

    def _last(self) -> int:
        return _told(self._pages.last_transaction)

    def _read(self, work: Callable[[Snapshot], T]) -> T:
        return _told(lambda: self._pages.read(work))


def open_rows(log_folder: Path, *, read_only: bool) -> DerivedRows | None:
    """Open the views of the log in a folder; `None` when there are none to read.

    Raises `ViewDamaged` for a file that cannot be used; `remove_rows` makes room for another one. For writing, call
    it under the lock.
    """
    folder = log_folder / FOLDER
    if not read_only:
        return DerivedRows(folder, read_only=False)
    if not _is_begun(folder / DATA_FILE):
        return None
    rows = DerivedRows(folder, read_only=True)
    # Somebody may have only begun to make the file, and may have been killed.
    return rows if rows.transaction()[1] else None


def remove_rows(log_folder: Path) -> None:
    """Remove the views of the log in a folder, but for the file that is locked: call it under the lock."""
    folder = log_folder / FOLDER
    for path in folder.iterdir() if folder.exists() else ():
        if path.name == _LOCK_FILE:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


@contextmanager
def writers_lock(log_folder: Path) -> Generator[bool]:
    """Hold the lock of a log's views, when nobody else does: the block is told whether it is held."""
    folder = log_folder / FOLDER
    folder.mkdir(exist_ok=True)
    path = folder / _LOCK_FILE
    try:
        file = path.open("ab")
    except FileNotFoundError:
        # Somebody removes the folder just now.
        yield False
        return
    with file:
        # Of the open file, not of the process: two logs opened by one process exclude each other too.
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            # The folder may have been removed in between, and whoever made it again has another lock.
            yield _leads_to(path, file.fileno())


def inspect_rows(log_folder: Path) -> list[str]:
    """Return what is wrong with the rows of a log's views: each one that is not as it was written, or is missing."""
    try:
        rows = open_rows(log_folder, read_only=True)
    except ViewDamaged as error:
        return [str(error)]
    return [] if rows is None else rows.damage()


def _told(work: Callable[[], T]) -> T:
    """Return `work()`; what a damaged disk or file raises, and one that is gone, is damage to views."""
    try:
        return work()
    except CorruptionError as error:
        raise ViewDamaged(f"views cannot be used: {error}; {_REMEDY}") from error
    except OSError as error:
        if error.errno not in _LOST:
            raise
        raise ViewDamaged(f"views cannot be read: {error}; {_REMEDY}") from error


def _environment(folder: Path) -> Environment:
    try:
        return open_environment(folder, TABLES)
    except Unavailable as error:
        if folder.exists():
            raise
        raise ViewDamaged(f"{folder} was removed") from error


def _leads_to(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _is_begun(path: Path) -> bool:
    try:
        return bool(path.stat().st_size)
    except OSError:
        return False


def _walk(snapshot: Snapshot, complaints: list[str]) -> None:
    """Look at every row of every table, and at how many there should be."""
    found: dict[str, Tally] = {}
    for table in TABLES:
        found[table] = _walk_table(table, snapshot.rows(table, b"", None), complaints)
        if len(complaints) >= _ENOUGH:
            return
    try:
        expected = _tallies(_stamp_row(snapshot))
    except ViewDamaged:
        # Of another version, which may not count rows; or damaged, which was complained of already.
        return
    complaints += [
        f"the view {table!r} has {found[table].rows} rows of {expected[table].rows} that were written, or others; "
        f"{_REMEDY}"
        for table in _TALLIED
        if found[table] != expected[table]
    ]


def _walk_table(table: str, rows: Iterator[tuple[bytes, bytes]], complaints: list[str]) -> Tally:
    """Look at every row of a table and return their tally; raises `ViewDamaged` when they are not in order."""
    tally = Tally()
    for key, stored in _in_order(table, rows):
        tally = tally.plus(stored)
        try:
            _unseal(table, key, stored)
        except ViewDamaged as error:
            complaints.append(str(error))
            if len(complaints) >= _ENOUGH:
                break
    return tally


def _in_order(table: str, rows: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    """Yield rows; raises `ViewDamaged` when one does not come after the one before, as where pages name each other."""
    last = b""
    for row in rows:
        if row[0] <= last:
            raise ViewDamaged(f"the view {table!r} is not in order after key {last.hex()}; {_REMEDY}")
        last = row[0]
        yield row


def _stamped(snapshot: Snapshot, sealed: Mapping[str, list[tuple[bytes, bytes]]], stamp: Stamp) -> tuple[int, bytes]:
    """Return the transaction that writes rows, and the row of the stamp then; with a look at the pages on the way."""
    old = snapshot.sound_row("stamp", _STAMP_KEY)
    tallies = _tallies(None if old is None else _unseal("stamp", _STAMP_KEY, old))
    for table, changes in sealed.items():
        befores = ((snapshot.sound_row(table, key), stored) for key, stored in changes)
        tallies[table] = tallies[table].after(befores)
    row = _STAMP.pack(*stamp) + pack_tallies(tallies, _TALLIED)
    return snapshot.meta.transaction + 1, _seal("stamp", _STAMP_KEY, row)


def _stamp_row(snapshot: Snapshot) -> bytes | None:
    stored = snapshot.get("stamp", _STAMP_KEY)
    return None if stored is None else _unseal("stamp", _STAMP_KEY, stored)


def _tallies(stamp_row: bytes | None) -> dict[str, Tally]:
    """Return the tally of each table as it was written; raises `ViewDamaged`."""
    if stamp_row is None:
        return dict.fromkeys(_TALLIED, Tally())
    return unpack_tallies(stamp_row[_STAMP.size :], _TALLIED)


def _seal(table: str, key: bytes, value: bytes) -> bytes:
    return value + _checksum(table, key, value)


def _unseal(table: str, key: bytes, stored: bytes) -> bytes:
    value = stored[:-CHECK_BYTES]
    if len(stored) < CHECK_BYTES or _checksum(table, key, value) != stored[-CHECK_BYTES:]:
        raise ViewDamaged(f"the view {table!r} has a row that is not as it was written, under {key.hex()}; {_REMEDY}")
    return value


def _checksum(table: str, key: bytes, value: bytes) -> bytes:
    return blake3(b"%s\0%d\0%s%s" % (table.encode(), len(key), key, value)).digest(CHECK_BYTES)
