"""`Gate`: many may be inside at once, one may shut it and be alone. It has no lock that an interrupt leaves taken.

Transactions go through it, and whoever opens a file anew or resizes it is alone. Read `environments` for its use.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from .errors import Unavailable

_PATIENCE_SECONDS = 60.0
_LOOK_SECONDS = 0.0005
T = TypeVar("T")


class Gate:
    """Whoever goes in says so and then looks whether the gate is shut; whoever shuts it does that and then looks who
    is inside: one of the two always sees the other. Whoever goes in goes out in a `finally`, so an interrupt leaves
    nobody inside.
    """

    def __init__(self) -> None:
        self._inside: dict[int, bool] = {}
        self._shut = False
        self._alone = threading.Lock()

    def enter(self, thread: int) -> None:
        """Go in, waiting while the gate is shut. A thread goes in once at a time."""
        self._inside[thread] = True
        while self._shut:
            self._inside.pop(thread, None)
            time.sleep(_LOOK_SECONDS)
            self._inside[thread] = True

    def leave(self, thread: int) -> None:
        """Go out, if inside."""
        self._inside.pop(thread, None)

    def alone(self, work: Callable[[], T]) -> T:
        """Return `work()`, done with nobody inside; raises `Unavailable` when somebody does not come out."""
        with self._alone:
            try:
                self._shut = True
                deadline = time.monotonic() + _PATIENCE_SECONDS
                while self._inside:
                    if time.monotonic() > deadline:
                        raise Unavailable("the log's file must be resized, but a transaction does not end; try again")
                    time.sleep(_LOOK_SECONDS)
                return work()
            finally:
                self._shut = False
