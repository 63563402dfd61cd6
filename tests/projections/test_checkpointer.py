"""`EventLogSaver`: a log with the interface of LangGraph's savers, for our threads and for foreign ones."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import ConflictError
from lithograph.eventlog.events import CheckpointCommitted, ResultOp
from lithograph.graph import Command
from lithograph.projections import (
    CheckpointTuple,
    EventLogSaver,
    InMemorySaver,
    MissingThreadId,
    NotSupportedYet,
)

from .conftest import METADATA, Config, checkpoint, counter, desk, fresh, place

INPUT: dict[str, Any] = {"done": ["in"], "word": "", "note": ""}


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
