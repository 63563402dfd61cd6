"""What `invoke` returns, put together from what a stream would have shown; see `stream.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from ..projections.types import INTERRUPT, Interrupt
from .outlet import Namespace
from .stream import Stream


class LastStream(Stream):
    """The last values that a stream would have shown, built once, at the end; `outer` streams see the run go."""

    def __init__(
        self,
        modes: Iterable[str] = (),
        *,
        output: tuple[str, ...] | str,
        shown: tuple[str, ...] | str,
        now_us: Callable[[], int],
        subgraphs: bool = False,
        namespace: Namespace = (),
        outer: Stream | None = None,
    ) -> None:
        """`modes`: what is to be told meanwhile, beside the result."""
        super().__init__(
            modes,
            output=output,
            shown=shown,
            now_us=now_us,
            subgraphs=subgraphs,
            namespace=namespace,
            outer=outer,
        )
        self._values: Callable[[], Any] | None = None
        self.questions: list[Interrupt] = []
        """What the run asked, and nobody answered."""

    def values(self, values: Callable[[], Any]) -> None:
        """Remember that there are values."""
        self._values = values
        super().values(values)

    def interrupted(self, interrupts: Sequence[Interrupt], values: Callable[[], Any] | None) -> None:
        """Remember the questions."""
        self.questions += interrupts
        if values is not None:
            self._values = values
        super().interrupted(interrupts, values)

    def latest(self) -> Any:
        """Return the last values; `None` when there were none."""
        return None if self._values is None else self._values()

    def result(self) -> Any:
        """Return the values, and the questions under `__interrupt__`."""
        latest = self.latest()
        if not self.questions:
            return latest
        if isinstance(latest, dict):
            return {**cast("dict[str, Any]", latest), INTERRUPT: self.questions}
        return {INTERRUPT: self.questions}
