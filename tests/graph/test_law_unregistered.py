"""A value whose class the graph no longer names can be read and carried on; a node is not run on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import UnregisteredType
from lithograph.eventlog.serde import Opaque
from lithograph.graph import START, StateGraph

ONE = {"configurable": {"thread_id": "1"}}


@dataclass
class Address:
    """A class that only the first graph names."""

    street: str


class Named(TypedDict):
    """A state that names the class."""

    where: Address
    seen: list[str]


class Unnamed(TypedDict):
    """The same state, without the class."""

    where: Any
    seen: list[str]


def graph(state: Any, log: EventLog) -> Any:
    """Return a graph of two nodes over a state, which rests before the second."""
    builder = StateGraph(state)
    builder.add_node("first", lambda state: {"seen": ["first"]})
    builder.add_node("second", lambda state: {"seen": ["second"]})
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    return builder.compile(checkpointer=log, interrupt_before=["second"])


def test_a_node_is_not_run_on_a_value_of_an_unregistered_type() -> None:
    """Reading gives `Opaque`; running raises `UnregisteredType` with the class's name; the naming graph goes on."""
    log = EventLog.in_memory()
    graph(Named, log).invoke({"where": Address("long"), "seen": []}, ONE)
    stranger = graph(Unnamed, log)
    assert isinstance(stranger.get_state(ONE).values["where"], Opaque)
    with pytest.raises(UnregisteredType, match="Address"):
        stranger.invoke(None, ONE)
    assert graph(Named, log).invoke(None, ONE) == {"where": Address("long"), "seen": ["second"]}
