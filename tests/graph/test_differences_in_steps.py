"""Where we differ from LangGraph on purpose, within a step: refusals, unknown names, values.

The other half, threads and answers, is `test_differences.py`.
"""

import enum
import time
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import UnsupportedTypeError
from lithograph.graph import (
    END,
    START,
    Command,
    EphemeralValue,
    GraphRecursionError,
    InvalidUpdateError,
    NodeNotFound,
    Overwrite,
    Send,
    StateGraph,
    UnknownKeyWarning,
    UntrackedValue,
)
from typing_extensions import TypedDict

from .chains import ONE, Log, ask, chain, events, parallel, stamp

# No postponed annotations: nodes name local schemas.


@pytest.fixture
def log() -> Iterator[EventLog]:
    """A log in memory."""
    with EventLog.in_memory() as opened:
        yield opened


# Steps that are refused


def test_a_conflict_on_a_channel_leaves_the_thread_usable(log: EventLog) -> None:
    """Two writers on a last-value channel: refused, shown on the tasks, and run again once repaired."""
    values, runs = {"a": 1, "b": 2}, list[str]()

    def writer(name: str) -> Callable[[Any], Any]:
        def node(state: Log) -> Any:
            runs.append(name)
            return {"n": values[name]} if name in values else {"log": [name]}

        return node

    builder: StateGraph[Any] = StateGraph(Log)
    for name in ("a", "b", "c"):
        builder.add_node(name, writer(name))
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=log)
    with pytest.raises(InvalidUpdateError):
        graph.invoke({"n": 0, "log": []}, ONE)
    paused = graph.get_state(ONE)
    assert paused.values == {"n": 0, "log": ["c"]}
    assert {task.name for task in paused.tasks if task.error} == {"a", "b"}
    del values["b"]
    runs.clear()
    assert graph.invoke(None, ONE) == {"n": 1, "log": ["b", "c"]}
    assert sorted(runs) == ["a", "b"]


def test_a_reducer_that_raises_leaves_the_thread_usable(log: EventLog) -> None:
    """A reducer's own error refuses the step; the thread goes on once the reducer works."""
    broken = [True]

    def picky(left: list[Any], right: list[Any]) -> list[Any]:
        if broken[0] and "a" in right:
            raise ValueError("cannot add that")
        return left + right

    class State(TypedDict):
        log: Annotated[list[Any], picky]

    graph = chain(State, a=stamp("a"), b=stamp("b")).compile(checkpointer=log)
    with pytest.raises(ValueError, match="cannot add that"):
        graph.invoke({"log": ["in"]}, ONE)
    assert graph.get_state(ONE).values == {"log": ["in"]}
    broken[0] = False
    assert graph.invoke(None, ONE) == {"log": ["in", "a", "b"]}


def test_a_router_that_raises_is_run_again(log: EventLog) -> None:
    """Routing is part of the step: after its failure the node and its router run again."""
    broken = [True]

    def route(state: Log) -> str:
        if broken[0]:
            raise ValueError("which way?")
        return "b"

    builder = chain(a=stamp("a"))
    builder.add_node("b", stamp("b"))
    builder.add_conditional_edges("a", route, ["b"])
    graph = builder.compile(checkpointer=log)
    with pytest.raises(ValueError, match="which way"):
        graph.invoke({"n": 1, "log": []}, ONE)
    assert graph.get_state(ONE).next == ("a",)
    broken[0] = False
    assert graph.invoke(None, ONE)["log"] == ["a", "b"]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_every_task_that_fails_is_recorded_as_failed(log: EventLog, durability: Any) -> None:
    """A sibling that fails when the run already has its error: LangGraph leaves that error out, at a whim of time."""

    def first(state: Log) -> Any:
        raise ValueError("first")

    def second(state: Log) -> Any:
        time.sleep(0.05)
        raise ValueError("second")

    graph = parallel(first=first, second=second).compile(checkpointer=log)

    with pytest.raises(ValueError, match="first"):
        graph.invoke({"log": []}, ONE, durability=durability)

    errors = {task.name: task.error for task in graph.get_state(ONE).tasks}
    assert errors == {"first": "ValueError('first')", "second": "ValueError('second')"}


# Nodes that are not there


def test_pending_work_of_a_renamed_node_is_found_or_refused(log: EventLog) -> None:
    """A graph without the pending node raises `NodeNotFound`, but reads; with an alias it goes on."""
    chain(a=stamp("a"), old=stamp("old")).compile(checkpointer=log, interrupt_before=["old"]).invoke(
        {"n": 1, "log": []}, ONE
    )
    renamed = chain(a=stamp("a"), new=stamp("new"))
    graph = renamed.compile(checkpointer=log)
    assert graph.get_state(ONE).next == ("old",)
    before = events(log)
    with pytest.raises(NodeNotFound, match="old"):
        graph.invoke(None, ONE)
    assert events(log) == before
    assert renamed.compile(checkpointer=log, aliases={"old": "new"}).invoke(None, ONE)["log"] == ["a", "new"]


@pytest.mark.parametrize("target", ["nobody", Send("nobody", {})])
def test_a_goto_to_an_unknown_node_is_refused(log: EventLog, target: Any) -> None:
    """A `goto` or a `Send` to a node that is not there raises instead of ending in silence."""
    graph = chain(a=lambda state: Command(goto=target)).compile(checkpointer=log)
    with pytest.raises(NodeNotFound, match="nobody"):
        graph.invoke({"n": 1, "log": []}, ONE)


# Input and keys


def test_new_input_with_the_same_run_id_is_applied(log: EventLog) -> None:
    """The run id in the config does not turn new input into a resume."""
    graph = chain(a=stamp("a")).compile(checkpointer=log)
    config: Any = {**ONE, "metadata": {"run_id": "r1"}}
    graph.invoke({"n": 1, "log": ["one"]}, config)
    assert graph.invoke({"n": 2, "log": ["two"]}, config)["log"] == ["one", "a", "two", "a"]


def test_an_unknown_key_warns_and_reaches_the_router(log: EventLog) -> None:
    """A key that no channel has is not stored, is seen by routers, and names itself in a warning."""
    seen: list[Any] = []
    builder: StateGraph[Any] = StateGraph(Log)
    builder.add_node("a", lambda state: {"log": ["a"], "tpyo": 1})
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", lambda state: seen.append(state.get("tpyo")) or END)
    graph = builder.compile(checkpointer=log)
    with pytest.warns(UnknownKeyWarning, match=r"tpyo"):
        assert graph.invoke({"n": 1, "log": []}, ONE) == {"n": 1, "log": ["a"]}
    assert seen == [1]


def test_an_unknown_key_is_told_once_a_run(log: EventLog) -> None:
    """A node that writes an unknown key in every step is told of it once, and again in the next run."""

    def again(state: Log) -> Any:
        return Command(update={"tpyo": 1, "n": state["n"] + 1}, goto="a" if state["n"] < 3 else END)

    graph = chain(a=again).compile(checkpointer=log)
    for _run in range(2):
        with pytest.warns(UnknownKeyWarning, match="tpyo") as told:
            graph.invoke({"n": 1, "log": []}, ONE)
        assert len(told) == 1


def test_an_unknown_key_is_refused_when_strict_and_silent_as_input(log: EventLog) -> None:
    """`strict=True` makes an unknown key of a node an error; in the input it is ignored without a word."""
    graph = chain(a=lambda state: {"tpyo": 1}).compile(checkpointer=log, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidUpdateError, match="tpyo"):
            graph.invoke({"n": 1, "unknown": 2}, ONE)


@pytest.mark.parametrize("channel", [EphemeralValue(int), UntrackedValue(int)])
def test_a_guarded_channel_takes_one_writer_a_step(log: EventLog, channel: Any) -> None:
    """Two writers on a guarded channel in one step are refused, and nothing is committed."""

    class State(TypedDict):
        one: Annotated[int, channel]

    builder: StateGraph[Any] = StateGraph(State)
    for name in ("a", "b"):
        builder.add_node(name, lambda state: {"one": 1})
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=log)
    with pytest.raises(InvalidUpdateError):
        graph.invoke({"one": 0}, ONE)
    assert graph.get_state(ONE).next == ("a", "b")


def test_an_overwrite_of_an_empty_channel_is_unwrapped(log: EventLog) -> None:
    """The first value of a reducer's channel may be an `Overwrite`: its value is stored, not the object."""

    class State(TypedDict):
        best: Annotated[Any, lambda left, right: max(left, right)]

    graph = chain(State, a=lambda state: {"best": Overwrite(3)}, b=lambda state: {"best": 2}).compile(checkpointer=log)
    assert graph.invoke({}, ONE) == {"best": 3}


def test_the_recursion_limit_is_exact_on_resume(log: EventLog) -> None:
    """A limit of N allows N steps on a fresh thread and on one that goes on."""
    builder = chain(tick=lambda state: {"n": state["n"] + 1})
    builder.add_conditional_edges("tick", lambda state: "tick")
    graph = builder.compile(checkpointer=log)
    for expected in (3, 5):
        with pytest.raises(GraphRecursionError):
            graph.invoke({"n": 0} if expected == 3 else None, {**ONE, "recursion_limit": 3 if expected == 3 else 2})
        assert graph.get_state(ONE).values["n"] == expected


@pytest.mark.parametrize("thread_id", [None, 1.5, b"1", ("1",), True, object()])
def test_only_text_int_and_uuid_name_a_thread(log: EventLog, thread_id: Any) -> None:
    """Anything else as thread id is refused instead of turned into text."""
    graph = chain(a=stamp("a")).compile(checkpointer=log)
    with pytest.raises((TypeError, ValueError)):
        graph.invoke({"n": 1}, {"configurable": {"thread_id": thread_id}})
    assert events(log) == 0


def test_a_history_query_that_makes_no_sense_is_refused(log: EventLog) -> None:
    """A negative limit and a filter that is no mapping of names raise `ValueError`."""
    graph = chain(a=stamp("a")).compile(checkpointer=log)
    graph.invoke({"n": 1}, ONE)
    with pytest.raises(ValueError, match="limit"):
        list(graph.get_state_history(ONE, limit=-1))
    with pytest.raises(ValueError):
        list(graph.get_state_history(ONE, filter={"step": {"$near": 1}}))


# Values


class Colour(enum.Enum):
    """An enum of the user's, known to the graph through the schema."""

    RED = "r"


EXACT = [
    (1, (2, [3])),
    {1, 2},
    frozenset({"a"}),
    2**100,
    Decimal("1.10"),
    ZoneInfo("Europe/Berlin"),
    {(1, 2): "tuple key", 1: "int key"},
    bytearray(b"x"),
    Colour.RED,
]


@pytest.mark.parametrize("value", EXACT, ids=lambda value: type(value).__name__)
def test_values_come_back_as_they_were(log: EventLog, value: Any) -> None:
    """What LangGraph changes in silence comes back equal and of the same type, in the run and after."""

    class State(TypedDict):
        value: Any
        colour: Colour
        seen: Any

    graph = chain(
        State, a=lambda state: {"value": value}, b=lambda state: {"seen": type(state["value"]).__name__}
    ).compile(checkpointer=log)
    graph.invoke({}, ONE)
    stored = graph.get_state(ONE).values
    assert (stored["value"], type(stored["value"])) == (value, type(value))
    assert stored["seen"] == type(value).__name__


def test_a_value_that_would_not_survive_is_refused_at_once(log: EventLog) -> None:
    """An unregistered object is refused inside the run, with its path; later nodes do not run."""

    class Stranger:
        pass

    later: list[str] = []
    graph = chain(a=lambda state: {"log": [1, {"k": Stranger()}]}, b=lambda state: later.append("b")).compile(
        checkpointer=log
    )
    with pytest.raises(UnsupportedTypeError, match="Stranger") as caught:
        graph.invoke({"n": 1, "log": []}, ONE)
    assert "log[1].k," in str(caught.value)
    assert later == []
    assert graph.get_state(ONE).values == {"n": 1, "log": []}


def test_reading_runs_no_user_code(log: EventLog) -> None:
    """State and history of a paused parallel step are read without calling reducers, nodes or routers."""
    calls: list[str] = []

    def merge(left: list[Any], right: list[Any]) -> list[Any]:
        calls.append("reducer")
        return left + right

    class State(TypedDict):
        log: Annotated[list[Any], merge]

    builder: StateGraph[Any] = StateGraph(State)
    for name, node in (("ask", ask()), ("quiet", stamp("quiet"))):
        builder.add_node(name, node)
        builder.add_edge(START, name)
    builder.add_conditional_edges("quiet", lambda state: calls.append("router") or END)
    graph = builder.compile(checkpointer=log)
    graph.invoke({"log": ["in"]}, ONE)
    calls.clear()
    assert graph.get_state(ONE).values == {"log": ["in", "quiet"]}
    assert next(graph.get_state_history(ONE)).values == {"log": ["in"]}
    assert calls == []


# Who and why


def test_a_manual_edit_says_who_and_why(log: EventLog) -> None:
    """Actor and reason are on the events of an edit, whether or not its metadata asks for it."""
    graph = chain(a=stamp("a")).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    before = log.log_head().position
    with log.as_actor("alice", reason="typing error"):
        graph.update_state(ONE, {"n": 2})
    bodies = [record.body for record in log.read(before, 100)]
    assert bodies
    assert {(body.actor, body.reason) for body in bodies} == {("alice", "typing error")}
