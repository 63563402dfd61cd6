"""Pages read without LMDB: what LMDB says, as of one transaction, and nothing worse than an error."""

from __future__ import annotations

import os
import random
import shutil
import threading
from pathlib import Path

import lmdb
import pytest
from lithograph.eventlog import environments, pages
from lithograph.eventlog.environments import open_environment
from lithograph.eventlog.errors import CorruptionError
from lithograph.eventlog.pages import PageFile, Snapshot

TABLES = ("small", "large", "none")
SEED = int(os.environ.get("LITHOGRAPH_SEED", "2024"))
Rows = dict[str, list[tuple[bytes, bytes]]]


def fill(path: Path, *, count: int = 3000) -> Rows:
    """Fill an environment in many transactions, values of all sizes among them; return what it holds."""
    dice = random.Random(SEED)
    environment = open_environment(path, TABLES)
    for _ in range(12):
        small = {dice.randbytes(dice.randrange(1, 60)): dice.randbytes(dice.randrange(40)) for _ in range(count // 12)}
        large = {dice.randbytes(8): dice.randbytes(dice.choice([500, 3000, 4080, 4081, 20_000])) for _ in range(4)}

        def work(transaction: environments.Transaction, small: object = small, large: object = large) -> None:
            for table, rows in (("small", small), ("large", large)):
                transaction.cursor(db=environment.tables[table]).putmulti(sorted(rows.items()))  # type: ignore[attr-defined]

        environment.write(work)
    environment.close()
    return held(path)


def held(path: Path) -> Rows:
    """Return what LMDB reads."""
    with lmdb.open(str(path), max_dbs=8, readonly=True, lock=False) as environment:
        handles = {table: environment.open_db(table.encode(), create=False) for table in TABLES}
        with environment.begin() as transaction:
            return {table: list(transaction.cursor(db=handle)) for table, handle in handles.items()}


def read(snapshot: Snapshot) -> Rows:
    """Return all rows that a snapshot has."""
    return {table: list(snapshot.rows(table, b"", None)) for table in TABLES}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with some thousand rows, and pages that are free."""
    path = tmp_path_factory.mktemp("filled") / "env"
    fill(path)
    return path


def test_pages_say_what_lmdb_says(filled: Path) -> None:
    """All rows, each row by its key, ranges between any two keys, and keys that are not there."""
    rows, file = held(filled), PageFile(filled / "data.mdb")
    assert len(rows["small"]) > 2000
    assert file.read(read) == rows
    dice = random.Random(SEED)
    keys = [key for key, _ in rows["small"]]
    for _ in range(300):
        low, high = dice.choice(keys), dice.choice([dice.choice(keys), dice.randbytes(3)])
        found = file.read(lambda snapshot, low=low, high=high: list(snapshot.rows("small", low, high, values=False)))
        assert [key for key, _ in found] == [key for key in keys if low <= key <= high]
        assert file.read(lambda snapshot, low=low: snapshot.get("small", low)) == dict(rows["small"])[low]
        other = dice.randbytes(4)
        assert file.read(lambda snapshot, key=other: snapshot.get("small", key)) == dict(rows["small"]).get(other)
    for key, value in rows["large"]:
        assert file.read(lambda snapshot, key=key: snapshot.get("large", key)) == value
        assert file.read(lambda snapshot, key=key: snapshot.sound_row("large", key)) == value
    assert file.read(lambda snapshot: snapshot.get("none", b"x")) is None
    file.read(lambda snapshot: snapshot.check())
    assert file.complaints() == []


def test_a_table_that_is_not_there_is_damage(filled: Path) -> None:
    """A file without a table that it should have is not one of ours."""
    with pytest.raises(CorruptionError, match="lacks the table"):
        PageFile(filled / "data.mdb").read(lambda snapshot: snapshot.get("other", b"x"))


def _root_of(folder: Path) -> tuple[int, list[int], list[int]]:
    """Return the number of the branch that a table begins with, where its nodes are, and the leaves that they name."""
    file = PageFile(folder / "data.mdb")
    root, depth = file.read(lambda snapshot: snapshot._root("small"))
    assert depth == 2
    page = file.page(root, pages._BRANCH)
    return root, [*page.nodes], [page.child(node) for node in page.nodes]


def test_a_page_in_the_place_of_another_one_is_damage(filled: Path, tmp_path: Path) -> None:
    """A leaf that was written over another one is not taken for it, though all of it is well-formed."""
    _, _, leaves = _root_of(filled)
    data = bytearray((filled / "data.mdb").read_bytes())
    first, second = (number * 4096 for number in leaves[:2])
    data[second : second + 4096] = data[first : first + 4096]
    (tmp_path / "data.mdb").write_bytes(data)
    file = PageFile(tmp_path / "data.mdb")
    assert file.page(leaves[0], pages._LEAF).nodes
    with pytest.raises(CorruptionError, match=f"page {leaves[1]}$"):
        file.page(leaves[1], pages._LEAF)


def test_a_page_that_is_named_twice_is_damage(filled: Path, tmp_path: Path) -> None:
    """A branch that leads to one page twice is found by who looks before LMDB writes, which would free it twice."""
    root, nodes, _ = _root_of(filled)
    data = bytearray((filled / "data.mdb").read_bytes())
    first, second = (root * 4096 + node for node in nodes[:2])
    data[second : second + 4] = data[first : first + 4]
    (tmp_path / "data.mdb").write_bytes(data)
    with pytest.raises(CorruptionError, match="named twice"):
        PageFile(tmp_path / "data.mdb").read(lambda snapshot: snapshot.check())


def test_a_list_of_free_pages_that_cannot_be_is_damage(filled: Path, tmp_path: Path) -> None:
    """A list that is not as long as it says, or names a page twice, is found by who looks before LMDB writes."""
    file = PageFile(filled / "data.mdb")
    lists = file.read(lambda snapshot: [pages for _, pages in snapshot._rows(*snapshot.meta.free, b"", None)])
    known = max(lists, key=len)
    count = int.from_bytes(known[:8], "little")
    assert count > 1
    intact = (filled / "data.mdb").read_bytes()
    assert intact.count(known) >= 1
    for wrong in ((count + 1).to_bytes(8, "little") + known[8:], known[:8] + known[16:24] + known[16:]):
        (tmp_path / "data.mdb").write_bytes(intact.replace(known, wrong))
        with pytest.raises(CorruptionError, match="free pages"):
            PageFile(tmp_path / "data.mdb").read(lambda snapshot: snapshot.check())


@pytest.mark.parametrize("how", ["zeroed", "flipped", "exchanged", "cut"])
def test_damaged_pages_end_in_an_error_or_in_rows(filled: Path, tmp_path: Path, how: str) -> None:
    """Whatever is done to the file, each way to read it returns, or raises `CorruptionError`."""
    dice, intact = random.Random(f"{how} {SEED}"), (filled / "data.mdb").read_bytes()
    keys = [key for key, _ in held(filled)["small"][::200]]
    raised = 0
    for _ in range(60):
        data, page = bytearray(intact), dice.randrange(len(intact) // 4096) * 4096
        if how == "zeroed":
            data[page : page + 4096] = bytes(4096)
        elif how == "flipped":
            for _ in range(8):
                data[page + dice.randrange(160)] ^= dice.randrange(1, 256)
        elif how == "exchanged":
            other = dice.randrange(len(intact) // 4096) * 4096
            data[page : page + 4096] = intact[other : other + 4096]
        else:
            del data[page + dice.randrange(4096) :]
        (tmp_path / "data.mdb").unlink(missing_ok=True)
        (tmp_path / "data.mdb").write_bytes(data)
        try:
            file = PageFile(tmp_path / "data.mdb")
            file.complaints()
            for key in keys:
                file.read(lambda snapshot, key=key: snapshot.sound_row("small", key))
            file.read(lambda snapshot: snapshot.check())
            file.read(read)
        except CorruptionError:
            raised += 1
    assert raised > 8


def test_a_file_that_is_gone_can_still_be_read(filled: Path, tmp_path: Path) -> None:
    """Who has the file open reads on when it is removed, and can tell that it was, or that another took its place."""
    shutil.copytree(filled, tmp_path / "env")
    file = PageFile(tmp_path / "env" / "data.mdb")
    assert file.is_in_place()
    shutil.rmtree(tmp_path / "env")
    assert not file.is_in_place()
    assert file.read(read) == held(filled)
    shutil.copytree(filled, tmp_path / "env")
    assert not file.is_in_place()


def count_up(environment: environments.Environment, number: int) -> None:
    """Give every row of a table a new value: the same one for all."""

    def work(transaction: environments.Transaction) -> None:
        rows = [(key.to_bytes(4, "big"), number.to_bytes(64, "big")) for key in range(2000)]
        transaction.cursor(db=environment.tables["small"]).putmulti(rows)

    environment.write(work)


def test_a_read_sees_one_transaction(tmp_path: Path) -> None:
    """While somebody writes over and over, a read sees all of one transaction and nothing of another."""
    environment = open_environment(tmp_path, TABLES)
    count_up(environment, 0)
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.is_set():
            number += 1
            count_up(environment, number)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        file, seen = PageFile(tmp_path / "data.mdb"), set[bytes]()
        while len(seen) < 12:
            values = {value for _, value in file.read(lambda snapshot: list(snapshot.rows("small", b"", None)))}
            assert len(values) == 1
            seen |= values
    finally:
        over.set()
        writer.join()
        environment.close()


def test_a_long_read_keeps_writers_off_its_pages(tmp_path: Path) -> None:
    """A read during which others commit more than once is done again, and at last with a reader's place of LMDB's."""
    environment = open_environment(tmp_path, TABLES)
    count_up(environment, 0)
    number, tries = 0, 0

    def work(snapshot: Snapshot) -> list[bytes]:
        nonlocal number, tries
        tries += 1
        rows = snapshot.rows("small", b"", None)
        values = [next(rows)[1]]
        for _ in range(3):
            number += 1
            writer = threading.Thread(target=count_up, args=(environment, number))
            writer.start()
            writer.join()
        return values + [value for _, value in rows]

    values = PageFile(tmp_path / "data.mdb").read(work)
    assert tries == pages._TRIES + 1
    assert len(set(values)) == 1
    assert len(values) == 2000
    environment.close()
