"""User types through a graph: supplied by its annotations, also from `__main__` and from within functions."""

import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

import msgspec
import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import UnsupportedTypeError
from lithograph.eventlog.serde import Opaque
from lithograph.graph import START, Send, StateGraph, add_messages
from lithograph.projections import InMemorySaver, snapshot

ONE: Any = {"configurable": {"thread_id": "1"}}

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

SCRIPT = """
    import operator, sys
    from dataclasses import dataclass, field
    from typing import Annotated, TypedDict
    import msgspec
    from lithograph.eventlog import EventLog
    from lithograph.graph import START, StateGraph

    class Currency(str): pass
    class Rate(msgspec.Struct, frozen=True):
        percent: float
    @dataclass
    class Loan:
        amount: int
        currency: Currency
        rate: Rate | None = None
        log: list["Loan"] = field(default_factory=list)
    class State(TypedDict):
        loans: Annotated[list[Loan], operator.add]

    def lend(state: State):
        return {"loans": [Loan(len(state["loans"]), Currency("EUR"), Rate(1.5), [Loan(0, Currency("X"))])]}

    builder = StateGraph(State)
    builder.add_node("lend", lend)
    builder.add_edge(START, "lend")
    with EventLog(sys.argv[1]) as log:
        loans = builder.compile(checkpointer=log).invoke({"loans": []}, {"configurable": {"thread_id": "1"}})["loans"]
    assert all(type(loan) is Loan and type(loan.currency) is Currency and type(loan.rate) is Rate for loan in loans)
    assert [type(loan.log[0]) for loan in loans] == [Loan] * len(loans)
    print(len(loans))
"""


def test_classes_of_a_script_work_in_every_run(tmp_path: Path) -> None:
    """Classes of `__main__`, of each kind and nested, are stored by one process and read by the next."""
    (tmp_path / "desk.py").write_text(textwrap.dedent(SCRIPT))
    for count in (1, 2, 3):
        command = [sys.executable, str(tmp_path / "desk.py"), str(tmp_path / "log")]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"{count}\n"
    with EventLog(tmp_path / "log") as log:
        assert [type(loan) for loan in snapshot(log, ONE).values["loans"]] == [Opaque] * 3


def desk(log: Any) -> Any:
    """Return a graph whose classes exist in this call only."""

    class Point(msgspec.Struct):
        x: int

    class Tag(str):
        pass

    @dataclass
    class Packet:
        point: Point
        tag: Tag

    class State(TypedDict):
        points: Annotated[list[Point], lambda left, right: [*left, *right]]

    def spread(state: State) -> Any:
        return None

    def take(packet: Packet) -> Any:
        assert (type(packet), type(packet.point), type(packet.tag)) == (Packet, Point, Tag)
        return {"points": [packet.point]}

    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("spread", spread)
    builder.add_node("take", take)
    builder.add_edge(START, "spread")
    builder.add_conditional_edges("spread", lambda state: [Send("take", Packet(Point(7), Tag("a")))])
    return builder.compile(checkpointer=log), Point


def test_local_classes_work() -> None:
    """Classes of a function come back as those of the graph that reads, even when it was made anew."""
    log = EventLog.in_memory()
    graph, point = desk(log)
    assert graph.invoke({"points": []}, ONE)["points"] == [point(7)]
    again, its_point = desk(EventLog.over(log.engine))
    assert its_point is not point
    assert again.get_state(ONE).values["points"] == [its_point(7)]
    assert again.invoke({"points": []}, ONE)["points"] == [its_point(7), its_point(7)]


class Lock:
    """What cannot be stored."""


@dataclass
class Meta:
    """A registered class that holds one."""

    lock: Any


@dataclass
class Note:
    """A message of a kind of its own."""

    meta: Any


class Notes(TypedDict):
    """A state with a list of them."""

    messages: list[Note | Meta]


@pytest.mark.parametrize("saver", [EventLog.in_memory, InMemorySaver])
def test_a_refusal_says_where_in_the_state(saver: Any) -> None:
    """The path of a refused part begins with the channel, from a node, an input and an edit; and nothing is stored."""
    bad = [Note(1), Note(2), Note(3), Note(Meta(Lock()))]
    builder: StateGraph[Any] = StateGraph(Notes)
    builder.add_node("write", lambda state: {"messages": bad})
    builder.add_edge(START, "write")
    graph = builder.compile(checkpointer=saver())
    acts: list[Any] = [
        lambda: graph.invoke({"messages": []}, ONE),
        lambda: graph.invoke({"messages": bad}, ONE),
        lambda: graph.update_state(ONE, {"messages": bad}, as_node="write"),
    ]
    for act in acts:
        with pytest.raises(UnsupportedTypeError) as caught:
            act()
        assert caught.value.path == "messages[3].meta.lock"
        assert str(caught.value).startswith("cannot store messages[3].meta.lock, of type ")
        assert "register(Lock)" in str(caught.value)
        assert graph.get_state(ONE).values == {"messages": []}


def test_messages_below_their_channel() -> None:
    """A message's part is named too."""

    class State(TypedDict):
        messages: Annotated[list[Any], add_messages]

    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("say", lambda state: {"messages": [("ai", "a"), {"role": "ai", "content": "b", "x": Lock()}]})
    builder.add_edge(START, "say")
    with pytest.raises(UnsupportedTypeError) as caught:
        builder.compile(checkpointer=EventLog.in_memory()).invoke({"messages": []}, ONE)
    assert caught.value.path.startswith("messages[1]")
