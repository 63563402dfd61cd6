"""Channels as objects: the same constructors, defaults, attributes and lives as LangGraph's."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import pytest

from . import api

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(not api.HAVE_ORACLE, reason=api.NEEDED)]

MADE: dict[str, Callable[[Any], Any]] = {
    "LastValue": lambda source: source.LastValue(int),
    "AnyValue": lambda source: source.AnyValue(int),
    "EphemeralValue": lambda source: source.EphemeralValue(int),
    "EphemeralValue unguarded": lambda source: source.EphemeralValue(int, guard=False),
    "UntrackedValue": lambda source: source.UntrackedValue(int),
    "UntrackedValue unguarded": lambda source: source.UntrackedValue(int, guard=False),
    "Topic": lambda source: source.Topic(int),
    "Topic accumulating": lambda source: source.Topic(int, accumulate=True),
    "BinaryOperatorAggregate": lambda source: source.BinaryOperatorAggregate(int, operator.add),
    "NamedBarrierValue": lambda source: source.NamedBarrierValue(str, {"a", "b"}),
    "DeltaChannel": lambda source: source.DeltaChannel(max),
    "DeltaChannel of an abstract type": lambda source: source.DeltaChannel(max, Mapping[str, int]),
    "DeltaChannel with snapshots": lambda source: source.DeltaChannel(max, Sequence, snapshot_frequency=7),
}
ATTRIBUTES = ("typ", "key", "guard", "accumulate", "operator", "reducer", "snapshot_frequency", "names")


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_channel_has_langgraphs_attributes(make: Callable[[Any], Any]) -> None:
    """What LangGraph's channel says of itself, ours says too."""
    theirs, ours = make(api.langgraph()), make(api.lithograph())
    said = {name: getattr(theirs, name) for name in ATTRIBUTES if hasattr(theirs, name)}
    assert {name: getattr(ours, name, "missing") for name in said} == said


LIVES: dict[str, Callable[[Any], Any]] = {
    "LastValueAfterFinish": lambda source: source.LastValueAfterFinish(str),
    "NamedBarrierValue": lambda source: source.NamedBarrierValue(str, {"a", "b"}),
    "NamedBarrierValueAfterFinish": lambda source: source.NamedBarrierValueAfterFinish(str, {"a", "b"}),
}
STEPS = ("a", "b", "finish", "consume")


class Ours:
    """One of our channels with what it holds, driven as LangGraph drives its own."""

    def __init__(self, channel: Any) -> None:
        self.channel, self.cell = channel, None

    def step(self, name: str) -> bool:
        """Write a value, finish or consume; return whether something changed."""
        from lithograph.projections.cells import PLAIN, Written

        written = [Written(name, (), lambda data: data, name)]
        if name in ("finish", "consume"):
            change = None if self.cell is None else getattr(self.channel, name)(self.cell, PLAIN)
        else:
            change = self.channel.decide(self.cell, written, PLAIN)
        if change is None:
            return False
        self._fold(change, written)
        return True

    def _fold(self, change: Any, written: Any) -> None:
        from lithograph.eventlog.events import ChannelResult
        from lithograph.projections.cells import PLAIN
        from lithograph.projections.fold import fold_step

        table = {} if self.cell is None else {"key": self.cell}
        self.cell = fold_step(table, [ChannelResult("key", *change, b"")], {"key": written}, PLAIN).get("key")

    @property
    def available(self) -> bool:
        """Whether the channel can be read and can trigger."""
        return self.cell is not None and self.cell.readable


@pytest.mark.parametrize("make", LIVES.values(), ids=LIVES)
def test_a_channel_lives_as_langgraphs_does(make: Callable[[Any], Any]) -> None:
    """Written, finished and consumed in any order of five: available when LangGraph's is, changed when it changed."""
    channels = importlib.import_module("langgraph.channels")
    ours_of = importlib.import_module("lithograph.projections.channels")
    for life in product(STEPS, repeat=5):
        theirs, ours = make(channels), Ours(make(ours_of))
        theirs.key = ours.channel.key = "key"
        for place, name in enumerate(life):
            changed = getattr(theirs, name)() if name in ("finish", "consume") else theirs.update([name])
            assert (ours.step(name), ours.available) == (changed, theirs.is_available()), life[: place + 1]
