"""`push_message`: a message that is shown while its node runs, and written with what the node returns."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

from collections.abc import Iterator
from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.messages import message_classes
from lithograph.graph import (
    Command,
    InvalidUpdateError,
    MessagesState,
    RetryPolicy,
    StateGraph,
    UnknownKeyWarning,
    interrupt,
    push_message,
)

from .chains import ONE, chain, twin

AI = message_classes()["ai"]


@pytest.fixture
def log() -> Iterator[EventLog]:
    """A log in memory."""
    with EventLog.in_memory() as opened:
        yield opened


def ids(values: Any) -> list[Any]:
    """Return the ids of a state's messages."""
    return [message.id for message in values["messages"]]


@pytest.mark.parametrize("driver", ["threads", "loop"])
def test_it_is_written_before_the_nodes_result(log: EventLog, driver: str) -> None:
    """Several pushes keep their order, a pushed message that is returned too is there once."""

    def bot(state: MessagesState) -> Any:
        first = push_message(AI("first", id="1"))
        push_message({"role": "ai", "content": "second", "id": "2"})
        return {"messages": [AI("third", id="3"), first]}

    graph = chain(MessagesState, bot=bot).compile(checkpointer=log)

    assert ids(twin("invoke", driver)(graph, {"messages": []}, ONE)) == ["1", "2", "3"]
    assert ids(graph.get_state(ONE).values) == ids(graph.get_state(ONE, fold="reducers").values) == ["1", "2", "3"]


def test_it_is_shown_before_the_node_returns(log: EventLog) -> None:
    """The `messages` stream has it, with the task's metadata, once; a change of what was shown changes nothing."""

    def bot(state: MessagesState) -> None:
        push_message(AI("pushed", id="1"))
        push_message(AI("only shown", id="2"), state_key=None)

    graph = chain(MessagesState, bot=bot).compile(checkpointer=log)
    shown: list[Any] = []
    for message, metadata in graph.stream({"messages": []}, ONE, stream_mode="messages"):
        shown.append((message.id, metadata["langgraph_node"]))
        message.content = "changed"

    assert shown == [("1", "bot"), ("2", "bot")]
    assert [(m.id, m.content) for m in graph.get_state(ONE).values["messages"]] == [("1", "pushed")]


def test_what_was_pushed_before_a_question_waits_for_the_answer(log: EventLog) -> None:
    """A node that stops to ask has written nothing yet: neither the result of the run nor the thread shows it."""

    def ask(state: MessagesState) -> Any:
        push_message(AI("let me ask", id="q"))
        return {"messages": [AI(interrupt("well?"), id="a")]}

    graph = chain(MessagesState, ask=ask).compile(checkpointer=log)
    first = graph.invoke({"messages": []}, ONE)

    assert ids(first) == ids(graph.get_state(ONE).values) == []
    assert ids(graph.invoke(Command(resume="yes"), ONE)) == ["q", "a"]


def test_an_attempt_that_failed_has_pushed_nothing(log: EventLog) -> None:
    """What a failed attempt pushed is given up with it; the next attempt pushes anew."""
    attempts: list[int] = []

    def flaky(state: MessagesState) -> None:
        attempts.append(len(attempts))
        push_message(AI("try", id=f"try-{len(attempts)}"))
        if len(attempts) == 1:
            raise ConnectionError("once")

    builder = StateGraph(MessagesState)
    builder.add_node("flaky", flaky, retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
    builder.set_entry_point("flaky")

    assert ids(builder.compile(checkpointer=log).invoke({"messages": []}, ONE)) == ["try-2"]


def test_a_key_that_the_graph_does_not_have_is_named(log: EventLog) -> None:
    """It is not stored and warned of, with `strict` refused, as what a node returns."""

    def bot(state: MessagesState) -> None:
        push_message(AI("lost", id="1"), state_key="elsewhere")

    builder = chain(MessagesState, bot=bot)
    with pytest.warns(UnknownKeyWarning, match="elsewhere"):
        assert builder.compile(checkpointer=log).invoke({"messages": []}, ONE) == {"messages": []}
    with pytest.raises(InvalidUpdateError, match="elsewhere"):
        builder.compile(checkpointer=log, strict=True).invoke({"messages": []}, ONE)


def test_it_needs_an_id_and_a_node() -> None:
    """A message without an id is a `ValueError`, a call outside of a node a `RuntimeError`, as in LangGraph."""

    def bot(state: MessagesState) -> None:
        push_message(AI("no id"))

    with pytest.raises(ValueError, match="Message ID is required"):
        chain(MessagesState, bot=bot).compile().invoke({"messages": []})
    with pytest.raises(RuntimeError, match="outside of a runnable context"):
        push_message(AI("nowhere", id="1"))
