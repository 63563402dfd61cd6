"""`batch` and `abatch`: several inputs side by side, results in their order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lithograph.eventlog import EventLog

from .chains import chain, twin

Batch = Callable[..., list[Any]]


@pytest.fixture
def log() -> Iterator[EventLog]:
    """A log in memory."""
    with EventLog.in_memory() as opened:
        yield opened


@pytest.fixture(params=["threads", "event loop"])
def batch(request: pytest.FixtureRequest) -> Batch:
    """Either twin."""

    return twin("batch", request.param)


def _inputs(count: int) -> list[Any]:
    return [{"n": n, "log": []} for n in range(count)]


def _threads(count: int) -> list[Any]:
    return [{"configurable": {"thread_id": str(n)}} for n in range(count)]


def _one(state: Any) -> Any:
    if state["n"] == 2:
        raise ValueError("two")
    return {"log": [state["n"]]}


def test_results_are_in_the_order_of_the_inputs(log: EventLog, batch: Batch) -> None:
    """Each input is a run on the thread of its own config."""
    graph = chain(one=lambda state: {"log": [state["n"]]}).compile(checkpointer=log)
    assert [result["log"] for result in batch(graph, _inputs(5), _threads(5))] == [[n] for n in range(5)]
    assert graph.get_state({"configurable": {"thread_id": "3"}}).values["n"] == 3
    assert batch(graph, []) == []


def test_errors_are_raised_or_returned(batch: Batch) -> None:
    """What a run raises is raised, or is its result when that is asked for."""
    graph = chain(one=_one).compile()
    with pytest.raises(ValueError, match="two"):
        batch(graph, _inputs(4))
    results = batch(graph, _inputs(4), return_exceptions=True)
    assert [type(result).__name__ for result in results] == ["dict", "dict", "ValueError", "dict"]


def test_no_more_run_at_once_than_are_allowed(batch: Batch) -> None:
    """`max_concurrency` holds for the runs of a batch."""
    lock, running, most = threading.Lock(), 0, 0

    def node(state: Any) -> Any:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.01)
        with lock:
            running -= 1
        return {"log": [state["n"]]}

    batch(chain(one=node).compile(), _inputs(8), {"max_concurrency": 2})
    assert most == 2


def test_configs_are_one_for_all_or_one_for_each(batch: Batch) -> None:
    """Any other number is refused before anything runs."""
    with pytest.raises(ValueError, match="2 for 3"):
        batch(chain(one=_one).compile(), _inputs(3), _threads(2))
