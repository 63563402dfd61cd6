"""Values of every size: alone, together in one record, in inputs, edits, commands, and with any reducer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import START, Command, Send, StateGraph

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
