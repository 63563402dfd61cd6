"""Laws of steps that are still open, and of how runs end: what is recorded of them, shown, and carried on."""

import operator
import threading
import time
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.clock import id_text
from lithograph.eventlog.events import ChannelWritten, GraphRegistered, RunEnded
from lithograph.graph import START, Command, StateGraph
from lithograph.projections import reader
from typing_extensions import TypedDict

from .chains import ONE, Log, ask, chain, parallel, stamp

# No postponed annotations: the builder reads the annotations of nodes.

FRESH = {"n": 0, "log": []}


@pytest.fixture
def log() -> Iterator[EventLog]:
    """A log in memory."""
    with EventLog.in_memory() as opened:
        yield opened


def _extended(left: list[Any], right: list[Any]) -> list[Any]:
    """Do what `operator.add` does, as a user's reducer of which outcomes are recorded."""
    return [*left, *right]


class Own(TypedDict):
    """The same keys as `Log`, the list with a user's reducer."""

    n: int
    log: Annotated[list[Any], _extended]


def _fails_twice(seen: list[Any]) -> Any:
    def node(state: Any) -> Any:
        seen.append((state["n"], list(state["log"])))
        if len(seen) < 3:
            raise ValueError("not yet")
        return {"log": ["done"]}

    return node


@pytest.mark.parametrize("schema", [Log, Own])
def test_what_a_command_wrote_ahead_is_there_when_a_run_goes_on(log: EventLog, schema: Any) -> None:
    """An edit put in at a failed step holds for every later try of it, and the step's checkpoint carries it."""
    seen: list[Any] = []
    graph = chain(schema, node=_fails_twice(seen)).compile(checkpointer=log)
    for given in (FRESH, Command(update={"n": 7, "log": ["edited"]})):
        with pytest.raises(ValueError, match="not yet"):
            graph.invoke(given, ONE)
    assert graph.invoke(None, ONE) == {"n": 7, "log": ["edited", "done"]}
    assert seen == [(0, []), (7, ["edited"]), (7, ["edited"])]
    assert graph.get_state(ONE).values == {"n": 7, "log": ["edited", "done"]}


@pytest.mark.parametrize("schema", [Log, Own])
def test_an_open_step_shows_a_command_and_then_what_finished(log: EventLog, schema: Any) -> None:
    """A step that waits shows the edit put in ahead of it with what its finished tasks make of that, none without."""
    graph = parallel(schema, ask=ask(), work=stamp("work")).compile(checkpointer=log)
    graph.invoke(FRESH, ONE)
    assert graph.get_state(ONE).values["log"] == ["work"]
    assert graph.invoke(Command(update={"log": ["edited"]}), ONE)["log"] == ["edited", "work"]
    elsewhere = parallel(schema, ask=ask(), work=stamp("work")).compile(checkpointer=EventLog.over(log.engine))
    for reading in (graph, elsewhere):
        assert reading.get_state(ONE).values["log"] == ["edited", "work"]
    assert graph.invoke(Command(resume="yes"), ONE)["log"] == ["edited", "yes", "work"]


def test_a_step_under_way_shows_what_is_recorded_of_it(log: EventLog) -> None:
    """Who reads a thread during a step sees what its finished tasks wrote, in channels without a reducer too."""
    gate = threading.Event()

    def slow(state: Log) -> Any:
        assert gate.wait(10)
        return {"log": ["slow"]}

    def fast(state: Log) -> Any:
        return {"n": 5, "log": ["fast"]}

    graph = parallel(fast=fast, slow=slow).compile(checkpointer=log)
    chunks = graph.stream(FRESH, ONE, stream_mode="updates", durability="sync")
    try:
        assert next(chunks) == {"fast": {"n": 5, "log": ["fast"]}}
        shown = graph.get_state(ONE)
    finally:
        gate.set()
    assert (shown.values, shown.next) == ({"n": 5, "log": ["fast"]}, ("slow",))
    assert list(chunks) == [{"slow": {"log": ["slow"]}}]


def test_a_breakpoint_holds_on_a_thread_whose_channels_have_no_version(log: EventLog) -> None:
    """After an edit of nothing a goto has passed no breakpoint yet, so it stops before its node."""
    graph = chain(a=stamp("a")).compile(checkpointer=log, interrupt_before=["a"])
    graph.update_state(ONE, None, as_node="a")
    graph.invoke(Command(goto="a"), ONE)
    assert (graph.get_state(ONE).values, graph.get_state(ONE).next) == ({"log": []}, ("a",))
    assert graph.invoke(None, ONE) == {"log": ["a"]}


# Inputs


def test_an_input_with_keys_that_are_no_text_is_kept_whole(log: EventLog) -> None:
    """Such keys name no channel: the others are applied, and a graph without keys takes the dict as it is."""
    graph = chain(a=stamp("a")).compile(checkpointer=log)
    given: Any = {"n": 1, 2: "two"}
    assert graph.invoke(given, ONE) == {"n": 1, "log": ["a"]}

    root: Any = Annotated[dict[int, str], operator.or_]
    builder: StateGraph[Any] = StateGraph(root)
    builder.add_node("a", lambda state: None)
    builder.add_edge(START, "a")
    other: Any = {"configurable": {"thread_id": "2"}}
    whole: Any = {1: "one", 2: "two"}
    assert builder.compile(checkpointer=log).invoke(whole, other) == whole


def test_an_input_is_recorded_key_by_key(log: EventLog) -> None:
    """A dict whose keys are text is stored with each value under its key."""
    chain(a=stamp("a")).compile(checkpointer=log).invoke({"n": 1, "log": ["in"]}, ONE)
    written = [r.event for page in log.scan() for r in page if isinstance(r.event, ChannelWritten)]
    assert [channel for channel, _data in written[0].writes] == ["n", "log"]


# Ends


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_the_end_of_a_run_names_its_last_checkpoint(log: EventLog, durability: Any) -> None:
    """However a run ends, its `RunEnded` says how, and at which checkpoint the thread is then."""
    nodes: dict[str, Any] = {"first": stamp("first"), "last": ask()}
    graph = chain(**nodes).compile(checkpointer=log)
    ends: list[tuple[str, str | None]] = []
    for given in (FRESH, Command(resume="yes")):
        graph.invoke(given, ONE, durability=durability)
        event = [r.event for page in log.scan() for r in page][-1]
        assert isinstance(event, RunEnded)
        head = graph.get_state(ONE).config["configurable"]["checkpoint_id"]
        assert event.checkpoint is not None
        assert id_text(event.checkpoint) == head
        ends.append((event.outcome, head))
    assert [outcome for outcome, _head in ends] == ["interrupted", "finished"]


def test_a_reader_begins_where_the_run_ended(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run leaves its thread, folded, to the readers and runs that follow in its process: none folds it again."""
    graph = chain(a=stamp("a"), b=ask()).compile(checkpointer=log)

    def folds(*_words: Any, **_options: Any) -> Any:
        raise AssertionError("the thread is folded again")

    monkeypatch.setattr(reader, "fold_until", folds)
    graph.invoke(FRESH, ONE)
    assert graph.get_state(ONE).values["log"] == ["a"]
    assert graph.invoke(Command(resume="yes"), ONE)["log"] == ["a", "yes"]
    assert graph.get_state(ONE).values["log"] == ["a", "yes"]


def test_a_reason_without_an_actor_is_nobodys_act(log: EventLog) -> None:
    """A config that says why and not who: the run goes as ever, and its events carry the reason alone."""
    graph = chain(a=stamp("a")).compile(checkpointer=log)
    before = log.log_head().position
    assert graph.invoke(FRESH, ONE | {"metadata": {"reason": "nightly"}})["log"] == ["a"]
    bodies = [r.body for r in log.read(before, 100) if not isinstance(r.event, GraphRegistered)]
    assert {(body.actor, body.reason) for body in bodies} == {(None, "nightly")}


def test_a_signal_ends_what_waits_for_a_worker(log: EventLog) -> None:
    """One task at a time: after a signal at most the next has begun, and the rest never do."""
    ran: list[str] = []

    def stops(state: Log) -> Any:
        raise KeyboardInterrupt

    def works(name: str) -> Any:
        def node(state: Log) -> Any:
            ran.append(name)
            time.sleep(0.3)
            return {"log": [name]}

        return node

    graph = parallel(a=stops, b=works("b"), c=works("c"), d=works("d")).compile(checkpointer=log)
    with pytest.raises(KeyboardInterrupt):
        graph.invoke(FRESH, {**ONE, "max_concurrency": 1})
    assert ran in ([], ["b"])


def test_what_a_pause_recorded_is_shown_until_the_step_goes_on(log: EventLog) -> None:
    """A user's reducer shows a paused step's outcome; once an answer came the start value, with the write on its task.

    In LangGraph a reader folds the reducer itself, so what it shows depends on who reads.
    """
    seen: list[Any] = []

    def asks(state: Any) -> Any:
        if not seen:
            seen.append(graph.get_state(ONE))
        return {"log": [ask()(state)["log"][0]]}

    graph = parallel(Own, asks=asks, work=stamp("work")).compile(checkpointer=log)
    graph.invoke(FRESH, ONE)
    assert graph.get_state(ONE).values["log"] == ["work"]
    seen.clear()
    graph.invoke(Command(resume="yes"), ONE)
    (during,) = seen
    assert during.values["log"] == []
    assert {task.name: task.result for task in during.tasks} == {"asks": None, "work": {"log": ["work"]}}
