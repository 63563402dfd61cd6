"""Reducers around `add_messages`: partials of it are it, a user's function gets ids that a refold finds again."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.messages import message_classes
from lithograph.graph import Overwrite, add_messages
from lithograph.projections import history
from lithograph.projections.channels import BinaryOperatorAggregate
from lithograph.projections.reducers import reducer_name
from typing_extensions import TypedDict

from .chains import ONE, parallel

AI, Human, Remove = (message_classes()[kind] for kind in ("ai", "human", "remove"))


def through(left: Any, right: Any) -> Any:
    """Merge as `add_messages` does."""
    return add_messages(left, right)


def last_three(left: Any, right: Any) -> Any:
    """Keep three messages."""
    return add_messages(left, right)[-3:]


def without_left(keep: int, left: Any, right: Any) -> Any:
    """Keep some messages."""
    return add_messages(left, right)[-keep:]


REDUCERS: dict[str, Callable[[Any, Any], Any]] = {
    "function": through,
    "lambda": lambda left, right: add_messages(left, right),
    "trimming": last_three,
    "partial of a user's": partial(without_left, 2),
    "add_messages": add_messages,
    "add_messages()": add_messages(),
    "partial": partial(add_messages, format=None),
}


@pytest.fixture
def log() -> Iterator[EventLog]:
    """A log in memory."""
    with EventLog.in_memory() as opened:
        yield opened


def chat(reducer: Any, log: EventLog | None) -> Any:
    """Return a graph whose two parallel nodes answer without ids."""

    class State(TypedDict):
        messages: Annotated[list[Any], reducer]

    return parallel(
        State, a=lambda state: {"messages": "a"}, b=lambda state: {"messages": [AI("b"), ["ai", "c"]]}
    ).compile(checkpointer=log)


@pytest.mark.parametrize("reducer", REDUCERS.values(), ids=REDUCERS)
def test_minted_ids_are_those_of_every_reader(log: EventLog, reducer: Any) -> None:
    """Each message has an id of its own; live, a fresh reader, and a refold have the same ones."""
    graph = chat(reducer, log)
    for text in ("one", "two"):
        live = graph.invoke({"messages": [Human(text), {"role": "user", "content": text}]}, ONE)
    past = list(graph.get_state_history(ONE))

    assert live["messages"] == past[0].values["messages"]
    assert [p.values for p in history(EventLog.over(log.engine), ONE)] == [p.values for p in past]
    assert [graph.get_state(p.config, fold="reducers").values for p in past] == [p.values for p in past]
    ids = [message.id for message in live["messages"]]
    assert None not in ids
    assert len({*ids}) == len(ids)
    assert [m.content for m in live["messages"]][-3:] == ["a", "b", "c"][-len(ids) :]


def test_every_message_of_a_step_gets_an_id_of_its_own() -> None:
    """Objects and texts without ids, of two tasks and of one: none takes another's place, with a log and without."""
    for reducer in (through, add_messages):
        for log in (None, EventLog.in_memory()):
            messages = chat(reducer, log).invoke({"messages": []}, ONE)["messages"]
            assert [message.content for message in messages] == ["a", "b", "c"]
            assert len({message.id for message in messages}) == 3


def test_a_reducer_that_raises_leaves_no_ids_behind(log: EventLog) -> None:
    """After a refused fold `add_messages` mints at random again, as it does for anybody who calls it."""

    def raising(left: Any, right: Any) -> Any:
        add_messages(left, right)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        chat(raising, log).invoke({"messages": ["hi"]}, ONE)
    first, second = (add_messages([], "text")[0].id for _ in range(2))
    assert first != second


def test_a_partial_without_options_is_pinned() -> None:
    """`add_messages()` is stored as `add_messages` is: the writes alone. With a format it is a reducer of its own."""
    for reducer in (add_messages(), partial(add_messages), partial(add_messages, format=None)):
        channel = BinaryOperatorAggregate(list, reducer)
        assert channel.is_pinned()
        assert channel == BinaryOperatorAggregate(list, add_messages)
    assert not BinaryOperatorAggregate(list, add_messages(format="langchain-openai")).is_pinned()
    assert not BinaryOperatorAggregate(list, partial(add_messages, [])).is_pinned()


def test_what_a_partial_gives_in_advance_is_part_of_its_name() -> None:
    """Two partials of one function are two reducers; a name says the same in every process."""
    two, three = partial(without_left, 2), partial(without_left, 3)
    assert reducer_name(two) != reducer_name(three)
    assert reducer_name(two) == reducer_name(partial(without_left, 2))
    assert "0x" not in reducer_name(partial(without_left, object()))
    assert reducer_name(add_messages(format="langchain-openai")) == "partial(add_messages/1, format='langchain-openai')"


def test_a_format_rewrites_what_is_kept(log: EventLog) -> None:
    """With `format="langchain-openai"` content is kept in OpenAI's shape, for every reader; others are refused."""
    pytest.importorskip("langchain_core")
    text = {"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}}
    graph = chat(add_messages(format="langchain-openai"), log)
    graph.invoke({"messages": [Human([text], id="1")]}, ONE)

    assert [message.content for message in graph.get_state(ONE).values["messages"]] == ["see", "a", "b", "c"]
    assert graph.get_state(ONE, fold="reducers").values == graph.get_state(ONE).values
    with pytest.raises(ValueError, match="Unrecognized format='csv'"):
        add_messages([], [], format="csv")  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_an_overwrite_goes_round_a_wrapped_reducer(log: EventLog) -> None:
    """What replaces is taken as it is."""
    graph = chat(last_three, log)
    graph.update_state(ONE, {"messages": Overwrite([Human(str(n), id=str(n)) for n in range(5)])}, as_node="a")

    assert len(graph.get_state(ONE).values["messages"]) == 5
