"""Which log a saver means: a log, a folder's path, or the SQLite file or connection that it used to be given."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ..eventlog.errors import LogError
from ..eventlog.log import EventLog

if TYPE_CHECKING:
    from sqlite3 import Connection

MEMORY = ":memory:"
_SQLITE_URL = "sqlite:///"
_SQLITE_NAMES = frozenset({".db", ".sqlite", ".sqlite3"})
_SQLITE_MAGIC = b"SQLite format 3\0"
_THEIR_TABLES = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('checkpoints', 'writes')"


class HoldsOtherCheckpoints(LogError, ValueError):
    """The SQLite file that names the log holds LangGraph's checkpoints, which would seem to be lost."""

    code = "LG116"


def open_log(connection: Any) -> EventLog:
    """Return the log that a connection, path or URL names; see `EventLogSaver`."""
    if isinstance(connection, str | os.PathLike):
        return _from_text(os.fspath(connection))  # pyright: ignore[reportUnknownArgumentType]
    if type(connection).__module__.partition(".")[0] == "sqlite3" and hasattr(connection, "execute"):
        return _from_connection(connection)
    raise TypeError(
        "a saver is given an EventLog, a path, a sqlite:/// URL or a sqlite3.Connection, "
        f"not {type(connection).__name__}"
    )


def _from_text(text: str | bytes) -> EventLog:
    name = os.fsdecode(text)
    if name.startswith(_SQLITE_URL):
        name = unquote(name[len(_SQLITE_URL) :].partition("?")[0]) or MEMORY
    elif "://" in name:
        raise ValueError(
            f"{name.partition('://')[0]!r} is a server's URL, but a log is a folder: pass a path such as "
            "'checkpoints.lithograph'"
        )
    if name == MEMORY:
        return EventLog.in_memory()
    path = Path(name)
    if path.suffix in _SQLITE_NAMES or path.is_file():
        return _beside(path)
    return EventLog(path)


def _from_connection(connection: Connection) -> EventLog:
    files = {row[1]: row[2] for row in connection.execute("PRAGMA database_list")}
    if connection.execute(_THEIR_TABLES).fetchone()[0]:
        raise _holds_others(files.get("main") or MEMORY)
    file = files.get("main")
    return _beside(Path(file)) if file else EventLog.in_memory()


def _beside(file: Path) -> EventLog:
    """Return the log whose folder lies beside a SQLite file: `checkpoint.db` → `checkpoint.db.lithograph`."""
    if file.is_file() and _is_sqlite(file):
        import sqlite3
        from contextlib import closing

        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            if connection.execute(_THEIR_TABLES).fetchone()[0]:
                raise _holds_others(str(file))
    return EventLog(file.with_name(file.name + ".lithograph"))


def _is_sqlite(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC


def _holds_others(file: str) -> HoldsOtherCheckpoints:
    return HoldsOtherCheckpoints(
        f"{file} holds LangGraph's checkpoints, which a new log would not show: bring them over with "
        f"`lithograph import sqlite {file}`, or name another file"
    )
