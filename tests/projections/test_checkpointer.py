"""`EventLogSaver`: a log with the interface of LangGraph's savers, for our threads and for foreign ones."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import ConflictError, NotALog, UnsupportedTypeError
from lithograph.eventlog.events import CheckpointCommitted, ResultOp
from lithograph.graph import Command
from lithograph.projections import (
    CheckpointTuple,
    EventLogSaver,
    HoldsOtherCheckpoints,
    InMemorySaver,
    MissingThreadId,
    NotSupportedYet,
)
from lithograph.projections.checkpointer import EventLogSaver as Saver
from lithograph.projections.fallback import Marked

from .conftest import Config, counter, desk, fresh

INPUT: dict[str, Any] = {"done": ["in"], "word": "", "note": ""}


def place(name: str = "1", checkpoint: str | None = None, namespace: str = "") -> Config:
    """Return a config as a foreign runtime passes it to a saver."""
    keys = {"thread_id": name, "checkpoint_ns": namespace}
    return {"configurable": keys if checkpoint is None else {**keys, "checkpoint_id": checkpoint}}


def checkpoint(values: dict[str, Any], versions: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a checkpoint as a foreign runtime makes it."""
    return {
        "v": 4,
        "id": str(uuid4()),
        "ts": "2026-01-01T00:00:00+00:00",
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": {"__input__": {}},
        "updated_channels": None,
        **more,
    }


METADATA = {"source": "loop", "step": 1, "parents": {}}


class Unknown:
    """A value that no registry knows."""

    def __init__(self, number: int) -> None:
        self.number = number


class Numbers:
    """A serde for `Unknown`, and for lists of it."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return the numbers, separated."""
        many = isinstance(obj, list)
        return "many" if many else "one", b",".join(b"%d" % each.number for each in (obj if many else [obj]))

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return what was dumped."""
        values = [Unknown(int(each)) for each in data[1].split(b",")]
        return values if data[0] == "many" else values[0]


# Threads of our own runtime


def test_native_threads_read_in_langgraphs_shape(log: EventLog) -> None:
    """Values with control channels, versions, versions seen, pending writes, parent and metadata."""
    graph = desk(log)
    graph.invoke(INPUT, place())
    saver = EventLogSaver(log)

    found = saver.get_tuple(place())

    assert isinstance(found, CheckpointTuple)
    state = graph.get_state(place())
    assert found.config == state.config
    assert found.parent_config == state.parent_config
    assert found.metadata == {"source": "loop", "step": 1, "parents": {}}
    checkpoint = found.checkpoint
    assert (checkpoint["v"], checkpoint["id"]) == (4, state.config["configurable"]["checkpoint_id"])
    assert checkpoint["ts"] == state.created_at
    assert checkpoint["channel_values"]["done"] == ["in", "first"]
    assert checkpoint["channel_values"]["branch:to:ask"] is None
    assert checkpoint["channel_versions"]["done"] == 3
    assert checkpoint["versions_seen"]["first"] == {"branch:to:first": 2}
    assert checkpoint["updated_channels"] == sorted(["branch:to:ask", "branch:to:second", "done", "word"])
    assert found.pending_writes is not None
    by_channel = {channel: (task, value) for task, channel, value in found.pending_writes}
    assert by_channel["done"] == (state.tasks[0].id, ["second"])
    assert by_channel["__interrupt__"][0] == state.tasks[1].id
    assert by_channel["__interrupt__"][1][0].value == "which?"


def test_native_threads_are_listed(log: EventLog) -> None:
    """`list` gives every checkpoint, newest first by position, as history does, and each by its id too."""
    graph = desk(log)
    graph.invoke(INPUT, place())
    graph.invoke(Command(resume="this"), place())
    saver = EventLogSaver(fresh(log))

    found = list(saver.list(place()))

    assert [each.config for each in found] == [each.config for each in graph.get_state_history(place())]
    assert [saver.get_tuple(each.config) for each in found] == found
    assert found[-1].checkpoint["channel_values"]["__start__"] == INPUT
    assert saver.get(place()) == found[0].checkpoint


def test_a_graph_runs_on_a_saver(log: EventLog) -> None:
    """`compile` takes a saver for its log; what it reads is what the log's own graph reads."""
    saved = counter(EventLogSaver(log))  # type: ignore[arg-type]
    saved.invoke(INPUT, place())

    assert counter(log).get_state(place()) == saved.get_state(place())


# Foreign threads


def test_what_was_put_comes_back(log: EventLog) -> None:
    """Checkpoint, metadata, parent and config are as they were put, whatever keys the checkpoint has."""
    saver = EventLogSaver(log)
    first = checkpoint({"a": [1], "b": "x", "gone": 1}, {"a": 1, "b": "0001.5", "gone": 2.5}, pending_sends=[])
    second = checkpoint({"a": [1, 2], "b": "x"}, {"a": 2, "b": "0001.5", "gone": 3.5}, v=3, updated_channels=["b", "a"])
    one = saver.put(place(), first, METADATA, first["channel_versions"])
    two = saver.put(one, second, {**METADATA, "step": 2, "odd": {"k": (1,)}}, {"a": 2, "gone": 3.5})

    for reader in (saver, EventLogSaver(fresh(log))):
        found = reader.get_tuple(place())
        assert found is not None
        assert (found.config, found.parent_config, found.checkpoint) == (two, one, second)
        assert found.metadata == {**METADATA, "step": 2, "odd": {"k": (1,)}}
        assert found.pending_writes == []
        earlier = reader.get_tuple(one)
        assert earlier is not None
        assert (earlier.checkpoint, earlier.parent_config) == (first, None)
        assert [each.checkpoint["id"] for each in reader.list(place())] == [second["id"], first["id"]]


def test_a_put_stores_what_changed(log: EventLog) -> None:
    """A long list that grows by one is stored as a splice; a channel that did not change is not stored again."""
    saver = EventLogSaver(log)
    config = place()
    long = [f"message {number}" * 10 for number in range(200)]
    for count in (199, 200):
        versions = {"messages": count, "still": 1}
        made = checkpoint({"messages": long[:count], "still": long}, versions)
        config = saver.put(config, made, METADATA, {"messages": count} if count == 200 else versions)

    record = log.read(log.log_head().position - 1)[0]

    event = record.event
    assert isinstance(event, CheckpointCommitted)
    assert len(record.data) < 1000
    results = {result.channel: result.op for result in event.results}
    assert results["messages"] == ResultOp.SPLICE
    assert "still" not in results


def test_a_value_that_changed_without_a_new_version_is_not_lost(log: EventLog) -> None:
    """A channel without version, or with another one than its parent's, is compared by value."""
    saver = EventLogSaver(log)
    first = checkpoint({"bare": 1, "moved": 1}, {"moved": 1})
    second = checkpoint({"bare": 2, "moved": 2}, {"moved": 2})
    one = saver.put(place(), first, METADATA, {})
    saver.put(one, second, METADATA, {})

    assert saver.get(place()) == second


def test_an_unknown_parent_is_kept_as_it_was_named(log: EventLog) -> None:
    """A checkpoint whose parent this log does not have is stored whole."""
    saver = EventLogSaver(log)
    made = checkpoint({"a": 1}, {"a": 1})
    saver.put(place(checkpoint="elsewhere"), made, METADATA, {"a": 1})

    found = saver.get_tuple(place())

    assert found is not None
    assert found.parent_config == place(checkpoint="elsewhere")
    assert found.checkpoint == made


def test_ids_need_not_be_uuids(log: EventLog) -> None:
    """Checkpoint and task ids of any text come back as they were."""
    saver = EventLogSaver(log)
    config = saver.put(place(), checkpoint({}, {}, id="№ 1"), METADATA, {})
    saver.put_writes(config, [("a", 1)], "", "")
    saver.put_writes(config, [("a", 2)], "task-1")

    found = saver.get_tuple(place(checkpoint="№ 1"))

    assert found is not None
    assert found.checkpoint["id"] == "№ 1"
    assert found.pending_writes == [("", "a", 1), ("task-1", "a", 2)]


def test_namespaces_are_apart(log: EventLog) -> None:
    """Each namespace has its own head; `list` without one gives all of them."""
    saver = EventLogSaver(log)
    outer, inner = checkpoint({"a": 1}, {"a": 1}), checkpoint({"a": 2}, {"a": 1})
    saver.put(place(), outer, METADATA, {"a": 1})
    below = saver.put(place(namespace="sub"), inner, METADATA, {"a": 1})

    assert saver.get(place()) == outer
    assert saver.get(place(namespace="sub")) == inner
    assert saver.get_tuple(place(checkpoint=inner["id"])) is None
    assert [each.config for each in saver.list(place(namespace="sub"))] == [below]
    both = {each.checkpoint["id"] for each in saver.list({"configurable": {"thread_id": "1"}})}
    assert both == {outer["id"], inner["id"]}


def test_metadata_takes_the_scalars_of_the_config(log: EventLog) -> None:
    """As LangGraph's savers do: scalars of the run's config are added, what says where the run is is not."""
    saver = EventLogSaver(log)
    config = {**place(), "metadata": {"user": "a\0b", "step": 9, "deep": {}}}
    config["configurable"] |= {"tenant": 7, "__private": 1, "langgraph_step": 3}
    saver.put(config, checkpoint({}, {}), METADATA, {})

    found = saver.get_tuple(place())

    assert found is not None
    assert found.metadata == {**METADATA, "user": "ab", "tenant": 7}


def test_pending_writes_are_in_apply_order_and_idempotent(log: EventLog) -> None:
    """By path, task, place; the first write of a place stands, but of errors and interrupts the last one."""
    saver = EventLogSaver(log)
    config = saver.put(place(), checkpoint({}, {}), METADATA, {})
    first, second = str(uuid4()), str(uuid4())
    saver.put_writes(config, [("a", 1), ("b", 2)], second, "~2")
    saver.put_writes(config, [("a", 3)], first, "~3")
    saver.put_writes(config, [("a", "again"), ("b", "again"), ("c", 4)], second, "~2")
    saver.put_writes(config, [("__error__", "one")], first, "~3")
    saver.put_writes(config, [("__error__", "two")], first, "~3")

    found = saver.get_tuple(config)

    assert found is not None
    assert found.pending_writes == [
        (second, "a", 1),
        (second, "b", 2),
        (second, "c", 4),
        (first, "__error__", "two"),
        (first, "a", 3),
    ]


def test_writes_stored_after_the_next_checkpoint_are_found(log: EventLog) -> None:
    """A foreign runtime stores checkpoints and writes in no order of its own."""
    saver = EventLogSaver(log)
    one = saver.put(place(), checkpoint({}, {}), METADATA, {})
    saver.put_writes(one, [("a", 1)], "t")
    two = saver.put(one, checkpoint({}, {}), METADATA, {})
    saver.put_writes(one, [("b", 2)], "t2")
    saver.put_writes(two, [("c", 3)], "t3")

    reader = EventLogSaver(fresh(log))
    found = [reader.get_tuple(config) for config in (one, two)]

    assert [each and each.pending_writes for each in found] == [[("t", "a", 1), ("t2", "b", 2)], [("t3", "c", 3)]]
    assert [each.pending_writes for each in reader.list(place())] == [[("t3", "c", 3)], [("t", "a", 1), ("t2", "b", 2)]]


def test_a_checkpoint_put_again_replaces_the_earlier_one(log: EventLog) -> None:
    """The same id put again is what is read afterwards; it is listed once and keeps its writes."""
    saver = EventLogSaver(log)
    made = checkpoint({"a": 1}, {"a": 1})
    config = saver.put(place(), made, METADATA, {"a": 1})
    saver.put_writes(config, [("x", 1)], "t")
    again = {**made, "channel_values": {"a": 2}, "channel_versions": {"a": 2}}
    saver.put(place(), again, METADATA, {"a": 2})

    (found,) = saver.list(place())

    assert found.checkpoint == again == saver.get(config)
    assert found.pending_writes == [("t", "x", 1)]


def test_foreign_threads_fork_and_copy(log: EventLog) -> None:
    """A fork and a copy have what was put and written, and go on by themselves."""
    saver = EventLogSaver(log)
    one = saver.put(place(), checkpoint({"a": [1]}, {"a": 1}), METADATA, {"a": 1})
    saver.put_writes(one, [("a", [2])], "t")
    saver.put(one, checkpoint({"a": [1, 2]}, {"a": 2}), METADATA, {"a": 2})
    saver.copy_thread("1", "copy")
    log.fork(place(), "fork")

    for name in ("copy", "fork"):
        theirs, ours = list(saver.list(place())), list(saver.list(place(name)))
        assert [(each.checkpoint, each.metadata, each.pending_writes) for each in ours] == [
            (each.checkpoint, each.metadata, each.pending_writes) for each in theirs
        ]
        head = saver.put(ours[0].config, checkpoint({"a": [9]}, {"a": 3}), METADATA, {"a": 3})
        assert len(list(EventLogSaver(fresh(log)).list(place(name)))) == 3
        assert saver.get_tuple(head) is not None
    assert len(list(saver.list(place()))) == 2
    with pytest.raises(ConflictError):
        saver.copy_thread("1", "copy")


def test_a_copy_of_a_native_thread_goes_on(log: EventLog) -> None:
    """A copied thread has all branches and answers its own question; a fork of the copy too."""
    graph = desk(log)
    graph.invoke(INPUT, place())
    first = list(graph.get_state_history(place()))[-2].config
    graph.invoke(None, first)
    EventLogSaver(log).copy_thread("1", "2")
    log.fork(place("2"), "3")

    length = len(list(graph.get_state_history(place())))
    assert len(list(graph.get_state_history(place("2")))) == length
    for name in ("2", "3"):
        assert graph.invoke(Command(resume="x"), place(name))["done"] == ["in", "first", "x", "second", "last"]
    assert graph.get_state(place()).next == ("ask",)


CHANNELS = st.dictionaries(
    st.sampled_from("abc"), st.lists(st.integers(0, 3), max_size=4) | st.text("xy", max_size=5) | st.none(), max_size=3
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(CHANNELS, st.integers(0, 20)), min_size=1, max_size=8))
def test_any_tree_of_puts_comes_back(puts: list[tuple[dict[str, Any], int]]) -> None:
    """Whatever values are put on whatever parent, each checkpoint reads as it was put, by another reader too."""
    saver = InMemorySaver()
    made: list[tuple[Config, dict[str, Any]]] = []
    for number, (values, parent) in enumerate(puts):
        config, before = made[parent % len(made)] if made else (place(), {})
        versions = dict(before.get("channel_versions", {}))
        known = before.get("channel_values", {})
        new = {name: number + 1 for name in {*values, *known} if values.get(name, ...) != known.get(name, ...)}
        stored = checkpoint(values, {**versions, **new})
        made.append((saver.put(config, stored, METADATA, new), stored))

    for reader in (saver, EventLogSaver(fresh(saver.log))):
        for config, stored in made:
            assert reader.get(config) == stored


# What is not there


def test_unknown_things_are_none_or_nothing(log: EventLog) -> None:
    """An unknown thread or id: `get_tuple` gives None, `list` nothing, no event; no thread id is an error."""
    saver = EventLogSaver(log)
    saver.put(place(), checkpoint({}, {}), METADATA, {})
    before = log.log_head().position

    assert saver.get_tuple(place("nobody")) is None
    assert saver.get(place(checkpoint="unknown")) is None
    assert list(saver.list(place("nobody"))) == []
    assert list(saver.list(place(checkpoint="unknown"))) == []
    assert list(saver.list(place(), before=place(checkpoint="unknown"))) == []
    with pytest.raises(MissingThreadId):
        saver.get_tuple({"configurable": {}})
    with pytest.raises(ValueError, match="checkpoint_id"):
        saver.put_writes(place(), [("a", 1)], "t")
    assert log.log_head().position == before


def test_list_filters_limits_and_looks_before(log: EventLog) -> None:
    """By metadata, by count, before a checkpoint; over all threads without a config."""
    saver = EventLogSaver(log)
    config, made = place(), []
    for step in range(4):
        config = saver.put(config, checkpoint({}, {}), {**METADATA, "step": step}, {})
        made.append(config)
    saver.put(place("2"), checkpoint({}, {}), {**METADATA, "step": 3}, {})

    assert [each.config for each in saver.list(place(), limit=2)] == made[:1:-1]
    assert [each.config for each in saver.list(place(), before=made[2])] == [made[1], made[0]]
    assert [each.config for each in saver.list(place(), filter={"step": 1})] == [made[1]]
    assert list(saver.list(place(), filter={"absent": None})) == []
    assert len(list(saver.list(None))) == 5
    assert len(list(saver.list(None, filter={"step": 3}))) == 2
    assert list(saver.list(place(), limit=0)) == []
    with pytest.raises(ValueError, match="limit"):
        list(saver.list(place(), limit=-1))


def test_what_deletes_is_refused(log: EventLog) -> None:
    """This release deletes nothing, and says so instead of doing nothing."""
    saver = EventLogSaver(log)

    for act in (
        lambda: saver.delete_thread("1"),
        lambda: saver.delete_for_runs(["r"]),
        lambda: saver.prune(["1"]),
        lambda: asyncio.run(saver.adelete_thread("1")),
        lambda: asyncio.run(saver.adelete_for_runs(["r"])),
        lambda: asyncio.run(saver.aprune(["1"])),
    ):
        with pytest.raises(NotSupportedYet):
            act()


def test_versions_go_on_from_whatever_they_are() -> None:
    """Integers for us; a thread that began with padded text goes on with it, in order."""
    saver = InMemorySaver()

    assert saver.get_next_version(None, None) == 1
    assert saver.get_next_version(3, None) == 4
    assert saver.get_next_version(1.5, None) == 2.5
    text = f"{9:032}.{123:016}"
    assert saver.get_next_version(text, None) > text
    assert saver.get_next_version(text, None).startswith(f"{10:032}.")


def test_async_twins_do_the_same(log: EventLog) -> None:
    """Every method has a twin on the same object."""
    saver = EventLogSaver(log)
    made = checkpoint({"a": 1}, {"a": 1})

    async def run() -> None:
        async with saver as entered:
            config = await entered.aput(place(), made, METADATA, {"a": 1})
            await entered.aput_writes(config, [("a", 2)], "t")
            await entered.setup()
            assert await entered.aget(config) == made
            found = await entered.aget_tuple(place())
            assert found == saver.get_tuple(place())
            assert [each async for each in entered.alist(place())] == [found]
            await entered.acopy_thread("1", "2")
            assert await entered.aget(place("2")) == made

    asyncio.run(run())


def test_actor_and_reason_are_on_what_is_put(log: EventLog) -> None:
    """`as_actor` counts for foreign writers too, beside the event loop as well."""
    saver = EventLogSaver(log)

    async def run() -> None:
        with log.as_actor("alice", reason="import"):
            config = await saver.aput(place(), checkpoint({}, {}), METADATA, {})
            await saver.aput_writes(config, [("a", 1)], "t")

    asyncio.run(run())

    assert {(record.body.actor, record.body.reason) for record in log.read()} == {("alice", "import")}


# Which log


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


# A serde of the user's


def test_a_serde_is_used_for_what_the_registry_refuses(log: EventLog) -> None:
    """Without one such a value is refused before anything is stored; with one it comes back through it."""
    made = checkpoint({"odd": Unknown(7), "many": [Unknown(1), Unknown(2)], "plain": (1, 2)}, {"odd": 1})
    with pytest.raises(UnsupportedTypeError):
        EventLogSaver(log).put(place(), made, METADATA, {"odd": 1})
    assert log.log_head().position == 0

    saver = EventLogSaver(log, serde=Numbers())
    config = saver.put(place(), made, METADATA, {"odd": 1})
    saver.put_writes(config, [("odd", Unknown(8))], "t")

    for reader in (saver, EventLogSaver(fresh(log), serde=Numbers())):
        found = reader.get_tuple(place())
        assert found is not None
        values = found.checkpoint["channel_values"]
        assert values["odd"].number == 7
        assert [each.number for each in values["many"]] == [1, 2]
        assert values["plain"] == (1, 2)
        assert found.pending_writes is not None
        assert found.pending_writes[0][2].number == 8


def test_a_list_of_refused_values_is_still_stored_as_what_changed(log: EventLog) -> None:
    """Splices stay: a list of values for the serde that grows by one stores one."""
    saver = EventLogSaver(log, serde=Numbers())
    config = place()
    for count in (100, 101):
        made = checkpoint({"many": [Unknown(10_000 + each) for each in range(count)]}, {"many": count})
        config = saver.put(config, made, METADATA, {"many": count})

    record = log.read(log.log_head().position - 1)[0]

    assert len(record.data) < 600
    found = saver.get(place())
    assert found is not None
    assert [each.number for each in found["channel_values"]["many"]] == [10_000 + each for each in range(101)]


def test_who_reads_without_the_serde_gets_the_marked_part(log: EventLog) -> None:
    """Nothing is loaded by a reader that was not told to: the part is there with its tag, and is kept as it is."""
    EventLogSaver(log, serde=Numbers()).put(place(), checkpoint({"odd": Unknown(7)}, {"odd": 1}), METADATA, {"odd": 1})

    found = EventLogSaver(log).get(place())

    assert found is not None
    assert found["channel_values"]["odd"] == Marked("one", b"7")
    assert type(found["channel_values"]["odd"]) is Marked


def test_a_graph_on_a_saver_with_a_serde_stores_what_the_registry_refuses(log: EventLog) -> None:
    """Our own runtime uses a saver's serde as well."""
    graph = counter(EventLogSaver(log, serde=Numbers()))  # type: ignore[arg-type]
    graph.invoke({**INPUT, "note": Unknown(5)}, place())

    assert graph.get_state(place()).values["note"].number == 5
    with pytest.raises(UnsupportedTypeError):
        counter(log).invoke({**INPUT, "note": Unknown(5)}, place("2"))


def test_a_serde_that_seals_or_is_none_is_refused() -> None:
    """A sealing serde would seal nothing yet, so it is refused; so is what is no serde."""
    sealing = Numbers()
    sealing.cipher = object()  # type: ignore[attr-defined]

    with pytest.raises(NotSupportedYet):
        InMemorySaver(serde=sealing)
    with pytest.raises(TypeError, match="dumps_typed"):
        InMemorySaver(serde=object())


def test_from_conn_string_gives_the_class_it_is_called_on() -> None:
    """A subclass gives itself."""

    class Mine(Saver):
        """A saver of somebody's own."""

    assert isinstance(Mine.from_conn_string(":memory:"), Mine)
