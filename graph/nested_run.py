"""`NestedRun`: one call of a graph inside a node, from call to return; the run around it goes on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from typing import Any

from .driven import Driven
from .ending import end_inside
from .errors import HeldBack
from .inside import Inside
from .loop import Loop
from .nested import open_inside, raise_outcome
from .options import Options
from .rules import Rules
from .stream import Stream
from .tasks import Task


class NestedRun(Driven):
    """A run inside a node."""

    def __init__(self, rules: Rules, options: Options, call: Inside, stream: Stream) -> None:
        self._rules = rules
        self._options = options
        self._call = call
        self._stream = stream

    def steps(self, given: Any) -> Generator[None, None, None]:
        """Run; yields between steps. Raises `GraphInterrupt` when it stops for an answer, and what made it fail."""
        if (before := self._before()) is not None:
            before.when_ended().result()
            self._raise_unless_done(before)
        yield from self._drive(given, self._options.config)

    async def asteps(self, given: Any) -> AsyncGenerator[None]:
        """Run as `steps` does, on the event loop."""
        if (before := self._before()) is not None:
            import asyncio  # only who awaits pays for it

            await asyncio.wrap_future(before.when_ended())
            self._raise_unless_done(before)
        async with aclosing(self._adrive(given, self._options.config)) as steps:
            async for _ in steps:
                yield

    def _before(self) -> Task | None:
        """Return the task whose call of the same graph comes first: one state has one call at a time, in order."""
        before = self._call.caller.task.before
        return before if self._call.keeps and before is not None and not before.done else None

    def _raise_unless_done(self, before: Task) -> None:
        if not before.done:
            raise HeldBack(())

    def _prepare(self, given: Any) -> Loop:
        return open_inside(self._rules, self._call, self._options, self._stream, given)

    def _end(self, loop: Loop, outcome: str) -> None:
        if outcome != "lost":
            end_inside(loop, outcome)

    def _show_pause(self, loop: Loop) -> None:
        """Show nothing: the node's task shows the questions as its own."""

    def _raise_outcome(self, loop: Loop) -> None:
        raise_outcome(loop)
