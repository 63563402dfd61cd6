"""`DerivedRows`: the folder `views/`, an LMDB environment of rows that can be computed again from the log.

Every row carries a checksum over table, key and value; one row, the stamp, says which log the rows belong to and how
far they go, and is written in the transaction that takes them there. What the rows mean is the business of the rooms
above: here they are bytes that either come back as written or raise `ViewDamaged`. Deleting the folder loses nothing.

Whoever gets the folder's lock writes; everybody reads. Read `environments` for LMDB itself.
"""

from __future__ import annotations

import fcntl
import shutil
import struct
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from blake3 import blake3

from .engine import Identity
from .environments import DATA_FILE, Environment, Table, Transaction, open_environment
from .errors import CorruptionError, LithographError, LogClosed, ViewDamaged

FOLDER = "views"
TABLES = ("stamp", "threads", "ids", "rungs", "chunks")
LAYOUT = 1
"""Raised when the rows of any view change their form: older views are then computed again."""
_STAMP_KEY = b"stamp"
_STAMP = struct.Struct(">I16sQQ32s")
_CHECK = 8
_LOCK_FILE = "writer.lock"
_PAGE = 512
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


class DerivedRows:
    """The rows of one `views/` folder, opened for reading or, under the folder's lock, for writing. Thread-safe."""

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        self.read_only = read_only
        self._environment: Environment = open_environment(folder, TABLES, read_only=read_only)

    def stamp(self) -> Stamp | None:
        """Return how far the rows go; `None` before the first write."""
        row = self.get("stamp", _STAMP_KEY)
        return None if row is None else Stamp._make(_STAMP.unpack(row))

    def transaction(self) -> int:
        """Return a number that changes whenever somebody writes."""
        return self._environment.last_transaction()

    def get(self, table: str, key: bytes) -> bytes | None:
        """Return a row's value, or `None`; raises `ViewDamaged` when it is not as it was written."""
        stored = self._read(table, lambda transaction, handle: transaction.get(key, db=handle))
        return None if stored is None else _unseal(table, key, stored)

    def range(self, table: str, low: bytes, high: bytes) -> list[tuple[bytes, bytes]]:
        """Return the rows with keys from `low` up to and including `high`, in order."""

        def work(transaction: Transaction, handle: Table) -> list[tuple[bytes, bytes]]:
            cursor = transaction.cursor(db=handle)
            found: list[tuple[bytes, bytes]] = []
            if cursor.set_range(low):
                for key, stored in cursor.iternext():
                    if key > high:
                        break
                    found.append((key, stored))
            return found

        found = self._read(table, work)
        for place, (key, stored) in enumerate(found):
            # In place: a long list's rows are not held twice.
            found[place] = (key, _unseal(table, key, stored))
        return found

    def keys(self, table: str, low: bytes, high: bytes) -> list[bytes]:
        """Return the keys from `low` up to and including `high`, in order; the rows themselves are not looked at."""

        def work(transaction: Transaction, handle: Table) -> list[bytes]:
            cursor = transaction.cursor(db=handle)
            found: list[bytes] = []
            if cursor.set_range(low):
                for key in cursor.iternext(values=False):
                    if key > high:
                        break
                    found.append(key)
            return found

        return self._read(table, work)

    def write(self, rows: Rows, stamp: Stamp) -> None:
        """Write rows and the stamp that they take the views to: all of it or nothing, durable when it returns."""
        every = {**rows, "stamp": {_STAMP_KEY: _STAMP.pack(*stamp)}}

        def work(transaction: Transaction) -> None:
            for table, changes in every.items():
                sealed = [(key, _seal(table, key, changes[key])) for key in sorted(changes)]
                transaction.cursor(db=self._environment.tables[table]).putmulti(sealed)

        self._environment.write(work)

    def clear(self) -> None:
        """Remove every row."""

        def work(transaction: Transaction) -> None:
            for handle in self._environment.tables.values():
                transaction.drop(handle, delete=False)

        self._environment.write(work)

    def damage(self, table: str) -> Iterator[str]:
        """Yield what is wrong with the rows of a table."""
        after = b""
        try:
            while page := self._page(table, after):
                yield from _complaints(table, after, page)
                after = page[-1][0]
        except ViewDamaged as error:
            yield str(error)

    def close(self) -> None:
        """Give up this share of the environment."""
        self._environment.close()

    def _page(self, table: str, after: bytes) -> list[tuple[bytes, bytes]]:
        def work(transaction: Transaction, handle: Table) -> list[tuple[bytes, bytes]]:
            cursor = transaction.cursor(db=handle)
            found = cursor.set_range(after + b"\0") if after else cursor.first()
            return list(islice(cursor.iternext(), _PAGE)) if found else []

        return self._read(table, work)

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
        if not _ever_written(folder):
            return None
        try:
            return DerivedRows(folder, read_only=True)
        except LithographError as error:
            raise ViewDamaged(f"{folder} cannot be opened: {error}") from error
    try:
        return DerivedRows(folder, read_only=False)
    except CorruptionError:
        remove_rows(log_folder)
        return DerivedRows(folder, read_only=False)


def _ever_written(folder: Path) -> bool:
    """Tell whether there is more than a file that somebody began to make: whoever did may have been killed."""
    path = folder / DATA_FILE
    if not path.exists() or not path.stat().st_size:
        return False
    try:
        environment = open_environment(folder, (), read_only=True)
    except LithographError:
        # Whatever is wrong with it, something was there.
        return True
    try:
        return environment.last_transaction() > 0
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


def inspect_rows(log_folder: Path) -> Iterator[str]:
    """Yield what is wrong with the rows of a log's views: each one that is not as it was written."""
    try:
        rows = open_rows(log_folder, read_only=True)
    except ViewDamaged as error:
        yield str(error)
        return
    if rows is None:
        return
    try:
        for table in TABLES:
            yield from rows.damage(table)
    finally:
        rows.close()


def _complaints(table: str, after: bytes, page: list[tuple[bytes, bytes]]) -> Iterator[str]:
    """Yield what is wrong with rows; raise `ViewDamaged` when they are not in order, so that the walk ends."""
    for key, stored in page:
        if key <= after:
            raise ViewDamaged(f"the view {table!r} is not in order after key {after.hex()}")
        after = key
        try:
            _unseal(table, key, stored)
        except ViewDamaged as error:
            yield str(error)


def _seal(table: str, key: bytes, value: bytes) -> bytes:
    return value + _checksum(table, key, value)


def _unseal(table: str, key: bytes, stored: bytes) -> bytes:
    value = stored[:-_CHECK]
    if len(stored) < _CHECK or _checksum(table, key, value) != stored[-_CHECK:]:
        raise ViewDamaged(
            f"the view {table!r} has a row that is not as it was written, under {key.hex()}; it is computed again"
        )
    return value


def _checksum(table: str, key: bytes, value: bytes) -> bytes:
    return blake3(b"%s\0%d\0%s%s" % (table.encode(), len(key), key, value)).digest(_CHECK)
