"""LMDB environments: one per file per process, whoever asks for it.

LMDB must not be opened twice in a process, must not be used across `fork`, must not be resized under a
reader, and may be resized by somebody else at any time. All of that is dealt with here, so that the rest of
the code sees two calls: `read` and `write`, each a transaction that ends before the call returns. Begin and
commit are on one thread.

The file is reserved large and sparse from the start (64 GiB, halved while the system refuses), so growing is
rare; when it happens, it happens behind a gate (`gate`) that no transaction of this process is inside of, and the
same work is run again. Slots that killed readers left are swept at open, now and then, and when they are in the way.
"""

from __future__ import annotations

import errno
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import lmdb

from .errors import (
    CorruptionError,
    ForkedError,
    LithographError,
    LogClosed,
    LogLocked,
    OutcomeUnknown,
    ReadOnlyLog,
    Unavailable,
)
from .gate import Gate
from .lock_file import LOCK_FILE, opened_elsewhere, reserve_lock_file

DATA_FILE = "data.mdb"
LARGEST_MAP = 64 << 30
SMALLEST_MAP = 1 << 30
_META_TRANSACTION = struct.Struct("=Q")
_META_TRANSACTION_AT = 144
"""Where a meta page of format 0.9 on a 64-bit machine holds its transaction's id."""
_META_TRIES = 20
_META_PAUSE_SECONDS = 0.01
_NO_LOCKS = "(no reader locks)\n"
"""What LMDB says of the readers of an environment that it reads without locks."""
_MAX_TABLES = 32
_MAX_READERS = 1024
_SWEEP_EVERY = 256
"""After how many writes slots of killed readers are looked for: each keeps every page that was freed since."""

Transaction: TypeAlias = "lmdb.Transaction[bytes]"
Table = Any
"""A handle of a named table; `lmdb` gives its type no public name."""
T = TypeVar("T")
_FileKey = tuple[int, int]


def open_environment(path: Path, tables: Sequence[str], *, read_only: bool = False) -> Environment:
    """Open the environment in folder `path`, or share it when this process has it open already.

    Creates the folder, the file and the tables unless `read_only`. Each call must be paired with one `close`.
    Raises `CorruptionError` when the file is shorter than its last page or no LMDB file, `LogLocked` when the
    system does not let it be opened.
    """
    with _registry_lock:
        shared = _OPEN.get(_file_key(path) or (0, 0))
        if shared is not None:
            shared.share(tables, read_only=read_only)
            return shared
        for inherited in _INHERITED:
            inherited.drop()
        _INHERITED.clear()
        opened = Environment(path, tables, read_only=read_only)
        key = _file_key(path)
        if key is None:
            opened.drop()
            raise Unavailable(f"{path} was removed while it was opened; try again")
        opened.file_key = key
        _OPEN[key] = opened
        return opened


class Environment:
    """One open LMDB environment and its tables. Thread-safe; it is there to `read` and `write`."""

    def __init__(self, path: Path, tables: Sequence[str], *, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self.file_key: _FileKey = (0, 0)
        self.tables: dict[str, Table] = {}
        """Handles by name; good until the environment is closed."""
        self._data_file = path / DATA_FILE
        self._data_name = str(self._data_file)
        self._pid = os.getpid()
        self._references = 1
        self._gate = Gate()
        self._map_size = LARGEST_MAP
        self._writes = 0
        self._lockless = False
        self._env: lmdb.Environment | None = self._open()
        self._page_size = self._env.stat()["psize"]
        try:
            self.check_size()
            self._open_tables(tables)
        except BaseException:
            self._env.close()
            raise

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Return `work(transaction)` on a snapshot; nothing that needs the transaction may leave `work`.

        Transactions do not nest: `work` calls neither `read` nor `write`.
        """
        swept = False
        while True:
            try:
                return self._read_once(work)
            except lmdb.MapResizedError:
                self._adopt()
            except lmdb.ReadersFullError as error:
                if swept or not self._sweep():
                    raise translated(error, self.path) from error
                swept = True
            except lmdb.Error as error:
                raise translated(error, self.path) from error

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Return `work(transaction)` after its writes are durable; `work` may run again when the file had to
        grow.

        Raises `OutcomeUnknown` when the commit itself failed; after any other `Exception` nothing was
        written.
        """
        if self.read_only:
            raise ReadOnlyLog(f"{self.path} was opened read-only; open it without read_only to write")
        self._writes += 1
        if self._writes % _SWEEP_EVERY == 0:
            self._sweep()
        while True:
            map_size = self._map_size
            try:
                return self._write_once(work)
            except lmdb.MapFullError:
                self._grow(map_size)
            except lmdb.MapResizedError:
                self._adopt()
            except lmdb.Error as error:
                raise translated(error, self.path) from error

    def check_size(self) -> None:
        """Raise `CorruptionError` when the file ends before its last page: touching that would be fatal."""
        # The first two pages tell how many there are, so their own presence is looked at first.
        size, last = os.stat(self._data_name).st_size, 1
        if size >= 2 * self._page_size:
            last = self._info("last_pgno")
            if size < (last + 1) * self._page_size:
                # Another commit may have made the file longer in between.
                size = os.stat(self._data_name).st_size
        if size < (last + 1) * self._page_size:
            raise CorruptionError(f"{self._data_file} has been cut to {size:,} bytes; restore it from a backup")

    def last_transaction(self) -> int:
        """Return the id of the last transaction of any process, which readers may not see quite yet."""
        return self._info("last_txnid")

    def _info(self, what: Literal["last_pgno", "last_txnid"]) -> int:
        # Inside the gate: somebody may be opening the file anew, to write.
        self._not_forked()  # a child must not wait at its parent's gate
        thread = threading.get_ident()
        try:
            self._gate.enter(thread)
            return self._environment().info()[what]
        finally:
            self._gate.leave(thread)

    def inspect(self) -> list[str]:
        """Return what is wrong with the two meta pages, which LMDB trusts without a checksum."""
        self._environment()
        first, second = self._meta_transactions()
        for _ in range(_META_TRIES):
            # They are written in turn, so they are neighbours; while somebody commits, look again.
            if abs(first - second) == 1 or first == second == 0:
                return []
            time.sleep(_META_PAUSE_SECONDS)
            first, second = self._meta_transactions()
        return [f"{self._data_file} has meta pages of transactions {first} and {second}, which cannot be"]

    def _meta_transactions(self) -> tuple[int, int]:
        with self._data_file.open("rb") as file:
            pages = file.read(self._page_size + _META_TRANSACTION.size + _META_TRANSACTION_AT)
        return (
            _META_TRANSACTION.unpack_from(pages, _META_TRANSACTION_AT)[0],
            _META_TRANSACTION.unpack_from(pages, self._page_size + _META_TRANSACTION_AT)[0],
        )

    def share(self, tables: Sequence[str], *, read_only: bool) -> None:
        """Count one more user, who may need more tables or the right to write."""
        self._environment()
        if self.read_only and not read_only:
            self._gate.alone(lambda: self._open_to_write({*self.tables, *tables}))
        else:
            self.need(tables)
        self._references += 1

    def need(self, tables: Sequence[str]) -> None:
        """Open tables, making those that are not there; raises `CorruptionError` when they may not be made."""
        if not set(tables) <= set(self.tables):
            self._gate.alone(lambda: self._open_tables(tables))

    def close(self) -> None:
        """Give up one share; the last one closes the file."""
        with _registry_lock:
            if self._env is None or self._pid != os.getpid():
                return
            self._references -= 1
            if self._references == 0:
                _OPEN.pop(self.file_key, None)
                self._gate.alone(self._close)

    def _close(self) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None

    def drop(self) -> None:
        """Let go of an environment inherited through `fork`, without touching the parent's locks."""
        if self._env is not None:
            self._env.close()

    def _not_forked(self) -> None:
        if self._pid != os.getpid():
            raise ForkedError("the process forked after the log was opened; open the log again in the child")

    def _environment(self) -> lmdb.Environment:
        """Return the open environment. Look inside the gate: outside it may be closed for a moment, to open anew."""
        self._not_forked()
        if self._env is None:
            raise LogClosed("the log is closed; open it again")
        return self._env

    def _read_once(self, work: Callable[[Transaction], T]) -> T:
        self._not_forked()  # a child must not wait at its parent's gate
        thread = threading.get_ident()
        try:
            self._gate.enter(thread)
            env = self._environment()
            if self._lockless:
                self._demand_nobody_writes()
            with env.begin() as transaction:
                return work(transaction)
        finally:
            self._gate.leave(thread)

    def _write_once(self, work: Callable[[Transaction], T]) -> T:
        self._not_forked()
        committing, thread = False, threading.get_ident()
        try:
            self._gate.enter(thread)
            with self._environment().begin(write=True) as transaction:
                result = work(transaction)
                committing = True
            return result
        except (lmdb.MapFullError, lmdb.MapResizedError):
            raise
        except lmdb.Error as error:
            if committing:
                raise OutcomeUnknown(f"the commit to {self.path} failed: {error}") from error
            raise
        finally:
            self._gate.leave(thread)

    def _demand_nobody_writes(self) -> None:
        if opened_elsewhere(self.path):
            raise LogLocked(
                f"{self.path} lies on a read-only file system, and another process has it open where it can be "
                "written: read it there, or a copy of it, or wait until it is closed"
            )

    def _open(self) -> lmdb.Environment:
        if not self.read_only:
            _make_folder(self.path)
        try:
            reserve_lock_file(self.path, _MAX_READERS)
        except OSError as error:
            raise Unavailable(f"{self.path} cannot be opened: {error}; make room and open it again") from error
        env = self._open_largest()
        # Looked for before anything is read: a killed reader keeps its slot until somebody looks.
        env.reader_check()
        self._map_size = env.info()["map_size"]
        self._lockless = env.readers() == _NO_LOCKS
        if self._lockless:
            try:
                self._demand_nobody_writes()
            except BaseException:
                env.close()
                raise
        return env

    def _open_largest(self) -> lmdb.Environment:
        refused = False
        begins = not self._data_file.exists() or not self._data_file.stat().st_size
        while True:
            try:
                env = self._open_with(self._map_size)
            except lmdb.MemoryError as error:
                if self._map_size <= SMALLEST_MAP:
                    raise self._refused(error) from error
                refused = True
            except lmdb.Error as error:
                if begins:
                    self._forget_half_a_beginning()
                raise translated(error, self.path) from error
            else:
                if not refused or self._map_size <= SMALLEST_MAP:
                    return env
                # Where room is scarce, half of what there is: others need some, keys/ and views/ among them.
                env.close()
                refused = False
            self._map_size //= 2

    def _forget_half_a_beginning(self) -> None:
        """Empty a file that was to be made and found no room for its first two pages: it would pass for a cut one."""
        if self._data_file.exists() and self._data_file.stat().st_size < 2 * mmap.PAGESIZE:
            os.truncate(self._data_file, 0)

    def _open_with(self, map_size: int) -> lmdb.Environment:
        return lmdb.open(
            str(self.path),
            map_size=map_size,
            max_dbs=_MAX_TABLES,
            max_readers=_MAX_READERS,
            readonly=self.read_only,
            create=not self.read_only,
            lib_version=0,
        )

    def _refused(self, error: lmdb.Error) -> LithographError:
        """Return what to raise when the system refuses even the smallest map."""
        try:
            mmap.mmap(-1, SMALLEST_MAP).close()
        except (OSError, ValueError):
            return translated(error, self.path)
        # It would give that much: it is the file that asks for more, with a number of pages that it never had.
        return CorruptionError(f"{self._data_file} says that it has more pages than there can be; restore a backup")

    def _open_to_write(self, tables: Collection[str]) -> None:
        """Open the file anew; when it cannot be written, those who read it go on reading."""
        known = tuple(self.tables)
        self._environment().close()
        self._env, self.read_only = None, False
        self.tables.clear()
        try:
            self._env = self._open()
            self._open_tables(tables)
        except BaseException:
            if self._env is not None:
                self._env.close()
            self._env, self.read_only = None, True
            self.tables.clear()
            self._env = self._open()
            self._open_tables(known)
            raise

    def _open_tables(self, tables: Collection[str]) -> None:
        env = self._environment()
        try:
            missing = [name for name in tables if not self._open_table(name)]
            if missing and self.read_only:
                raise CorruptionError(f"{self.path} lacks the table {missing[0]!r}; restore it from a backup")
            if missing:
                self._create_tables(env, missing)
        except lmdb.Error as error:
            raise translated(error, self.path) from error

    def _create_tables(self, env: lmdb.Environment, names: Sequence[str]) -> None:
        with env.begin(write=True) as transaction:
            for name in names:
                self.tables[name] = env.open_db(name.encode(), txn=transaction)

    def _open_table(self, name: str) -> bool:
        """Open an existing table; return whether it exists."""
        if name not in self.tables:
            try:
                # In an environment that may be written this waits for whoever writes just now: a handle that was made
                # in a transaction that only reads is not kept.
                self.tables[name] = self._environment().open_db(name.encode(), create=False)
            except lmdb.NotFoundError:
                return False
        return True

    def _sweep(self) -> int:
        """Give back the slots of killed readers, and the pages that they kept; return how many there were."""
        thread = threading.get_ident()
        try:
            self._gate.enter(thread)
            return self._environment().reader_check()
        finally:
            self._gate.leave(thread)

    def _grow(self, seen: int) -> None:
        """Make room: pages that killed readers kept, else double the map, unless another thread did since `seen`."""
        if not self._sweep():
            self._gate.alone(lambda: self._double(seen))

    def _double(self, seen: int) -> None:
        if self._map_size != seen:
            return
        try:
            self._environment().set_mapsize(seen * 2)
        except lmdb.Error as error:
            raise Unavailable(f"{self.path} is full at {seen:,} bytes and cannot grow: {error}") from error
        self._map_size = seen * 2

    def _adopt(self) -> None:
        """Take over the size that another process gave the map."""
        self._gate.alone(self._take_over)

    def _take_over(self) -> None:
        self._environment().set_mapsize(0)
        self._map_size = self._environment().info()["map_size"]


def translated(error: lmdb.Error, path: Path) -> LithographError:
    """Return our error for one of LMDB's."""
    if isinstance(error, _DAMAGE):
        return CorruptionError(f"{path} is damaged ({error}); restore it from a backup")
    if os.strerror(errno.EROFS) in str(error):
        return LogLocked(f"{path} lies on a read-only file system; open the log with read_only=True to read it")
    if isinstance(error, lmdb.ReadonlyError | lmdb.LockError) or os.strerror(errno.EACCES) in str(error):
        return LogLocked(
            f"{path} cannot be opened: {error}; check its permissions, and that {LOCK_FILE} may be written: "
            "readers leave their sign there"
        )
    return Unavailable(f"{path} cannot be used now: {error}")


_DAMAGE = (
    lmdb.CorruptedError,
    lmdb.PageNotFoundError,
    lmdb.InvalidError,
    lmdb.VersionMismatchError,
    lmdb.CursorFullError,
    lmdb.IncompatibleError,
    lmdb.BadTxnError,
    lmdb.ProblemError,
)


def _file_key(path: Path) -> _FileKey | None:
    """Return what identifies the file, whatever path leads to it; `None` when there is none yet."""
    try:
        status = os.stat(path / DATA_FILE)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _after_fork() -> None:
    global _registry_lock
    _registry_lock = threading.Lock()
    _INHERITED.extend(_OPEN.values())
    _OPEN.clear()


_OPEN: dict[_FileKey, Environment] = {}
_INHERITED: list[Environment] = []
"""Environments of the parent, to be let go of before the child opens any."""
_registry_lock = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _make_folder(path: Path) -> None:
    """Make a folder, also while somebody else removes it: a folder of views may go at any time."""
    while True:
        try:
            path.mkdir(parents=True, exist_ok=True)
            return
        except FileExistsError:
            if path.exists() and not path.is_dir():
                raise
