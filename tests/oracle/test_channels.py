"""Channels as objects: the same constructors, defaults and attributes as LangGraph's."""

from __future__ import annotations

import operator
from collections.abc import Callable
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
}
ATTRIBUTES = ("typ", "key", "guard", "accumulate", "operator", "names")


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_channel_has_langgraphs_attributes(make: Callable[[Any], Any]) -> None:
    """What LangGraph's channel says of itself, ours says too."""
    theirs, ours = make(api.langgraph()), make(api.lithograph())
    said = {name: getattr(theirs, name) for name in ATTRIBUTES if hasattr(theirs, name)}
    assert {name: getattr(ours, name, "missing") for name in said} == said
