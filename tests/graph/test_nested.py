"""Graphs inside nodes: what is promised beyond LangGraph, or otherwise than there; the rest is in `tests/oracle/`."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

import operator
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import ConflictError
from lithograph.eventlog.events import CheckpointCommitted
from lithograph.graph import (
    START,
    AmbiguousResume,
    Command,
    NoRootCheckpointer,
    RetryPolicy,
    RunnableConfig,
    Send,
    StateGraph,
    interrupt,
)
from typing_extensions import TypedDict

from .chains import ONE, Log, ask, chain, parallel, stamp, twin

DRIVERS = ("threads", "loop")
AT_ONCE = RetryPolicy(initial_interval=0.0, jitter=False)


@pytest.fixture
def log() -> Iterator[EventLog]:
    """A log in memory."""
    with EventLog.in_memory() as opened:
        yield opened


class Words(TypedDict):
    """What several tasks may write at once."""

    log: Annotated[list[Any], operator.add]


def _sends(inner: Any, count: int, log: EventLog) -> Any:
    """A graph that sends to one inner graph several times in a step."""
    builder = StateGraph(Log)
    builder.add_node("inner", inner)
    builder.add_conditional_edges(
        START, lambda state: [Send("inner", {"n": n, "log": [f"in {n}"]}) for n in range(count)], ["inner"]
    )
    return builder.compile(checkpointer=log)


def _asks_its_number(state: Log) -> dict[str, Any]:
    return {"log": [interrupt(state["n"])]}


def _narrow(**nodes: Any) -> StateGraph[Any]:
    builder = StateGraph(Log, output_schema=Words)
    for before, name in zip((START, *nodes), nodes, strict=False):
        builder.add_node(name, nodes[name])
        builder.add_edge(before, name)
    return builder


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_calls_of_a_graph_that_keeps_its_state_come_one_after_another(
    log: EventLog, driver: str, durability: str
) -> None:
    """Of twenty sends to one graph that keeps its state each sees what the one before left, in the order of sends."""
    inner = _narrow(note=lambda state: {"log": [f"saw {len(state['log'])}"]}).compile(checkpointer=True)
    graph = _sends(inner, 20, log)
    twin("invoke", driver)(graph, {"n": 0, "log": []}, ONE, durability=durability)
    kept = graph.get_state({"configurable": {"thread_id": "1", "checkpoint_ns": "inner"}}).values
    assert kept["log"] == [word for n in range(20) for word in (f"in {n}", f"saw {2 * n + 1}")]


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_call_waits_for_the_answer_to_the_one_before(log: EventLog, driver: str, durability: str) -> None:
    """While a question waits in a graph that keeps its state, later calls of it hold back; none loses its input."""
    graph = _sends(_narrow(asks=_asks_its_number).compile(checkpointer=True), 3, log)
    run = twin("invoke", driver)
    found = run(graph, {"n": 9, "log": []}, ONE, durability=durability)
    for turn in range(3):
        assert [question.value for question in found["__interrupt__"]] == [turn]
        found = run(graph, Command(resume=f"answer {turn}"), ONE, durability=durability)
    kept = graph.get_state({"configurable": {"thread_id": "1", "checkpoint_ns": "inner"}}).values["log"]
    assert kept == ["in 0", "answer 0", "in 1", "answer 1", "in 2", "answer 2"]


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("keeps", [None, True])
def test_a_node_that_is_tried_again_goes_on_with_its_graph(log: EventLog, driver: str, keeps: Any) -> None:
    """What finished inside a node before it failed is not run again by the next attempt."""
    runs: list[str] = []

    def first(state: Log) -> dict[str, Any]:
        runs.append("first")
        return {"log": ["first"]}

    def fails_once(state: Log) -> dict[str, Any]:
        runs.append("second")
        if runs.count("second") == 1:
            raise ConnectionError("gone for a moment")
        return {"log": ["second"]}

    inner = chain(first=first, second=fails_once).compile(checkpointer=keeps)
    builder = StateGraph(Log).add_node("inner", inner, retry_policy=AT_ONCE).add_edge(START, "inner")
    found = twin("invoke", driver)(builder.compile(checkpointer=log), {"n": 1, "log": []}, ONE)
    assert runs == ["first", "second", "second"]
    assert found["log"] == ["first", "second"]


def test_one_answer_for_several_questions_inside_is_refused(log: EventLog) -> None:
    """A bare answer does not reach one of two graphs by chance: the ids are named, and a map answers both."""
    inner = {name: _narrow(asks=ask(name)).compile() for name in ("left", "right")}
    graph = parallel(**inner).compile(checkpointer=log)
    asked = graph.invoke({"n": 1, "log": []}, ONE)["__interrupt__"]
    with pytest.raises(AmbiguousResume) as refused:
        graph.invoke(Command(resume="which?"), ONE)
    assert set(refused.value.pending_ids) == {question.id for question in asked}
    answers = {question.id: question.value * 2 for question in asked}
    assert graph.invoke(Command(resume=answers), ONE)["log"] == ["leftleft", "rightright"]


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_graph_that_keeps_its_state_runs_inside_another_only(driver: str) -> None:
    """`checkpointer=True` says where the state is: in the thread around; by itself it has none."""
    graph = chain(one=stamp("one")).compile(checkpointer=True)
    with pytest.raises(NoRootCheckpointer, match="cannot be used for root graphs"):
        twin("invoke", driver)(graph, {"n": 1}, ONE)


@dataclass
class Note:
    """A class that only the inner graph names."""

    text: str


class Noted(TypedDict):
    """An inner state with a class of its own."""

    notes: Annotated[list[Note], operator.add]


def _noting() -> Any:
    def writes(state: Noted) -> dict[str, Any]:
        return {"notes": [Note("written")]}

    def reads(state: Noted) -> dict[str, Any]:
        return {"notes": [Note(f"{interrupt('?')} after {state['notes'][-1].text}")]}

    inner = chain(Noted, writes=writes, reads=reads).compile()

    def calls(state: Log) -> dict[str, Any]:
        return {"log": [note.text for note in inner.invoke({"notes": []})["notes"]]}

    return chain(calls=calls)


def test_classes_of_an_inner_graph_come_back_in_another_process(tmp_path: Path) -> None:
    """The outer graph knows the types of the graphs inside it: what they recorded is read as it was written."""
    for turn, given in enumerate(({"n": 1, "log": []}, Command(resume="asked"))):
        with EventLog(tmp_path / "log") as opened:
            found = _noting().compile(checkpointer=opened).invoke(given, ONE)
            assert found["log"] == ([] if turn == 0 else ["written", "asked after written"])


def test_a_graph_that_nobody_sees_in_the_code_runs_and_is_answered(log: EventLog) -> None:
    """A graph out of a dictionary keeps its state like any other; only snapshots do not say that it is there."""
    shelf = {"inner": chain(one=stamp("one"), asks=ask()).compile()}
    graph = chain(calls=lambda state: shelf["inner"].invoke(state)).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    assert graph.get_state(ONE).tasks[0].state is None
    assert graph.invoke(Command(resume="answered"), ONE)["log"] == ["one", "answered"]


def test_a_config_finds_its_task_from_any_thread(log: EventLog) -> None:
    """A node that calls a graph on a thread pool of its own hands its config over: it is the same run."""
    inner = chain(one=stamp("one")).compile()

    def calls(state: Log, config: RunnableConfig) -> dict[str, Any]:
        with ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(inner.invoke, {"n": n, "log": []}, config) for n in range(2)]
            return {"log": [word for future in futures for word in future.result()["log"]]}

    graph = chain(calls=calls).compile(checkpointer=log)
    assert graph.invoke({"n": 1, "log": []}, ONE)["log"] == ["one", "one"]
    namespaces = {event.namespace.partition(":")[0] for event in _commits(log)}
    assert namespaces == {"", "calls"}


def _commits(log: EventLog) -> list[CheckpointCommitted]:
    found = [record.event for page in log.scan() for record in page]
    return [event for event in found if isinstance(event, CheckpointCommitted)]


def test_a_run_that_lost_its_thread_stops_inside(log: EventLog) -> None:
    """The graph inside an overtaken run meets the conflict at its next append; nothing of it comes after the other."""
    entered, go_on = threading.Event(), threading.Event()
    ran: list[str] = []

    def slow(state: Log) -> dict[str, Any]:
        if state["n"] == 1:
            entered.set()
            assert go_on.wait(10)
        return {"log": ["slow"]}

    def after(state: Log) -> dict[str, Any]:
        ran.append(f"after {state['n']}")
        return {"log": ["after"]}

    graph = chain(inner=chain(slow=slow, after=after).compile()).compile(checkpointer=log)
    outcome: list[Any] = []

    def first() -> None:
        try:
            outcome.append(graph.invoke({"n": 1, "log": []}, ONE, durability="sync"))
        except ConflictError as conflict:
            outcome.append(conflict)

    running = threading.Thread(target=first)
    running.start()
    assert entered.wait(10)
    graph.invoke({"n": 2, "log": []}, ONE)
    go_on.set()
    running.join(10)
    assert isinstance(outcome[0], ConflictError)
    assert ran == ["after 2"]
    assert graph.get_state(ONE).values["n"] == 2


class Turns(TypedDict):
    """What an inner graph keeps for itself beside what it shares."""

    n: int
    turns: Annotated[list[int], operator.add]


def test_a_thread_lets_go_of_graphs_that_are_done(log: EventLog) -> None:
    """What a thread holds in memory does not grow with the graphs that ran inside it; their past is still read."""
    inner = chain(Turns, one=lambda state: {"turns": [state["n"]]}).compile()
    graph = chain(inner=inner).compile(checkpointer=log)
    for turn in range(70):
        graph.invoke({"n": turn, "log": []}, ONE)
    thread = graph._persistence.open(ONE)
    assert set(thread.thread.heads) == {""}
    past = [snapshot for snapshot in graph.get_state_history(ONE) if snapshot.next == ("inner",)]
    assert len(past) == 70
    state = graph.get_state(past[-1].config, subgraphs=True).tasks[0].state
    assert (state.values, state.next) == ({"n": 0, "turns": [0]}, ())
    assert graph.get_state({"configurable": {**state.config["configurable"]}}).values == state.values
    inner_past = list(graph.get_state_history(past[-1].tasks[0].state))
    assert [snapshot.metadata["step"] for snapshot in inner_past] == [1, 0, -1]


def test_a_fork_takes_along_what_graphs_inside_keep(log: EventLog) -> None:
    """A run that lost its thread goes on in a fork, where a graph that keeps its state has it as it was."""
    entered, go_on = threading.Event(), threading.Event()

    def waits(state: Log) -> dict[str, Any]:
        if state["n"] == 2:
            entered.set()
            assert go_on.wait(10)
        return {"log": ["waited"]}

    inner = chain(Turns, note=lambda state: {"turns": [state["n"]]}).compile(checkpointer=True)
    graph = chain(waits=waits, inner=inner).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    outcome: list[Any] = []
    running = threading.Thread(
        target=lambda: outcome.append(graph.invoke({"n": 2, "log": []}, ONE, on_conflict="fork"))
    )
    running.start()
    assert entered.wait(10)
    graph.invoke({"n": 3, "log": []}, ONE)
    go_on.set()
    running.join(10)
    forks = {log.stream_name(record.header.stream).name for page in log.scan() for record in page}
    fork = next(name for name in forks if isinstance(name, str) and name.startswith("1") and name != "1")
    kept = graph.get_state({"configurable": {"thread_id": fork, "checkpoint_ns": "inner"}}).values["turns"]
    assert kept == [1, 2]


def test_an_edit_inside_a_running_node_is_refused(log: EventLog) -> None:
    """A node may not edit the state of the run that it is part of, at any depth."""

    def edits(state: Log, config: RunnableConfig) -> dict[str, Any]:
        graph.update_state(ONE, {"n": 7})
        return {}

    graph = chain(inner=chain(edits=edits).compile()).compile(checkpointer=log)
    with pytest.raises(ConflictError, match="holds it"):
        graph.invoke({"n": 1, "log": []}, ONE)
