"""Where we differ from LangGraph on purpose: a test for each row of the design's table in this release.

Rows that belong to the memory store are tested in `tests/store/`; all else is compared in `tests/oracle/`.
"""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import ConflictError
from lithograph.graph import (
    START,
    CheckpointNotFound,
    Command,
    EmptyInputError,
    NothingToResume,
    NotSupportedYet,
    StateGraph,
    UnknownInterruptError,
    interrupt,
)

from .chains import ONE, Log, ask, chain, events, stamp


@pytest.fixture
def log() -> Iterator[EventLog]:
    """A log in memory."""
    with EventLog.in_memory() as opened:
        yield opened


# Two runs on one thread


class _Rival:
    """A node that, on its first visit, waits until another run of the same thread has finished."""

    def __init__(self) -> None:
        self.entered, self.go_on = threading.Event(), threading.Event()

    def __call__(self, state: Log) -> Any:
        if state["n"] == 1:
            self.entered.set()
            assert self.go_on.wait(10)
        return {"log": [f"run {state['n']}"]}


def _overtake(log: EventLog, **options: Any) -> tuple[Any, list[Any]]:
    """Start run 1, let run 2 take its thread over, and return the graph and what became of run 1."""
    rival, outcome = _Rival(), list[Any]()
    graph = chain(slow=rival, after=stamp("after")).compile(checkpointer=log)

    def first() -> None:
        try:
            outcome.append(graph.invoke({"n": 1, "log": []}, ONE, durability="sync", **options))
        except ConflictError as error:
            outcome.append(error)

    thread = threading.Thread(target=first)
    thread.start()
    assert rival.entered.wait(10)
    graph.invoke({"n": 2, "log": []}, ONE)
    rival.go_on.set()
    thread.join(10)
    return graph, outcome


def test_of_two_runs_the_overtaken_one_gets_a_conflict(log: EventLog) -> None:
    """The run that lost its thread raises `ConflictError` with both versions; the other's state stands."""
    graph, [error] = _overtake(log)
    assert isinstance(error, ConflictError)
    assert error.actual > error.expected
    assert graph.get_state(ONE).values["log"] == ["run 2", "after"]


def test_the_overtaken_run_may_go_on_in_a_fork(log: EventLog) -> None:
    """With `on_conflict="fork"` both runs end, the loser on a thread of its own."""
    graph, [result] = _overtake(log, on_conflict="fork")
    assert result["log"] == ["run 1", "after"]
    assert graph.get_state(ONE).values["log"] == ["run 2", "after"]


# Unknown checkpoints


def test_an_unknown_checkpoint_id_is_refused(log: EventLog) -> None:
    """Every way to name a checkpoint that is not there raises `CheckpointNotFound` and appends nothing."""
    graph = chain(a=stamp("a")).compile(checkpointer=log)
    graph.invoke({"n": 1}, ONE)
    missing: Any = {"configurable": {"thread_id": "1", "checkpoint_id": str(uuid.UUID(int=0))}}
    before = events(log)
    acts: list[Callable[[], Any]] = [
        lambda: graph.invoke({"n": 2}, missing),
        lambda: graph.invoke(None, missing),
        lambda: list(graph.stream({"n": 2}, missing)),
        lambda: graph.update_state(missing, {"n": 3}),
        lambda: graph.get_state(missing),
        lambda: list(graph.get_state_history(missing)),
    ]
    for act in acts:
        with pytest.raises(CheckpointNotFound):
            act()
    assert events(log) == before


def test_a_saver_finds_nothing_at_an_unknown_checkpoint_id(log: EventLog) -> None:
    """The saver's own interface says `None` and nothing instead of raising."""
    chain(a=stamp("a")).compile(checkpointer=log).invoke({"n": 1}, ONE)
    missing: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": "", "checkpoint_id": str(uuid.UUID(int=0))}}
    from lithograph.projections import EventLogSaver

    saver = EventLogSaver(log)
    assert saver.get_tuple(missing) is None
    assert list(saver.list(missing)) == []


def test_an_unknown_thread_is_empty_also_with_an_id(log: EventLog) -> None:
    """A thread nobody wrote to reads as empty, whatever checkpoint of it is named."""
    graph = chain(a=stamp("a")).compile(checkpointer=log)
    nowhere: Any = {"configurable": {"thread_id": "new", "checkpoint_id": str(uuid.UUID(int=0))}}
    assert graph.get_state(nowhere).values == {}
    assert list(graph.get_state_history(nowhere)) == []


# Answers


def _answered(log: EventLog) -> tuple[Any, Any]:
    graph = chain(ask=ask(), after=stamp("after")).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    asked = graph.get_state(ONE).config
    graph.invoke(Command(resume="old"), ONE)
    return graph, asked


def test_an_answer_to_an_answered_question_makes_a_branch(log: EventLog) -> None:
    """The new answer counts, on a fork; the old branch stays as it was."""
    graph, asked = _answered(log)
    old_head = graph.get_state(ONE)
    result = graph.invoke(Command(resume="new"), asked)
    assert result["log"] == ["new", "after"]
    assert graph.get_state(ONE).values["log"] == ["new", "after"]
    assert graph.get_state(old_head.config).values == old_head.values
    fork = next(s for s in graph.get_state_history(ONE) if s.metadata["source"] == "fork")
    assert fork.values == graph.get_state(asked).values
    assert fork.parent_config == asked


def test_an_answer_on_a_branch_is_kept_while_the_node_asks_on(log: EventLog) -> None:
    """A bare value answers the first question of the rerun; a later answer finds it on the log."""

    def ask_twice(state: Log) -> Any:
        return {"log": [interrupt("first"), interrupt("second")]}

    graph = chain(ask=ask_twice).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    asked = graph.get_state(ONE).config
    graph.invoke(Command(resume="old 1"), ONE)
    graph.invoke(Command(resume="old 2"), ONE)
    paused = graph.invoke(Command(resume="new 1"), asked)
    assert [question.value for question in paused["__interrupt__"]] == ["second"]
    assert graph.invoke(Command(resume="new 2"), ONE)["log"] == ["new 1", "new 2"]


def test_a_map_of_answers_at_an_answered_checkpoint_is_carried_over(log: EventLog) -> None:
    """Ids of the addressed checkpoint answer the same questions on the fork, and finished siblings rerun."""
    runs: list[str] = []
    builder: StateGraph[Any] = StateGraph(Log)
    for name in ("a", "b"):
        builder.add_node(name, ask(name))
        builder.add_edge(START, name)
    builder.add_node("quiet", lambda state: runs.append("quiet"))
    builder.add_edge(START, "quiet")
    graph = builder.compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    paused = graph.get_state(ONE)
    ids = {item.value: item.id for item in paused.interrupts}
    graph.invoke(Command(resume={ids["a"]: "a1", ids["b"]: "b1"}), ONE)
    result = graph.invoke(Command(resume={ids["a"]: "a2", ids["b"]: "b2"}), paused.config)
    assert result["log"] == ["a2", "b2"]
    assert runs == ["quiet", "quiet"]


def test_an_answer_with_nothing_pending_is_refused(log: EventLog) -> None:
    """On a finished, and on an empty thread, an answer raises `NothingToResume` and appends nothing."""
    graph, _asked = _answered(log)
    before = events(log)
    for config in (ONE, {"configurable": {"thread_id": "empty"}}):
        with pytest.raises(NothingToResume):
            graph.invoke(Command(resume="too late"), config)
    assert events(log) == before


def test_an_answer_goes_on_from_a_breakpoint_and_from_a_failure(log: EventLog) -> None:
    """Where tasks wait without a question an answer is as good as None."""
    broken = [True]

    def shaky(state: Log) -> Any:
        if broken[0]:
            raise ValueError("broken")
        return {"log": ["shaky"]}

    graph = chain(a=stamp("a"), shaky=shaky).compile(checkpointer=log, interrupt_before=["shaky"])
    graph.invoke({"n": 1, "log": []}, ONE)
    with pytest.raises(ValueError, match="broken"):
        graph.invoke(Command(resume="go on"), ONE)
    broken[0] = False
    assert graph.invoke(Command(resume="again"), ONE)["log"] == ["a", "shaky"]


@pytest.mark.parametrize("answer", [None, {}, {"key": 1}, {"a" * 32: 1}, [], 0, ""])
def test_any_answer_is_a_value(log: EventLog, answer: Any) -> None:
    """None, an empty dict, a dict with keys that look like ids: what is answered is what the node gets."""
    graph = chain(ask=ask()).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    assert graph.invoke(Command(resume=answer), ONE)["log"] == [answer]


def test_a_map_with_an_id_that_is_not_pending_is_refused(log: EventLog) -> None:
    """A map of ids this thread raised, one of them answered already: refused, nothing applied."""
    graph = chain(ask=ask("one"), more=ask("two")).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    [first] = graph.get_state(ONE).interrupts
    graph.invoke(Command(resume="1"), ONE)
    [second] = graph.get_state(ONE).interrupts
    before = events(log)
    with pytest.raises(UnknownInterruptError):
        graph.invoke(Command(resume={first.id: "again", second.id: "2"}), ONE)
    assert events(log) == before
    assert graph.invoke(Command(resume={second.id: "2"}), ONE)["log"] == ["1", "2"]


def test_a_bare_answer_to_several_questions_names_them(log: EventLog) -> None:
    """The refusal names the ids of all questions that wait, and nothing was applied."""
    builder: StateGraph[Any] = StateGraph(Log)
    for name in ("a", "b"):
        builder.add_node(name, ask(name))
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    ids = [item.id for item in graph.get_state(ONE).interrupts]
    before = events(log)
    with pytest.raises(RuntimeError) as caught:
        graph.invoke(Command(resume="for whom?"), ONE)
    assert all(id in str(caught.value) for id in ids)
    assert events(log) == before


# Commands as input


def test_an_update_on_a_finished_thread_is_a_checkpoint_of_its_own(log: EventLog) -> None:
    """The head is not rewritten: the update is a new checkpoint, and the old one reads as before."""
    graph = chain(a=stamp("a")).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    head = graph.get_state(ONE)
    graph.invoke(Command(update={"n": 5, "log": ["edited"]}), ONE)
    new = graph.get_state(ONE)
    assert (new.values, new.metadata["source"]) == ({"n": 5, "log": ["a", "edited"]}, "update")
    assert new.parent_config == head.config
    assert graph.get_state(head.config).values == head.values


def test_an_update_on_a_fresh_thread_is_applied_once(log: EventLog) -> None:
    """A thread that begins with `Command(update=…)` gets the update as its input, not twice."""
    graph = chain(a=stamp("a")).compile(checkpointer=log)
    assert graph.invoke(Command(update={"n": 1, "log": ["in"]}), ONE) == {"n": 1, "log": ["in", "a"]}


def test_an_empty_command_is_empty_input(log: EventLog) -> None:
    """`Command()` as input raises `EmptyInputError`."""
    graph = chain(a=stamp("a")).compile(checkpointer=log)
    with pytest.raises(EmptyInputError):
        graph.invoke(Command(), ONE)
    graph.invoke({"n": 1}, ONE)
    with pytest.raises(EmptyInputError):
        graph.invoke(Command(), ONE)


def test_a_method_that_is_to_come_says_so(log: EventLog) -> None:
    """LangGraph's methods that are not there yet are named; `hasattr` says no, as of any other name."""
    graph = chain(one=stamp("one")).compile(checkpointer=log)
    for name in ("get_input_jsonschema", "get_context_jsonschema"):
        assert not hasattr(graph, name)
        with pytest.raises(NotSupportedYet, match=rf"{name}\(\).*later release"):
            getattr(graph, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = graph.nonsense
