"""What tests of caches share: a clock that stands until it is moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lithograph.eventlog.clock import ManualClock
from lithograph.graph import BaseCache


class StillClock(ManualClock):
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        super().__init__(step_us=0)

    def pass_seconds(self, seconds: float) -> None:
        """Move on."""
        self._now_us += int(seconds * 1_000_000)


Make = Callable[[StillClock], BaseCache[Any]]
"""Makes a cache over a clock."""
