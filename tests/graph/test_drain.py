"""Draining: a run that is asked to stop ends at a boundary of supersteps, and nothing of it is lost."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Annotated, Any, Literal

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import (
    START,
    Command,
    GraphBubbleUp,
    GraphDrained,
    RunControl,
    Runtime,
    StateGraph,
    get_runtime,
    interrupt,
)
from typing_extensions import TypedDict

Durability = Literal["sync", "async", "exit"]
DURABILITIES: tuple[Durability, ...] = ("sync", "async", "exit")
CONFIG: Any = {"configurable": {"thread_id": "1"}}


def _both(left: list[str] | None, right: list[str]) -> list[str]:
    return [*(left or []), *right]


class Seen(TypedDict, total=False):
    """What ran."""

    seen: Annotated[list[str], _both]


def chain(log: EventLog | None, *, stop_in: str = "b", reason: str = "SIGTERM", **options: Any) -> Any:
    """Return a graph a -> b -> c, one of whose nodes asks for the drain while it runs."""

    def node(name: str) -> Any:
        def run(state: Seen, runtime: Runtime) -> Any:
            if name == stop_in and runtime.control is not None and not runtime.drain_requested:
                runtime.control.request_drain(reason)
            return {"seen": [name]}

        return run

    builder: StateGraph[Any] = StateGraph(Seen)
    builder.add_sequence([(name, node(name)) for name in "abc"])
    builder.add_edge(START, "a")
    return builder.compile(checkpointer=log, **options)


def call(graph: Any, given: Any, face: str, **options: Any) -> Any:
    """Run the graph through one of its faces; the last values of a stream."""

    async def last() -> Any:
        chunks = [chunk async for chunk in graph.astream(given, CONFIG, stream_mode="values", **options)]
        return chunks[-1]

    if face == "invoke":
        return graph.invoke(given, CONFIG, **options)
    if face == "stream":
        return [*graph.stream(given, CONFIG, stream_mode="values", **options)][-1]
    return asyncio.run(last() if face == "astream" else graph.ainvoke(given, CONFIG, **options))


@pytest.mark.parametrize("face", ["invoke", "stream", "ainvoke", "astream"])
@pytest.mark.parametrize("durability", DURABILITIES)
def test_it_stops_behind_the_step_that_runs_and_goes_on_later(durability: Durability, face: str) -> None:
    """The step is finished and recorded before the error is raised; `None` as input does the rest."""
    log = EventLog.in_memory()
    graph, control = chain(log), RunControl()
    with pytest.raises(GraphDrained) as caught:
        call(graph, {"seen": []}, face, durability=durability, control=control)
    assert caught.value.reason == "SIGTERM"
    state = graph.get_state(CONFIG)
    assert (state.values, state.next) == ({"seen": ["a", "b"]}, ("c",))
    assert (control.drain_requested, control.drain_reason) == (True, "SIGTERM")
    assert call(graph, None, face, durability=durability) == {"seen": ["a", "b", "c"]}
    assert log.verify().findings == []


@pytest.mark.parametrize("durability", DURABILITIES)
def test_a_drain_before_the_run_keeps_the_input(durability: Durability) -> None:
    """No node runs, and the input is not lost."""
    graph, control = chain(EventLog.in_memory(), stop_in=""), RunControl()
    control.request_drain()
    with pytest.raises(GraphDrained, match="Graph drained: shutdown"):
        graph.invoke({"seen": ["given"]}, CONFIG, durability=durability, control=control)
    assert graph.get_state(CONFIG).next == (START,)
    assert graph.invoke(None, CONFIG) == {"seen": ["given", "a", "b", "c"]}


def test_the_rest_of_the_log_is_as_without_a_drain() -> None:
    """A drained run that goes on leaves the checkpoints that an undisturbed one leaves."""

    def told(graph: Any) -> list[Any]:
        return [(s.values, s.next, s.metadata["source"], s.metadata["step"]) for s in graph.get_state_history(CONFIG)]

    plain, drained = chain(EventLog.in_memory(), stop_in=""), chain(EventLog.in_memory())
    plain.invoke({"seen": []}, CONFIG)
    with pytest.raises(GraphDrained):
        drained.invoke({"seen": []}, CONFIG)
    drained.invoke(None, CONFIG)
    assert told(drained) == told(plain)


def test_a_run_that_is_done_is_not_drained() -> None:
    """A request in the last step comes too late to stop anything: the result is returned."""
    graph = chain(EventLog.in_memory(), stop_in="c")
    assert graph.invoke({"seen": []}, CONFIG) == {"seen": ["a", "b", "c"]}


def test_questions_and_breakpoints_come_first() -> None:
    """A run that pauses anyway pauses: the answer, or the next call, finds it as if nobody had asked."""

    def asks(state: Seen, runtime: Runtime) -> Any:
        assert runtime.control is not None
        runtime.control.request_drain()
        return {"seen": [interrupt("go on?")]}

    builder = StateGraph(Seen).add_node("asks", asks).add_edge(START, "asks")
    graph = builder.compile(checkpointer=EventLog.in_memory())
    assert "__interrupt__" in graph.invoke({"seen": []}, CONFIG)
    assert graph.invoke(Command(resume="yes"), CONFIG) == {"seen": ["yes"]}

    graph = chain(EventLog.in_memory(), stop_in="a", interrupt_before=["b"])
    assert graph.invoke({"seen": []}, CONFIG) == {"seen": ["a"]}
    assert graph.invoke(None, CONFIG) == {"seen": ["a", "b", "c"]}


def test_any_thread_may_ask() -> None:
    """The request comes from outside while a node runs; that node ends as usual."""
    control, running, asked = RunControl(), threading.Event(), threading.Event()

    def slow(state: Seen) -> Any:
        running.set()
        asked.wait(5)
        return {"seen": ["slow"]}

    def ask() -> None:
        running.wait(5)
        control.request_drain("deploy")
        asked.set()

    builder: StateGraph[Any] = StateGraph(Seen).add_node(slow).add_node("next", lambda state: {"seen": ["next"]})
    graph = builder.add_edge(START, "slow").add_edge("slow", "next").compile(checkpointer=EventLog.in_memory())
    threading.Thread(target=ask).start()
    with pytest.raises(GraphDrained, match="deploy"):
        graph.invoke({"seen": []}, CONFIG, control=control)
    assert graph.get_state(CONFIG).values == {"seen": ["slow"]}


def test_it_is_caught_as_any_error_and_as_a_signal() -> None:
    """Whoever called the run may catch it as an `Exception`, as with LangGraph; it is a `GraphBubbleUp` too."""
    assert issubclass(GraphDrained, Exception)
    assert issubclass(GraphDrained, GraphBubbleUp)
    with pytest.raises(GraphDrained):
        chain(None).invoke({"seen": []}, CONFIG)
    outcomes = chain(None).batch([{"seen": []}], return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [GraphDrained]


def test_every_run_has_a_control_of_its_own() -> None:
    """Without one given there is one all the same, new for each run; a graph in a node shares its caller's."""
    controls: list[Any] = []

    def look(state: Seen) -> Any:
        controls.append(get_runtime().control)

    inner = StateGraph(Seen).add_node(look).add_edge(START, "look").compile()

    def outside(state: Seen) -> Any:
        look(state)
        inner.invoke({"seen": []})

    graph = StateGraph(Seen).add_node(outside).add_edge(START, "outside").compile()
    graph.invoke({"seen": []})
    graph.invoke({"seen": []})
    assert all(isinstance(control, RunControl) for control in controls)
    assert controls[0] is controls[1]
    assert controls[2] is controls[3] is not controls[0]


def _inner(control: RunControl, log: list[str]) -> Any:
    """Return a graph i1 -> i2 whose first node asks for the drain."""

    def first(state: Seen) -> Any:
        log.append("i1")
        control.request_drain("inside")
        return {"seen": ["i1"]}

    def second(state: Seen) -> Any:
        log.append("i2")
        return {"seen": ["i2"]}

    builder: StateGraph[Any] = StateGraph(Seen).add_sequence([("i1", first), ("i2", second)])
    return builder.add_edge(START, "i1").compile()


@pytest.mark.parametrize("face", ["invoke", "ainvoke"])
@pytest.mark.parametrize("durability", DURABILITIES)
def test_a_graph_inside_a_node_stops_too(durability: Durability, face: str) -> None:
    """It stops behind its own step and goes on there; tasks beside it are finished and do not run again."""
    control, ran = RunControl(), list[str]()

    def beside(state: Seen) -> Any:
        time.sleep(0.1)
        ran.append("beside")
        return {"seen": ["beside"]}

    builder: StateGraph[Any] = StateGraph(Seen).add_node("inner", _inner(control, ran)).add_node(beside)
    builder.add_node("join", lambda state: {"seen": ["join"]})
    builder.add_edge(START, "inner").add_edge(START, "beside").add_edge(["inner", "beside"], "join")
    log = EventLog.in_memory()
    graph = builder.compile(checkpointer=log)
    with pytest.raises(GraphDrained, match="inside"):
        call(graph, {"seen": []}, face, control=control, durability=durability)
    state = graph.get_state(CONFIG)
    assert [(task.name, task.error, task.interrupts) for task in state.tasks] == [
        ("inner", None, ()),
        ("beside", None, ()),
    ]
    assert sorted(ran) == ["beside", "i1"]
    assert call(graph, None, face, durability=durability)["seen"] == ["beside", "i1", "i2", "join"]
    assert sorted(ran) == ["beside", "i1", "i2"]
    assert log.verify().findings == []


def test_an_answer_is_not_lost_when_the_graph_it_was_for_is_stopped() -> None:
    """The question inside was answered before the drain: it is not asked again."""
    control = RunControl()

    def asks(state: Seen) -> Any:
        answer = interrupt("go on?")
        control.request_drain()
        return {"seen": [answer]}

    inner = StateGraph(Seen).add_sequence([("asks", asks), ("rest", lambda state: {"seen": ["rest"]})])
    graph = StateGraph(Seen).add_node("inner", inner.add_edge(START, "asks").compile()).add_edge(START, "inner")
    desk = graph.compile(checkpointer=EventLog.in_memory())
    desk.invoke({"seen": []}, CONFIG)
    with pytest.raises(GraphDrained):
        desk.invoke(Command(resume="yes"), CONFIG, control=control)
    assert desk.invoke(None, CONFIG) == {"seen": ["yes", "rest"]}
