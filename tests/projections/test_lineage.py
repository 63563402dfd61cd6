"""`lineage`: from the root to a checkpoint, across forks, with where each one lies."""

from __future__ import annotations

from itertools import pairwise

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.clock import id_text
from lithograph.eventlog.events import CheckpointCommitted
from lithograph.graph import Command
from lithograph.projections import CheckpointNotFound, lineage

from .conftest import counter, desk, fresh, thread

INPUT = {"done": ["in"], "word": "", "note": ""}


def test_a_threads_lineage_is_its_branch_from_the_root(log: EventLog) -> None:
    """Ids lead from the root to the head by parents; branches that the head does not come from are left out."""
    graph = counter(log)
    graph.invoke(INPUT, thread("1"))
    past = list(graph.get_state_history(thread("1")))
    graph.invoke(None, past[1].config)

    found = lineage(log, thread("1"))

    parents = {each.config["configurable"]["checkpoint_id"]: each for each in graph.get_state_history(thread("1"))}
    ids = [each.checkpoint_id for each in found]
    assert ids[0] == past[-1].config["configurable"]["checkpoint_id"]
    assert ids[-1] == graph.get_state(thread("1")).config["configurable"]["checkpoint_id"]
    assert past[0].config["configurable"]["checkpoint_id"] not in ids
    for parent, child in pairwise(ids):
        assert parents[child].parent_config["configurable"]["checkpoint_id"] == parent
    assert [(each.step, each.source) for each in found] == [(-1, "input"), (0, "loop"), (1, "fork"), (2, "loop")]


def test_lineage_of_a_named_checkpoint_ends_there(log: EventLog) -> None:
    """With a checkpoint id, the way ends at it."""
    graph = counter(log)
    graph.invoke(INPUT, thread("1"))
    past = list(graph.get_state_history(thread("1")))

    assert [each.step for each in lineage(log, past[1].config)] == [-1, 0]


def test_lineage_names_the_thread_that_committed_each(log: EventLog) -> None:
    """Across forks each ancestor has its own thread, and the position of its commit in the log."""
    graph = desk(log)
    graph.invoke(INPUT, thread("1"))
    graph.invoke(Command(resume="that"), log.fork(thread("1"), "2"))
    graph.update_state(log.fork(thread("2"), "3"), {"note": "edited"}, as_node="last")

    found = lineage(fresh(log), thread("3"))

    assert [each.thread_id for each in found] == ["1", "1", "1", "2", "2", "3"]
    for each in found:
        record = log.read(each.position - 1, 1)[0]
        event = record.event
        assert isinstance(event, CheckpointCommitted)
        assert (id_text(event.id), record.header.version) == (each.checkpoint_id, each.version)


def test_lineage_says_who_and_why(log: EventLog) -> None:
    """Each ancestor has the actor and the reason of its commit."""
    graph = counter(log)
    with log.as_actor("clerk"):
        graph.invoke(INPUT, thread("1"))
    with log.as_actor("alice", reason="typo"):
        graph.update_state(thread("1"), {"note": "right"})

    found = lineage(log, thread("1"))

    assert (found[0].actor, found[0].reason) == ("clerk", None)
    assert (found[-1].actor, found[-1].reason) == ("alice", "typo")


def test_lineage_decodes_no_value(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads commits only: no stored value is looked at."""
    from lithograph.eventlog.serde import Serializer

    graph = counter(log)
    graph.invoke(INPUT, thread("1"))
    monkeypatch.setattr(Serializer, "decode", lambda self, data: pytest.fail("decoded a value"))

    assert len(lineage(log, thread("1"))) == 3


def test_what_has_no_lineage(log: EventLog) -> None:
    """An unknown thread has none; an unknown checkpoint of a known thread is an error."""
    counter(log).invoke(INPUT, thread("1"))

    assert lineage(log, thread("nobody")) == []
    with pytest.raises(CheckpointNotFound):
        lineage(log, thread("1", "1f1ecf5c-23a3-6f84-8001-075c9d4962f3"))
