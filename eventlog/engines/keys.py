"""`keys/`: the scope keys of a log, in an environment of their own, so that they can be destroyed and kept
apart.

Keys are durable before they are handed out, numbered from 1 without gaps, and each row carries a checksum, so
a changed key is found before it is used. A row says which log they belong to. Read `rows` for the layouts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ..environments import DATA_FILE, Environment, Transaction, open_environment
from ..errors import CorruptionError, OutcomeUnknown, Unavailable
from . import rows
from .tree import take_after

FOLDER = "keys"
TABLES = ("keys", "keymeta")
_pack = rows.NUMBER.pack
_unpack = rows.NUMBER.unpack


def keys_exist(path: Path) -> bool:
    """Return whether the log at `path` has its `keys/`."""
    return (path / FOLDER / DATA_FILE).exists()


class KeyTable:
    """The scope keys of one log. Thread-safe; several processes may draw from it."""

    def __init__(self, path: Path, log_id: bytes, *, read_only: bool, random: Callable[[int], bytes]) -> None:
        self.environment: Environment = open_environment(path / FOLDER, TABLES, read_only=read_only)
        self._path = path / FOLDER
        self._log_id = log_id
        self._random = random
        self._tables = self.environment.tables
        try:
            self._check_owner(read_only=read_only)
        except BaseException:
            self.environment.close()
            raise

    def draw(self, count: int) -> tuple[int, list[bytes]]:
        """Make new keys durable and return the first one's number and the keys.

        Raises `Unavailable` when that fails; should they be there all the same, nobody uses them.
        """
        keys = [self._random(32) for _ in range(count)]
        try:
            return self.environment.write(lambda transaction: self._draw(transaction, keys)), keys
        except OutcomeUnknown as error:
            raise Unavailable(f"no scope keys could be drawn, so nothing was appended: {error}") from error

    def key(self, number: int) -> bytes | None:
        """Return a key, or `None` when it was destroyed or never drawn."""
        row = self.environment.read(lambda transaction: transaction.get(_pack(number), db=self._tables["keys"]))
        return None if row is None else rows.unpack_key(number, row)

    def destroy(self, number: int) -> None:
        """Overwrite a key for ever; its number stays taken."""
        self.environment.write(lambda transaction: self._destroy(transaction, number))

    def rows(self, table: str, after: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """Return rows of a table as stored, with keys greater than `after`."""
        self.environment.check_size()
        return self.environment.read(
            lambda transaction: take_after(transaction.cursor(db=self._tables[table]), after, limit)
        )

    def lookup(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of rows by key."""
        return self.environment.read(lambda transaction: [transaction.get(key, db=self._tables[table]) for key in keys])

    def inspect(self) -> list[str]:
        """Return what is wrong with the file: cut, or not at the transaction that wrote its last row."""
        at, row = self.environment.read(self._last_stamp)
        written = at if row is None else _unpack(row[:8].rjust(8, b"\0"))[0]
        findings = self.environment.inspect()
        if written != at:
            findings.append(f"{FOLDER}/ is at transaction {at}, but its last one was {written}")
        return findings

    def _check_owner(self, *, read_only: bool) -> None:
        row = self.environment.read(self._last_stamp)[1]
        if row is None and not read_only:
            row = self.environment.write(self._stamp)
        if row is None or rows.unseal(rows.LOG_ID, row, f"the owner of {self._path}")[8:] != self._log_id:
            raise CorruptionError(f"{self._path} belongs to another log; restore the right one")

    def _draw(self, transaction: Transaction, keys: Sequence[bytes]) -> int:
        cursor = transaction.cursor(db=self._tables["keys"])
        first = _unpack(cursor.key())[0] + 1 if cursor.last() else 1
        fresh = [(_pack(number), rows.pack_key(number, key)) for number, key in enumerate(keys, first)]
        if cursor.putmulti(fresh, append=True)[1] != len(fresh):
            raise CorruptionError(f"{self._path} is not in order; nothing was drawn; run verify")
        self._stamp(transaction)
        return first

    def _destroy(self, transaction: Transaction, number: int) -> None:
        transaction.put(_pack(number), rows.pack_key(number, None), db=self._tables["keys"])
        self._stamp(transaction)

    def _stamp(self, transaction: Transaction) -> bytes:
        """Write whose keys these are and which transaction this is: a file gone back in time shows."""
        row = rows.seal(rows.LOG_ID, _pack(transaction.id()) + self._log_id)
        transaction.put(rows.LOG_ID, row, db=self._tables["keymeta"])
        return row

    def _last_stamp(self, transaction: Transaction) -> tuple[int, bytes | None]:
        return transaction.id(), transaction.get(rows.LOG_ID, db=self._tables["keymeta"])
