"""Damage on purpose: small logs, bytes flipped in them, and what a child process makes of the result."""

from __future__ import annotations

import faulthandler
import hashlib
import os
import random
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import lmdb
from lithograph.eventlog import ANY, EventLog, StreamName, StreamWrite
from lithograph.eventlog.audit import Finding
from lithograph.eventlog.events import Recorded
from lithograph.eventlog.verify import audit_folder

TABLES = {"log": ("meta", "streams", "events"), "keys": ("keys", "keymeta")}
_PATIENCE_SECONDS = 20


def build(path: Path, *, appends: int = 60) -> None:
    """Make a log with streams long and short, several appends each, a blob, and a destroyed key."""
    with EventLog(path) as log:
        for turn in range(appends):
            name = StreamName("thread", f"s{turn % 7}")
            events = [log.stamp(Recorded("t", b"%d" % turn * 20)) for _ in range(1 + turn % 3)]
            other = StreamWrite(StreamName("thread", "every"), ANY, [log.stamp(Recorded("t", b"x"))])
            log.append([StreamWrite(name, ANY, events), other])
        log.put_blob(StreamName("thread", "s1"), bytes(range(256)) * 700)
        log.engine.destroy_key(50)


def flip_row(path: Path, dice: random.Random) -> str:
    """Flip one byte in a key or a value of a row of any table, through LMDB; return what was flipped."""
    folder = dice.choice(["log", "log", "keys"])
    return flip_row_of(path / folder, dice.choice(TABLES[folder]), dice)


def flip_row_of(folder: Path, table: str, dice: random.Random) -> str:
    """Flip one byte in a key or a value of a row of one table, through LMDB; return what was flipped."""
    with lmdb.open(str(folder), max_dbs=8, map_size=1 << 30, lib_version=0) as env:
        handle = _handle(env, table)
        with env.begin(write=True) as transaction:
            key, value = dice.choice(_rows(transaction, handle))
            part = dice.choice(["key", "value"])
            whole = bytearray(key if part == "key" else value)
            at = dice.randrange(len(whole))
            whole[at] ^= dice.randrange(1, 256)
            transaction.delete(key, db=handle)
            new = (bytes(whole), value) if part == "key" else (key, bytes(whole))
            transaction.put(*new, db=handle)
    return f"{folder.name}/{table} {part} of {key.hex()} byte {at}"


def _handle(env: lmdb.Environment, table: str) -> Any:
    """Return a table's handle; `meta` is the environment's own tree."""
    return None if table == "meta" else env.open_db(table.encode(), create=False)


def _rows(transaction: Any, handle: Any) -> list[tuple[bytes, bytes]]:
    """Return a table's rows; those of the environment's own tree that are tables are none."""
    named = [name.encode() for names in TABLES.values() for name in names] if handle is None else []
    return [row for row in transaction.cursor(db=handle) if row[0] not in named]


def flip_file(path: Path, dice: random.Random) -> str:
    """Flip one byte anywhere in one of the two data files; return where."""
    return flip_file_of(path / dice.choice(["log", "keys"]), dice)


def flip_file_of(folder: Path, dice: random.Random) -> str:
    """Flip one byte anywhere in a folder's data file; return where."""
    data = folder / "data.mdb"
    at = dice.randrange(data.stat().st_size)
    with data.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ dice.randrange(1, 256)]))
    return f"{folder.name} byte {at}"


def ask_for_too_much(folder: Path) -> None:
    """Change the number of the last page, in both meta pages of a folder's data file, to one beyond all memory."""
    with (folder / "data.mdb").open("r+b") as file:
        for page in range(2):
            file.seek(page * 4096 + 136 + 5)
            file.write(b"\x7f")


def copy(path: Path, to: Path) -> Path:
    """Return a fresh copy of a log's data files, without its locks."""
    shutil.rmtree(to, ignore_errors=True)
    for folder in TABLES:
        (to / folder).mkdir(parents=True)
        shutil.copyfile(path / folder / "data.mdb", to / folder / "data.mdb")
    return to


def findings(path: Path) -> list[Finding]:
    """Return what the audit finds, in this process."""
    found: list[Finding] = []
    audit_folder(path, found.append, lambda done, total: None)
    return found


def audited(path: Path) -> str:
    """Return what a child process that audits the log says: `ok`, `found`, or how it died."""
    return in_child(lambda: "found" if findings(path) else "ok")


def dumped(path: Path, tables_of: Mapping[str, Sequence[str]] = TABLES) -> str:
    """Return a digest over every row of every table, as a child process reads them, or how it died."""
    return in_child(lambda: _dump(path, tables_of))


def _dump(path: Path, tables_of: Mapping[str, Sequence[str]]) -> str:
    digest = hashlib.sha256()
    for folder, tables in tables_of.items():
        with lmdb.open(str(path / folder), max_dbs=8, readonly=True, lock=False, lib_version=0) as env:
            handles = [(name, _handle(env, name)) for name in tables]
            with env.begin() as transaction:
                rows = [(name, *row) for name, handle in handles for row in _rows(transaction, handle)]
        digest.update(repr(rows).encode())
    return digest.hexdigest()


def in_child(work: Callable[[], str]) -> str:
    """Return what a child process says at its end, or how it died."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        faulthandler.disable()  # its death is expected, and needs no trace
        signal.alarm(_PATIENCE_SECONDS)
        try:
            answer = work()
        except BaseException as error:  # noqa: BLE001 (the parent is told)
            answer = f"raised {error!r}"
        os.write(writer, answer.encode()[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return answer if code == 0 else f"killed by {signal.Signals(-code).name}"
