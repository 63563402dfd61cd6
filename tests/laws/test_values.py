"""Law L7 through the graph: a value that goes through state comes back equal and of the same type, or is refused."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

import operator
from collections.abc import Callable
from typing import Annotated, Any, Union

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lithograph.eventlog import EventLog, StreamName
from lithograph.eventlog.errors import UnsupportedTypeError
from lithograph.eventlog.events import ChannelWritten
from lithograph.graph import START, Command, Send, StateGraph, interrupt
from typing_extensions import TypedDict

from tests.eventlog.serde.values import CLASSES, VALUES, Loan, identical

from .settings import laws
from .world import Place, config_of

NewName = Callable[[], str]
Known = Union[tuple(CLASSES)]  # noqa: UP007  made of a list
"""The classes that the graph supplies by naming them in its schema."""


def keep_last(left: Any, right: Any) -> Any:
    """Replace: a reducer of a user, so the outcome is compared and recorded."""
    return right


class Box(TypedDict, total=False):
    """A value on each of the ways that it can go."""

    last: Known | Any
    items: Annotated[list[Any], operator.add]
    kept: Annotated[Any, keep_last]
    table: Annotated[dict[str, Any], operator.or_]
    sent: Annotated[list[Any], operator.add]
    answer: Any


def _graph(log: EventLog, value: Any, *, asks: bool = False) -> Any:
    def give(state: Box) -> Any:
        return {"last": value, "items": [value], "kept": value, "table": {"key": value}}

    def take(packet: Any) -> Any:
        return {"sent": [packet["value"]]}

    def ask(state: Box) -> Any:
        return {"answer": interrupt(value)} if asks else None

    builder: StateGraph[Any] = StateGraph(Box)
    for node in (give, take, ask):
        builder.add_node(node)
    builder.add_edge(START, "give")
    builder.add_conditional_edges("give", lambda state: [Send("take", {"value": value})])
    builder.add_edge("take", "ask")
    return builder.compile(checkpointer=log)


@laws(60)
@given(value=VALUES)
def test_values_come_back_as_they_went(place: Place, new_name: NewName, value: Any) -> None:
    """Through every kind of channel, a send, a question and an answer: equal, and of the same type in every part."""
    comes_back_as_it_went(place, new_name, value)


@pytest.mark.nightly
@settings(laws(60), max_examples=10_000)
@given(value=VALUES)
def test_values_come_back_as_they_went_at_length(place: Place, new_name: NewName, value: Any) -> None:
    """The same with ten thousand values on each engine."""
    comes_back_as_it_went(place, new_name, value)


def comes_back_as_it_went(place: Place, new_name: NewName, value: Any) -> None:
    """Fail unless a stranger reads from each channel what a graph's nodes wrote, asked and were answered."""
    config = config_of(new_name())
    graph = _graph(place.log, value, asks=True)
    graph.invoke({"answer": value}, config)
    with place.stranger() as stranger:
        state = _graph(stranger, value).get_state(config)
        assert [question.value for question in state.interrupts] != []
        assert identical(state.interrupts[0].value, value)
        assert identical(state.values["answer"], value), "the input"
    if not isinstance(value, dict):
        # A dict may be a map of answers.
        graph.invoke(Command(resume=value), config)
    with place.stranger() as stranger:
        values = _graph(stranger, value).get_state(config).values
    for channel, wrapped in (("last", value), ("items", [value]), ("kept", value), ("sent", [value])):
        assert identical(values[channel], wrapped), channel
    assert identical(values["table"], {"key": value})
    assert identical(values["answer"], value)


class Unknown:
    """What nobody registered."""


UNSTORABLE = st.sampled_from(
    [
        (lambda bad: bad, ""),
        (lambda bad: [1, bad], "[1]"),
        (lambda bad: {"a": {"b": bad}}, "a"),
        (lambda bad: (0, [bad]), "[1]"),
        (lambda bad: Loan(1, bad), "note"),
    ]
)
BAD = st.sampled_from([Unknown, lambda: lambda: 1, lambda: iter([1]), lambda: memoryview(b"x")])


@laws(30)
@given(place_=UNSTORABLE, bad=BAD, channel=st.sampled_from(["last", "items", "kept", "table"]))
def test_what_cannot_come_back_is_refused(
    place: Place, new_name: NewName, place_: tuple[Callable[[Any], Any], str], bad: Callable[[], Any], channel: str
) -> None:
    """A write, an input or an edit with such a part raises and names it; a node's names the node; nothing is stored."""
    wrap, part = place_
    value = wrap(bad())
    written = {"items": [value], "table": {"k": value}}.get(channel, value)
    log, thread = place.log, new_name()

    def node(state: Box) -> Any:
        return {channel: written}

    builder: StateGraph[Any] = StateGraph(Box)
    builder.add_node("culprit", node)
    builder.add_edge(START, "culprit")
    graph = builder.compile(checkpointer=log)
    with pytest.raises(UnsupportedTypeError) as caught:
        graph.invoke({"answer": 1}, config_of(thread))
    assert part in caught.value.path
    assert "culprit" in "".join(caught.value.__notes__)
    records = log.read_stream(log.stream_id(StreamName("thread", thread)))
    stored = {name for r in records if isinstance(r.event, ChannelWritten) for name, _ in r.event.writes}
    assert channel not in stored
    assert graph.get_state(config_of(thread)).values == {"answer": 1, "items": [], "table": {}, "sent": []}
    before = log.log_head().position
    with pytest.raises(UnsupportedTypeError):
        graph.invoke({channel: written}, config_of(new_name()))
    with pytest.raises(UnsupportedTypeError):
        graph.update_state(config_of(thread), {channel: written}, as_node="culprit")
    assert log.log_head().position == before
