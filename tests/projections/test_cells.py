"""Cells: lists that grow behind the cells over them, made when first looked at."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.serde import BASE, Serializer
from lithograph.graph.messages import HumanMessage
from lithograph.projections import lending
from lithograph.projections.cells import Backing, ListCell
from lithograph.projections.digests import digest_of
from lithograph.projections.lending import lent
from lithograph.projections.values import LogValues


def test_a_child_does_not_wait_for_what_its_parent_was_loading() -> None:
    """A process that forks while a thread makes a list leaves no lock taken: the child makes its lists."""
    begun, parent = threading.Event(), os.getpid()

    def slow() -> list[Any]:
        begun.set()
        time.sleep(0.5 if os.getpid() == parent else 0)
        return [1]

    shared = Backing(load=slow)
    thread = threading.Thread(target=lambda: shared.items)
    thread.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        right = Backing(load=lambda: [2]).items == [2] and shared.items == [1]
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()


def test_a_list_is_one_list_whoever_was_first() -> None:
    """Threads that look at a list at the same time get the same one, with what was appended since."""
    for _ in range(50):
        start = threading.Barrier(4)
        backing = Backing(load=lambda: [0])
        seen: list[Any] = []

        def look(backing: Backing = backing, start: threading.Barrier = start, seen: list[Any] = seen) -> None:
            start.wait()
            cell = ListCell([], 1, backing).extended([1])
            seen.append(backing.items)
            assert cell.get() == [0, 1]

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(items is backing.items for items in seen)
        assert len(seen) == 4
        assert backing.items == [0, 1]


def test_a_branch_of_a_list_costs_what_it_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever goes on from where a list has grown already hashes and copies only the elements of its own."""
    with EventLog.in_memory() as log:
        values, key, copies = LogValues(log, None, Serializer(BASE)), bytes(32), list[Any]()
        copy = lending._copy
        monkeypatch.setattr(lending, "_copy", lambda value, values: copies.append(value) or copy(value, values))
        chat = ListCell([HumanMessage(str(n), id=str(n)) for n in range(100)])
        digest_of(key, chat, values)
        lent(chat, values)
        paused = chat.extended([HumanMessage("side", id="side")])
        lent(paused, values)
        copies.clear()

        resumed = chat.extended([HumanMessage("a", id="a"), HumanMessage("b", id="b")])

        assert resumed.backing is not paused.backing
        assert lent(resumed, values) == resumed.value
        assert [message.id for message in copies] == ["a", "b"]
        hashed, raw = list[Any](), values.raw
        monkeypatch.setattr(values, "raw", lambda value: hashed.append(value) or raw(value))
        digest = digest_of(key, resumed, values)
        assert [message.id for message in hashed[0]] == ["a", "b"]
        assert digest == digest_of(key, ListCell(resumed.value), values)
        assert digest_of(key, paused, values) == digest_of(key, ListCell(paused.value), values)
        assert digest_of(key, chat, values) == digest_of(key, ListCell(chat.value), values)
