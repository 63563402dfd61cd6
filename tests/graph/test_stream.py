"""`Stream` and `Outlet`: who sees what a graph inside of a node tells, and what a step that is refused shows."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from lithograph.graph.last_stream import LastStream
from lithograph.graph.stream import Stream

PLACE = ("outer:1",)


def _stream(*modes: str, subgraphs: bool = False, outer: Stream | None = None, namespace: Any = ()) -> Stream:
    return Stream(
        modes, output=("n",), shown=("n",), now_us=lambda: 0, subgraphs=subgraphs, outer=outer, namespace=namespace
    )


def _all(stream: Stream) -> list[Any]:
    return list(stream.taken())


def test_inner_chunks_come_with_their_place_where_subgraphs_were_asked_for() -> None:
    """A stream with `subgraphs` shows what graphs inside tell, in the order in which it came, each with its place."""
    root = _stream("values", "custom", subgraphs=True)
    inner = root.within(PLACE, output=("m",), shown=("m",))
    root.values(lambda: {"n": 1})
    inner.values(lambda: {"m": 2})
    inner.custom("hello")
    assert _all(root) == [((), "values", {"n": 1}), (PLACE, "values", {"m": 2}), (PLACE, "custom", "hello")]
    assert inner.output_keys == {"m"}


def test_inner_chunks_are_not_made_where_nobody_asked_for_them() -> None:
    """Without `subgraphs` a graph inside tells nothing, not even its custom chunks, and makes no values to show."""
    root = _stream("values", "custom")
    inner = root.within(PLACE, output=("m",), shown=("m",))
    inner.values(lambda: pytest.fail("made for nobody"))
    inner.custom("hello")
    assert _all(root) == []


def test_every_call_sees_the_modes_it_asked_for() -> None:
    """A graph streamed inside a node shows its caller what that asked for, and the outer call what that did."""
    values, custom = (PLACE, "values", {"m": 2}), (PLACE, "custom", "hello")
    for outside, inside, seen in (("custom", "values", (custom, values)), ("values", "custom", (values, custom))):
        root = _stream(outside, subgraphs=True)
        inner = _stream(inside, outer=root, namespace=PLACE)
        inner.values(lambda: {"m": 2})
        inner.custom("hello")
        assert (*_all(root), *_all(inner)) == seen


def test_an_outer_stream_sees_graphs_at_any_depth() -> None:
    """What a graph two levels down tells goes past a call in between that did not ask for it."""
    root = _stream("custom", subgraphs=True)
    between = _stream("custom", outer=root, namespace=PLACE)
    between.within((*PLACE, "deep:2"), output=(), shown=()).custom("deep")
    assert _all(between) == []
    assert _all(root) == [((*PLACE, "deep:2"), "custom", "deep")]


def test_inner_chunks_wake_who_waits_for_the_outer_task() -> None:
    """Whatever a graph inside tells wakes the outer driver; what a run tells of itself wakes nobody."""
    root, woken = _stream("values", subgraphs=True), list[str]()
    assert root.is_live
    root.wake_with(lambda: woken.append("woken"))
    root.values(dict)
    assert woken == []
    root.within(PLACE, output=(), shown=()).values(dict)
    assert woken == ["woken"]


def test_an_invoked_graph_is_seen_by_the_outer_stream_too() -> None:
    """`invoke` inside a node returns its last values, and the outer stream shows the values as they came."""
    root = _stream("values", subgraphs=True)
    last = LastStream(output=("m",), shown=("m",), now_us=lambda: 0, namespace=PLACE, outer=root)
    last.values(lambda: {"m": 1})
    last.values(lambda: {"m": 2})
    assert last.result() == {"m": 2}
    assert _all(root) == [(PLACE, "values", {"m": 1}), (PLACE, "values", {"m": 2})]


def test_nothing_is_shown_of_a_block_that_raises() -> None:
    """What happened in a refused close is not shown; what running tasks sent meanwhile is."""
    stream = _stream("values", "custom")

    def refused() -> None:
        with stream.all_or_none():
            stream.values(lambda: 1)
            stream.custom("sent")
            raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        refused()
    with stream.all_or_none():
        stream.values(lambda: 2)
    assert _all(stream) == [((), "custom", "sent"), ((), "values", 2)]


def test_chunks_of_threads_keep_their_order() -> None:
    """Tasks that send at once lose no chunk, and each keeps the order of its own."""
    stream = _stream("custom")

    def send(name: str) -> None:
        for index in range(500):
            stream.custom((name, index))

    threads = [threading.Thread(target=send, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sent = [payload for _namespace, _mode, payload in _all(stream)]
    for name in "abcd":
        assert [index for other, index in sent if other == name] == list(range(500))
