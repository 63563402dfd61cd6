"""`Driven`: a loop from its first step to its end, driven by threads or on an event loop. Both in the same order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import Any

from ..eventlog.beside import beside
from ..eventlog.errors import ConflictError
from .config import max_concurrency_of
from .driver import drive
from .errors import GraphDrained
from .loop import Loop


class Driven(ABC):
    """One loop's way. Says how it goes; what begins and ends it is its own."""

    @abstractmethod
    def _prepare(self, given: Any) -> Loop:
        """Return the loop at its first step."""

    @abstractmethod
    def _end(self, loop: Loop, outcome: str) -> None:
        """Record how it ended."""

    @abstractmethod
    def _show_pause(self, loop: Loop) -> None:
        """Show that it stopped for an answer or at a breakpoint, if it did."""

    @abstractmethod
    def _raise_outcome(self, loop: Loop) -> None:
        """Raise what is to be raised when all is recorded."""

    def _drive(self, given: Any, config: Mapping[str, Any]) -> Iterator[None]:
        max_concurrency = max_concurrency_of(config)
        loop = self._prepare(given)
        outcome = "stopped"
        try:
            yield
            yield from drive(loop, max_concurrency=max_concurrency)
            outcome = _outcome(loop)
            self._show_pause(loop)
            yield
        except Exception as error:
            outcome = _outcome_of(error)
            raise
        finally:
            self._end(loop, outcome)
        yield
        self._raise_outcome(loop)

    async def _adrive(self, given: Any, config: Mapping[str, Any]) -> AsyncGenerator[None]:
        from . import async_driver

        max_concurrency = max_concurrency_of(config)
        loop = await beside(self._prepare, given)
        outcome = "stopped"
        try:
            yield
            async with aclosing(async_driver.drive(loop, max_concurrency=max_concurrency)) as steps:
                async for _ in steps:
                    yield
            outcome = _outcome(loop)
            self._show_pause(loop)
            yield
        except Exception as error:
            outcome = _outcome_of(error)
            raise
        finally:
            await beside(self._end, loop, outcome)
        yield
        self._raise_outcome(loop)


def _outcome_of(error: Exception) -> str:
    if isinstance(error, GraphDrained):
        return "stopped"
    return "lost" if isinstance(error, ConflictError) else "failed"


def _outcome(loop: Loop) -> str:
    if loop.failure is not None:
        return "stopped" if loop.status in ("out_of_steps", "draining") else "failed"
    return "finished" if loop.status == "done" else "interrupted"
