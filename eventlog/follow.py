"""Following a log: what is there, then what comes, gapless, each record once and in order, across processes.

Waking up is only a hint; what is handed out is always read by position, so nothing can be skipped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def follow(
    read: Callable[[int], list[Item]],
    wait: Callable[[int, float], int],
    *,
    after: int,
    timeout: float | None,
    poll: float,
) -> Iterator[Item]:
    """Yield the items after position `after`, one a position; end when none has come for `timeout` seconds.

    `read(after)` returns the next page, `wait(after, seconds)` returns when there may be more. With
    `timeout=None` it never ends by itself.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        page = read(after)
        if page:
            yield from page
            after += len(page)
            deadline = None if timeout is None else time.monotonic() + timeout
            continue
        left = poll if deadline is None else min(poll, deadline - time.monotonic())
        if left <= 0:
            return
        wait(after, left)
