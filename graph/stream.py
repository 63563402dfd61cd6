"""What a run tells while it goes: chunks in the modes that were asked for, in LangGraph's shapes.

The loop calls one method a happening; a mode that nobody asked for costs one look. Chunks are buffered and handed out
between the driver's steps; custom chunks may come from any thread.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from ..eventlog.clock import id_text
from ..projections.cells import MISSING, Values
from ..projections.lending import copied, lent_input
from ..projections.snapshot import created_at
from ..projections.types import INTERRUPT, Interrupt
from .tasks import Task

Chunk = tuple[str, Any]
"""(mode, payload)."""


class Stream:
    """The chunks of one run. `output` and `shown` are the graph's output keys and all its state keys."""

    def __init__(
        self,
        modes: Iterable[str],
        *,
        output: tuple[str, ...] | str,
        shown: tuple[str, ...] | str,
        now_us: Callable[[], int],
    ) -> None:
        self.modes = frozenset(modes)
        self.output = output
        self.shown = shown
        self._now_us = now_us
        self._debug = "debug" in self.modes
        self.wants_values = "values" in self.modes
        self.wants_updates = "updates" in self.modes
        self.wants_tasks = self._debug or "tasks" in self.modes
        self.wants_checkpoints = self._debug or "checkpoints" in self.modes
        self.is_live = "custom" in self.modes
        """Whether tasks may send chunks while they run."""
        self.on_chunk: Callable[[], Any] | None = None
        """Called when one has been sent; from any thread."""
        self.chunks: deque[Chunk] = deque()
        self.output_keys = frozenset((output,) if isinstance(output, str) else output)
        self._shown_keys = frozenset((shown,) if isinstance(shown, str) else shown)

    def taken(self, *, single: bool) -> Iterator[Any]:
        """Yield the chunks that are there, and take them out: payloads of a `single` mode, else with their modes."""
        while self.chunks:
            chunk = self.chunks.popleft()
            yield chunk[1] if single else chunk

    def custom(self, chunk: Any) -> None:
        """Pass on what user code sent; any thread."""
        if self.is_live:
            self.chunks.append(("custom", chunk))
            if (wake := self.on_chunk) is not None:
                wake()

    def values(self, values: Callable[[], Any]) -> None:
        """Show the state's values."""
        if self.wants_values:
            self.chunks.append(("values", values()))

    def interrupted(self, interrupts: Sequence[Interrupt], values: Callable[[], Any] | None) -> None:
        """Show that the run pauses; `values` where the state is shown beside the questions."""
        if self.wants_updates:
            self.chunks.append(("updates", {INTERRUPT: tuple(interrupts)}))
        if values is not None and self.wants_values:
            current = values()
            if isinstance(current, dict):
                self.chunks.append(("values", {**cast("dict[str, Any]", current), INTERRUPT: tuple(interrupts)}))
            else:
                self.chunks.append(("values", {INTERRUPT: tuple(interrupts)}))

    def task_started(self, task: Task, step: int, metadata: Mapping[str, Any], values: Values) -> None:
        """Show a task that is about to run."""
        if not self.wants_tasks or task.node.hidden:
            return
        payload: dict[str, Any] = {
            "id": task_text(task),
            "name": task.planned.name,
            "input": lent_input(task.input, values),
            "triggers": task.planned.triggers,
        }
        if metadata:
            payload["metadata"] = dict(metadata)
        self._detail("tasks", "task", step, payload)

    def task_finished(self, task: Task, step: int, values: Values, *, restored: bool = False) -> None:
        """Show what a task wrote; whoever gets a chunk may change it, as the channels keep their own."""
        if task.node.hidden or not (self.wants_updates or self.wants_tasks):
            return
        written = [(channel, copied(written.value, values)) for channel, written in task.written]
        if self.wants_updates:
            self.chunks.append(("updates", self._update(task.planned.name, written, restored)))
        if self.wants_tasks and not restored:
            shown = [(channel, value) for channel, value in written if channel in self._shown_keys]
            self._task_result(task, step, None, aggregate(shown), ())

    def task_paused(self, task: Task, step: int) -> None:
        """Show the questions a task asked."""
        self._task_result(task, step, None, {}, task.interrupts)

    def task_failed(self, task: Task, step: int) -> None:
        """Show a task's error; a task that had been given an answer counts as having done something."""
        if self.wants_updates and task.answered:
            self.chunks.append(("updates", {task.planned.name: None}))
        self._task_result(task, step, task.error, {}, ())

    def checkpoint(self, step: int, payload: Callable[[], dict[str, Any]]) -> None:
        """Show a checkpoint."""
        if self.wants_checkpoints:
            self._detail("checkpoints", "checkpoint", step, payload())

    def _task_result(self, task: Task, step: int, error: Any, result: Any, interrupts: Sequence[Interrupt]) -> None:
        if not self.wants_tasks or task.node.hidden:
            return
        payload = {
            "id": task_text(task),
            "name": task.planned.name,
            "error": error,
            "result": result,
            "interrupts": [asdict(question) for question in interrupts],
        }
        self._detail("tasks", "task_result", step, payload)

    def _detail(self, mode: str, kind: str, step: int, payload: dict[str, Any]) -> None:
        if mode in self.modes:
            self.chunks.append((mode, payload))
        if self._debug:
            timestamp = created_at(self._now_us())
            self.chunks.append(("debug", {"step": step, "timestamp": timestamp, "type": kind, "payload": payload}))

    def _update(self, node: str, written: list[tuple[str, Any]], restored: bool) -> dict[str, Any]:
        """Return the `updates` chunk of one task: its writes to output keys, raw."""
        shown = [(channel, value) for channel, value in written if channel in self.output_keys]
        counts = Counter(channel for channel, _value in shown)
        if isinstance(self.output, str):
            parts = [value for _channel, value in shown]
        elif any(count > 1 for count in counts.values()):
            parts = [{channel: value} for channel, value in shown]
        else:
            parts = [dict(shown)] if shown else []
        value = None if not parts else parts[0] if len(parts) == 1 else parts
        chunk: dict[str, Any] = {node: value}
        if restored:
            chunk["__metadata__"] = {"cached": True}
        return chunk


def task_text(task: Task) -> str:
    """Return a task's id as text."""
    return id_text(task.planned.id)


def aggregate(writes: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return writes by channel; a channel written twice shows `{"$writes": [...]}`."""
    result: dict[str, Any] = {}
    twice: set[str] = set()
    for channel, value in writes:
        if channel in twice:
            result[channel]["$writes"].append(value)
        elif result.get(channel, MISSING) is not MISSING:
            result[channel] = {"$writes": [result[channel], value]}
            twice.add(channel)
        else:
            result[channel] = value
    return result
