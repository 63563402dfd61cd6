"""Both engines pass the exported conformance suite, from whichever thread, event loop or process they are called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lithograph.eventlog.engines.lmdb import LmdbEngine
from lithograph.eventlog.engines.memory import MemoryEngine
from lithograph.testing.engine_suite import DurableConformance, EngineConformance, OpenEngine

from .elsewhere import behind_loop, in_processes, on_threads

pytestmark = pytest.mark.conformance


def _left_at_the_end(make: Callable[[], Any]) -> Iterator[OpenEngine]:
    """Yield a function that opens the engine; when the test is over, leave wherever its calls were made."""
    made: list[Any] = []

    def open_engine() -> Any:
        made.append(make())
        return made[-1]

    yield open_engine
    for engine in made:
        engine.leave()


class TestMemoryEngine(EngineConformance):
    """The executable specification."""

    @pytest.fixture
    def open_engine(self) -> OpenEngine:
        """Each call is a new log."""
        return MemoryEngine


class TestMemoryEngineOnThreads(EngineConformance):
    """The same, each call on another thread."""

    @pytest.fixture
    def open_engine(self) -> Iterator[OpenEngine]:
        """Each call is a new log."""
        yield from _left_at_the_end(lambda: on_threads(MemoryEngine()))


class TestMemoryEngineBehindALoop(EngineConformance):
    """The same, called from an event loop."""

    @pytest.fixture
    def open_engine(self) -> Iterator[OpenEngine]:
        """Each call is a new log."""
        yield from _left_at_the_end(lambda: behind_loop(MemoryEngine()))


class TestLmdbEngine(DurableConformance):
    """The embedded default."""

    @pytest.fixture
    def open_engine(self, tmp_path: Path) -> OpenEngine:
        """Each call opens the same folder."""
        return lambda: LmdbEngine(tmp_path / "log")


class TestLmdbEngineOnThreads(DurableConformance):
    """The same, each call on another thread."""

    @pytest.fixture
    def open_engine(self, tmp_path: Path) -> Iterator[OpenEngine]:
        """Each call opens the same folder."""
        yield from _left_at_the_end(lambda: on_threads(LmdbEngine(tmp_path / "log")))


class TestLmdbEngineBehindALoop(DurableConformance):
    """The same, called from an event loop."""

    @pytest.fixture
    def open_engine(self, tmp_path: Path) -> Iterator[OpenEngine]:
        """Each call opens the same folder."""
        yield from _left_at_the_end(lambda: behind_loop(LmdbEngine(tmp_path / "log")))


class TestLmdbEngineInProcesses(DurableConformance):
    """The same, each call in another process."""

    @pytest.fixture
    def open_engine(self, tmp_path: Path) -> Iterator[OpenEngine]:
        """Each call opens the same folder, in three processes."""
        yield from _left_at_the_end(lambda: in_processes(lambda: LmdbEngine(tmp_path / "log")))
