"""`DerivedRows`: the folder `views/`, an LMDB environment of rows that can be computed again from the log.

Every row carries a checksum over table, key and value. One row, the stamp, says which log the rows belong to and how
far they go; it also counts the rows of each table and adds up their checksums, so that one that is gone, or an older
one in its place, is missed. It is written in the transaction that changes the rows. What the rows mean is the business
of the rooms above: here they are bytes that either come back as written or raise `ViewDamaged`, unless a reader takes
it upon itself to look (`range`, `vouched`). Deleting the folder loses nothing.

Whoever gets the folder's lock writes; everybody reads. Read `environments` for LMDB itself.
"""

from __future__ import annotations

import fcntl
import shutil
import struct
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from blake3 import blake3

from .engine import Identity
from .environments import DATA_FILE, Environment, Table, Transaction, open_environment
from .errors import CorruptionError, LithographError, LogClosed, ViewDamaged

FOLDER = "views"
TABLES = ("stamp", "threads", "ids", "rungs", "chunks")
LAYOUT = 3
"""Raised when the rows of any view change their form: older views are then computed again."""
_STAMP_KEY = b"stamp"
_STAMP = struct.Struct(">I16sQQ32s")
_TALLIED = TABLES[1:]
_TALLY = struct.Struct(f">{2 * len(_TALLIED)}Q")
_CHECK = 8
_MODULUS = 1 << 8 * _CHECK
_LOCK_FILE = "writer.lock"
_ENOUGH = 1000
"""Complaints that are listed; all of them go when the views are made anew."""
_REMEDY = "delete the folder views/ and all of it is computed again"
T = TypeVar("T")

Rows = Mapping[str, Mapping[bytes, bytes]]
"""Rows to write, by table and key."""


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


class Tally(NamedTuple):
    """How many rows a table has, and the sum of their checksums: rows are added and taken away in any order."""

    rows: int = 0
    sum: int = 0

    def plus(self, stored: bytes) -> Tally:
        """Return the tally with a row more."""
        return Tally(self.rows + 1, (self.sum + int.from_bytes(stored[-_CHECK:], "big")) % _MODULUS)

    def minus(self, stored: bytes) -> Tally:
        """Return the tally with a row less."""
        return Tally(self.rows - 1, (self.sum - int.from_bytes(stored[-_CHECK:], "big")) % _MODULUS)


class DerivedRows:
    """The rows of one `views/` folder, opened for reading or, under the folder's lock, for writing. Thread-safe."""

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        self.read_only = read_only
        self._environment: Environment = open_environment(folder, TABLES, read_only=read_only)

    def stamp(self) -> Stamp | None:
        """Return how far the rows go; `None` before the first write."""
        return self._read("stamp", _stamp)

    def transaction(self) -> int:
        """Return a number that changes whenever somebody writes."""
        return self._environment.last_transaction()

    def get(self, table: str, key: bytes) -> bytes | None:
        """Return a row's value, or `None`; raises `ViewDamaged` when it is not as it was written."""
        stored = self._read(table, lambda transaction, handle: transaction.get(key, db=handle))
        return None if stored is None else _unseal(table, key, stored)

    def range(self, table: str, low: bytes, high: bytes, *, vouched: bool = False) -> list[tuple[bytes, bytes]]:
        """Return the rows with keys from `low` up to and including `high`, in order.

        `vouched`: without a look at checksums, for who holds keys and values against something better.
        """

        def work(transaction: Transaction, handle: Table) -> list[tuple[bytes, bytes]]:
            cursor = transaction.cursor(db=handle)
            found: list[tuple[bytes, bytes]] = []
            last = b""
            if cursor.set_range(low):
                for key, stored in cursor.iternext():
                    if key > high:
                        break
                    last = _after(table, last, key)
                    found.append((key, stored))
            return found

        found = self._read(table, work)
        for place, (key, stored) in enumerate(found):
            # In place: a long list's rows are not held twice.
            found[place] = (key, stored[:-_CHECK] if vouched else _unseal(table, key, stored))
        return found

    def keys(self, table: str, low: bytes, high: bytes) -> list[bytes]:
        """Return the keys from `low` up to and including `high`, in order; the rows themselves are not looked at."""

        def work(transaction: Transaction, handle: Table) -> list[bytes]:
            cursor = transaction.cursor(db=handle)
            found: list[bytes] = []
            last = b""
            if cursor.set_range(low):
                for key in cursor.iternext(values=False):
                    if key > high:
                        break
                    last = _after(table, last, key)
                    found.append(key)
            return found

        return self._read(table, work)

    def write(self, rows: Rows, stamp: Stamp) -> None:
        """Write rows and the stamp that they take the views to: all of it or nothing, durable when it returns."""

        def work(transaction: Transaction) -> None:
            tables = self._environment.tables
            tallies = _tallies(transaction, tables["stamp"])
            for table, changes in rows.items():
                sealed = [(key, _seal(table, key, changes[key])) for key in sorted(changes)]
                tallies[table] = _tally_of_changes(transaction, tables[table], tallies[table], sealed)
                transaction.cursor(db=tables[table]).putmulti(sealed)
            row = _STAMP.pack(*stamp) + _TALLY.pack(*[number for table in _TALLIED for number in tallies[table]])
            transaction.put(_STAMP_KEY, _seal("stamp", _STAMP_KEY, row), db=tables["stamp"])

        self._environment.write(work)

    def clear(self) -> None:
        """Remove every row."""

        def work(transaction: Transaction) -> None:
            for handle in self._environment.tables.values():
                transaction.drop(handle, delete=False)

        self._environment.write(work)

    def is_empty(self) -> bool:
        """Tell whether there is no row at all."""
        return not any(
            self._read(table, lambda transaction, handle: transaction.cursor(db=handle).first()) for table in TABLES
        )

    def damage(self) -> list[str]:
        """Return what is wrong with the file and its rows, in one look: who writes meanwhile does not disturb it."""
        complaints: list[str] = []

        def work(transaction: Transaction, _handle: Table) -> None:
            # It begins again when the map had to be adapted to a file that grew.
            complaints.clear()
            _walk(transaction, self._environment.tables, complaints)

        try:
            self._read("stamp", work)
            complaints += self._environment.inspect()
        except (ViewDamaged, OSError) as error:
            complaints.append(str(error))
        return complaints

    def close(self) -> None:
        """Give up this share of the environment."""
        self._environment.close()

    def _read(self, table: str, work: Callable[[Transaction, Table], T]) -> T:
        environment = self._environment
        try:
            environment.check_size()
            return environment.read(lambda transaction: work(transaction, environment.tables[table]))
        except (CorruptionError, LogClosed) as error:
            raise ViewDamaged(f"{environment.path} cannot be read: {error}") from error


def open_rows(log_folder: Path, *, read_only: bool) -> DerivedRows | None:
    """Open the views of the log in a folder; `None` when there are none to read.

    For writing, a file that cannot be used is removed and made anew: call it under the lock.
    """
    folder = log_folder / FOLDER
    if read_only:
        path = folder / DATA_FILE
        if not path.exists() or not path.stat().st_size:
            return None
        try:
            return _rows_written(folder)
        except LithographError as error:
            raise ViewDamaged(f"{folder} cannot be opened: {error}") from error
    try:
        return DerivedRows(folder, read_only=False)
    except CorruptionError:
        remove_rows(log_folder)
        return DerivedRows(folder, read_only=False)


def _rows_written(folder: Path) -> DerivedRows | None:
    """Open views to read; `None` where somebody only began to make the file: whoever did may have been killed."""
    environment = open_environment(folder, (), read_only=True)
    try:
        # The file is open already, and is shared.
        return DerivedRows(folder, read_only=True) if environment.last_transaction() else None
    finally:
        environment.close()


def remove_rows(log_folder: Path) -> None:
    """Remove the views of the log in a folder, but for the file that is locked."""
    folder = log_folder / FOLDER
    for path in folder.iterdir() if folder.exists() else ():
        if path.name != _LOCK_FILE:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def writers_lock(log_folder: Path) -> Generator[bool]:
    """Hold the lock of a log's views, when nobody else does: the block is told whether it is held."""
    folder = log_folder / FOLDER
    folder.mkdir(exist_ok=True)
    with (folder / _LOCK_FILE).open("ab") as file:
        # Of the open file, not of the process: two logs opened by one process exclude each other too.
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def inspect_rows(log_folder: Path) -> list[str]:
    """Return what is wrong with the rows of a log's views: each one that is not as it was written, or is missing."""
    try:
        rows = open_rows(log_folder, read_only=True)
    except ViewDamaged as error:
        return [str(error)]
    if rows is None:
        return []
    try:
        return rows.damage()
    finally:
        rows.close()


def _walk(transaction: Transaction, tables: Mapping[str, Table], complaints: list[str]) -> None:
    """Look at every row of every table, and at how many there should be."""
    found: dict[str, Tally] = {}
    for table in TABLES:
        found[table] = _walk_table(table, transaction.cursor(db=tables[table]).iternext(), complaints)
        if len(complaints) >= _ENOUGH:
            return
    try:
        expected = _tallies(transaction, tables["stamp"])
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
    tally, last = Tally(), b""
    for key, stored in rows:
        last = _after(table, last, key)
        tally = tally.plus(stored)
        try:
            _unseal(table, key, stored)
        except ViewDamaged as error:
            complaints.append(str(error))
            if len(complaints) >= _ENOUGH:
                break
    return tally


def _after(table: str, last: bytes, key: bytes) -> bytes:
    """Return a key that comes after the one before; raises `ViewDamaged`: pages that name each other have no end."""
    if key <= last:
        raise ViewDamaged(f"the view {table!r} is not in order after key {last.hex()}; {_REMEDY}")
    return key


def _stamp(transaction: Transaction, handle: Table) -> Stamp | None:
    """Return the stamp, or `None` before the first write; raises `ViewDamaged`."""
    row = _stamp_row(transaction, handle)
    return None if row is None else Stamp._make(_STAMP.unpack_from(row))


def _stamp_row(transaction: Transaction, handle: Table) -> bytes | None:
    stored = transaction.get(_STAMP_KEY, db=handle)
    return None if stored is None else _unseal("stamp", _STAMP_KEY, stored)


def _tallies(transaction: Transaction, stamps: Table) -> dict[str, Tally]:
    """Return the tally of each table as it was written; raises `ViewDamaged`."""
    row = _stamp_row(transaction, stamps)
    if row is None:
        return dict.fromkeys(_TALLIED, Tally())
    if len(row) != _STAMP.size + _TALLY.size:
        raise ViewDamaged(f"the views are of another version; {_REMEDY}")
    numbers = _TALLY.unpack_from(row, _STAMP.size)
    return {table: Tally(*numbers[2 * place : 2 * place + 2]) for place, table in enumerate(_TALLIED)}


def _tally_of_changes(
    transaction: Transaction, handle: Table, tally: Tally, sealed: Sequence[tuple[bytes, bytes]]
) -> Tally:
    """Return a table's tally after rows are written, which may take the place of others."""
    for key, stored in sealed:
        before = transaction.get(key, db=handle)
        if before is not None and not tally.rows:
            raise ViewDamaged(f"the views have a row that was never written, under {key.hex()}; {_REMEDY}")
        if before is not None:
            tally = tally.minus(before)
        tally = tally.plus(stored)
    return tally


def _seal(table: str, key: bytes, value: bytes) -> bytes:
    return value + _checksum(table, key, value)


def _unseal(table: str, key: bytes, stored: bytes) -> bytes:
    value = stored[:-_CHECK]
    if len(stored) < _CHECK or _checksum(table, key, value) != stored[-_CHECK:]:
        raise ViewDamaged(f"the view {table!r} has a row that is not as it was written, under {key.hex()}; {_REMEDY}")
    return value


def _checksum(table: str, key: bytes, value: bytes) -> bytes:
    return blake3(b"%s\0%d\0%s%s" % (table.encode(), len(key), key, value)).digest(_CHECK)
