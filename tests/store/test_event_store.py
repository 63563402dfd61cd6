"""The event-backed store: places, pages, times, batches, and what is on the log afterwards."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lithograph.eventlog import EventLog, StreamName, StreamWrite
from lithograph.eventlog.errors import LimitExceeded, UnsupportedTypeError
from lithograph.eventlog.events import ItemDeleted, ItemPut, Recorded
from lithograph.projections.errors import NotSupportedYet
from lithograph.store import (
    EventLogStore,
    GetOp,
    InMemoryStore,
    InvalidItemError,
    InvalidNamespaceError,
    InvalidSearchError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
)

NOTES = ("notes", "4711")


def keys(items: list[SearchItem]) -> list[str]:
    return [item.key for item in items]


def events(log: EventLog) -> list[Any]:
    return [record.event for record in log.read() if isinstance(record.event, (ItemPut, ItemDeleted))]


def test_put_then_get(store: EventLogStore) -> None:
    """What was put comes back under its key, aware of when; what was not is `None`."""
    store.put(NOTES, "a", {"text": "hello"})
    item = store.get(NOTES, "a")
    assert isinstance(item, Item)
    assert (item.namespace, item.key, item.value) == (NOTES, "a", {"text": "hello"})
    assert item.created_at == item.updated_at
    assert item.created_at.utcoffset() == timedelta(0)
    assert store.get(NOTES, "b") is None
    assert store.get(("elsewhere",), "a") is None


def test_times_are_those_of_the_log(log: EventLog, store: EventLogStore) -> None:
    """`created_at` and `updated_at` are the times in the records' headers, to the microsecond."""
    store.put(NOTES, "a", {"n": 1})
    store.put(NOTES, "a", {"n": 2})
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    times = [epoch + timedelta(microseconds=record.header.time_us) for record in log.read()]
    item = store.get(NOTES, "a")
    assert item is not None
    assert [item.created_at, item.updated_at] == times
    assert times[0] < times[1]


def test_put_again_keeps_place_and_created_at(store: EventLogStore) -> None:
    """A later put changes value and `updated_at` only."""
    for key in "abc":
        store.put(NOTES, key, {"n": 1})
    before = store.get(NOTES, "a")
    store.put(NOTES, "a", {"n": 2})
    after = store.get(NOTES, "a")
    assert before is not None
    assert after is not None
    assert after.value == {"n": 2}
    assert after.created_at == before.created_at < after.updated_at
    assert keys(store.search(NOTES)) == ["a", "b", "c"]


def test_delete_then_put_takes_a_new_place(store: EventLogStore) -> None:
    """Deleting forgets place and `created_at`; the next put begins anew."""
    for key in "abc":
        store.put(NOTES, key, {})
    before = store.get(NOTES, "a")
    store.delete(NOTES, "a")
    assert store.get(NOTES, "a") is None
    store.put(NOTES, "a", {})
    after = store.get(NOTES, "a")
    assert before is not None
    assert after is not None
    assert after.created_at > before.created_at
    assert keys(store.search(NOTES)) == ["b", "c", "a"]


def test_search_takes_the_newest_and_pages_towards_older(store: EventLogStore) -> None:
    """The limit takes the newest, oldest first among them; the pages together give everything."""
    for n in range(25):
        store.put(("n", str(n % 3)), str(n), {"n": n})
    everything = [str(n) for n in range(25)]
    assert keys(store.search(("n",))) == everything[-10:]
    pages = [keys(store.search(("n",), limit=10, offset=offset)) for offset in (20, 10, 0)]
    assert [len(page) for page in pages] == [5, 10, 10]
    assert [key for page in pages for key in page] == everything
    assert keys(store.search(("n",), limit=0)) == []
    assert keys(store.search(("n",), offset=25)) == []
    assert keys(store.search((), limit=100)) == everything


def test_filtered_search_pages_over_the_matches(store: EventLogStore) -> None:
    """Limit and offset count matches, not items looked at."""
    for n in range(12):
        store.put(NOTES, str(n), {"n": n, "even": n % 2 == 0})
    assert keys(store.search(NOTES, filter={"even": True}, limit=2)) == ["8", "10"]
    assert keys(store.search(NOTES, filter={"even": True}, limit=2, offset=3)) == ["2", "4"]
    assert keys(store.search(NOTES, filter={"n": {"$gte": 3, "$lt": 5}})) == ["3", "4"]
    assert keys(store.search(NOTES, filter={"missing": {"$ne": 1}})) == []
    assert store.search(NOTES, filter={"n": 3})[0].score is None


def test_prefix_is_by_label(store: EventLogStore) -> None:
    """A prefix matches whole labels, never a part of one."""
    store.put(("user",), "a", {})
    store.put(("users",), "b", {})
    store.put(("user", "s"), "c", {})
    assert keys(store.search(("user",))) == ["a", "c"]


def test_list_namespaces(store: EventLogStore) -> None:
    """Namespaces that hold an item are listed sorted, matched, cut and paged."""
    spaces = [("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "b", "f"), ("a", "c", "f")]
    for space in reversed(spaces):
        store.put(space, "k", {})
    assert store.list_namespaces() == spaces
    assert store.list_namespaces(prefix=("a", "b"), max_depth=3) == [
        ("a", "b", "c"),
        ("a", "b", "d"),
        ("a", "b", "f"),
    ]
    assert store.list_namespaces(suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f")]
    assert store.list_namespaces(prefix=("a", "*", "f")) == [("a", "b", "f"), ("a", "c", "f")]
    assert store.list_namespaces(limit=2, offset=1) == spaces[1:3]


def test_reads_make_no_namespace_and_no_event(log: EventLog, store: EventLogStore) -> None:
    """Looking at what is not there leaves nothing behind, nor does deleting it; an emptied one is gone."""
    store.get(("x",), "k")
    store.search(("y",))
    store.delete(("z",), "k")
    assert store.list_namespaces() == []
    assert log.log_head().position == 0
    store.put(("x",), "k", {})
    store.delete(("x",), "k")
    assert store.list_namespaces() == []


def test_values_are_not_shared(store: EventLogStore) -> None:
    """Changing what was put, or what was read, changes nothing in the store."""
    value: dict[str, Any] = {"list": [1]}
    store.put(NOTES, "a", value)
    value["list"].append(2)
    first = store.get(NOTES, "a")
    assert first is not None
    first.value["list"].append(3)
    found = store.search(NOTES)[0]
    found.value["list"].append(4)
    last = store.get(NOTES, "a")
    assert last is not None
    assert last.value == {"list": [1]}


def test_names_in_any_script(store: EventLogStore) -> None:
    """Labels and keys are any text."""
    store.put(("naïve", "日本"), "ключ 🔑", {"n": 1})
    (item,) = store.search(("naïve",))
    assert (item.namespace, item.key) == (("naïve", "日本"), "ключ 🔑")
    assert store.list_namespaces(suffix=("日本",)) == [("naïve", "日本")]


def test_values_are_exact(store: EventLogStore) -> None:
    """Tuples, sets, bytes, times and big numbers come back equal and of the same type; key order is kept."""
    value = {
        "z": (1, [2]),
        "a": {3},
        "b": b"\x00",
        "t": datetime(2026, 1, 1, tzinfo=UTC),
        "n": 2**80,
        "f": 1.0,
    }
    store.put(NOTES, "a", OrderedDict(value))
    item = store.get(NOTES, "a")
    assert item is not None
    assert repr(item.value) == repr(value)
    assert type(item.value) is dict


def test_what_cannot_be_stored_is_refused_before_anything_is(log: EventLog, store: EventLogStore) -> None:
    """A batch with one bad operation leaves nothing, whichever it is and wherever it stands."""
    bad: list[tuple[Any, type[Exception]]] = [
        (PutOp(NOTES, "k", {"x": object()}), UnsupportedTypeError),
        (PutOp(NOTES, "k", [1]), InvalidItemError),  # pyright: ignore[reportArgumentType]
        (PutOp(NOTES, 5, {}), InvalidItemError),  # pyright: ignore[reportArgumentType]
        (PutOp(NOTES, "\ud800", {}), InvalidItemError),
        (PutOp(NOTES, "k", {}, [1]), InvalidItemError),  # pyright: ignore[reportArgumentType]
        (PutOp(NOTES, "k", {}, True), InvalidItemError),  # pyright: ignore[reportArgumentType]
        (PutOp(NOTES, "k", {}, ttl=1.0), NotSupportedYet),
        (PutOp(("a.b",), "k", {}), InvalidNamespaceError),
        (PutOp((), "k", {}), InvalidNamespaceError),
        (PutOp(("langgraph",), "k", {}), InvalidNamespaceError),
        (GetOp(("a.b",), "k"), InvalidNamespaceError),
        (SearchOp(NOTES, query="income"), NotSupportedYet),
        (SearchOp(NOTES, {"a": {"$in": []}}), InvalidSearchError),
        (SearchOp(NOTES, limit=-1), InvalidSearchError),
        (SearchOp(NOTES, offset=-1), InvalidSearchError),
        (SearchOp(NOTES, limit=True), InvalidSearchError),
        (SearchOp(NOTES, limit=None), InvalidSearchError),  # pyright: ignore[reportArgumentType]
        (ListNamespacesOp(limit=-1), InvalidSearchError),
        (ListNamespacesOp(max_depth=0), InvalidSearchError),
        (ListNamespacesOp((MatchCondition("infix", ("a",)),)), InvalidSearchError),  # pyright: ignore[reportArgumentType]
        (ListNamespacesOp((MatchCondition("prefix", ("a.b",)),)), InvalidNamespaceError),
        ("get", InvalidItemError),
    ]
    for op, error in bad:
        with pytest.raises(error):
            store.batch([PutOp(NOTES, "good", {}), op, PutOp(NOTES, "good", {})])
    assert log.log_head().position == 0
    assert store.search((), query="") == []


def test_the_refusal_names_the_part(store: EventLogStore) -> None:
    """A value that cannot be stored is refused with the path of the offending part."""
    with pytest.raises(UnsupportedTypeError) as caught:
        store.put(NOTES, "a", {"deep": [1, object()]})
    assert "deep" in caught.value.path


def test_batch_reads_come_before_its_writes(store: EventLogStore) -> None:
    """Every read of a batch sees the store as it was before, wherever it stands; results keep their order."""
    store.put(NOTES, "a", {"n": 1})
    results = store.batch(
        [
            PutOp(NOTES, "a", {"n": 2}),
            GetOp(NOTES, "a"),
            PutOp(("new",), "b", {}),
            SearchOp(()),
            ListNamespacesOp(),
            PutOp(NOTES, "a", None),
        ]
    )
    assert results[0] is results[2] is results[5] is None
    assert isinstance(results[1], Item)
    assert results[1].value == {"n": 1}
    assert [item.key for item in results[3]] == ["a"]  # pyright: ignore
    assert results[4] == [NOTES]
    assert keys(store.search(())) == ["b"]


def test_batch_is_one_append_and_the_last_put_wins(log: EventLog, store: EventLogStore) -> None:
    """The writes of a batch are one append over all its namespaces, one event a key."""
    store.batch(
        [
            PutOp(("a",), "x", {"n": 1}),
            PutOp(("b",), "y", {"n": 2}),
            PutOp(("a",), "z", {"n": 3}),
            PutOp(("a",), "x", {"n": 4}),
            PutOp(("b",), "gone", {"n": 5}),
            PutOp(("b",), "gone", None),
        ]
    )
    records = log.read()
    assert len({record.header.append for record in records}) == 1
    assert [(e.namespace, e.key) for e in events(log)] == [(("a",), "x"), (("a",), "z"), (("b",), "y")]
    item = store.get(("a",), "x")
    assert item is not None
    assert item.value == {"n": 4}


def test_batch_too_large_leaves_nothing(log: EventLog, store: EventLogStore) -> None:
    """More writes than one append can hold are refused whole."""
    with pytest.raises(LimitExceeded):
        store.batch([PutOp(NOTES, str(n), {}) for n in range(5_000)])
    assert log.log_head().position == 0
    assert store.search(()) == []


def test_empty_batch(store: EventLogStore) -> None:
    """A batch of nothing does nothing."""
    assert store.batch([]) == []


def test_large_values(log: EventLog, store: EventLogStore) -> None:
    """A value larger than a record comes back equal, and its record stays small."""
    value = {"text": "abc" * 300_000}
    store.put(NOTES, "large", value)
    item = store.get(NOTES, "large")
    assert item is not None
    assert item.value == value
    assert store.search(NOTES, filter={"text": value["text"]})[0].value == value
    (record,) = [record for record in log.read() if record.header.kind == ItemPut.kind]
    assert len(record.data) < 1_000


def test_index_is_kept_with_the_item(log: EventLog, store: EventLogStore) -> None:
    """`index` says what a later semantic index covers; it is on the event."""
    store.put(NOTES, "a", {})
    store.put(NOTES, "b", {}, False)
    store.put(NOTES, "c", {}, ["text", "parts[*].text"])
    assert [event.index for event in events(log)] == [None, False, ["text", "parts[*].text"]]


def test_actor_and_reason_are_on_the_events(log: EventLog, store: EventLogStore) -> None:
    """Who changed an item and why is in the log, for puts and deletions, from both twins."""
    with log.as_actor("alice", reason="phone call"):
        store.put(NOTES, "a", {})
        asyncio.run(store.aput(NOTES, "b", {}))
        store.delete(NOTES, "a")
    who = [(record.body.actor, record.body.reason) for record in log.read()]
    assert who == [("alice", "phone call")] * 3


def test_items_share_order_and_streams_with_everything_else(log: EventLog, store: EventLogStore) -> None:
    """Other events between puts change nothing; each namespace is a stream of its own, named after it."""
    store.put(NOTES, "a", {})
    log.append([StreamWrite(StreamName("app", "audit"), -1, [log.stamp(Recorded("t", None))])])
    store.put(("other",), "b", {})
    assert keys(store.search(())) == ["a", "b"]
    names = {log.stream_name(stream) for stream, _ in log.streams(b"", 10)}
    assert {StreamName("items", "notes.4711"), StreamName("items", "other")} < names


def test_two_stores_on_one_log_are_one_memory(log: EventLog, store: EventLogStore) -> None:
    """What one store object wrote the other sees at once."""
    other = EventLogStore(log)
    assert other.search(()) == []
    store.put(NOTES, "a", {})
    assert other.get(NOTES, "a") == store.get(NOTES, "a")


def test_logs_do_not_mix() -> None:
    """Each in-memory store is a memory of its own."""
    one, two = InMemoryStore(), InMemoryStore()
    one.put(NOTES, "a", {})
    assert two.search(()) == []
    with pytest.raises(NotSupportedYet):
        InMemoryStore(index={"dims": 2})


def test_reopened_log_holds_the_same_items(tmp_path: Path) -> None:
    """A fresh reading of the log gives the same items in the same order, with the same times."""
    with EventLog(tmp_path / "a.lithograph") as log:
        store = EventLogStore(log)
        for n in range(5):
            store.put(NOTES, str(n), {"n": n})
        store.delete(NOTES, "2")
        store.put(NOTES, "0", {"n": "again"})
        before = store.search(())
    with EventLog(tmp_path / "a.lithograph", read_only=True) as log:
        assert EventLogStore(log).search(()) == before
    assert keys(before) == ["0", "1", "3", "4"]


READER = """
import sys
from lithograph.eventlog import EventLog
from lithograph.store import EventLogStore
with EventLog(sys.argv[1], read_only=True) as log:
    store = EventLogStore(log)
    print(store.list_namespaces(), store.search((), limit=1000))
"""


def test_every_process_folds_the_same(tmp_path: Path) -> None:
    """Processes with other hash seeds fold the log into the same items, in the same order."""
    with EventLog(tmp_path / "a.lithograph") as log:
        store = EventLogStore(log)
        for n in range(40):
            store.put((str(n % 7), "x"), str(n % 11), {"n": n, "pair": (n, "a")})
            store.delete((str(n % 5), "x"), str(n % 3))
    command = [sys.executable, "-c", READER, str(tmp_path / "a.lithograph")]
    seen = {
        subprocess.run(command, check=True, capture_output=True, text=True, env={"PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2", "3")
    }
    assert len(seen) == 1
    assert "'n': 39" in seen.pop()


WRITER = """
import sys
import threading
from lithograph.eventlog import EventLog, StreamName, StreamWrite
from lithograph.store import EventLogStore
with EventLog(sys.argv[1]) as log:
    EventLogStore(log).put(("shared",), "theirs", {"pid": "other"})
    EventLogStore(log).delete(("shared",), "mine")
"""


def test_other_processes_writes_are_seen(tmp_path: Path) -> None:
    """A read sees what another process wrote to the log, without reopening it."""
    with EventLog(tmp_path / "a.lithograph") as log:
        store = EventLogStore(log)
        store.put(("shared",), "mine", {})
        assert keys(store.search(())) == ["mine"]
        subprocess.run([sys.executable, "-c", WRITER, str(tmp_path / "a.lithograph")], check=True)
        assert keys(store.search(())) == ["theirs"]


def test_async_twins_and_sync_calls_inside_a_loop(store: EventLogStore) -> None:
    """Every call has an async twin that does the same; a sync call inside a running loop works too."""

    async def work() -> None:
        await store.aput(NOTES, "a", {"n": 1})
        store.put(NOTES, "b", {"n": 2})
        assert await store.aget(NOTES, "a") == store.get(NOTES, "a")
        assert await store.asearch(NOTES, filter={"n": 2}) == store.search(NOTES, filter={"n": 2})
        assert await store.alist_namespaces() == [NOTES]
        await store.adelete(NOTES, "a")
        await asyncio.gather(*(store.aput(("many",), str(n), {}) for n in range(20)))

    asyncio.run(work())
    assert keys(store.search(NOTES)) == ["b"]
    assert len(store.search(("many",), limit=100)) == 20


def test_threads_share_a_store(store: EventLogStore) -> None:
    """Puts and reads from many threads lose nothing and never see half a batch."""
    torn: list[int] = []

    def work(name: str) -> None:
        for n in range(10):
            store.batch([PutOp(("pairs", name, side), str(n), {}) for side in ("left", "right")])
            sides = store.search(("pairs", name), limit=100)
            if len(sides) != 2 * (n + 1):
                torn.append(n)
            if len(store.search(("pairs",), limit=1_000)) % 2:
                torn.append(n)

    threads = [threading.Thread(target=work, args=(str(n),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torn == []
    assert len(store.search((), limit=1_000)) == 160
