"""Laws of a run that no comparison with LangGraph can show: what is durable when, limits, signals, refolds."""

import operator
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import UnsupportedTypeError
from lithograph.eventlog.events import CheckpointCommitted, ResultOp, RunStarted, StepRefused
from lithograph.graph import START, Command, GraphRecursionError, Send, StateGraph, interrupt
from typing_extensions import TypedDict

from .chains import ONE, Log, ask, chain, parallel, stamp

# No postponed annotations: the builder reads the annotations of nodes.


@pytest.fixture
def log() -> Iterator[EventLog]:
    """A log in memory."""
    with EventLog.in_memory() as opened:
        yield opened


def _kinds(log: EventLog) -> list[type[Any]]:
    return [type(record.event) for page in log.scan() for record in page]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("given", [{"n": 1, "log": []}, Command(resume="yes")], ids=["input", "answer"])
def test_the_claim_is_durable_before_any_node_starts(log: EventLog, durability: Any, given: Any) -> None:
    """L5: whatever the durability, a node can find its own run's first append in the log."""
    seen: list[int] = []

    def node(state: Log) -> Any:
        seen.append(_kinds(log).count(RunStarted))
        return {"log": [interrupt("?")]}

    graph = chain(node=node).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    graph.invoke(given, ONE, durability=durability)
    assert seen == [1, 2]


def test_a_step_is_in_the_log_before_the_next_one_starts(log: EventLog) -> None:
    """With `sync` each node finds the checkpoint that planned it, and all before that, in the log."""
    seen: list[int] = []

    def node(state: Log) -> Any:
        seen.append(_kinds(log).count(CheckpointCommitted))
        return {"n": state["n"] + 1}

    graph = chain(one=node, two=node, three=node).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE, durability="sync")
    assert seen == [2, 3, 4]


def test_tuples_that_are_no_pairs_are_values_of_the_root_state(log: EventLog) -> None:
    """A `Command` updates by (key, value) pairs only where each tuple is one; else its list is a value."""
    odd: dict[str, list[Any]] = {"numbers": [(1, "x"), (2, "y")], "triples": [("a", 1, 2)], "mixed": ["ab", ("c", 3)]}
    builder: StateGraph[Any] = StateGraph(Annotated[list, operator.add])
    builder.add_sequence([(name, lambda state, update=update: Command(update=update)) for name, update in odd.items()])
    builder.add_edge(START, "numbers")
    graph = builder.compile(checkpointer=log)
    assert graph.invoke([5], ONE) == [5, *odd["numbers"], *odd["triples"], *odd["mixed"]]


def test_the_limit_counts_steps_after_an_answer(log: EventLog) -> None:
    """A limit of N allows N steps on a run that goes on from an answer."""
    builder = chain(ask=ask(), tick=lambda state: {"n": state["n"] + 1})
    builder.add_conditional_edges("tick", lambda state: "tick")
    graph = builder.compile(checkpointer=log)
    graph.invoke({"n": 0, "log": []}, ONE)
    with pytest.raises(GraphRecursionError):
        graph.invoke(Command(resume="go"), {**ONE, "recursion_limit": 3})
    assert graph.get_state(ONE).values["n"] == 2


def test_a_pinned_reducer_that_cannot_add_names_its_channel(log: EventLog) -> None:
    """A step whose values do not add up is refused with the channel's name, and the thread stays usable."""
    values: dict[str, Any] = {"bad": 5}
    graph = parallel(bad=lambda state: {"log": values["bad"]}, good=stamp("good")).compile(checkpointer=log)
    with pytest.raises(TypeError):
        graph.invoke({"n": 1, "log": []}, ONE)
    refused = [r.event for page in log.scan() for r in page if isinstance(r.event, StepRefused)]
    assert [event.channel for event in refused] == ["log"]
    values["bad"] = ["now a list"]
    assert graph.invoke(None, ONE)["log"] == ["now a list", "good"]


@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit])
def test_a_signal_in_a_parallel_task_ends_the_run(log: EventLog, signal: type[BaseException]) -> None:
    """What is no error but a signal to the process leaves the run; its task counts as not finished."""
    gate = threading.Event()

    def stops(state: Log) -> Any:
        if not gate.is_set():
            raise signal
        return {"log": ["stops"]}

    graph = parallel(stops=stops, other=stamp("other")).compile(checkpointer=log)
    with pytest.raises(signal):
        graph.invoke({"n": 1, "log": []}, ONE)
    assert [task.error for task in graph.get_state(ONE).tasks] == [None, None]
    gate.set()
    assert sorted(graph.invoke(None, ONE)["log"]) == ["other", "stops"]


def test_a_command_on_a_finished_thread_refolds(log: EventLog) -> None:
    """L2: the checkpoint of an update by command names the writes it was folded from."""
    graph = chain(a=stamp("a")).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    graph.invoke(Command(update={"n": 5, "log": ["edited"]}), ONE)
    for snapshot in graph.get_state_history(ONE):
        assert graph.get_state(snapshot.config, fold="reducers").values == snapshot.values


def test_an_alias_holds_for_sends_and_gotos(log: EventLog) -> None:
    """A pending `Send` and a `goto` that use a node's old name reach the node it is called today."""
    builder: StateGraph[Any] = StateGraph(Log)
    builder.add_node("src", lambda state: Command(goto=["old", _send("old", 7)]))
    builder.add_node("new", lambda state: {"log": [f"new {state['n']}"]})
    builder.add_edge(START, "src")
    graph = builder.compile(checkpointer=log, aliases={"old": "new"})
    assert sorted(graph.invoke({"n": 1, "log": []}, ONE)["log"]) == ["new 1", "new 7"]


def _send(node: str, n: int) -> Any:
    from lithograph.graph import Send

    return Send(node, {"n": n})


def test_no_task_starts_after_the_first_failure(log: EventLog) -> None:
    """One task at a time: when one fails, of those that wait at most the next has begun, and the rest never do."""
    ran: list[str] = []

    def fails(state: Log) -> Any:
        raise ValueError("not today")

    def works(name: str) -> Any:
        def node(state: Log) -> Any:
            ran.append(name)
            time.sleep(0.1)
            return {"log": [name]}

        return node

    graph = parallel(a=fails, b=works("b"), c=works("c"), d=works("d")).compile(checkpointer=log)
    with pytest.raises(ValueError, match="not today"):
        graph.invoke({"n": 1, "log": []}, {**ONE, "max_concurrency": 1})
    assert ran in ([], ["b"])


@pytest.mark.parametrize(("asked", "most"), [(None, 32), (3, 3)])
def test_tasks_side_by_side_are_limited(log: EventLog, asked: int | None, most: int) -> None:
    """A step runs at most 32 tasks at a time, or as many as `max_concurrency` says."""
    lock, active, peaks = threading.Lock(), set[int](), list[int]()

    def node(state: Log) -> Any:
        with lock:
            active.add(state["n"])
            peaks.append(len(active))
        time.sleep(0.05)
        with lock:
            active.discard(state["n"])

    builder: StateGraph[Any] = StateGraph(Log)
    builder.add_node("node", node)
    builder.add_conditional_edges(START, lambda state: [Send("node", {"n": n}) for n in range(40)])
    graph = builder.compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE if asked is None else {**ONE, "max_concurrency": asked})
    assert 1 < max(peaks) <= most


def test_a_table_of_a_user_reducer_costs_its_change_and_keeps_its_order(log: EventLog) -> None:
    """One key of a large table: recorded as that entry while keys keep their order, and whole when they do not."""

    def put(left: dict[str, str], right: dict[str, str]) -> dict[str, str]:
        if "last" in right:
            return {**{key: value for key, value in left.items() if key != "k1"}, "k1": left["k1"]}
        return {**left, **right}

    class State(TypedDict):
        table: Annotated[dict[str, str], put]

    graph = chain(State, node=lambda state: None).compile(checkpointer=log)
    graph.invoke({"table": {f"k{number}": "x" * 200 for number in range(50)}}, ONE)
    results: list[int] = []
    for change in ("k7", "last"):
        before = log.log_head().position
        graph.invoke({"table": {change: "y"}}, ONE)
        events = [record.event for record in log.read(before, 100)]
        commits = [event for event in events if isinstance(event, CheckpointCommitted)]
        results += [change.op for event in commits for change in event.results if change.channel == "table"]
    assert results == [ResultOp.ENTRIES, ResultOp.WHOLE]
    order = ["k0", *(f"k{number}" for number in range(2, 50)), "k1"]
    assert list(graph.get_state(ONE).values["table"]) == order
    elsewhere = chain(State, node=stamp("node")).compile(checkpointer=EventLog.over(log.engine))
    assert list(elsewhere.get_state(ONE).values["table"]) == order


@dataclass
class Money:
    """A value of a user's class that adds numbers."""

    amount: int = 0

    def __add__(self, more: int) -> "Money":
        return Money(self.amount + more)


def test_what_a_users_class_adds_is_recorded_as_an_outcome(log: EventLog) -> None:
    """L9: a number added to a user's object is no addition that readers make, for that would run the user's code."""

    class State(TypedDict):
        total: Annotated[Money, operator.add]

    graph = chain(State, node=lambda state: {"total": 5}).compile(checkpointer=log)
    assert graph.invoke({"total": 1}, ONE) == {"total": Money(6)}
    events = [record.event for record in log.read(0, 100)]
    commits = [event for event in events if isinstance(event, CheckpointCommitted)]
    ops = [change.op for event in commits for change in event.results if change.channel == "total"]
    assert ResultOp.ADD not in ops
    assert len(ops) == 3


@pytest.mark.parametrize("fails", [ValueError("no figures"), None], ids=["failure", "question"])
def test_an_error_says_in_which_task_it_happened(log: EventLog, fails: Exception | None) -> None:
    """What a node raises, and what refuses its question, has a note with the task's name and id, as in LangGraph."""

    def culprit(state: Log) -> Any:
        if fails is not None:
            raise fails
        return {"log": [interrupt(object())]}

    graph = chain(culprit=culprit).compile(checkpointer=log)
    with pytest.raises((ValueError, UnsupportedTypeError)) as caught:
        graph.invoke({"n": 1, "log": []}, ONE)
    (task,) = graph.get_state(ONE).tasks
    assert f"During task with name 'culprit' and id '{task.id}'" in caught.value.__notes__
