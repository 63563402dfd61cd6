"""`Ground`: what the loops of one run stand on together, those of graphs inside nodes too. Made once a run.

The journal and the thread are the run's; so is an answer that nobody was named for: whoever asks first takes it, at any
depth. Read `nested` for how a graph inside a node begins and ends on it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..eventlog.events import OpenStep
from ..projections.cells import MISSING

if TYPE_CHECKING:
    from .journal import Journal
    from .persistence import OpenThread
    from .spec import GraphSpec


class Bound(NamedTuple):
    """A checkpoint of the root, and where in the thread it was committed."""

    checkpoint: bytes
    version: int


class Ground:
    """One run's journal, thread, ids and clock; without a log neither journal nor thread."""

    def __init__(
        self,
        *,
        new_id: Callable[[int], bytes],
        now_us: Callable[[], int],
        durability: str,
        copied: Callable[[Any], Any],
        journal: Journal | None = None,
        thread: OpenThread | None = None,
        register: Callable[[GraphSpec], None] | None = None,
    ) -> None:
        """`copied`: gives a node an answer of its own, equal to what is recorded; refuses what cannot be recorded.

        `register`: describes a graph in the log before the first event that refers to it.
        """
        self.new_id = new_id
        self.now_us = now_us
        self.durability = durability
        self.copied = copied
        self.journal = journal
        self.thread = thread
        self.register = register
        self.bound: Bound | None = None
        """On a replay: before which checkpoint graphs inside nodes look for their state, each at its first visit."""
        self.visited: set[str] = set()
        """The namespaces that were visited on this replay, without their tasks' ids."""
        self.owners: dict[str, bytes] = {}
        """By namespace: the task that ran a graph there last in this run."""
        self.open_steps: dict[str, OpenStep] = {}
        """By namespace: what the finished tasks of a step amount to in which a graph inside a node stopped."""
        self.offered = False
        """Whether an answer was given for whatever is asked first: it is recorded with the task that takes it."""
        self._answer: Any = MISSING
        self._lock = threading.Lock()

    def offer(self, answer: Any) -> None:
        """Keep an answer for the first question that nobody answered; raises when it could not be recorded."""
        self._answer = self.copied(answer)
        self.offered = True

    @property
    def has_answer(self) -> bool:
        """Whether an answer was offered that nobody has taken yet."""
        return self._answer is not MISSING

    def take_answer(self) -> Any:
        """Return the offered answer, once, else `MISSING`."""
        with self._lock:
            answer, self._answer = self._answer, MISSING
        return answer

    def is_lost(self, error: BaseException) -> bool:
        """Tell whether an error says that the run lost its thread: nothing is tried again then."""
        return self.journal is not None and self.journal.writer.conflict is error

    def is_first_visit(self, namespace: str) -> bool:
        """Tell, once for each place in the graph, that it is visited for the first time."""
        place = namespace.rpartition(":")[0] or namespace
        with self._lock:
            first = place not in self.visited
            self.visited.add(place)
        return first
