"""What the law tests share: a place on each engine, used by all examples of a test, each on threads of its own."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .world import Place

MEMORY_FOLDER = "/dev/shm"
_numbers = itertools.count()


@pytest.fixture(scope="module", params=["memory", "lmdb"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A log on each engine. Many examples, each with many flushes: so the folder is in memory where that is possible.

    What a flush is worth is tested where processes are killed, on a real disk.
    """
    if request.param == "memory":
        yield Place(None)
        return
    home = MEMORY_FOLDER if os.access(MEMORY_FOLDER, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=home) as folder:
        made = Place(Path(folder) / "log")
        yield made
        made.close()


@pytest.fixture(scope="module")
def new_name() -> Callable[[], str]:
    """Return a function that gives a thread name nobody used before."""
    return lambda: f"t{next(_numbers)}"
