"""`threads`, `snapshot` and `history`: what a log says without any graph."""

from __future__ import annotations

from typing import Any

import pytest
from lithograph.eventlog import EventLog, StreamName
from lithograph.graph import Command
from lithograph.projections import InMemorySaver, history, snapshot, threads

from .conftest import counter, desk, fresh, thread

INPUT: dict[str, Any] = {"done": ["in"], "word": "", "note": ""}


def test_threads_come_in_the_order_in_which_they_began(log: EventLog) -> None:
    """Order is position of the first event, whatever happened later and whatever else the log holds."""
    graph = counter(log)
    names = ["b", "a", "", "ü" * 600, "c"]
    for name in names:
        graph.invoke(INPUT, thread(name))
    log.record("note", b"not a thread")
    graph.invoke(INPUT, thread("b"))

    found = list(threads(fresh(log)))

    assert [info.thread_id for info in found] == names
    streams = [log.stream_id(StreamName("thread", name)) for name in names]
    assert [info.version for info in found] == [log.head(stream).version for stream in streams]


def test_threads_say_how_far_each_is(log: EventLog) -> None:
    """Status as the last run ended; head, step, source and what is planned there."""
    graph = desk(log)
    graph.invoke(INPUT, thread("waits"))
    graph.invoke(INPUT, thread("done"))
    graph.invoke(Command(resume="this"), thread("done"))
    graph.invoke(INPUT, thread("edited"))
    graph.update_state(thread("edited"), {"word": "by hand"}, as_node="first")
    log.fork(thread("waits"), "forked")

    found = {info.thread_id: info for info in threads(log)}

    assert {name: info.status for name, info in found.items()} == {
        "waits": "interrupted",
        "done": "finished",
        "edited": "edited",
        "forked": "forked",
    }
    assert found["waits"].planned == ("second", "ask")
    assert found["done"].planned == ()
    for name in found:
        state = graph.get_state(thread(name))
        assert found[name].checkpoint_id == state.config["configurable"]["checkpoint_id"]
    head = graph.get_state(thread("done"))
    assert (found["done"].step, found["done"].source) == (head.metadata["step"], head.metadata["source"])
    assert found["done"].created_at < found["done"].updated_at


def test_a_failed_and_a_stored_thread(log: EventLog) -> None:
    """A run that failed says so; a thread that a foreign runtime writes has no runs."""
    graph = counter(log)
    with pytest.raises(TypeError, match="concatenate"):
        graph.invoke({"done": "no list"}, thread("failed"))
    saver = InMemorySaver()
    checkpoint = {"v": 4, "id": "one", "ts": "", "channel_values": {}, "channel_versions": {}, "versions_seen": {}}
    saver.put({"configurable": {"thread_id": "x", "checkpoint_ns": ""}}, checkpoint, {}, {})

    assert [info.status for info in threads(log)] == ["failed"]
    (task,) = snapshot(log, thread("failed")).tasks
    assert "concatenate" in task.error
    (stored,) = threads(saver.log)
    assert (stored.status, stored.checkpoint_id) == ("stored", "one")


def test_snapshots_without_the_graph_are_those_of_the_graph(log: EventLog) -> None:
    """Live state, records by id and history say the same with and without the graph."""
    graph = desk(log)
    graph.invoke(INPUT, thread("1"))
    reader = fresh(log)

    assert snapshot(reader, thread("1")) == graph.get_state(thread("1"))
    past = list(graph.get_state_history(thread("1")))
    assert list(history(reader, thread("1"))) == past
    assert [each.writes for each in history(reader, thread("1"))] == [each.writes for each in past]
    for each in past:
        assert snapshot(reader, each.config) == each
    assert list(history(reader, thread("1"), limit=2)) == past[:2]
    assert list(history(reader, thread("1"), before=past[0].config)) == past[1:]


def test_reading_without_a_graph_spoils_nothing_for_the_graph(log: EventLog) -> None:
    """What was decoded without a graph's types is not what its graph reads, in either order."""
    from dataclasses import dataclass
    from typing import TypedDict

    from lithograph.eventlog.serde import Opaque
    from lithograph.graph import START, StateGraph

    @dataclass
    class Case:
        number: int

    state = TypedDict("state", {"case": Case})  # noqa: UP013 - its class is local
    builder = StateGraph(state)
    builder.add_node("keep", lambda state: {"case": Case(state["case"].number + 1)})
    builder.add_edge(START, "keep")
    graph = builder.compile(checkpointer=log)
    graph.invoke({"case": Case(1)}, thread("1"))

    for _ in range(2):
        assert isinstance(snapshot(log, thread("1")).values["case"], Opaque)
        assert graph.get_state(thread("1")).values["case"] == Case(2)
    assert graph.invoke({"case": Case(4)}, thread("1"))["case"] == Case(5)


def test_an_unknown_thread_is_an_empty_one(log: EventLog) -> None:
    """No error, no event: a snapshot without values, no history."""
    before = log.log_head().position

    assert snapshot(log, thread("nobody")).values == {}
    assert list(history(log, thread("nobody"))) == []
    assert list(threads(log)) == []
    assert log.log_head().position == before
