"""Views on disk: they say what the log says, only sooner; and nothing is lost with them."""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from weakref import ref

import lmdb
import pytest
from lithograph.eventlog import EventLog, ManualClock, environments
from lithograph.eventlog.derived import TABLES, inspect_rows, open_rows, writers_lock
from lithograph.eventlog.errors import ViewDamaged
from lithograph.eventlog.serde import Serializer
from lithograph.eventlog.serde.format import array_body, array_header, array_length
from lithograph.projections import view_pass, view_writer
from lithograph.projections.checkpointer import EventLogSaver
from lithograph.projections.reader import threads_of
from lithograph.projections.rung_builder import RungBuilder, RungRows
from lithograph.projections.values import LogValues
from lithograph.projections.view_writer import DUE_RECORDS, poke_views, rebuild_views, view_writer_of

from .lives import config_of, each, everything, graph_over, live_a_little, plain, rows_of, talk, without_views


def in_child(code: str, *arguments: str, hash_seed: str = "0") -> str:
    """Return what a fresh process prints."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


REBUILD = """
import sys
from lithograph.eventlog import EventLog
from lithograph.projections.view_writer import rebuild_views
with EventLog(sys.argv[1]) as log:
    print(rebuild_views(log))
"""


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with some life in it, whose views were written in many passes."""
    path = tmp_path_factory.mktemp("lived") / "log"
    with EventLog(path) as log:
        for seed in range(4):
            live_a_little(log, 10, seed=seed)
            assert view_writer_of(log).catch_up(all=True)
    return path


@pytest.fixture
def copy(lived: Path, tmp_path: Path) -> Path:
    """A copy of that log, with its views."""
    path = without_views(lived, tmp_path / "copy")
    (path / "views").mkdir()
    shutil.copyfile(lived / "views" / "data.mdb", path / "views" / "data.mdb")
    return path


def check_rebuild(path: Path, at: Path) -> None:
    """Compare views with those that another process, with other hashes, makes of the same log at once."""
    other = without_views(path, at)
    assert in_child(REBUILD, str(other), hash_seed="4711") == "True"
    mine, theirs = rows_of(path), rows_of(other)
    assert len(mine["rungs"]) > 4
    for table in TABLES:
        assert mine[table] == theirs[table], table


def test_views_made_again_are_the_same(lived: Path, tmp_path: Path) -> None:
    """Law L1: views rebuilt at once by another process hold the rows that many passes wrote."""
    check_rebuild(lived, tmp_path / "again")


def test_reading_with_views_is_reading_without(lived: Path, tmp_path: Path) -> None:
    """Every snapshot, history and list of threads is the same with views and without."""
    with EventLog(lived, read_only=True) as log, EventLog(without_views(lived, tmp_path / "bare")) as bare:
        assert threads_of(log).views.rows(log) is not None
        seen = everything(log)
        assert seen == everything(bare)
        assert threads_of(log).views.rows(log) is not None, "reading found something wrong with them"
    assert not (tmp_path / "bare" / "views").exists(), "a read wrote a view"


def test_a_checkpoint_is_found_by_its_id(lived: Path, tmp_path: Path) -> None:
    """A cold reader finds any checkpoint by id, and what it finds is what a fold finds."""
    with EventLog(lived) as log, EventLog(without_views(lived, tmp_path / "bare")) as bare:
        ids = [s.config for s in graph_over(log).get_state_history(config_of("one"))]
        for config in ids[:: len(ids) // 9]:
            threads_of(log).__init__()
            found, expected = graph_over(log).get_state(config), graph_over(bare).get_state(config)
            assert plain(found) == plain(expected)


def test_a_rung_is_where_a_cold_reader_begins(tmp_path: Path) -> None:
    """A cold read of a long thread reads the records since the last rung, and not the thread."""
    with EventLog(tmp_path / "log") as log:
        talk(graph_over(log), "one", 60)
    with EventLog(tmp_path / "log") as log:
        reads: list[int] = []
        scan = log.engine.read_stream
        log.engine.read_stream = lambda *asked: reads.append(len(scan(*asked).records)) or scan(*asked)
        values = graph_over(log).get_state(config_of("one")).values
        assert len(values["messages"]) == 120
        assert sum(reads) < log.log_head().position / 2


@pytest.mark.parametrize("table", ["threads", "ids", "rungs", "chunks"])
def test_a_flipped_byte_is_never_returned(copy: Path, lived: Path, table: str) -> None:
    """A flipped byte in any row of a view is found, reads give what the log says, and the view is made anew."""
    with EventLog(lived, read_only=True) as log:
        expected = everything(log)
    dice = random.Random(table)
    for _ in range(4):
        flip(copy, table, dice)
    assert list(inspect_rows(copy)), "the damage is a finding"
    with EventLog(copy) as log:
        assert [finding for finding in log.verify().findings if "view" in finding.what]
        assert everything(log) == expected
        assert rebuild_views(log)
        assert log.verify().ok
        assert everything(log) == expected
    assert rows_of(copy) == rows_of(lived)


def test_views_with_a_damaged_stamp_are_made_anew(copy: Path, lived: Path) -> None:
    """When the row is damaged that says how far the views go, the next pass makes them anew; nobody needs to ask."""
    flip(copy, "stamp", random.Random(5))
    with EventLog(copy) as log:
        assert view_writer_of(log).catch_up(all=True)
        assert log.verify().ok
    assert rows_of(copy) == rows_of(lived)


def flip(path: Path, table: str, dice: random.Random) -> None:
    """Flip a byte of a row's value."""
    with lmdb.open(str(path / "views"), max_dbs=16) as environment:
        handle = environment.open_db(table.encode(), create=False)
        with environment.begin(write=True) as transaction:
            key, value = dice.choice(list(transaction.cursor(db=handle)))
            changed = bytearray(value)
            changed[dice.randrange(len(changed))] ^= dice.randrange(1, 256)
            transaction.put(key, bytes(changed), db=handle)


def test_a_value_that_the_log_does_not_vouch_for_is_not_returned(copy: Path, lived: Path) -> None:
    """A chunk that was exchanged, checksum and all, does not have the digest that its commit recorded."""
    rows = open_rows(copy, read_only=False)
    assert rows is not None
    stamp = rows.stamp()
    assert stamp is not None
    chunks = rows.range("chunks", b"", b"\xff" * 40)
    rows.write({"chunks": {key: data[:-1] + bytes([data[-1] ^ 1]) for key, data in chunks}}, stamp)
    rows.rest()
    assert not list(inspect_rows(copy)), "the checksums are right"
    with EventLog(lived, read_only=True) as log, EventLog(copy) as changed:
        assert everything(changed) == everything(log)
        assert threads_of(changed).views.distrusted
        talk(graph_over(changed), "one", 1)
        assert view_writer_of(changed).catch_up(), "the next pass makes them anew"
        assert not threads_of(changed).views.distrusted


@pytest.mark.parametrize("text", [b"row 1", b"mark 1", b"kind 1"])
def test_a_value_in_a_rung_is_what_its_commit_recorded(copy: Path, lived: Path, text: bytes) -> None:
    """A value within a rung's own row that was exchanged, checksum and all, is not returned."""
    rows = open_rows(copy, read_only=False)
    assert rows is not None
    stamp = rows.stamp()
    assert stamp is not None
    held = {key: data for key, data in rows.range("rungs", b"", b"\xff" * 40) if text in data}
    assert held
    rows.write({"rungs": {key: data.replace(text, text[:-1] + b"9") for key, data in held.items()}}, stamp)
    rows.rest()
    with EventLog(lived, read_only=True) as log, EventLog(copy) as changed:
        assert everything(changed) == everything(log)
        assert threads_of(changed).views.distrusted


def _renamed(chunks: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Return chunks of lists that say that they are maps."""
    return {key: bytes([data[0] ^ 0x10]) + data[1:] for key, data in chunks.items() if data[0] & 0xF0 == 0x90}


def _shifted(chunks: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Return neighbours of which one says that it has an element more, and the next one that it has one less."""
    changed: dict[bytes, bytes] = {}
    for key in chunks:
        after = key[:-4] + (int.from_bytes(key[-4:], "big") + 1).to_bytes(4, "big")
        if after in chunks and key not in changed:
            for place, more in ((key, 1), (after, -1)):
                whole = chunks[place]
                changed[place] = array_header(array_length(whole) + more) + bytes(array_body(whole))
    return changed


@pytest.mark.parametrize("change", [_renamed, _shifted])
def test_headers_of_chunks_are_not_believed(
    tmp_path: Path, change: Callable[[dict[bytes, bytes]], dict[bytes, bytes]]
) -> None:
    """No digest covers what a chunk says of itself, its kind and its length: when they were changed, checksum and all,
    readers notice it before they decode anything."""
    path = tmp_path / "log"
    with EventLog(path) as log:
        # Few long lines, so that there is a chunk for every few elements; then short ones.
        for length in (20_000, 40):
            _talk_of(log, length, 30)
        assert view_writer_of(log).catch_up(all=True)
    with EventLog(without_views(path, tmp_path / "bare")) as log:
        expected = everything(log)
    rows = open_rows(path, read_only=False)
    assert rows is not None
    stamp = rows.stamp()
    assert stamp is not None
    changed = change({key: data for key, data in rows.range("chunks", b"", b"\xff" * 40) if key[-4:] != bytes(4)})
    assert changed
    rows.write({"chunks": changed}, stamp)
    rows.rest()
    with EventLog(path) as log:
        assert everything(log) == expected
        assert threads_of(log).views.distrusted


def _talk_of(log: EventLog, length: int, turns: int) -> None:
    graph = graph_over(log)
    for turn in range(turns):
        graph.invoke({"lines": [f"{turn} ".ljust(length, ".")]}, config_of("one"))


def test_views_of_another_log_are_not_used(copy: Path, tmp_path: Path) -> None:
    """Views that were copied beside another log say nothing about it, and are replaced."""
    other = tmp_path / "other"
    with EventLog(other) as log:
        talk(graph_over(log), "one", 20)
        expected = everything(log)
    shutil.rmtree(other / "views")
    shutil.copytree(copy / "views", other / "views")
    with EventLog(other) as log:
        assert threads_of(log).views.rows(log) is None
        assert everything(log) == expected
        assert view_writer_of(log).catch_up(all=True)
        assert everything(log) == expected
        assert threads_of(log).views.rows(log) is not None


def test_views_that_are_ahead_of_the_log_are_not_used(tmp_path: Path) -> None:
    """A log that was set back to an earlier state does not believe views from its future."""
    path = tmp_path / "log"
    with EventLog(path) as log:
        talk(graph_over(log), "one", 20)
    early = without_views(path, tmp_path / "early")
    with EventLog(path) as log:
        talk(graph_over(log), "one", 40)
    shutil.copytree(path / "views", early / "views")
    with EventLog(early) as log:
        assert threads_of(log).views.rows(log) is None
        assert len(graph_over(log).get_state(config_of("one")).values["lines"]) == 20


def test_the_views_file_may_be_anything(copy: Path, lived: Path) -> None:
    """Views that are no database, or cut short, cost time and nothing else, and are replaced."""
    with EventLog(lived, read_only=True) as log:
        expected = everything(log)
    data = copy / "views" / "data.mdb"
    for content in (b"", b"nonsense" * 2000, data.read_bytes()[:20_000]):
        (copy / "views" / "lock.mdb").unlink(missing_ok=True)
        data.write_bytes(content)
        with EventLog(copy) as log:
            assert everything(log) == expected
            assert view_writer_of(log).catch_up(all=True)
        assert rows_of(copy) == rows_of(lived)


def test_a_read_only_log_reads_views_and_writes_none(lived: Path, tmp_path: Path) -> None:
    """A log opened read-only uses the views that are there, and makes none."""
    bare = without_views(lived, tmp_path / "bare")
    with EventLog(bare, read_only=True) as log, EventLog(lived, read_only=True) as with_views:
        poke_views(log)
        assert not rebuild_views(log)
        assert everything(log) == everything(with_views)
    assert not (bare / "views").exists()


def test_one_process_writes(tmp_path: Path) -> None:
    """Who does not get the lock leaves the views to who holds it, at once."""
    path = tmp_path / "log"
    with EventLog(path) as log:
        talk(graph_over(log), "one", 40)
        # Nothing is due after this, so that the log's own thread leaves the lock alone.
        assert view_writer_of(log).catch_up(all=True)
        with writers_lock(path) as held:
            assert held
            assert not view_writer_of(log).catch_up(all=True)
            assert in_child(REBUILD, str(path)) == "False"
        assert view_writer_of(log).catch_up(all=True)


TALK = """
import sys
sys.path.insert(0, sys.argv[2])
import lives
from lithograph.projections.view_writer import view_writer_of
with lives.EventLog(sys.argv[1]) as log:
    for _ in range(4):
        lives.talk(lives.graph_over(log), sys.argv[3], 8)
        view_writer_of(log).catch_up(all=True)
"""


def test_two_processes_leave_one_truth(tmp_path: Path) -> None:
    """Two processes that append and write views by turns leave the rows that one would have."""
    path = tmp_path / "log"
    with EventLog(path):
        commands = [[sys.executable, "-c", TALK, str(path), str(Path(__file__).parent), name] for name in ("a", "b")]
        running = [subprocess.Popen(command) for command in commands]
        assert [process.wait(60) for process in running] == [0, 0]
    with EventLog(path) as log:
        assert view_writer_of(log).catch_up(all=True)
        assert [len(graph_over(log).get_state(config_of(t)).values["lines"]) for t in ("a", "b")] == [32, 32]
    other = without_views(path, tmp_path / "again")
    assert in_child(REBUILD, str(other)) == "True"
    assert rows_of(path) == rows_of(other)


KILLED = TALK.replace(".catch_up(all=True)", '.catch_up(all=True); print("seen", flush=True)')


@pytest.mark.crash
def test_a_kill_leaves_older_views(tmp_path: Path) -> None:
    """A process that is killed between an append and its views leaves a log that reads right."""
    path = tmp_path / "log"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), str(Path(__file__).parent), "a"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for _ in range(2):
            process.stdout.readline()
        process.kill()
    with EventLog(path) as log:
        lines = graph_over(log).get_state(config_of("a")).values["lines"]
        assert len(lines) >= 16
        assert view_writer_of(log).catch_up(all=True)
    check = without_views(path, tmp_path / "again")
    assert in_child(REBUILD, str(check)) == "True"
    assert rows_of(path) == rows_of(check)


def test_views_come_without_being_asked_for(tmp_path: Path) -> None:
    """A log that was written to has views when it is closed; one with little in it has none."""
    with EventLog(tmp_path / "long") as log:
        talk(graph_over(log), "one", DUE_RECORDS)
    assert rows_of(tmp_path / "long")["rungs"]
    with EventLog(tmp_path / "short") as log:
        talk(graph_over(log), "one", 2)
    assert not (tmp_path / "short" / "views").exists()


def test_a_log_that_is_let_go_takes_its_writer_with_it(tmp_path: Path) -> None:
    """A log that nobody closed and nobody holds leaves no thread that looks after its views for ever."""
    log = EventLog(tmp_path / "log")
    engine = log.engine
    writer = view_writer_of(log)
    poke_views(log)
    thread = writer._thread
    assert thread is not None
    del log
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()
    engine.close()


def test_a_log_that_nobody_closed_is_let_go(tmp_path: Path) -> None:
    """What a pass keeps in memory does not keep the log: one that nobody holds any more goes, closed or not."""
    log = EventLog(tmp_path / "log")
    talk(graph_over(log), "one", 60)
    writer, engine, alive = view_writer_of(log), log.engine, ref(log)
    assert writer.catch_up(all=True)
    poke_views(log)
    thread = writer._thread
    assert thread is not None
    del log
    gc.collect()
    thread.join(10)
    gc.collect()
    assert alive() is None
    engine.close()
    assert not [path for path in map(str, _open_environments()) if str(tmp_path) in path]


def _open_environments() -> list[Path]:
    return [environment.path for environment in environments._OPEN.values()]


def remove_under(path: Path) -> None:
    """Remove the folder `views/` of a log that is open."""
    assert (path / "views").exists()
    shutil.rmtree(path / "views")


def test_views_may_be_removed_at_any_time(lived: Path, tmp_path: Path) -> None:
    """Reads and runs of a log whose folder `views/` is removed under it go on, and other views are made."""
    path = tmp_path / "log"
    shutil.copytree(lived, path)
    with EventLog(path) as log, EventLog(path, read_only=True) as reader:
        graph = graph_over(log)
        ids = [snapshot.config for snapshot in graph.get_state_history(config_of("one"))][::20]
        states = [plain(graph.get_state(config)) for config in ids]
        talk(graph, "other", 8)
        assert view_writer_of(log).catch_up(all=True)
        expected = everything(log)
        second = EventLog(path)
        assert view_writer_of(second).rebuild()
        assert threads_of(reader).views.rows(reader) is not None
        remove_under(path)
        assert everything(reader) == expected
        assert [plain(graph.get_state(config)) for config in ids] == states
        talk(graph, "other", 1)
        assert view_writer_of(log).catch_up(), "views that are not there are due"
        assert not inspect_rows(path)
        assert threads_of(reader).views.rows(reader) is not None, "a reader finds the new ones"
        talk(graph_over(second), "other", 1)
        assert view_writer_of(second).catch_up(all=True), "so does another writer of this process"
        second.close()
        remove_under(path)
        talk(graph, "other", DUE_RECORDS)
    assert rows_of(path)["rungs"]
    other = without_views(path, tmp_path / "again")
    assert in_child(REBUILD, str(other)) == "True"
    assert rows_of(path) == rows_of(other)


def test_a_writer_does_not_write_into_a_file_that_is_gone(tmp_path: Path) -> None:
    """Views that vanish between the pages of one pass are made anew, and not written on where nobody finds them."""
    path = tmp_path / "log"
    with EventLog(path) as log:
        talk(graph_over(log), "one", 30)
        writer = view_writer_of(log)
        assert writer.catch_up(all=True)
        rows = writer._rows
        assert rows is not None
        stamp = rows.stamp()
        assert stamp is not None
        remove_under(path)
        with pytest.raises(ViewDamaged, match="removed"):
            rows.write({}, stamp)
        talk(graph_over(log), "one", 1)
        assert writer.catch_up(all=True)
        assert not inspect_rows(path)
    assert rows_of(path)["threads"]


REMOVED = """
import sys, time
sys.path.insert(0, sys.argv[2])
import lives
from lithograph.projections.view_writer import view_writer_of
with lives.EventLog(sys.argv[1]) as log:
    ends = time.monotonic() + 3
    while time.monotonic() < ends:
        lives.talk(lives.graph_over(log), sys.argv[3], 1)
        view_writer_of(log).catch_up(all=True)
        lives.everything(log)
"""


def test_views_may_be_removed_under_many_processes(tmp_path: Path) -> None:
    """While processes append, read and write views, the folder is removed over and over: what they read is right."""
    path = tmp_path / "log"
    with EventLog(path) as log:
        talk(graph_over(log), "one", 20)
    command = [sys.executable, "-c", REMOVED, str(path), str(Path(__file__).parent)]
    running = [subprocess.Popen([*command, name]) for name in ("a", "b")]
    while any(process.poll() is None for process in running):
        shutil.rmtree(path / "views", ignore_errors=True)
        time.sleep(0.1)
    assert [process.returncode for process in running] == [0, 0]
    with EventLog(path) as log:
        assert view_writer_of(log).catch_up(all=True)
        assert log.verify().ok
        seen = everything(log)
    with EventLog(without_views(path, tmp_path / "bare"), read_only=True) as log:
        assert everything(log) == seen


def test_closing_does_not_wait_for_a_long_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass in the background that would take long ends soon after the log is closed, wherever it is."""
    made: list[int] = []

    def slow(*_asked: object) -> RungRows:
        made.append(len(made))
        time.sleep(0.05)
        return RungRows({}, {})

    monkeypatch.setattr(view_writer, "CLOSE_SECONDS", 0.2)
    monkeypatch.setattr(RungBuilder, "build", slow)
    monkeypatch.setattr(view_pass, "RUNG_COMMITS", 1)
    log = EventLog(tmp_path / "log")
    talk(graph_over(log), "one", 60)
    while not made:
        time.sleep(0.01)
    begun = time.monotonic()
    log.close()
    assert time.monotonic() - begun < 3
    assert len(made) < 120


@pytest.mark.parametrize("writes", [False, True])
def test_a_closed_log_is_let_go(copy: Path, writes: bool) -> None:
    """What is kept in memory of a log's threads, values that nobody looked at too, does not keep the log."""
    log = EventLog(copy, read_only=not writes)
    assert graph_over(log).get_state(config_of("one")).values
    assert len(list(EventLogSaver(log).list(None, limit=5))) == 5
    assert rebuild_views(log) == writes
    log.close()
    alive = ref(log)
    del log
    gc.collect()
    assert alive() is None


def test_a_destroyed_key_leaves_rungs_unused(tmp_path: Path) -> None:
    """Without the key of its digests nothing in a rung can be checked, so it is not used."""
    with EventLog(tmp_path / "log", clock=ManualClock()) as log:
        graph = graph_over(log)
        talk(graph, "one", 40)
        assert view_writer_of(log).catch_up(all=True)
        stream = next(stream for stream, _ in log.streams() if log.stream_name(stream).kind == "thread")
        scope = log.head(stream).scope
    with EventLog(tmp_path / "log") as log:
        log.engine.destroy_key(scope)
        assert graph_over(log).get_state(config_of("one")).metadata["step"] == 40 * 4 - 2
        assert threads_of(log).views.rungs(log, stream, LogValues(log, None, Serializer())).versions
        assert not threads_of(log).views.distrusted


def test_a_rung_costs_what_is_new(tmp_path: Path) -> None:
    """The bytes of all views grow with the thread, and not with its square."""
    sizes: dict[int, int] = {}
    for turns in (100, 200):
        path = tmp_path / f"{turns}"
        with EventLog(path) as log:
            talk(graph_over(log), "one", turns)
            view_writer_of(log).catch_up(all=True)
        rows = rows_of(path)
        sizes[turns] = sum(len(data) for table in ("rungs", "chunks") for _, data in rows[table])
    assert sizes[200] <= 2.2 * sizes[100], json.dumps(sizes)


def test_a_forked_child_closes_at_once(tmp_path: Path) -> None:
    """A child that closes its parent's log does not wait for the parent's thread, and writes no views."""
    with EventLog(tmp_path / "log") as log:
        talk(graph_over(log), "one", 20)
        writer = view_writer_of(log)
        with writer._passing:
            child = os.fork()
            if child == 0:
                writer.finish()
                threads_of(log).views.close()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        assert writer.catch_up(all=True)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(12))
def test_views_of_longer_lives(tmp_path: Path, seed: int, record_property: Callable[[str, object], None]) -> None:
    """Law L1 and equal reads, over longer lives with passes at random moments."""
    path = tmp_path / "log"
    dice = random.Random(seed)
    for life in range(4):
        with EventLog(path) as log:
            for part in range(dice.randrange(1, 6)):
                live_a_little(log, dice.randrange(1, 40), seed=seed * 1000 + life * 10 + part)
                if dice.random() < 0.6:
                    view_writer_of(log).catch_up(all=True)
            assert view_writer_of(log).catch_up(all=True)
    check_rebuild(path, tmp_path / "again")
    with EventLog(path) as log, EventLog(without_views(path, tmp_path / "bare")) as bare:
        # One by one: all snapshots of a long life, each with all its messages, would take gigabytes.
        count = 0
        for with_views, without in zip(each(log), each(bare), strict=True):
            assert with_views == without
            count += 1
        assert threads_of(log).views.rows(log) is not None, "reading found something wrong with them"
    record_property("snapshots compared", count)
