"""Values of every size: alone, together in one record, in inputs, edits, commands, and with any reducer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import START, Command, Send, StateGraph, interrupt

ONE = {"configurable": {"thread_id": "1"}}


class Wide(TypedDict, total=False):
    """Many keys, each of which may be large."""

    a: str
    b: str
    c: str
    d: str
    e: str
    f: str


def merge(left: list[int], right: list[int]) -> list[int]:
    """A reducer of the user's own."""
    return left + right


class Fan(TypedDict):
    """What many workers did."""

    done: Annotated[list[int], merge]


def texts(size: int, mark: str) -> Any:
    """Return a value of `size` characters for every key."""
    return {key: mark + key * size for key in "abcdef"}


@pytest.fixture(params=["memory", "lmdb"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A log on either engine."""
    with EventLog.in_memory() if request.param == "memory" else EventLog(tmp_path / "log") as log:
        yield log


@pytest.mark.parametrize("size", [60_000, 200_000])
def test_many_large_values_share_a_record(log: EventLog, size: int) -> None:
    """Inputs, results, edits and commands whose parts are too much together are stored, and come back exactly."""
    builder = StateGraph(Wide).add_node("node", lambda state: texts(size, "n")).add_edge(START, "node")
    graph = builder.compile(checkpointer=log)
    assert graph.invoke(texts(size, "i"), ONE) == texts(size, "n")
    graph.update_state(ONE, texts(size, "u"), as_node="node")
    assert builder.compile(checkpointer=log).get_state(ONE).values == texts(size, "u")
    graph.invoke(Command(update=texts(size, "c")), ONE)
    states = [snapshot.values for snapshot in builder.compile(checkpointer=log).get_state_history(ONE)]
    assert states[0] == texts(size, "c")
    assert states[1] == texts(size, "u")
    assert states[2] == texts(size, "n")
    assert states[3] == texts(size, "i")


def test_a_step_may_send_thousands(log: EventLog) -> None:
    """Two thousand sends of one step run, and their results fold in order."""
    builder = StateGraph(Fan)
    builder.add_node("fan", lambda state: None)
    builder.add_node("work", lambda n: {"done": [n]})
    builder.add_edge(START, "fan")
    builder.add_conditional_edges("fan", lambda state: [Send("work", n) for n in range(2000)], ["work"])
    graph = builder.compile(checkpointer=log)
    assert graph.invoke({"done": []}, ONE)["done"] == list(range(2000))


def replace_all(left: dict[str, str], right: dict[str, str]) -> dict[str, str]:
    """A reducer of the user's own whose results are recorded whole, or by entries."""
    return {**left, **right}


def longer(left: list[str], right: list[str]) -> list[str]:
    """A reducer of the user's own whose results are recorded as splices."""
    return [*left, *right]


MANY = [f"channel_{number}" for number in range(20)]
Results: Any = TypedDict(
    "Results",
    dict.fromkeys(MANY, Annotated[dict[str, str], replace_all])
    | {f"list_{key}": Annotated[list[str], longer] for key in MANY},
)


def _written(size: int, mark: str) -> Any:
    tables = {key: {mark: mark + key[-1] * size} for key in MANY}
    return tables | {f"list_{key}": [mark + key[-1] * size] for key in MANY}


def _held(size: int, marks: str) -> Any:
    parts = [_written(size, mark) for mark in marks]
    tables = {key: {k: v for part in parts for k, v in part[key].items()} for key in MANY}
    return tables | {f"list_{key}": [each for part in parts for each in part[f"list_{key}"]] for key in MANY}


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("size", [60_000, 200_000])
def test_many_results_share_a_record(log: EventLog, size: int, durability: Any) -> None:
    """A step of many channels whose recorded outcomes are megabytes together commits, and is read back exactly."""
    marks = iter("bcde")
    builder: StateGraph[Any] = StateGraph(Results)
    builder.add_node("node", lambda state: _written(size, next(marks))).add_edge(START, "node")
    graph = builder.compile(checkpointer=log)
    assert graph.invoke(_written(size, "a"), ONE, durability=durability) == _held(size, "ab")
    assert graph.invoke({}, ONE, durability=durability) == _held(size, "abc")
    graph.update_state(ONE, _written(size, "u"), as_node="node")
    fresh = builder.compile(checkpointer=EventLog.over(log.engine) if log.path is None else log)
    assert fresh.get_state(ONE).values == _held(size, "abcu")
    assert fresh.get_state(ONE, fold="reducers").values == _held(size, "abcu")
    assert log.verify().ok


def test_one_result_may_be_larger_than_a_record(log: EventLog) -> None:
    """An outcome of several megabytes, of which each write was small enough, commits and is read back exactly."""
    builder: StateGraph[Any] = StateGraph(Results)
    builder.add_node("node", lambda state: {"channel_0": {"b": "b" * 3_000_000}}).add_edge(START, "node")
    graph = builder.compile(checkpointer=log)
    expected = {"a": "a" * 2_000_000, "b": "b" * 3_000_000}
    assert graph.invoke({"channel_0": {"a": "a" * 2_000_000}}, ONE)["channel_0"] == expected
    assert builder.compile(checkpointer=log).get_state(ONE).values["channel_0"] == expected


def test_a_pause_records_many_large_results(log: EventLog) -> None:
    """What finished siblings wrote is recorded at a pause, however much it is together."""

    def ask(_state: Any) -> None:
        interrupt("?")

    builder: StateGraph[Any] = StateGraph(Results)
    builder.add_node("work", lambda state: _written(60_000, "b")).add_edge(START, "work")
    builder.add_node("ask", ask).add_edge(START, "ask")
    graph = builder.compile(checkpointer=log)
    graph.invoke(_written(60_000, "a"), ONE)
    state = builder.compile(checkpointer=log).get_state(ONE)
    assert state.values == _held(60_000, "ab")
    assert state.next == ("ask",)
    graph.invoke(Command(resume=1), ONE)
    assert builder.compile(checkpointer=log).get_state(ONE).values == _held(60_000, "ab")
