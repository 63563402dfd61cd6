"""Random graphs and random scripts, as data: what Hypothesis draws, prints and shrinks.

A `GraphPlan` says which nodes, edges, joins and routers a graph has and what each node does; a script is a tuple of
acts on its threads. Nothing here runs: `world` builds a graph from a plan and performs a script on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

KINDS = (
    "last",
    "total",
    "items",
    "table",
    "marks",
    "messages",
    "text",
    "tail",
    "grown",
    "count",
    "longest",
    "picky",
    "topic",
    "gathered",
    "brief",
    "any",
    "late",
    "notes",
)
"""The channels of every random graph; `world.CHANNELS` says what each one is."""

UNLUCKY = 13
"""What the `picky` reducer refuses."""


@dataclass(frozen=True)
class NodePlan:
    """What a node does: asks, fails when its world says so, writes, and goes."""

    name: str
    writes: tuple[tuple[str, Any], ...]
    asks: int = 0
    form: str = "dict"
    """`dict`, `command` or `list`: how the result is handed over."""
    goto: tuple[str, ...] = ()
    sends: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class RouterPlan:
    """Where a router may go; it chooses by what the state holds."""

    source: str
    targets: tuple[str, ...]
    sends: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class GraphPlan:
    """A graph, described."""

    nodes: tuple[NodePlan, ...]
    edges: tuple[tuple[str, str], ...]
    joins: tuple[tuple[tuple[str, ...], str], ...] = ()
    routers: tuple[RouterPlan, ...] = ()
    stops_before: tuple[str, ...] = ()
    stops_after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Act:
    """One act of a script on one thread; `pick` chooses among what is there: checkpoints, nodes."""

    what: str
    thread: int = 0
    pick: int = 0
    value: Any = None
    durability: str = "async"


WORDS = st.text("abc", min_size=1, max_size=3)
NUMBERS = st.integers(-3, UNLUCKY)
SCALARS = st.none() | st.booleans() | NUMBERS | WORDS
ANYTHING = SCALARS | st.lists(SCALARS, max_size=2) | st.tuples(SCALARS, WORDS)
TABLES = st.dictionaries(WORDS, SCALARS, max_size=2)
LISTS = st.lists(WORDS, max_size=3)

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "last": ANYTHING,
    "total": NUMBERS,
    "items": LISTS,
    "table": TABLES,
    "marks": st.sets(WORDS, max_size=2),
    "messages": WORDS | st.tuples(st.sampled_from(["user", "ai"]), WORDS),
    "text": WORDS,
    "tail": LISTS,
    "grown": LISTS,
    "count": TABLES,
    "longest": LISTS,
    "picky": st.integers(UNLUCKY - 2, UNLUCKY),
    "topic": WORDS | LISTS,
    "gathered": WORDS | LISTS,
    "brief": ANYTHING,
    "any": ANYTHING,
    "late": ANYTHING,
    "notes": ANYTHING,
}
REPLACEABLE = ("total", "items", "table", "text", "tail", "grown")
"""Channels that are sometimes written with an `Overwrite`; here a pair ("overwrite", value)."""


@st.composite
def writes(draw: st.DrawFn, *, most: int = 3, among: Sequence[str] = KINDS) -> tuple[tuple[str, Any], ...]:
    """Draw what a node writes: channels and values."""
    kinds = draw(st.lists(st.sampled_from(among), max_size=most, unique=True))
    drawn: list[tuple[str, Any]] = []
    for kind in kinds:
        value = draw(VALUES[kind])
        if kind in REPLACEABLE and draw(st.integers(0, 5)) == 0:
            value = ("overwrite", value)
        drawn.append((kind, value))
    return tuple(drawn)


@st.composite
def graphs(draw: st.DrawFn, *, asks: bool = True) -> GraphPlan:
    """Draw a graph of 1 to 6 nodes, each reachable from the start.

    Only the first half of the nodes send, and only to the others: else tasks would multiply at each step. All write to
    a few channels, so that what one wrote is what another meets.
    """
    among = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=5, unique=True))
    names = [f"n{place}" for place in range(draw(st.integers(1, 6)))]
    some_names = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True).map(tuple)
    senders, receivers = names[: len(names) // 2], names[len(names) // 2 :]
    packets = st.lists(st.tuples(st.sampled_from(receivers), st.integers(0, 3)), max_size=3).map(tuple)
    nodes: list[NodePlan] = []
    for name in names:
        form = draw(st.sampled_from(["dict", "dict", "command", "list"]))
        goes = form != "dict" and draw(st.booleans())
        nodes.append(
            NodePlan(
                name,
                draw(writes(among=among)),
                draw(st.sampled_from([0, 0, 0, 1, 2])) if asks else 0,
                form,
                draw(some_names)[:1] if goes else (),
                draw(packets)[:2] if goes and name in senders else (),
            )
        )
    edges = [("__start__", names[0])]
    for place, name in enumerate(names[1:], 1):
        edges.append((draw(st.sampled_from(["__start__", *names[:place]])), name))
    joins: list[tuple[tuple[str, ...], str]] = []
    if len(names) >= 3 and draw(st.booleans()):
        joins.append((tuple(names[:2]), draw(st.sampled_from(names[2:]))))
    routers = [
        RouterPlan(source, draw(some_names), draw(packets) if source in senders else ())
        for source in draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
    ]
    stops = st.lists(st.sampled_from(names), max_size=1).map(tuple)
    before, after = (draw(stops), draw(stops)) if asks and draw(st.integers(0, 3)) == 0 else ((), ())
    return GraphPlan(tuple(nodes), tuple(edges), tuple(joins), tuple(routers), before, after)


DURABILITIES = st.sampled_from(["sync", "async", "exit"])
INPUTS = writes(most=4).map(dict)


def acts(*, failing: bool = True) -> st.SearchStrategy[Act]:
    """Return a strategy of acts; with `failing`, nodes that break and are mended are among them."""
    threads, picks = st.integers(0, 1), st.integers(0, 30)
    act = [
        st.builds(Act, st.just("invoke"), threads, picks, INPUTS, DURABILITIES),
        st.builds(Act, st.just("invoke"), threads, picks, INPUTS, DURABILITIES),
        st.builds(Act, st.just("go on"), threads, picks, st.none(), DURABILITIES),
        st.builds(Act, st.just("answer"), threads, picks, SCALARS, DURABILITIES),
        st.builds(Act, st.just("answer all"), threads, picks, SCALARS, DURABILITIES),
        st.builds(Act, st.just("command"), threads, picks, INPUTS, DURABILITIES),
        st.builds(Act, st.just("update"), threads, picks, INPUTS),
        st.builds(Act, st.just("update the past"), threads, picks, INPUTS),
        st.builds(Act, st.just("replay"), threads, picks, st.none(), DURABILITIES),
        st.builds(Act, st.just("answer the past"), threads, picks, SCALARS, DURABILITIES),
        st.builds(Act, st.just("invoke in the past"), threads, picks, INPUTS, DURABILITIES),
        st.builds(Act, st.just("fork"), threads, picks),
        st.builds(Act, st.just("reopen")),
    ]
    if failing:
        act += [st.builds(Act, st.just("break"), pick=picks), st.builds(Act, st.just("mend"))]
    return st.one_of(act)


@st.composite
def scripts(draw: st.DrawFn, *, failing: bool = True, most: int = 7) -> tuple[Act, ...]:
    """Draw a script: an input first, since a thread without one has little to show."""
    first = Act("invoke", 0, 0, draw(INPUTS), draw(DURABILITIES))
    return (first, *draw(st.lists(acts(failing=failing), max_size=most)))
