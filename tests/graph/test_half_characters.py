"""Names, ids, actors and reasons with half a character in them: a typed error before anything is stored."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import InvalidText
from lithograph.graph import START, InvalidRunId, StateGraph
from lithograph.projections import EventLogSaver
from typing_extensions import TypedDict

from .chains import ONE, chain, stamp

BAD = "half \ud800 a character"
THREAD: Any = {"configurable": {"thread_id": BAD}}
CHECKPOINT: Any = {
    "v": 4,
    "id": "1f0a0000-0000-6000-8000-000000000001",
    "ts": "",
    "channel_values": {"a": 1},
    "channel_versions": {"a": 1},
    "versions_seen": {},
}
METADATA: Any = {"source": "input", "step": -1, "parents": {}}


def _graph(log: EventLog) -> Any:
    return chain(a=stamp("a")).compile(checkpointer=log)


def _put(log: EventLog, config: Any = None, **parts: Any) -> Any:
    config = {"configurable": {"thread_id": "1", "checkpoint_ns": "", **(config or {})}}
    return EventLogSaver(log).put(config, CHECKPOINT | parts, METADATA, {"a": 1})


ACTS: dict[str, Callable[[EventLog], Any]] = {
    "invoke": lambda log: _graph(log).invoke({"n": 1}, THREAD),
    "stream": lambda log: list(_graph(log).stream({"n": 1}, THREAD)),
    "update_state": lambda log: _graph(log).update_state(THREAD, {"n": 1}),
    "get_state": lambda log: _graph(log).get_state(THREAD),
    "get_state_history": lambda log: list(_graph(log).get_state_history(THREAD)),
    "actor": lambda log: _graph(log).invoke({"n": 1}, ONE | {"metadata": {"actor": BAD}}),
    "reason": lambda log: _graph(log).invoke({"n": 1}, ONE | {"metadata": {"actor": "ada", "reason": BAD}}),
    "actor of an edit": lambda log: _graph(log).update_state(ONE | {"metadata": {"actor": BAD}}, {"n": 1}),
    "node name": lambda _log: StateGraph(dict).add_node(BAD, stamp("a")),
    "graph name": lambda log: chain(a=stamp("a")).compile(checkpointer=log, name=BAD),
    "state key": lambda _log: StateGraph(TypedDict("State", {BAD: int})),
    "key of the input": lambda log: _graph(log).invoke({"n": 1, BAD: 1}, ONE),
    "saver: thread": lambda log: _put(log, {"thread_id": BAD}),
    "saver: namespace": lambda log: _put(log, {"checkpoint_ns": BAD}),
    "saver: channel": lambda log: _put(log, channel_values={BAD: 1}, channel_versions={BAD: 1}),
    "saver: copy": lambda log: EventLogSaver(log).copy_thread("1", BAD),
    "saver: get_tuple": lambda log: EventLogSaver(log).get_tuple(THREAD),
}


@pytest.mark.parametrize("act", ACTS)
def test_half_a_character_is_refused(act: str) -> None:
    """Wherever such a name comes in, `InvalidText` shows it, and not even the graph's description was stored."""
    with EventLog.in_memory() as log:
        with pytest.raises(InvalidText, match=r"half \\ud800 a character"):
            ACTS[act](log)
        assert log.log_head().position == 0


def test_a_fork_and_a_savers_writes_are_refused() -> None:
    """So are a fork's new id, and the channels and the path of what a foreign task wrote."""
    with EventLog.in_memory() as log:
        _graph(log).invoke({"n": 1}, ONE)
        placed = _put(log, {"thread_id": "2"})
        before = log.log_head().position
        for act in (
            lambda: log.fork(ONE, BAD),
            lambda: EventLogSaver(log).put_writes(placed, [(BAD, 1)], "task"),
            lambda: EventLogSaver(log).put_writes(placed, [("a", 1)], "task", BAD),
        ):
            with pytest.raises(InvalidText):
                act()
        assert log.log_head().position == before


def test_values_may_hold_what_they_like() -> None:
    """State, metadata of the run, and what an error says are values: half characters come back as they were."""

    def refuse(left: Any, right: Any) -> Any:
        raise ValueError(BAD)

    schema = TypedDict("State", {"n": str, "refused": Annotated[list[int], refuse]})  # noqa: UP013 - a local reducer

    def node(state: Any) -> Any:
        return {"refused": [1]} if state["n"] == "refuse" else {"n": BAD}

    with EventLog.in_memory() as log:
        builder = StateGraph(schema).add_node("a", node).add_node("b", node)
        graph = builder.add_edge(START, "a").add_edge("a", "b").compile(checkpointer=log)
        graph.invoke({"n": BAD}, ONE | {"metadata": {"note": BAD}})
        state = graph.get_state(ONE)
        assert state.values["n"] == BAD
        assert state.metadata["note"] == BAD
        with pytest.raises(ValueError, match="half"):
            graph.invoke({"n": "refuse"}, ONE)
        assert "half" in graph.get_state(ONE).tasks[0].error
        assert log.verify().ok


@pytest.mark.parametrize("given", ["nope", 5, b"x" * 16, "", BAD])
def test_a_run_id_is_a_uuid(given: Any) -> None:
    """Anything else is `InvalidRunId`, which is a `ValueError`, and nothing was stored; the text of one is one."""
    with EventLog.in_memory() as log:
        with pytest.raises(InvalidRunId, match="run_id must be a UUID") as caught:
            _graph(log).invoke({"n": 1}, ONE | {"run_id": given})
        assert isinstance(caught.value, ValueError)
        assert log.log_head().position == 0
        text = "3f1c8a52-5b0f-4a07-9d8e-2f1e6d1c0a11"
        assert _graph(log).invoke({"n": 1}, ONE | {"run_id": text})["log"] == ["a"]
        runs = {record.header.run.hex() for page in log.scan() for record in page}
        assert text.replace("-", "") in runs
