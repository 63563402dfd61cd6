"""Both engines pass the exported conformance suite."""

from __future__ import annotations

from pathlib import Path

import pytest
from lithograph.eventlog.engines.lmdb import LmdbEngine
from lithograph.eventlog.engines.memory import MemoryEngine
from lithograph.testing.engine_suite import DurableConformance, EngineConformance, OpenEngine

pytestmark = pytest.mark.conformance


class TestMemoryEngine(EngineConformance):
    """The executable specification."""

    @pytest.fixture
    def open_engine(self) -> OpenEngine:
        """Each call is a new log."""
        return MemoryEngine


class TestLmdbEngine(DurableConformance):
    """The embedded default."""

    @pytest.fixture
    def open_engine(self, tmp_path: Path) -> OpenEngine:
        """Each call opens the same folder."""
        return lambda: LmdbEngine(tmp_path / "log")
