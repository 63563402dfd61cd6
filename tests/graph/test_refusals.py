"""A step that was refused stays refused, whatever its reducer would say if it were asked again."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

import operator
from pathlib import Path
from typing import Annotated, Any

import pytest
from lithograph.eventlog import EventLog, StreamName
from lithograph.eventlog.events import ChannelWritten, CheckpointCommitted, StepRefused
from lithograph.graph import START, InvalidUpdateError, StateGraph
from typing_extensions import TypedDict

from .chains import ONE, chain


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_reducer_that_fails_once_leaves_a_thread_that_can_be_read(durability: str) -> None:
    """The step is void, state and tasks show it, and the thread goes on; nothing that is void is folded."""
    calls: list[int] = []

    def flaky(left: list[Any], right: list[Any]) -> list[Any]:
        calls.append(1)
        if len(calls) == 2:
            raise ValueError("not now")
        return left + right

    class State(TypedDict):
        parts: Annotated[list[Any], flaky]

    log = EventLog.in_memory()
    graph = chain(State, a=lambda state: {"parts": ["a"]}, b=lambda state: {"parts": ["b"]}).compile(checkpointer=log)
    with pytest.raises(ValueError, match="not now"):
        graph.invoke({"parts": ["input"]}, ONE, durability=durability)
    for reader in (log, EventLog.over(log.engine)):
        state = graph.builder.compile(checkpointer=reader).get_state(ONE)
        assert state.values == {"parts": ["input"]}
        assert "not now" in str(state.tasks[0].error)
    assert graph.invoke(None, ONE, durability=durability) == {"parts": ["input", "a", "b"]}


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_refused_step_is_read_alike_from_its_checkpoint_on(durability: str, tmp_path: Path) -> None:
    """What the finished tasks of a refused step wrote follows its checkpoint in the log, so views begin there."""

    class State(TypedDict):
        parts: Annotated[list[str], operator.add]
        one: str

    def writes(**update: Any) -> Any:
        return lambda state: update

    builder = StateGraph(State)
    for name, node in (("a", writes()), ("b", writes(one="b")), ("c", writes(one="c"))):
        builder.add_node(name, node)
        builder.add_edge(START, name)
    with EventLog(tmp_path / "log") as log:
        graph = builder.compile(checkpointer=log)
        with pytest.raises(InvalidUpdateError):
            graph.invoke({"parts": ["input"]}, ONE, durability=durability)
        assert graph.get_state(ONE).next == ("b", "c")
        thread = log.stream_id(StreamName("thread", "1"))
        records = log.read_stream(thread)
        committed = next(r.header.version for r in reversed(records) if isinstance(r.event, CheckpointCommitted))
        open_step = [r.event for r in records[committed:]]
        assert [event.node for event in open_step if isinstance(event, ChannelWritten)] == ["a", "b", "c"]
        assert any(isinstance(event, StepRefused) for event in open_step)


def test_a_refused_input_is_shown_with_what_it_gave(tmp_path: Path) -> None:
    """START's step may be refused too, in a run that records its end only; its checkpoint then holds the input."""

    def picky(left: list[str], right: list[str]) -> list[str]:
        raise ValueError("not this")

    class State(TypedDict):
        parts: Annotated[list[str], picky]

    for path in (tmp_path / "a", tmp_path / "b"):
        with EventLog(path) as log, pytest.raises(ValueError, match="not this"):
            chain(State, a=lambda state: {}).compile(checkpointer=log).invoke(
                {"parts": ["input"]}, ONE, durability="sync" if path.name == "a" else "exit"
            )
    shown: list[Any] = []
    for path in (tmp_path / "a", tmp_path / "b"):
        with EventLog(path) as log:
            graph = chain(State, a=lambda state: {}).compile(checkpointer=log)
            state = graph.get_state(ONE)
            shown.append((state.next, state.values, [(task.name, task.error) for task in state.tasks], state.writes))
    assert shown[0] == shown[1]


@pytest.mark.filterwarnings("error")
def test_what_is_in_the_one_value_of_a_graph_is_no_key() -> None:
    """A graph whose whole state is one channel takes a dictionary as its value, strict or not, without a warning."""
    builder = StateGraph(Annotated[dict[str, str], operator.or_])
    builder.add_node("a", lambda state: {"k": "a"})
    builder.add_edge(START, "a")
    for strict in (False, True):
        graph = builder.compile(checkpointer=EventLog.in_memory(), strict=strict)
        assert graph.invoke({"given": "b"}, ONE) == {"given": "b", "k": "a"}
