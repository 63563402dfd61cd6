"""Which log a saver means: a log, a path, or what a SQLite saver was given."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import NotALog
from lithograph.projections import EventLogSaver, HoldsOtherCheckpoints, InMemorySaver

from .conftest import METADATA, checkpoint, place


def test_a_log_that_was_given_stays_open(log: EventLog) -> None:
    """A saver closes only what it opened."""
    with EventLogSaver(log) as saver:
        saver.setup()
        saver.setup()

    assert log.log_head().position == 0


def test_a_path_is_a_folder(tmp_path: Path) -> None:
    """A path opens the log there, as a value, a string and a context manager; it is closed with the saver."""
    path = tmp_path / "checkpoints.lithograph"
    with EventLogSaver.from_conn_string(str(path)) as saver:
        saver.put(place(), checkpoint({"a": 1}, {"a": 1}), METADATA, {"a": 1})
    with pytest.raises(ValueError, match="clos"):
        saver.get(place())

    again = EventLogSaver(path)
    assert again.get(place()) is not None
    again.close()


def test_sqlite_names_mean_the_folder_beside(tmp_path: Path) -> None:
    """`checkpoint.db`, its URL and a connection to it mean the same log: the folder beside it."""
    file = tmp_path / "checkpoint.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE mine (x)")
    made = checkpoint({"a": 1}, {"a": 1})
    with EventLogSaver(connection) as saver:
        saver.put(place(), made, METADATA, {"a": 1})
    connection.close()

    assert (tmp_path / "checkpoint.db.lithograph").is_dir()
    for name in (file, str(file), f"sqlite:///{file}"):
        with EventLogSaver(name) as saver:
            assert saver.get(place()) == made


def test_memory_names_mean_memory() -> None:
    """`:memory:`, its URL and a connection to it give a log that no other saver sees."""
    with sqlite3.connect(":memory:") as connection:
        for name in (":memory:", "sqlite:///:memory:", "sqlite://" + "/", connection):
            saver = EventLogSaver(name)
            assert saver.log.path is None
            saver.put(place(), checkpoint({}, {}), METADATA, {})
            saver.close()
    connection.close()
    assert InMemorySaver().log.path is None


def test_a_file_with_other_checkpoints_is_not_passed_over(tmp_path: Path) -> None:
    """A file that holds LangGraph's tables is refused, naming how to bring them over; no folder appears."""
    file = tmp_path / "old.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE checkpoints (x)")

    for name in (file, connection):
        with pytest.raises(HoldsOtherCheckpoints, match="lithograph import sqlite"):
            EventLogSaver(name)
    connection.close()

    assert [each.name for each in tmp_path.iterdir()] == ["old.db"]


def test_other_connections_are_refused(tmp_path: Path) -> None:
    """A server's URL, another object, a folder of something else: each says what a log is."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="folder"):
        EventLogSaver("postgresql://host/db")
    with pytest.raises(TypeError, match="sqlite3"):
        EventLogSaver(object())
    with pytest.raises(NotALog):
        EventLogSaver(tmp_path)


def test_from_conn_string_gives_the_class_it_is_called_on() -> None:
    """A subclass gives itself."""

    class Mine(EventLogSaver):
        """A saver of somebody's own."""

    assert isinstance(Mine.from_conn_string(":memory:"), Mine)
