"""`get_state(fold="reducers")`: the reducers run again, and agree with the record until they change."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import END, START, Command, InvalidUpdateError, StateGraph, interrupt
from lithograph.graph.compiled import CompiledStateGraph
from lithograph.graph.errors import ReducerDrift
from lithograph.graph.reading import Reading
from lithograph.graph.refold import refolded_state

from tests.graph.chains import ONE, chain, stamp
from tests.oracle import corpus  # noqa: F401 - registers the scenarios
from tests.oracle.api import lithograph
from tests.oracle.harness import FACES, SCENARIOS, Face, Scenario, perform

NO_FILTER: dict[str, Any] = {"filter": None, "before": None, "limit": None}
CONFIG: dict[str, Any] = {"configurable": {"thread_id": "1"}}


CASES = [
    pytest.param(case, face, id=f"{case.name}-{face.name}")
    for case in SCENARIOS.values()
    for face in (FACES[0], FACES[2])
    if case.fits(face)
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("case", "face"), CASES)
def test_refolding_agrees_with_the_record(
    case: Scenario, face: Face, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a graph of the corpus reads, live or of its past, its reducers make the same of the writes."""
    recorded, differences, known = Reading.snapshot, list[str](), set[str]()

    def both(self: Reading, config: Mapping[str, Any]) -> Any:
        found = recorded(self, config)
        past = self.history({"configurable": {"thread_id": config["configurable"]["thread_id"]}}, **NO_FILTER)
        for snapshot in [found, *past]:
            asked = config if snapshot is found else snapshot.config
            if snapshot is not found and str(asked) in known:
                continue
            known.add(str(asked))
            try:
                refolded = refolded_state(self, asked)
            except Exception as error:  # noqa: BLE001 - a script swallows errors, so they are kept
                differences.append(f"{asked}: {error!r}")
                continue
            if refolded.values != snapshot.values:
                differences.append(f"{asked}: {refolded.values} is not {snapshot.values}")
        return found

    monkeypatch.setattr(Reading, "snapshot", both)

    perform(lithograph(), case, face, tmp_path / "log")

    assert differences == []


def _longest(left: str, right: str) -> str:
    return max(left, right, key=len)


def _latest(left: str, right: str) -> str:
    return right


def _graph(log: EventLog, reducer: Callable[[str, str], str] = _longest) -> CompiledStateGraph:
    """Return a graph with a chain, two parallel nodes and a question; `reducer` is that of `word`."""
    state = TypedDict("state", {"done": Annotated[list[str], operator.add], "word": Annotated[str, reducer]})  # noqa: UP013

    def ask(state: Any) -> dict[str, Any]:
        return {"done": [interrupt("which?")], "word": "asked at length"}

    builder = StateGraph(state)
    builder.add_node("first", lambda _state: {"done": ["first"], "word": "a"})
    builder.add_node("second", lambda _state: {"done": ["second"], "word": "second"})
    builder.add_node("ask", ask)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    builder.add_edge("first", "ask")
    builder.add_edge("second", END)
    return builder.compile(checkpointer=log)


def test_a_changed_reducer_is_found_at_the_first_checkpoint_that_differs() -> None:
    """Drift names checkpoint and channel; what was recorded is read as before."""
    log = EventLog.in_memory()
    graph = _graph(log)
    graph.invoke({"done": [], "word": "input"}, CONFIG)
    graph.invoke(Command(resume="this"), CONFIG)
    history = list(graph.get_state_history(CONFIG))
    changed = _graph(log, _latest)

    with pytest.raises(ReducerDrift, match="'word'") as drift:
        changed.get_state(CONFIG, fold="reducers")

    first = next(each for each in reversed(history) if "first" in each.values["done"])
    assert drift.value.checkpoint == first.config["configurable"]["checkpoint_id"]
    assert drift.value.channel == "word"
    before = history[history.index(first) + 1]
    assert changed.get_state(before.config, fold="reducers") == before
    assert changed.get_state(CONFIG).values == history[0].values


def test_a_reducer_that_raises_today_is_drift() -> None:
    """A reducer that refuses what it once took is told as drift, with its error as the cause."""

    def refuse(left: str, right: str) -> str:
        raise ValueError("not today")

    log = EventLog.in_memory()
    _graph(log).invoke({"done": [], "word": "input"}, CONFIG)

    with pytest.raises(ReducerDrift) as drift:
        _graph(log, refuse).get_state(CONFIG, fold="reducers")

    assert isinstance(drift.value.__cause__, ValueError)


def test_a_paused_step_is_refolded_with_its_finished_tasks() -> None:
    """The live view of a pause shows what finished siblings wrote, folded by the reducers, and drift there too."""
    log = EventLog.in_memory()
    graph = _graph(log)
    graph.invoke({"done": [], "word": ""}, CONFIG)

    assert graph.get_state(CONFIG, fold="reducers") == graph.get_state(CONFIG)
    assert graph.get_state(CONFIG, fold="reducers").values["word"] == "second"

    with pytest.raises(ReducerDrift):
        _graph(log, lambda left, right: left or right).get_state(CONFIG, fold="reducers")


def test_a_fork_is_refolded_from_its_sources_root() -> None:
    """What a fork inherits is refolded too: from the first checkpoint of the thread it came from."""
    log = EventLog.in_memory()
    graph = _graph(log)
    graph.invoke({"done": [], "word": "input"}, CONFIG)
    fork = log.fork(CONFIG, "2")
    graph.invoke(Command(resume="that"), fork)

    refolded = graph.get_state(fork, fold="reducers")

    assert refolded == graph.get_state(fork)
    assert refolded.values["done"] == ["first", "that", "second"]
    with pytest.raises(ReducerDrift):
        _graph(log, _latest).get_state(fork, fold="reducers")


def _agree(graph: CompiledStateGraph) -> None:
    """Every checkpoint, and the live state, refold to what is recorded."""
    assert graph.get_state(CONFIG, fold="reducers") == graph.get_state(CONFIG)
    for snapshot in graph.get_state_history(CONFIG):
        assert graph.get_state(snapshot.config, fold="reducers") == graph.get_state(snapshot.config)


def _side_by_side(log: EventLog, faults: set[str]) -> CompiledStateGraph:
    """Return a graph of two nodes side by side and one behind them; `faults` are nodes that write `one` only."""
    state = TypedDict("state", {"done": Annotated[list[str], operator.add], "one": str})  # noqa: UP013

    def node(name: str) -> Callable[[Any], dict[str, Any]]:
        return lambda _state: {"one": name} if name in faults else {"done": [name]}

    builder = StateGraph(state)
    for name in ("left", "right", "last"):
        builder.add_node(name, node(name))
    builder.add_edge(START, "left")
    builder.add_edge(START, "right")
    builder.add_edge(["left", "right"], "last")
    return builder.compile(checkpointer=log)


@pytest.mark.parametrize("first", ["sync", "async", "exit"])
@pytest.mark.parametrize("given", [None, {"done": ["anew"]}, Command(update={"done": ["told"]})])
@pytest.mark.parametrize("chunks", [1, 2, 3])
def test_a_finished_step_that_a_run_at_exit_closes_is_refolded(first: Any, given: Any, chunks: int) -> None:
    """A stream was left behind a step's last task: the next run, at exit, begins with that step's close."""
    graph = _side_by_side(EventLog.in_memory(), set())
    stream = graph.stream({"done": ["in"]}, CONFIG, durability=first)
    for _chunk, _number in zip(stream, range(chunks), strict=False):
        pass
    stream.close()

    graph.invoke(given, CONFIG, durability="exit")

    _agree(graph)


@pytest.mark.parametrize("first", ["sync", "async", "exit"])
@pytest.mark.parametrize("given", [None, Command(update={"done": ["told"]})])
def test_a_refused_step_that_a_run_at_exit_repairs_is_refolded(first: Any, given: Any) -> None:
    """What the refusal voided counts nowhere: not for the reducers, not in the step's tasks, live or by id."""
    faults = {"left", "right"}
    graph = _side_by_side(EventLog.in_memory(), faults)
    with pytest.raises(InvalidUpdateError):
        graph.invoke({"done": ["in"]}, CONFIG, durability=first)
    head = next(graph.get_state_history(CONFIG))
    assert [task.result for task in graph.get_state(head.config).tasks] == [None, None]
    faults.clear()

    graph.invoke(given, CONFIG, durability="exit")

    _agree(graph)


def test_a_step_that_a_replay_at_exit_runs_again_is_refolded() -> None:
    """Asked for by its id, an edit's step runs anew on the spot: what had finished of it counts once."""
    graph = _side_by_side(EventLog.in_memory(), set())
    graph.invoke({"done": ["in"]}, CONFIG)
    edit = graph.update_state(CONFIG, {"done": ["edit"]}, as_node=START)
    stream = graph.stream(None, CONFIG, durability="sync")
    next(stream)
    stream.close()

    graph.invoke(None, edit, durability="exit")

    _agree(graph)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_branch_that_begins_with_a_commands_writes_is_refolded(durability: Any) -> None:
    """What a command writes at an earlier checkpoint is among the writes that its branch names, whoever folds them."""
    with EventLog.in_memory() as log:
        graph = chain(one=stamp("one"), two=stamp("two")).compile(checkpointer=log)
        graph.invoke({"n": 1, "log": ["in"]}, ONE)
        earlier = [*graph.get_state_history(ONE)][1].config
        graph.invoke(Command(update={"n": 7, "log": ["edited"]}), earlier, durability=durability)
        for snapshot in [graph.get_state(ONE), *graph.get_state_history(ONE)]:
            assert graph.get_state(snapshot.config, fold="reducers").values == snapshot.values
        assert graph.get_state(ONE).values == {"n": 7, "log": ["in", "one", "edited", "two"]}


def test_refolding_an_empty_thread_gives_an_empty_snapshot() -> None:
    """There is nothing to fold and nothing to compare."""
    graph = _graph(EventLog.in_memory())

    assert graph.get_state(CONFIG, fold="reducers") == graph.get_state(CONFIG)


def test_any_other_fold_is_refused() -> None:
    """`fold` has two values."""
    with pytest.raises(ValueError, match="recorded"):
        _graph(EventLog.in_memory()).get_state(CONFIG, fold="both")
