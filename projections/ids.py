"""Ids that are functions of what they name: tasks, interrupts, and what a reducer mints.

Nothing here is random: the same checkpoint plans the same task ids in every process, and a refold mints the same
message ids. All are truncated BLAKE3 digests over length-framed parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blake3 import blake3

from ..eventlog.clock import id_text


def task_id(checkpoint: bytes, namespace: str, step: int, name: str, path: str, triggers: tuple[str, ...]) -> bytes:
    """Return the 16-byte id of a task planned at a checkpoint."""
    text = "\0".join((namespace, str(step), name, path, *triggers))
    return blake3(checkpoint + text.encode("utf-8", "surrogatepass")).digest(16)


def interrupt_id(task: bytes, namespace: str, ordinal: int) -> str:
    """Return the 32-hex id of the `ordinal`-th question (from 0) that a task asks."""
    return blake3(task + f"{namespace}\0{ordinal}".encode("utf-8", "surrogatepass")).hexdigest(16)


def minted_ids(origin: tuple[Any, ...]) -> Callable[[], str]:
    """Return a source of ids for what a reducer makes of one write: always the same ones, in order.

    `origin` is (checkpoint id, task path, channel, ordinal of the write).
    """
    count = 0

    def mint() -> str:
        nonlocal count
        count += 1
        seed = repr((origin, count)).encode("utf-8", "surrogatepass")
        return id_text(blake3(seed).digest(16))

    return mint
