"""The items view across processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import ForkedError
from lithograph.store import EventLogStore, item_view
from lithograph.store.item_view import current_items


def test_a_child_does_not_wait_for_a_read_of_its_parents(tmp_path: Path) -> None:
    """A process that forks while a thread reads items leaves no lock taken: the child reads its own log."""
    with EventLog(tmp_path / "log") as log:
        EventLogStore(log).put(("n",), "k", {"v": 1})
        with current_items(log), item_view._views_lock:
            child = os.fork()
            if child == 0:
                signal.alarm(5)
                with EventLog(tmp_path / "log") as own:
                    right = EventLogStore(own).get(("n",), "k") is not None
                try:
                    EventLogStore(log).get(("n",), "k")
                except ForkedError:
                    os._exit(0 if right else 1)
                os._exit(2)
            assert os.waitpid(child, 0)[1] == 0
