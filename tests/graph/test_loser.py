"""A run that lost its thread goes on in a fork: with its own input, its own answers, and nothing done twice."""

from __future__ import annotations

import operator
import threading
import uuid
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import START, Command, ConflictError, StateGraph, UnknownInterruptError, interrupt
from lithograph.projections import threads

ONE = {"configurable": {"thread_id": "1"}}
DURABILITIES = ("sync", "async", "exit")


class Log(TypedDict):
    """A state that says who was there."""

    log: Annotated[list[Any], operator.add]


class Desk:
    """A graph that asks beside a node that finishes; `rival` is called, once, when a node gets to `at`."""

    def __init__(self, at: str = "") -> None:
        self.ran: list[str] = []
        self.rival: Callable[[], Any] | None = None
        self.log = EventLog.in_memory()
        self._at = at
        builder = StateGraph(Log).add_node("ask", self._ask)
        builder.add_node("beside", self._node("beside")).add_node("after", self._node("after"))
        builder.add_edge(START, "ask").add_edge(START, "beside").add_edge("ask", "after")
        self.graph = builder.compile(checkpointer=self.log)

    def _ask(self, _state: Log) -> dict[str, Any]:
        answer = interrupt("sure?")
        self._act("ask")
        return {"log": [answer]}

    def _node(self, name: str) -> Any:
        def node(_state: Log) -> dict[str, Any]:
            self._act(name)
            return {"log": [name]}

        return node

    def _act(self, name: str) -> None:
        self.ran.append(name)
        if name == self._at and self.rival is not None:
            rival, self.rival = self.rival, None
            thread = threading.Thread(target=rival)
            thread.start()
            thread.join()


@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("at", ["ask", "after"])
@pytest.mark.parametrize("how", ["bare", "map", "with update"])
def test_the_branch_has_the_answer_and_what_had_finished(durability: str, at: str, how: str) -> None:
    """Overtaken in the answered step or behind it: the branch takes the answer as given and reruns no sibling."""
    desk = Desk(at)
    desk.graph.invoke({"log": ["in"]}, ONE)
    (question,) = desk.graph.get_state(ONE).interrupts
    given = {
        "bare": Command(resume="yes"),
        "map": Command(resume={question.id: "yes"}),
        "with update": Command(resume="yes", update={"log": ["edit"]}),
    }[how]
    desk.rival = lambda: desk.graph.update_state(ONE, {"log": ["rival"]}, as_node="after")
    result = desk.graph.invoke(given, ONE, durability=durability, on_conflict="fork")
    edit = ["edit"] if how == "with update" else []
    assert result == {"log": ["in", *edit, "yes", "beside", "after"]}
    assert desk.ran.count("beside") == 1
    assert desk.graph.get_state(ONE).values["log"][-1] == "rival"


@pytest.mark.parametrize("durability", DURABILITIES)
def test_the_branch_has_the_losers_input_when_a_run_id_is_shared(durability: str) -> None:
    """Winner and loser run under one `run_id`: each thread ends with its own input."""
    held: list[Callable[[], Any]] = []

    def node(_state: Log) -> dict[str, Any]:
        if held:
            thread = threading.Thread(target=held.pop())
            thread.start()
            thread.join()
        return {"log": ["node"]}

    graph = StateGraph(Log).add_node("node", node).add_edge(START, "node").compile(checkpointer=EventLog.in_memory())
    graph.invoke({"log": ["base"]}, ONE)
    shared = {**ONE, "run_id": uuid.uuid4()}
    held.append(lambda: graph.invoke({"log": ["winner"]}, shared))
    result = graph.invoke({"log": ["loser"]}, shared, durability=durability, on_conflict="fork")
    assert result == {"log": ["base", "node", "loser", "node"]}
    # What the loser had committed before it was overtaken stays: its input, except at exit and in the async queue.
    left = graph.get_state(ONE).values["log"]
    assert [word for word in left if word != "loser"] == ["base", "node", "winner", "node"]


def test_a_fork_of_an_older_checkpoint_takes_a_map_of_the_sources_ids() -> None:
    """Its tasks start anew and ask under the same ids, so the map answers them; it is never the answer itself."""
    desk = Desk()
    desk.graph.invoke({"log": ["in"]}, ONE)
    asked = desk.graph.get_state(ONE)
    (question,) = asked.interrupts
    desk.graph.invoke(Command(resume="no"), ONE)
    fork = desk.log.fork(asked.config, "fork")
    assert desk.graph.invoke(Command(resume={question.id: "yes"}), fork) == {"log": ["in", "yes", "beside", "after"]}
    with pytest.raises(UnknownInterruptError):
        desk.graph.invoke(Command(resume={question.id: "again"}), fork)


@pytest.mark.parametrize("durability", DURABILITIES)
def test_a_stream_that_is_left_opens_no_branch(durability: str) -> None:
    """Whoever leaves the stream of an overtaken run hears of the conflict; nothing runs on for nobody."""
    desk = Desk()
    stream = desk.graph.stream({"log": ["in"]}, ONE, durability=durability, on_conflict="fork")
    next(stream)
    desk.graph.invoke({"log": ["rival"]}, ONE)
    ran = len(desk.ran)
    with pytest.raises(ConflictError):
        stream.close()
    assert len(desk.ran) == ran
    assert [thread.thread_id for thread in threads(desk.log)] == ["1"]
