"""`DeltaChannel` on a log: the reducer runs once a step, what it made is recorded, and reading runs nothing."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lithograph.eventlog import EventLog
from lithograph.eventlog.messages import message_classes
from lithograph.graph import (
    START,
    BinaryOperatorAggregate,
    DeltaChannel,
    InvalidUpdateError,
    Overwrite,
    ReducerDrift,
    Send,
    StateGraph,
)
from lithograph.projections import history
from typing_extensions import TypedDict

from .chains import ONE, chain

Reducer = Callable[[Any, Sequence[Any]], Any]


def joined(value: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    """Return the value with the elements of all writes behind it: batches mean nothing to it."""
    return [*value, *(part for write in writes for part in write)]


def batches(value: list[Any], writes: Sequence[Any]) -> list[Any]:
    """Return the value with the whole batch as one element: how writes are batched shows."""
    return [*value, list(writes)]


def spread(reducer: Reducer, checkpointer: Any = None) -> Any:
    """Return a graph that takes steps, each a list of writes, and writes those of a step side by side."""

    class State(TypedDict):
        items: Annotated[list[Any], DeltaChannel(reducer)]
        steps: list[list[Any]]

    def next_step(state: State) -> Any:
        return {"steps": state["steps"][1:]}

    def route(state: State) -> Any:
        return [Send("write", write) for write in state["steps"][0]] if state["steps"] else []

    def write(value: Any) -> Any:
        return {"items": value}

    builder = StateGraph(State)
    builder.add_node("plan", lambda state: None)
    builder.add_node("write", write)
    builder.add_node("next", next_step, defer=True)
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", route, ["write"])
    builder.add_edge("write", "next")
    builder.add_edge("next", "plan")
    return builder.compile(checkpointer=checkpointer)


writes = st.lists(st.integers(0, 9), max_size=3)
steps = st.lists(st.lists(writes, min_size=1, max_size=3), max_size=4)


@given(steps)
def test_how_writes_fall_into_steps_does_not_matter_to_an_invariant_reducer(taken: list[list[list[int]]]) -> None:
    """Folded step by step, a batching-invariant reducer gives what one fold over all writes gives."""
    with EventLog.in_memory() as log:
        result = spread(joined, log).invoke({"items": [], "steps": taken}, ONE)

    assert result["items"] == joined([], [write for step in taken for write in step])


@given(steps, st.sampled_from([joined, batches]))
def test_what_a_run_held_is_what_is_read_and_refolded(taken: list[list[list[int]]], reducer: Reducer) -> None:
    """Live, read by a fresh reader, and refolded by the reducer: the same at every checkpoint, whatever the reducer."""
    with EventLog.in_memory() as log:
        graph = spread(reducer, log)
        shown = [chunk["items"] for chunk in graph.stream({"items": [], "steps": taken}, ONE, stream_mode="values")]

        again = spread(reducer, EventLog.over(log.engine))
        read = [past.values["items"] for past in again.get_state_history(ONE)]
        refolded = [
            again.get_state(past.config, fold="reducers").values["items"] for past in again.get_state_history(ONE)
        ]

    assert read == refolded
    assert read[0] == shown[-1]
    assert all(items in read for items in shown)


def test_a_reducer_may_see_batches() -> None:
    """A step's writes come in one call and in apply order, and stay batched so for every reader."""
    with EventLog.in_memory() as log:
        result = spread(batches, log).invoke({"items": 0, "steps": [[3, 1], [2]]}, ONE)
        read = next(iter(history(EventLog.over(log.engine), ONE)))

    assert result["items"] == read.values["items"] == [[0], [3, 1], [2]]


def test_reading_does_not_run_the_reducer() -> None:
    """State, history and a later reader take what was recorded."""
    calls: list[int] = []

    def counted(value: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
        calls.append(len(writes))
        return joined(value, writes)

    with EventLog.in_memory() as log:
        spread(counted, log).invoke({"items": [1], "steps": [[[2], [3]]]}, ONE)
        ran = len(calls)
        reader = spread(counted, EventLog.over(log.engine))
        assert reader.get_state(ONE).values["items"] == [1, 2, 3]
        assert len(list(reader.get_state_history(ONE))) > 3

    assert (ran, len(calls)) == (2, 2)


def test_a_changed_reducer_is_found_by_refolding() -> None:
    """`fold="reducers"` names the channel when today's reducer makes something else of the writes."""
    with EventLog.in_memory() as log:
        spread(joined, log).invoke({"items": [1], "steps": []}, ONE)

        with pytest.raises(ReducerDrift, match="items"):
            spread(lambda value, writes: joined([*value, 0], writes), log).get_state(ONE, fold="reducers")


def test_the_value_that_a_reducer_gets_is_its_own() -> None:
    """A reducer may change its left operand in place, down to an element's parts; older checkpoints keep theirs."""

    def in_place(value: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
        for part in value:
            part.append("seen")
        value += [list(write) for write in writes]
        return value

    with EventLog.in_memory() as log:
        graph = spread(in_place, log)
        graph.invoke({"items": ["a"], "steps": [[["b"]]]}, ONE)
        held = [past.values["items"] for past in graph.get_state_history(ONE)]
        read = [past.values["items"] for past in history(EventLog.over(log.engine), ONE)]

    assert held == read
    assert (held[0], held[-2]) == ([["a", "seen"], ["b"]], [["a"]])


def test_two_overwrites_in_a_step_are_refused_and_the_thread_stays_usable() -> None:
    """The refusal names the channel, nothing of the step is applied, and the next input is taken."""
    with EventLog.in_memory() as log:
        graph = spread(joined, log)
        with pytest.raises(InvalidUpdateError, match=r"items.*Can receive only one Overwrite value per super-step"):
            graph.invoke({"items": [1], "steps": [[Overwrite([2]), Overwrite([3])]]}, ONE)
        assert graph.get_state(ONE).values["items"] == [1]
        graph.invoke({"items": [4], "steps": []}, ONE)

        assert graph.get_state(ONE).values["items"] == [1, 4]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_every_durability_ends_with_the_same_value(durability: Any) -> None:
    """What a thread holds after a run does not depend on when it was recorded."""
    with EventLog.in_memory() as log:
        spread(joined, log).invoke({"items": [1], "steps": [[[2], [3]], [[4]]]}, ONE, durability=durability)

        assert spread(joined, EventLog.over(log.engine)).get_state(ONE).values["items"] == [1, 2, 3, 4]


def test_messages_of_the_input_get_ids_that_a_refold_finds_again() -> None:
    """A message object or dict without an id has one before the reducer sees it, on the log and off it."""
    human = message_classes()["human"]

    class State(TypedDict):
        messages: Annotated[list[Any], DeltaChannel(joined)]

    given: Any = {"messages": [human(content="an object"), {"role": "user", "content": "a dict"}, "text"]}
    with EventLog.in_memory() as log:
        graph = chain(State, node=lambda state: {"messages": Overwrite([human(content="over")])}).compile(
            checkpointer=log
        )
        graph.invoke(given, ONE)
        held = [past.values["messages"] for past in graph.get_state_history(ONE)]
        refolded = [graph.get_state(past.config, fold="reducers").values for past in graph.get_state_history(ONE)]

    assert held == [values["messages"] for values in refolded]
    assert [type(part) for part in held[1]] == [human, human, str]
    assert held[1][0].id != held[1][1].id
    assert all(part.id for part in (*held[0], *held[1][:2]))
    assert given["messages"][0].id is None, "what was passed in is not changed"
    assert chain(State, node=lambda state: None).compile().invoke(given)["messages"][0].id is not None


def test_a_turn_costs_what_it_changed() -> None:
    """Twice the turns take twice the bytes: neither snapshots nor whole values are stored."""

    def size(turns: int) -> int:
        with EventLog.in_memory() as log:
            graph = spread(joined, log)
            for turn in range(turns):
                graph.invoke({"items": [f"{turn:>600}"], "steps": []}, ONE)
            return sum(len(record.data) for page in log.scan() for record in page)

    assert size(60) < 2.1 * size(30)


def test_the_constructor_is_langgraphs() -> None:
    """The type defaults to a list, abstract ones become concrete; a snapshot frequency is checked and kept."""
    assert DeltaChannel(joined).typ is list
    assert DeltaChannel(joined, dict[str, int]).typ is dict
    assert DeltaChannel(joined, snapshot_frequency=3).snapshot_frequency == 3
    for frequency in (0, -1):
        with pytest.raises(ValueError, match="snapshot_frequency must be a positive int, got"):
            DeltaChannel(joined, snapshot_frequency=frequency)


def test_the_reducer_identifies_the_channel() -> None:
    """Two channels with one reducer are the same, in a graph's description too; with another they are not."""
    assert DeltaChannel(joined) == DeltaChannel(joined, snapshot_frequency=2)
    assert DeltaChannel(joined) != DeltaChannel(batches)
    assert DeltaChannel(joined) != BinaryOperatorAggregate(list, joined)
    assert DeltaChannel(joined).describe()["reducer"] != DeltaChannel(batches).describe()["reducer"]


def test_the_field_says_what_the_channel_begins_with() -> None:
    """In a schema the type of the field counts; a type that has no empty value begins with nothing."""

    def longest(value: str, writes: Sequence[str]) -> str:
        return max((value, *writes), key=len)

    class State(TypedDict):
        word: Annotated[str, DeltaChannel(longest)]
        table: Annotated[dict[str, int], DeltaChannel(lambda value, writes: {**value, **dict(*writes)}, list)]
        odd: Annotated[range, DeltaChannel(lambda value, writes: writes[-1])]

    assert chain(State, node=lambda state: {"word": "longer"}).compile().invoke({"word": "w"}) == {
        "word": "longer",
        "table": {},
    }
