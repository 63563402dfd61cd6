"""Cells: lists that grow behind the cells over them, made when first looked at."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

from lithograph.projections.cells import Backing, ListCell


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
