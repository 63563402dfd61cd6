"""Forks: one event, everything inherited, nothing shared afterwards."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from lithograph.eventlog import EventLog, StreamName
from lithograph.eventlog.errors import CheckpointNotFound, ConflictError, MissingThreadId
from lithograph.eventlog.events import ThreadForked
from lithograph.graph import Command
from lithograph.projections import history, snapshot
from lithograph.projections.inherited import in_source, inherited

from .conftest import Config, counter, desk, fresh, thread

ACTS = st.tuples(st.sampled_from(["run", "fork", "replay"]), st.integers(0, 9), st.integers(0, 99))
"""What to do, on which thread, at which of its checkpoints."""
INPUT: dict[str, Any] = {"done": ["in"], "word": "", "note": ""}


def stream(log: EventLog, name: str) -> bytes:
    """Return the id of a thread's stream."""
    return log.stream_id(StreamName("thread", name))


def first_event(log: EventLog, name: str) -> ThreadForked:
    """Return the event that a fork began with."""
    event = log.read_stream(stream(log, name), 0, 1)[0].event
    assert isinstance(event, ThreadForked)
    return event


def settled_bytes(folder: Path) -> int:
    """Return what a folder takes on disk, once what is written behind the runs is written."""
    before, now = -1, 0
    while before != now:
        time.sleep(0.2)
        before, now = now, sum(file.stat().st_blocks * 512 for file in folder.rglob("*"))
    return now


def comparable(found: Any) -> tuple[Any, ...]:
    """Return what a snapshot says, without the thread it is read from."""
    ids = [each and each["configurable"].get("checkpoint_id") for each in (found.config, found.parent_config)]
    return (
        found.values,
        found.next,
        ids,
        found.metadata,
        found.created_at,
        found.tasks,
        found.interrupts,
        found.writes,
    )


def test_a_fork_is_one_small_event(log: EventLog) -> None:
    """One record of at most 400 bytes in the new thread's stream, under the source's erasure scope."""
    desk(log).invoke(INPUT, thread("1"))
    before = log.log_head().position

    config = log.fork(thread("1"), "2")

    assert config["configurable"]["thread_id"] == "2"
    records = log.read(before)
    assert len(records) == 1
    assert len(records[0].data) <= 400
    assert log.head(stream(log, "2")).scope == log.head(stream(log, "1")).scope


def test_a_fork_of_the_head_reads_as_its_source(log: EventLog) -> None:
    """Live state, finished siblings, the open question and the whole history are those of the source."""
    graph = desk(log)
    graph.invoke(INPUT, thread("1"))

    fork = log.fork(thread("1"), "2")

    for reader in (graph, desk(fresh(log))):
        assert comparable(reader.get_state(fork)) == comparable(graph.get_state(thread("1")))
        past = [comparable(each) for each in reader.get_state_history(fork)]
        assert past == [comparable(each) for each in graph.get_state_history(thread("1"))]
    assert graph.get_state(fork).values["word"] == "second"


def test_an_inherited_question_is_answered_on_the_fork_alone(log: EventLog) -> None:
    """The answer runs the asker only: what had finished is inherited; the source still waits."""
    ran: list[str] = []
    graph = desk(log, seen=ran.append)
    graph.invoke(INPUT, thread("1"))
    fork = log.fork(thread("1"), "2")
    ran.clear()

    result = graph.invoke(Command(resume="that"), fork)

    assert ran == ["ask", "last"]
    assert result["done"] == ["in", "first", "that", "second", "last"]
    assert graph.get_state(thread("1")).next == ("ask",)
    assert graph.invoke(Command(resume="this"), thread("1"))["done"] == ["in", "first", "this", "second", "last"]
    assert snapshot(fresh(log), fork).values == result


def test_an_inherited_question_is_answered_by_its_id(log: EventLog) -> None:
    """A map of answers is matched against what the thread inherited."""
    graph = desk(log)
    graph.invoke(INPUT, thread("1"))
    fork = log.fork(thread("1"), "2")
    (question,) = graph.get_state(fork).interrupts

    result = graph.invoke(Command(resume={question.id: "by id"}), fork)

    assert "by id" in result["done"]


def test_the_base_shows_what_was_written_to_its_step_before_and_after_the_fork(log: EventLog) -> None:
    """By id and in the history, the fork's base has the inherited writes and the fork's own."""
    graph = desk(log)
    graph.invoke(INPUT, thread("1"))
    asked = graph.get_state(thread("1")).config["configurable"]["checkpoint_id"]
    fork = log.fork(thread("1"), "2")
    graph.invoke(Command(resume="that"), fork)

    base = desk(fresh(log)).get_state(thread("2", asked))

    assert {task.name: task.result for task in base.tasks} == {
        "second": {"done": ["second"], "word": "second"},
        "ask": {"done": ["that"], "note": "answered"},
    }
    listed = next(each for each in history(log, fork) if each.config["configurable"]["checkpoint_id"] == asked)
    assert listed.tasks == base.tasks
    assert graph.get_state(thread("1", asked)).tasks != base.tasks


def test_a_fork_of_an_earlier_checkpoint_starts_its_tasks_anew(log: EventLog) -> None:
    """An older checkpoint is forked as it was: only its ancestors, no writes of its tasks."""
    ran: list[str] = []
    graph = desk(log, seen=ran.append)
    graph.invoke(INPUT, thread("1"))
    graph.invoke(Command(resume="this"), thread("1"))
    past = list(graph.get_state_history(thread("1")))
    asked = next(each for each in past if "ask" in each.next)
    ran.clear()

    fork = log.fork(asked.config, "2")

    assert all(task.result is None for task in graph.get_state(fork).tasks)
    assert len(list(graph.get_state_history(fork))) == len(past) - past.index(asked)
    result = graph.invoke(None, fork)
    assert sorted(ran) == ["ask", "second"]
    assert result["done"] == ["in", "first", "second"]


def test_every_inherited_checkpoint_is_found_by_id(log: EventLog) -> None:
    """What the source shows of its past, a fork shows under its own name: values, tasks, writes, parents."""
    graph = desk(log)
    graph.invoke(INPUT, thread("1"))
    graph.invoke(Command(resume="this"), thread("1"))
    fork = log.fork(thread("1"), "2")
    log.fork(fork, "3")
    reader = desk(fresh(log))

    for each in graph.get_state_history(thread("1")):
        id_ = each.config["configurable"]["checkpoint_id"]
        for name in ("2", "3"):
            assert comparable(reader.get_state(thread(name, id_))) == comparable(each)


def test_a_fork_can_go_back_to_what_it_inherited(log: EventLog) -> None:
    """Replay and edit at an inherited checkpoint make branches of the fork, which another process reads alike."""
    graph = desk(log)
    graph.invoke(INPUT, thread("1"))
    graph.invoke(Command(resume="this"), thread("1"))
    past = list(graph.get_state_history(thread("1")))
    log.fork(log.fork(thread("1"), "2"), "3")
    early = past[-2].config["configurable"]["checkpoint_id"]

    replayed = graph.invoke(None, thread("3", early))
    edited = graph.update_state(thread("3", early), {"done": ["edited"]}, as_node="first")

    assert replayed["done"] == ["in", "first", "second"]
    reader = desk(fresh(log))
    assert reader.get_state(edited).values["done"] == ["in", "edited"]
    assert reader.get_state(edited).parent_config["configurable"]["checkpoint_id"] == early
    assert [comparable(each) for each in reader.get_state_history(thread("3"))] == [
        comparable(each) for each in graph.get_state_history(thread("3"))
    ]
    assert [comparable(each) for each in graph.get_state_history(thread("1"))] == list(map(comparable, past))


def test_history_before_an_inherited_checkpoint(log: EventLog) -> None:
    """`before` names any checkpoint of the thread, inherited ones too."""
    graph = counter(log)
    graph.invoke(INPUT, thread("1"))
    fork = log.fork(thread("1"), "2")
    graph.invoke(INPUT, fork)
    past = list(graph.get_state_history(fork))

    for place, each in enumerate(past):
        assert list(graph.get_state_history(fork, before=each.config)) == past[place + 1 :]


def test_history_before_an_inherited_checkpoint_keeps_to_the_branch(log: EventLog) -> None:
    """With `before` as without it, a fork shows only the ancestors of its base, not its source's other branches."""
    graph = counter(log)
    graph.invoke(INPUT, thread("1"))
    first = graph.get_state(thread("1")).config
    graph.invoke(INPUT, thread("1"))
    graph.update_state(first, {"note": "another branch"})
    fork = log.fork(thread("1"), "2")
    past = list(graph.get_state_history(fork))
    assert len(past) < len(list(graph.get_state_history(thread("1"))))

    for place, each in enumerate(past):
        assert list(graph.get_state_history(fork, before=each.config)) == past[place + 1 :]


def test_forks_of_forks_stay_short(log: EventLog) -> None:
    """What a fork inherits is forked from the stream that holds it; only a fork's own writes lead through it."""
    graph = desk(log)
    graph.invoke(INPUT, thread("1"))
    asked = graph.get_state(thread("1")).config["configurable"]["checkpoint_id"]
    log.fork(thread("1"), "2")
    log.fork(thread("2"), "untouched")
    graph.invoke(Command(resume="that"), thread("2"))
    log.fork(thread("2", asked), "inherited")
    log.fork(thread("2"), "own")

    assert first_event(log, "untouched") == first_event(log, "2")
    assert first_event(log, "inherited").source == stream(log, "1")
    assert first_event(log, "own").source == stream(log, "2")
    assert graph.get_state(thread("own")).values == graph.get_state(thread("2")).values


def test_a_fork_whose_question_got_a_second_one_is_forked_with_both(log: EventLog) -> None:
    """A fork that answered nothing but failed, or edited, hands on what it wrote itself."""
    graph = desk(log)
    graph.invoke(INPUT, thread("1"))
    log.fork(thread("1"), "2")
    graph.invoke(Command(update={"note": "ahead"}), thread("2"))
    log.fork(thread("2"), "3")

    assert comparable(graph.get_state(thread("3"))) == comparable(graph.get_state(thread("2")))
    assert graph.invoke(Command(resume="x"), thread("3")) == graph.invoke(Command(resume="x"), thread("2"))


def test_the_source_going_on_changes_no_fork(log: EventLog) -> None:
    """Law L3: what a fork shows is settled when it is made."""
    graph = desk(log)
    graph.invoke(INPUT, thread("1"))
    fork = log.fork(thread("1"), "2")
    before = [comparable(each) for each in graph.get_state_history(fork)], comparable(graph.get_state(fork))

    graph.invoke(Command(resume="this"), thread("1"))
    graph.update_state(thread("1"), {"note": "later"}, as_node="last")

    reader = desk(fresh(log))
    assert ([comparable(each) for each in reader.get_state_history(fork)], comparable(reader.get_state(fork))) == before


def test_what_cannot_be_forked_is_refused_and_leaves_no_event(log: EventLog) -> None:
    """Unknown thread, unknown checkpoint, no thread id, an existing target: each its own error, nothing written."""
    graph = counter(log)
    graph.invoke(INPUT, thread("1"))
    graph.invoke(INPUT, thread("taken"))
    unknown = "1f1ecf5c-23a3-6f84-8001-075c9d4962f3"
    before = log.log_head().position

    with pytest.raises(CheckpointNotFound, match="'nobody'"):
        log.fork(thread("nobody"), "2")
    with pytest.raises(CheckpointNotFound, match=unknown):
        log.fork(thread("1", unknown), "2")
    with pytest.raises(CheckpointNotFound, match="'no id'"):
        log.fork(thread("1", "no id"), "2")
    with pytest.raises(MissingThreadId):
        log.fork({}, "2")
    with pytest.raises(ConflictError, match="thread 'taken' already"):
        log.fork(thread("1"), "taken")
    with pytest.raises(ConflictError):
        log.fork(thread("1"), "1")
    with pytest.raises(TypeError):
        log.fork(thread("1"), None)

    assert log.log_head().position == before


def test_thread_ids_may_be_numbers_and_uuids(log: EventLog) -> None:
    """As in configs, an int or a UUID counts as its text."""
    graph = counter(log)
    graph.invoke(INPUT, thread("1"))

    log.fork({"configurable": {"thread_id": 1}}, 2)
    log.fork(thread("2"), UUID(int=3))

    assert snapshot(log, thread(str(UUID(int=3)))).values == snapshot(log, thread("1")).values


def test_who_forked_and_why_is_recorded(log: EventLog) -> None:
    """Actor and reason are on the event, as on every other."""
    counter(log).invoke(INPUT, thread("1"))

    with log.as_actor("alice", reason="what if"):
        log.fork(thread("1"), "2")

    body = log.read_stream(stream(log, "2"), 0, 1)[0].body
    assert (body.actor, body.reason) == ("alice", "what if")


def test_what_a_fork_reads_does_not_grow_with_the_source(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork of the head reads a few records from the source's end, at any length of its history."""
    graph = counter(log)
    read: list[int] = []

    def records_of_fork(target: str) -> int:
        read.clear()
        log.fork(thread("1"), target)
        return sum(read)

    engine_reads = log.engine.read_stream

    def counted(stream: bytes, after: int, limit: int) -> Any:
        page = engine_reads(stream, after, limit)
        read.append(len(page.records))
        return page

    monkeypatch.setattr(log.engine, "read_stream", counted)
    for _ in range(4):
        graph.invoke(INPUT, thread("1"))
    short = records_of_fork("short")
    for _ in range(40):
        graph.invoke(INPUT, thread("1"))

    assert records_of_fork("long") == short <= 32


def test_a_thousand_forks_take_little_room(tmp_path: Path) -> None:
    """1,000 forks grow the folder by at most 600 KB on disk, all files counted."""
    with EventLog(tmp_path / "log") as log:
        graph = counter(log)
        for _ in range(10):
            graph.invoke(INPUT, thread("1"))
        log.fork(thread("1"), "first")
        before = settled_bytes(tmp_path / "log")

        for number in range(1000):
            log.fork(thread("1"), f"fork {number}")

        assert settled_bytes(tmp_path / "log") - before <= 600_000
        assert snapshot(log, thread("fork 999")).values == snapshot(log, thread("1")).values


def test_numbers_of_inherited_records_lead_back() -> None:
    """A fork's number for its source's record leads back to it, through any number of forks."""
    number = 7
    for _ in range(5):
        deeper = inherited(number)
        assert deeper < 0
        assert in_source(deeper) == number
        number = deeper


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.sampled_from(["run", "fork", "replay"]), st.integers(0, 9), st.integers(0, 99)), max_size=8)
)
@example([("replay", 0, 1), ("run", 0, 0), ("fork", 0, 4), ("replay", 1, 0)])
def test_any_tree_of_forks_reads_as_its_model(acts: list[tuple[str, int, int]]) -> None:
    """Threads that run, fork anywhere and replay anywhere keep what they had; each fork has its base's ancestors."""
    log = EventLog.in_memory()
    graph = counter(log)
    graph.invoke(INPUT, thread("0"))
    model: dict[str, list[Any]] = {"0": [comparable(each) for each in graph.get_state_history(thread("0"))]}

    for act, which, where in acts:
        name = sorted(model)[which % len(model)]
        place = where % len(model[name])
        config: Config = thread(name, model[name][place][2][0])
        if act == "fork":
            name = str(len(model))
            log.fork(config, name)
            known = _ancestors(model[sorted(model)[which % len(model)]], place)
        else:
            known = model[name]
            graph.invoke(INPUT if act == "run" else None, config)
        now = [comparable(each) for each in graph.get_state_history(thread(name))]
        kept = now if act == "fork" else now[len(now) - len(known) :]
        if act == "replay" and place == 0:
            # A fork's head has open tasks: going on there fills in their results.
            kept, known = [_unfinished(kept[0]), *kept[1:]], [_unfinished(known[0]), *known[1:]]
        assert kept == known
        model[name] = now

    reader = counter(fresh(log))
    for name, known in model.items():
        assert [comparable(each) for each in reader.get_state_history(thread(name))] == known
        for each in known:
            assert comparable(reader.get_state(thread(name, each[2][0]))) == each
    assert log.verify().ok


def _ancestors(entries: list[Any], place: int) -> list[Any]:
    by_id = {each[2][0]: each for each in entries}
    found: list[Any] = []
    wanted = entries[place][2][0]
    while wanted is not None:
        found.append(by_id[wanted])
        wanted = by_id[wanted][2][1]
    if place:
        # A fork of an earlier checkpoint has none of what its tasks wrote.
        found[0] = _unfinished(found[0])
    return found


def _unfinished(entry: Any) -> Any:
    """Return a snapshot's entry without the results of its tasks."""
    *others, tasks, interrupts, writes = entry
    return (*others, tuple(task._replace(result=None) for task in tasks), interrupts, writes)
