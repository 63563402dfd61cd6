"""Damage to views: `verify` finds it, no reader believes it, and the next writer makes the views anew."""

from __future__ import annotations

import os
import random
import shutil
import struct
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lmdb
import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.derived import _STAMP, LAYOUT, TABLES, Stamp, _seal, inspect_rows, open_rows
from lithograph.eventlog.errors import ViewDamaged
from lithograph.eventlog.pages import PageFile
from lithograph.projections.checkpointer import EventLogSaver
from lithograph.projections.reader import threads_of
from lithograph.projections.view_writer import rebuild_views, view_writer_of
from lithograph.store import EventLogStore

from tests.eventlog.flips import ask_for_too_much, audited, dumped, flip_file_of, flip_row_of, in_child

from .lives import config_of, everything, graph_over, live_a_little, plain, rows_of, talk, without_views

SEED = int(os.environ.get("LITHOGRAPH_SEED", "2024"))
ITEMS = {(("notes", f"of {number % 3}"), f"item {number}"): {"text": f"note {number} " * 9} for number in range(24)}
_BRANCH = 1
"""What LMDB marks a page with that names other pages."""
DUMPED = {"views": TABLES}
Config = dict[str, Any]


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of threads with forks, branches, long lists and large values, and items between; with its views."""
    path = tmp_path_factory.mktemp("lived") / "log"
    with EventLog(path) as log:
        store = EventLogStore(log)
        for seed in range(4):
            live_a_little(log, 8, seed=seed)
            for (namespace, key), value in list(ITEMS.items())[seed::4]:
                store.put(namespace, key, value)
            assert view_writer_of(log).catch_up(all=True)
    rows = rows_of(path)
    assert min(len(rows["rungs"]), len(rows["chunks"])) > 4
    assert len(rows["threads"]) > 2
    return path


@pytest.fixture(scope="module")
def configs(lived: Path) -> list[Config]:
    """The configs of all checkpoints of all threads, those that forks inherit too."""
    with EventLog(lived, read_only=True) as log:
        names = [info["configurable"]["thread_id"] for info in _listed(log)]
        graph = graph_over(log)
        return [
            snapshot.config for name in dict.fromkeys(names) for snapshot in graph.get_state_history(config_of(name))
        ]


@pytest.fixture(scope="module")
def expected(lived: Path, configs: list[Config], tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """All that can be read of the log, folded without any views."""
    with EventLog(without_views(lived, tmp_path_factory.mktemp("bare") / "log"), read_only=True) as log:
        return answers(log, configs)


def _listed(log: EventLog) -> list[Config]:
    return [found.config for found in EventLogSaver(log).list(None)]


def answers(log: EventLog, configs: list[Config]) -> list[Any]:
    """Return all that can be read of a log, by readers that know nothing yet: checkpoints by id come first."""
    graph = graph_over(log)
    seen = [plain(graph.get_state(config)) for config in configs]
    threads_of(log).__init__()
    seen += everything(log)
    seen.append(_listed(log))
    store = EventLogStore(log)
    seen += [store.get(namespace, key) for namespace, key in ITEMS]
    seen.append(store.search(("notes",), limit=100))
    return seen


def copied(lived: Path, to: Path) -> Path:
    """Return a fresh copy of a log with its views."""
    without_views(lived, to)
    (to / "views").mkdir()
    shutil.copyfile(lived / "views" / "data.mdb", to / "views" / "data.mdb")
    return to


def heal(log: EventLog) -> bool:
    """Let the views be made anew, by the next passes when a reader noticed the damage; return whether one did."""
    noticed = threads_of(log).views.distrusted
    if not noticed:
        assert rebuild_views(log)
    else:
        writer = view_writer_of(log)
        assert writer.catch_up() or writer.catch_up(all=True)
    return noticed


def change_rows(path: Path, table: str, change: Callable[[dict[bytes, bytes]], None]) -> None:
    """Change a table of the views through LMDB, behind our backs."""
    with lmdb.open(str(path / "views"), max_dbs=16) as environment:
        handle = environment.open_db(table.encode(), create=False)
        with environment.begin(write=True) as transaction:
            rows = dict(transaction.cursor(db=handle))
            change(rows)
            transaction.drop(handle, delete=False)
            transaction.cursor(db=handle).putmulti(sorted(rows.items()))


@pytest.mark.parametrize("table", TABLES)
def test_a_row_that_is_gone_is_found(
    lived: Path, configs: list[Config], expected: list[Any], tmp_path: Path, table: str
) -> None:
    """A row that is gone leaves all others with right checksums; it is missed all the same, and nobody reads wrong."""
    damaged = copied(lived, tmp_path / "copy")
    change_rows(damaged, table, lambda rows: rows.pop(max(rows)))
    assert inspect_rows(damaged)
    with EventLog(damaged) as log:
        assert answers(log, configs) == expected
        heal(log)
    assert rows_of(damaged) == rows_of(lived)


def test_views_that_miss_a_checkpoint_are_made_anew(lived: Path, configs: list[Config], tmp_path: Path) -> None:
    """Whoever asks for a checkpoint whose row is gone gets it from the log, and notices that the views are wrong."""
    damaged = copied(lived, tmp_path / "copy")
    change_rows(damaged, "ids", lambda rows: rows.pop(max(rows)))
    with EventLog(damaged) as log:
        graph = graph_over(log)
        for config in configs:
            assert graph.get_state(config).config == config
        assert heal(log), "a reader noticed"
    assert rows_of(damaged) == rows_of(lived)


def test_an_older_row_in_its_place_is_found(tmp_path: Path) -> None:
    """A row as it once was has a right checksum, and is not what was written last."""
    path = tmp_path / "log"
    with EventLog(path) as log:
        talk(graph_over(log), "one", 4)
        assert view_writer_of(log).catch_up(all=True)
    older = dict(rows_of(path)["threads"])
    with EventLog(path) as log:
        talk(graph_over(log), "one", 4)
        assert view_writer_of(log).catch_up(all=True)
    assert not inspect_rows(path)
    with EventLog(without_views(path, tmp_path / "bare")) as bare:
        expected = everything(bare)
    change_rows(path, "threads", lambda rows: rows.update(older))
    assert "1 rows of 1" in inspect_rows(path)[0]
    with EventLog(path) as log:
        assert everything(log) == expected


def test_views_without_their_stamp_are_made_anew_at_once(lived: Path, tmp_path: Path) -> None:
    """Rows that no stamp speaks for are removed by the pass that finds them, and written again by the same pass."""
    damaged = copied(lived, tmp_path / "copy")
    change_rows(damaged, "stamp", lambda rows: rows.clear())
    with EventLog(damaged) as log:
        assert view_writer_of(log).catch_up(all=True)
    assert rows_of(damaged) == rows_of(lived)


def test_a_lost_rung_does_not_end_the_rungs_of_its_thread(tmp_path: Path) -> None:
    """The writer that finds the last rung gone makes the views anew, and the thread has rungs again."""
    path = tmp_path / "log"
    with EventLog(path) as log:
        talk(graph_over(log), "one", 20)
        assert view_writer_of(log).catch_up(all=True)
    change_rows(path, "rungs", lambda rows: rows.pop(max(rows)))
    with EventLog(path) as log:
        talk(graph_over(log), "one", 40)
        assert view_writer_of(log).catch_up(all=True) or view_writer_of(log).catch_up(all=True)
        assert log.verify().ok
    rows = rows_of(path)
    assert len(rows["rungs"]) > 2
    with EventLog(path) as log:
        assert rebuild_views(log)
    assert rows_of(path) == rows


def test_views_of_an_older_version_are_not_damaged(lived: Path, tmp_path: Path) -> None:
    """Views in an older layout are no finding of `verify`; nobody reads them, and the next pass replaces them."""
    path = copied(lived, tmp_path / "copy")
    with EventLog(path, read_only=True) as log:
        stamp = Stamp(LAYOUT - 1, log.identity.log_id, log.identity.epoch, 1, log.read(0, 1)[0].hash)
    row = _seal("stamp", b"stamp", _STAMP.pack(*stamp))
    change_rows(path, "stamp", lambda rows: rows.update({b"stamp": row}))
    with EventLog(path) as log:
        assert log.verify().ok
        assert threads_of(log).views.rows(log) is None
        assert view_writer_of(log).catch_up(all=True)
        assert threads_of(log).views.rows(log) is not None
    assert rows_of(path) == rows_of(lived)


@pytest.mark.parametrize("of", ["another log", "another life of the log"])
def test_views_of_something_else_are_not_read(lived: Path, tmp_path: Path, of: str) -> None:
    """Views whose stamp names another log, or another life of this one, are nobody's, whatever record they end at."""
    path = copied(lived, tmp_path / "copy")
    with EventLog(path, read_only=True) as log:
        log_id, epoch = log.identity.log_id, log.identity.epoch
        whose = (bytes(len(log_id)), epoch) if of == "another log" else (log_id, epoch + 1)
        stamp = Stamp(LAYOUT, *whose, 1, log.read(0, 1)[0].hash)
    row = _seal("stamp", b"stamp", _STAMP.pack(*stamp))
    change_rows(path, "stamp", lambda rows: rows.update({b"stamp": row}))
    with EventLog(path, read_only=True) as log:
        assert threads_of(log).views.rows(log) is None


def test_a_file_of_views_that_asks_for_too_much_is_replaced(
    lived: Path, configs: list[Config], expected: list[Any], tmp_path: Path
) -> None:
    """A file that no system can map is found, costs readers nothing but time, and is made anew."""
    damaged = copied(lived, tmp_path / "copy")
    ask_for_too_much(damaged / "views")
    assert inspect_rows(damaged)
    with EventLog(damaged) as log:
        assert answers(log, configs) == expected
        assert view_writer_of(log).catch_up(all=True)
        assert log.verify().ok
    assert rows_of(damaged) == rows_of(lived)


def test_pages_that_are_read_again_and_again_are_damage(tmp_path: Path) -> None:
    """Where pages of the file name each other, a walk over rows ends with `ViewDamaged`; it might go on for ever."""
    rows = open_rows(tmp_path, read_only=False)
    assert rows is not None
    written = {number.to_bytes(24, "big"): b"row %d" % number for number in range(1, 1000)}
    rows.write({"rungs": written}, Stamp(LAYOUT, b"", 0, 1, b""))
    rows.rest()
    assert not inspect_rows(tmp_path)
    _repeat_pages(tmp_path / "views" / "data.mdb")
    rows = open_rows(tmp_path, read_only=True)
    assert rows is not None
    with pytest.raises(ViewDamaged, match="order"):
        rows.keys("rungs", b"", b"\xff")
    with pytest.raises(ViewDamaged, match="order"):
        rows.range("rungs", b"", b"\xff")
    rows.rest()
    assert "order" in inspect_rows(tmp_path)[0]


def _repeat_pages(path: Path) -> None:
    """Let every branch page of an LMDB file name its first child again instead of all others."""
    data = bytearray(path.read_bytes())
    for page in range(2 * 4096, len(data), 4096):
        flags, lower = struct.unpack_from("=HH", data, page + 10)
        if flags == _BRANCH:
            nodes = struct.unpack_from(f"={(lower - 16) // 2}H", data, page + 16)
            for node in nodes[1:]:
                data[page + node : page + node + 6] = data[page + nodes[0] : page + nodes[0] + 6]
    path.write_bytes(data)


def zeroed(lived: Path, at: Path, page: int) -> Path:
    """Return a copy of a log in whose views one page holds nothing."""
    damaged = copied(lived, at)
    with (damaged / "views" / "data.mdb").open("r+b") as file:
        file.seek(page * 4096)
        file.write(bytes(4096))
    return damaged


def pages_of(lived: Path, *, each: int | None) -> list[int]:
    """Return the pages of the views, or some of each kind: those of LMDB's own, branches, leaves, large values."""
    data = (lived / "views" / "data.mdb").read_bytes()
    kinds: dict[int, list[int]] = {}
    for page in range(len(data) // 4096):
        number, _, kind = struct.unpack_from("=QHH", data, page * 4096)
        kinds.setdefault(kind if number == page else 0, []).append(page)
    assert {1, 2, 4, 8} <= kinds.keys()
    chosen = [pages if each is None else pages[:: max(1, len(pages) // each)] for pages in kinds.values()]
    return sorted(page for pages in chosen for page in pages)


def lose_pages(lived: Path, configs: list[Config], right: str, at: Path, pages: list[int]) -> None:
    """Lose a page of the views at a time; in a child read all, go on, and close.

    The views are whole then, but where nobody came by: that is found, and made anew when asked for.
    """
    left = 0
    for page in pages:
        damaged = zeroed(lived, at, page)
        read_and_write(damaged, configs, right, f"page {page}")
        left += bool(inspect_rows(damaged))
        assert in_child(lambda path=damaged: made_anew(path)) == "whole", f"page {page}"
    assert left <= len(pages) // 4


def made_anew(path: Path) -> str:
    """Make the views of a log anew; return whether they are whole then."""
    with EventLog(path) as log:
        assert rebuild_views(log)
    return "damaged" if inspect_rows(path) else "whole"


def test_a_page_that_is_lost_ends_no_process(
    lived: Path, configs: list[Config], expected: list[Any], tmp_path: Path
) -> None:
    """Whichever page of the views is lost: whoever reads and writes goes on, right, and the views are made anew."""
    lose_pages(lived, configs, repr(expected), tmp_path / "copy", pages_of(lived, each=2))


@pytest.mark.nightly
def test_any_page_that_is_lost_ends_no_process(
    lived: Path, configs: list[Config], expected: list[Any], tmp_path: Path
) -> None:
    """The same for each page."""
    lose_pages(lived, configs, repr(expected), tmp_path / "copy", pages_of(lived, each=None))


def test_a_writer_does_not_believe_pages(lived: Path, tmp_path: Path) -> None:
    """Who writes without having read anything finds a lost page before LMDB does, and makes the views anew."""
    for page in pages_of(lived, each=3):
        damaged = zeroed(lived, tmp_path / "copy", page)

        def work(path: Path = damaged) -> str:
            with EventLog(path) as log:
                heal_or_go_on(log)
            return made_anew(path)

        assert in_child(work) == "whole", page


def test_damage_met_in_the_background_is_mended(lived: Path, tmp_path: Path) -> None:
    """Nobody asks for a pass and nobody reads views: what the thread in the background finds, it makes anew."""

    def work(path: Path) -> str:
        with EventLog(path) as log:
            talk(graph_over(log), "one", 20)
            deadline = time.monotonic() + 10
            while inspect_rows(path) and time.monotonic() < deadline:
                time.sleep(0.05)
            return "damaged" if inspect_rows(path) else "whole"

    views = PageFile(lived / "views" / "data.mdb")
    for table in TABLES:
        damaged = zeroed(lived, tmp_path / "copy", views.read(lambda snapshot, table=table: snapshot._root(table).page))
        assert in_child(lambda path=damaged: work(path)) == "whole", table


def flip_rows(lived: Path, configs: list[Config], expected: list[Any], at: Path, count: int) -> Counter[str]:
    """Flip a row a time, tables in turn; return how many flips there were by table, and how many a reader noticed."""
    intact = rows_of(lived)
    dice = random.Random(SEED)
    counts: Counter[str] = Counter()
    missed: list[str] = []
    for number in range(count):
        table = TABLES[number % len(TABLES)]
        damaged = copied(lived, at)
        what = flip_row_of(damaged / "views", table, dice)
        if not inspect_rows(damaged):
            missed.append(what)
        with EventLog(damaged) as log:
            assert answers(log, configs) == expected, (what, SEED)
            counts["noticed by a reader"] += heal(log)
        assert rows_of(damaged) == intact, (what, SEED)
        counts[table] += 1
    assert missed == [], f"seed {SEED}"
    return counts


def test_flips_in_rows_of_views_are_found(
    lived: Path, configs: list[Config], expected: list[Any], tmp_path: Path
) -> None:
    """Flips in keys and values of every table are found; nothing read is wrong; the views come back as they were."""
    assert flip_rows(lived, configs, expected, tmp_path / "copy", 10)["noticed by a reader"] > 2


@pytest.mark.nightly
def test_many_flips_in_rows_of_views_are_found(
    lived: Path,
    configs: list[Config],
    expected: list[Any],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """The same, 1,000 times."""
    counts = flip_rows(lived, configs, expected, tmp_path / "copy", 1000)
    record_property("seed", SEED)
    for table in TABLES:
        record_property(f"flips in rows of views/{table}, all found, none believed", counts[table])
    record_property("of these noticed by a reader, too", counts["noticed by a reader"])


def flip_files(lived: Path, configs: list[Config], expected: list[Any], at: Path, count: int) -> Counter[str]:
    """Flip a byte of the raw file a time; return how many flips changed what can be read, and what readers said."""
    intact = dumped(lived, DUMPED)
    right = repr(expected)
    dice = random.Random(SEED)
    counts: Counter[str] = Counter()
    missed: list[str] = []
    for _ in range(count):
        damaged = copied(lived, at)
        what = flip_file_of(damaged / "views", dice)
        inside = dumped(damaged, DUMPED) != intact
        verdict = audited(damaged)
        assert verdict in ("ok", "found"), (what, verdict)
        if inside and verdict == "ok":
            missed.append(what)
        counts["inside" if inside else "outside"] += 1
        read_and_write(damaged, configs, right, what)
    assert missed == [], f"seed {SEED}"
    return counts


def read_and_write(path: Path, configs: list[Config], right: str, what: str) -> None:
    """Read all of a log and go on with it, in a child, which damaged pages might kill."""

    def work() -> str:
        with EventLog(path) as log:
            if repr(answers(log, configs)) != right:
                return "read something else"
            heal_or_go_on(log)
            last = plain(graph_over(log).get_state(config_of("one")))
        with EventLog(path, read_only=True) as log:
            return "right" if plain(graph_over(log).get_state(config_of("one"))) == last else "wrote something else"

    assert in_child(work) == "right", (what, SEED)


def heal_or_go_on(log: EventLog) -> None:
    """Append some turns to a thread, and bring its views up to date or make them anew."""
    talk(graph_over(log), "one", 3)
    assert view_writer_of(log).catch_up(all=True)


def test_flips_in_the_file_of_views_are_found(
    lived: Path, configs: list[Config], expected: list[Any], tmp_path: Path
) -> None:
    """Of flips in the raw file all that change what can be read are found; who reads and writes them goes on, right."""
    assert flip_files(lived, configs, expected, tmp_path / "copy", 6)["inside"] > 1


@pytest.mark.nightly
def test_many_flips_in_the_file_of_views_are_found(
    lived: Path,
    configs: list[Config],
    expected: list[Any],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """The same, 300 times."""
    counts = flip_files(lived, configs, expected, tmp_path / "copy", 300)
    record_property("seed", SEED)
    record_property("flips in the file of views/ that changed what can be read, all found", counts.pop("inside"))
    record_property("flips in the file of views/ that changed nothing", counts.pop("outside"))
    record_property("processes that such flips ended, or that read something else", 0)
