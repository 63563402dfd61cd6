"""What is asked and answered is recorded as it was given; what cannot be recorded is refused in time."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import UnsupportedTypeError
from lithograph.graph import START, Command, StateGraph, interrupt

ONE = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    answers: list[Any]


def test_a_node_cannot_change_an_answer_on_record() -> None:
    """A node that works on its answer in place gets it unchanged when it runs again, and so does the caller."""
    seen: list[Any] = []

    def node(state: State) -> State:
        first = interrupt("first?")
        seen.append(list(first))
        first.append("changed")
        return {"answers": [first, interrupt("second?")]}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile(checkpointer=EventLog.in_memory())
    graph.invoke({"answers": []}, ONE)
    graph.invoke(Command(resume=["a"]), ONE)
    graph.invoke(Command(resume=["b"]), ONE)
    asked = next(snapshot for snapshot in graph.get_state_history(ONE) if snapshot.interrupts)
    seen.clear()
    mine = ["anew"]
    graph.invoke(Command(resume=mine), asked.config)
    graph.invoke(Command(resume=["b"]), ONE)
    assert seen == [["anew"], ["anew"]]
    assert mine == ["anew"]


def test_an_answer_that_cannot_be_recorded_is_refused_before_the_run() -> None:
    """At a checkpoint that was left, and for a task that failed: the call raises, no node runs, no event is left."""
    log, broken, ran = EventLog.in_memory(), [True], []

    def node(state: State) -> State:
        ran.append(1)
        if broken:
            raise ValueError("broken")
        return {"answers": [interrupt("sure?")]}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile(checkpointer=log)
    with pytest.raises(ValueError, match="broken"):
        graph.invoke({"answers": []}, ONE)
    broken.clear()

    def refused(config: Any) -> None:
        before = log.log_head().position, len(ran)
        with pytest.raises(UnsupportedTypeError):
            graph.invoke(Command(resume=lambda: None), config)
        assert (log.log_head().position, len(ran)) == before

    refused(ONE)
    graph.invoke(None, ONE)
    graph.invoke(Command(resume="yes"), ONE)
    refused(next(snapshot for snapshot in graph.get_state_history(ONE) if snapshot.next == ("node",)).config)


def test_a_question_that_cannot_be_recorded_fails_its_task() -> None:
    """The error names the node, and the task shows it; once the node is mended the thread goes on."""
    question: list[Any] = [lambda: None]

    def node(state: State) -> State:
        return {"answers": [interrupt(question[0])]}

    graph = (
        StateGraph(State).add_node("asker", node).add_edge(START, "asker").compile(checkpointer=EventLog.in_memory())
    )
    with pytest.raises(UnsupportedTypeError) as caught:
        graph.invoke({"answers": []}, ONE)
    assert "'asker'" in "".join(caught.value.__notes__)
    task = graph.get_state(ONE).tasks[0]
    assert "UnsupportedTypeError" in str(task.error)
    assert task.interrupts == ()
    question[0] = "sure?"
    graph.invoke(None, ONE)
    assert graph.invoke(Command(resume=1), ONE) == {"answers": [1]}
