"""Threads that hold events of a later version: passed over where they are marked so, refused where they are not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from lithograph.eventlog import ANY, EventLog, StreamName, StreamWrite, codec
from lithograph.eventlog.errors import NewerFormat
from lithograph.eventlog.events import EVENTS, SKIPPABLE, Event
from lithograph.graph import START, StateGraph
from lithograph.projections import history, rebuild_views, snapshot, threads
from lithograph.projections.reader import threads_of
from lithograph.projections.thread import RUNG_COMMITS
from lithograph.store import EventLogStore
from typing_extensions import TypedDict


class Later(Event, frozen=True):
    """A kind that this version does not know."""

    kind: ClassVar[int] = 901


class LaterNote(Event, frozen=True):
    """One that it may skip."""

    kind: ClassVar[int] = 901 | SKIPPABLE
    text: str


class State(TypedDict):
    """A number that grows."""

    n: int


CONFIG: Any = {"configurable": {"thread_id": "t"}}
OTHER: Any = {"configurable": {"thread_id": "other"}}


def _graph(log: EventLog) -> Any:
    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("more", lambda state: {"n": state["n"] + 1})
    builder.add_edge(START, "more")
    return builder.compile(checkpointer=log)


@pytest.fixture(params=["memory", "lmdb"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Two threads, one of which has had two runs."""
    with EventLog.in_memory() if request.param == "memory" else EventLog(tmp_path / "log") as log:
        graph = _graph(log)
        graph.invoke({"n": 1}, CONFIG)
        graph.invoke({"n": 5}, CONFIG)
        graph.invoke({"n": 7}, OTHER)
        yield log


@contextmanager
def reopened(log: EventLog) -> Iterator[EventLog]:
    """Give the log as somebody else reads it, who has folded nothing yet."""
    if log.path is None:
        with EventLog.over(log.engine) as again:
            yield again
    else:
        log.close()
        with EventLog(log.path) as again:
            yield again


def _append(log: EventLog, event: Event) -> None:
    log.append([StreamWrite(StreamName("thread", "t"), ANY, [log.stamp(event)])])


def test_a_marked_event_in_a_thread_is_passed_over(log: EventLog) -> None:
    """State, history and the list of threads are what they were; the thread goes on, and views are made over it."""
    graph = _graph(log)
    state, past = snapshot(log, CONFIG), [*history(log, CONFIG)]
    _append(log, LaterNote("of a later version"))
    assert snapshot(log, CONFIG) == state
    assert [*history(log, CONFIG)] == past
    assert {info.thread_id: info.status for info in threads(log)} == {"t": "finished", "other": "finished"}
    assert graph.invoke({"n": 10}, CONFIG) == {"n": 11}
    rebuild_views(log)
    assert graph.get_state(CONFIG).values == {"n": 11}
    assert [entry.values for entry in history(log, CONFIG)][-len(past) :] == [entry.values for entry in past]
    assert log.verify().findings == []


def test_an_unmarked_event_stops_its_thread_and_no_other(log: EventLog) -> None:
    """Reading and running the thread is `NewerFormat`, before anything is stored; other threads stand as they are."""
    _append(log, Later())
    graph = _graph(log)
    position = log.log_head().position
    for read in (
        lambda: snapshot(log, CONFIG),
        lambda: [*history(log, CONFIG)],
        lambda: graph.get_state(CONFIG),
        lambda: graph.invoke({"n": 1}, CONFIG),
        lambda: graph.update_state(CONFIG, {"n": 1}),
        lambda: log.fork(CONFIG, "a fork"),
    ):
        with pytest.raises(NewerFormat, match="upgrade"):
            read()
    assert log.log_head().position == position
    assert graph.invoke({"n": 20}, OTHER) == {"n": 21}
    for _ in range(2):
        assert {info.thread_id: info.status for info in threads(log)} == {"t": "newer", "other": "finished"}
        assert graph.get_state(OTHER).values == {"n": 21}
        with pytest.raises(NewerFormat, match="upgrade"):
            snapshot(log, CONFIG)
        rebuild_views(log)


def test_views_are_made_of_all_other_threads(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that a later version went on with for long stops nobody's views, and reads as newer from them, too."""
    with monkeypatch.context() as patch:
        patch.setitem(EVENTS, Later.kind, Later)
        _append(log, Later())
        for n in range(RUNG_COMMITS):
            _graph(log).invoke({"n": n}, CONFIG)
    codec._decoder.cache_clear()  # pyright: ignore[reportPrivateUsage]
    for n in range(RUNG_COMMITS):
        _graph(log).invoke({"n": n}, OTHER)
    with reopened(log) as again:
        rebuild_views(again)
        assert {info.thread_id: info.status for info in threads(again)} == {"t": "finished", "other": "finished"}
        assert snapshot(again, OTHER).values == {"n": RUNG_COMMITS}
        with pytest.raises(NewerFormat, match="upgrade"):
            [*history(again, CONFIG)]
        if again.path is not None:
            assert threads_of(again).views.position(again) == again.log_head().position


def test_an_unmarked_event_among_memories_stops_the_store_alone(log: EventLog) -> None:
    """What is remembered may have changed in a way that nobody here knows, so nothing is told; threads stand."""
    store = EventLogStore(log)
    store.put(("notes",), "k", {"v": 1})
    log.append([StreamWrite(StreamName("items", "notes"), ANY, [log.stamp(LaterNote("marked"))])])
    assert store.get(("notes",), "k") is not None
    log.append([StreamWrite(StreamName("items", "notes"), ANY, [log.stamp(Later())])])
    for _ in range(2):
        with pytest.raises(NewerFormat, match="upgrade"):
            store.get(("notes",), "k")
    assert snapshot(log, CONFIG).values == {"n": 6}
