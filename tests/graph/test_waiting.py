"""A step that waits: what was written ahead of it is neither lost nor hidden, and what finished in it is not undone."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import START, Command, StateGraph, Topic, interrupt

ONE = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    x: str
    topic: list[str]


DIES: list[bool] = []


def joined(left: list[str], right: list[str]) -> list[str]:
    """A reducer under which the process dies once."""
    if DIES and right == ["a"]:
        DIES.clear()
        raise KeyboardInterrupt
    return left + right


class Dying(TypedDict, total=False):
    """A state whose step dies while it closes."""

    log: Annotated[list[str], joined]
    x: str


class Topics(TypedDict, total=False):
    """A state with a channel that can be emptied."""

    topic: Annotated[list[str], Topic(str)]
    log: Annotated[list[Any], operator.add]


def stamp(name: str) -> Any:
    """A node that says that it ran."""
    return lambda state: {"log": [name]}


def asking(log: EventLog, ask: Any) -> Any:
    """A graph whose node `ask` waits for an answer, and one beside it that finishes."""
    builder = StateGraph(State).add_node("ask", ask).add_node("beside", stamp("beside")).add_node("last", stamp("last"))
    builder.add_edge(START, "ask").add_edge(START, "beside")
    return builder.compile(checkpointer=log)


def asked(state: State) -> State:
    """Ask, and say what the answer was."""
    return {"log": [interrupt("sure?")]}


def test_an_edit_that_gives_up_a_step_keeps_what_a_command_wrote() -> None:
    """`update_state(None, as_node=END)` after a command, then a goto: both are there, and a refold agrees."""
    log = EventLog.in_memory()
    graph = asking(log, asked)
    graph.invoke({"log": ["in"]}, ONE)
    graph.invoke(Command(update={"x": "1", "log": ["command"]}), ONE)
    graph.update_state(ONE, None, as_node="__end__")
    graph.invoke(Command(goto="last"), ONE)
    assert graph.get_state(ONE).values == {"log": ["in", "command", "beside", "last"], "x": "1"}
    for snapshot in graph.get_state_history(ONE):
        assert graph.get_state(snapshot.config, fold="reducers").values == snapshot.values


def test_a_replay_does_not_repeat_a_command_that_has_its_own_checkpoint() -> None:
    """A command on a finished thread, then a replay of the checkpoint before it: the replay begins without it."""
    graph = StateGraph(State).add_node("one", stamp("one")).add_edge(START, "one").compile(EventLog.in_memory())
    graph.invoke({"log": ["in"]}, ONE)
    end = graph.get_state(ONE).config
    graph.invoke(Command(update={"x": "1", "log": ["command"]}), ONE)
    assert graph.invoke(Command(update={"log": ["other"]}), end) == {"log": ["in", "one", "other"]}
    assert graph.get_state(end).values == {"log": ["in", "one"]}


def test_a_command_ahead_of_a_step_may_empty_a_channel() -> None:
    """A command whose write leaves a channel with nothing is applied like any other."""
    builder = StateGraph(Topics).add_node("ask", asked).add_edge(START, "ask")
    graph = builder.compile(checkpointer=EventLog.in_memory())
    graph.invoke({"log": ["in"], "topic": ["a"]}, ONE)
    graph.invoke(Command(update={"topic": []}), ONE)
    assert graph.invoke(Command(resume="yes"), ONE)["log"] == ["in", "yes"]


@pytest.mark.parametrize(
    ("given", "after"),
    [
        (None, ["c"]),
        (Command(update={"x": "e"}), ["c"]),
        (Command(goto="c"), ["c", "c"]),
        (Command(resume="whatever"), ["c"]),
    ],
)
def test_a_step_that_finished_without_closing_is_closed_first(given: Any, after: list[str]) -> None:
    """All tasks are done, the process died before the step closed: whatever comes next keeps what they did."""
    ran: list[str] = []
    DIES.append(True)

    def node(name: str) -> Any:
        return lambda state: ran.append(name) or {"log": [name]}

    builder = StateGraph(Dying)
    for name in "abc":
        builder.add_node(name, node(name))
    builder.add_edge(START, "a").add_edge(START, "b").add_edge("a", "c")
    graph = builder.compile(checkpointer=EventLog.in_memory())
    with pytest.raises(KeyboardInterrupt):
        graph.invoke({"log": ["in"]}, ONE)
    result = graph.invoke(given, ONE)
    assert result["log"] == ["in", "a", "b", *after]
    assert sorted(ran) == ["a", "b", *after]


@pytest.mark.parametrize("durability", ["sync", "async"])
def test_a_live_read_shows_what_a_command_wrote(durability: str) -> None:
    """While the run of a command is under way, whoever reads the thread sees its update."""
    seen: list[Any] = []

    def ask(state: State) -> State:
        answer = interrupt("sure?")
        seen.append(graph.get_state(ONE).values)
        return {"log": [answer]}

    graph = asking(EventLog.in_memory(), ask)
    graph.invoke({"log": ["in"]}, ONE)
    graph.invoke(Command(resume="yes", update={"x": "1", "log": ["command"]}), ONE, durability=durability)
    assert seen == [{"log": ["in", "command", "beside"], "x": "1"}]


@pytest.mark.parametrize("with_update", [False, True])
def test_at_exit_an_answer_counts_when_its_run_is_over(with_update: bool) -> None:
    """A kill during a run with durability `exit` leaves the thread as it was: the question waits, nothing is edited."""
    log = EventLog.in_memory()
    seen: list[Any] = []

    def ask(state: State) -> State:
        answer = interrupt("sure?")
        # What is durable in the middle of the run is what a kill leaves.
        seen.append(graph.get_state(ONE))
        seen.append(log.fork(ONE, f"killed {len(seen)}"))
        return {"log": [answer]}

    graph = asking(log, ask)
    graph.invoke({"log": ["in"]}, ONE)
    before = graph.get_state(ONE)
    command = Command(resume="yes", update={"x": "1", "log": ["command"]}) if with_update else Command(resume="yes")
    result = graph.invoke(command, ONE, durability="exit")
    assert result["log"] == ["in", *(["command"] if with_update else []), "yes", "beside"]
    live, killed, *_rest = seen
    assert (live.values, live.next, live.interrupts) == (before.values, before.next, before.interrupts)
    again = graph.invoke(None, killed)
    assert again["log"] == before.values["log"]
    assert [question.value for question in again["__interrupt__"]] == ["sure?"]


def test_a_stream_that_is_left_keeps_what_runs_beside() -> None:
    """Whoever leaves a stream while a sibling runs finds it done; it does not run a second time."""
    import threading

    may_end, ran = threading.Event(), list[str]()

    def slow(state: State) -> State:
        may_end.wait(5)
        ran.append("slow")
        return {"log": ["slow"]}

    builder = StateGraph(State).add_node("fast", stamp("fast")).add_node("slow", slow)
    builder.add_edge(START, "fast").add_edge(START, "slow")
    graph = builder.compile(checkpointer=EventLog.in_memory())
    stream = graph.stream({"log": ["in"]}, ONE)
    assert next(stream) == {"fast": {"log": ["fast"]}}
    may_end.set()
    stream.close()
    assert graph.invoke(None, ONE) == {"log": ["in", "fast", "slow"]}
    assert ran == ["slow"]


def test_an_edit_of_a_checkpoint_that_the_thread_left_is_no_task_of_its_step() -> None:
    """A step still waits when the thread goes on from before it: edits from it are shown beside it, not in it."""
    graph = asking(EventLog.in_memory(), asked)
    graph.invoke({"log": ["in"]}, ONE)
    waiting, before = (snapshot.config for snapshot in graph.get_state_history(ONE))
    graph.update_state(before, {"log": ["elsewhere"]}, as_node=START)
    tasks = graph.get_state(waiting).tasks
    assert [(task.name, task.result) for task in tasks] == [("ask", None), ("beside", {"log": ["beside"]})]

    graph.update_state(waiting, {"log": ["edit"]}, as_node="ask")

    (past,) = (snapshot for snapshot in graph.get_state_history(ONE) if snapshot.config == waiting)
    assert past.tasks == graph.get_state(waiting).tasks == tasks
