"""What a run tells while it goes: chunks in the modes that were asked for, in LangGraph's shapes.

The loop calls one method a happening; a mode that nobody asked for costs one look. Chunks wait in an `Outlet` and are
handed out between the driver's steps; custom chunks may come from any thread. A graph inside a node has a stream of its
own (`within`), which sends to the outlets of the calls around it that asked for `subgraphs`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from ..eventlog.clock import id_text
from ..projections.cells import MISSING, Values
from ..projections.ids import minted_ids
from ..projections.lending import copied, lent_input
from ..projections.snapshot import created_at
from ..projections.types import INTERRUPT, RETURN, Interrupt, RunnableConfig
from .found_messages import known_ids, messages_in
from .listeners import with_listeners
from .outlet import Chunk, Namespace, Outlet
from .tasks import Task


class Stream:
    """The chunks of one run. `output` and `shown` are the graph's output keys and all its state keys."""

    def __init__(
        self,
        modes: Iterable[str],
        *,
        output: tuple[str, ...] | str,
        shown: tuple[str, ...] | str,
        now_us: Callable[[], int],
        subgraphs: bool = False,
        eager: bool = False,
        namespace: Namespace = (),
        outer: Stream | None = None,
    ) -> None:
        """`modes` and `subgraphs` are what the run's own caller asked for.

        `outer`: the stream of the graph in one of whose tasks, `namespace`, this one runs.
        """
        self.own = Outlet(modes, subgraphs=subgraphs, eager=eager, namespace=namespace)
        self.namespace = namespace
        around = () if outer is None else outer.outlets
        self.outlets = (self.own, *(outlet for outlet in around if outlet.subgraphs))
        """Whoever sees the run: its own caller first."""
        self.modes = frozenset[str]().union(*(outlet.modes for outlet in self.outlets))
        self.output = output
        self.shown = shown
        self._now_us = now_us
        self._held: list[Chunk] | None = None
        self._holding = Holding(self)
        self._debug = "debug" in self.modes
        self.wants_values = "values" in self.modes
        self.wants_updates = "updates" in self.modes
        self.wants_custom = "custom" in self.modes
        self.wants_messages = "messages" in self.modes
        self.wants_tasks = self._debug or "tasks" in self.modes
        self.wants_checkpoints = self._debug or "checkpoints" in self.modes
        self.wants_starts = self.wants_tasks or self.wants_messages
        self.output_keys = frozenset((output,) if isinstance(output, str) else output)
        self._shown_keys = frozenset((shown,) if isinstance(shown, str) else shown)

    def within(self, namespace: Namespace, *, output: tuple[str, ...] | str, shown: tuple[str, ...] | str) -> Stream:
        """Return the stream of a graph that runs inside a task of this one's; what it tells is seen where asked for."""
        return Stream((), output=output, shown=shown, now_us=self._now_us, namespace=namespace, outer=self)

    def heard(self, config: RunnableConfig) -> RunnableConfig:
        """Return a run's config, with what listens to models and tools for those who see the run."""
        if self.modes.isdisjoint(("messages", "tools")) and not config.get("callbacks"):
            return config
        try:
            return with_listeners(config, self.outlets, inside=bool(self.namespace))
        except ImportError:
            # Without langchain-core there are no models of its kind to be heard.
            return config

    @property
    def is_live(self) -> bool:
        """Whether the run's own caller may get chunks while tasks run."""
        return self.own.is_live

    def wake_with(self, wake: Callable[[], Any] | None) -> None:
        """Call `wake` whenever a task sent a chunk to the run's own caller; from any thread."""
        self.own.on_chunk = wake

    def taken(self) -> Iterator[Chunk]:
        """Yield the chunks that are there, and take them out."""
        chunks = self.own.chunks
        while chunks:
            yield chunks.popleft()

    def all_or_none(self) -> Holding:
        """Show what happens within the block at its end, and nothing of it when the block raises."""
        return self._holding

    def hold(self) -> None:
        """Keep back what is put from now on."""
        self._held = []

    def release(self, *, keep: bool) -> None:
        """Show what was kept back, or forget it."""
        held, self._held = self._held, None
        for _namespace, mode, payload in (held or ()) if keep else ():
            self._put(mode, payload)

    def custom(self, chunk: Any) -> None:
        """Pass on what user code sent; any thread."""
        if self.wants_custom:
            self._put_live("custom", chunk)

    def message(self, message: Any, metadata: Mapping[str, Any]) -> None:
        """Show a message that user code sends while it runs, seen before or not; it has an id. Any thread."""
        for outlet in self.outlets:
            outlet.put_message(self.namespace, message, metadata)

    def _put(self, mode: str, payload: Any) -> None:
        chunk = (self.namespace, mode, payload)
        if self._held is not None:
            self._held.append(chunk)
            return
        self.own.put(chunk)
        for outlet in self.outlets[1:]:
            # To whoever is around this run, it is a task that runs.
            outlet.put_live(chunk)

    def _put_live(self, mode: str, payload: Any) -> None:
        for outlet in self.outlets:
            outlet.put_live((self.namespace, mode, payload))

    def values(self, values: Callable[[], Any]) -> None:
        """Show the state's values."""
        if self.wants_values:
            self._put("values", values())

    def interrupted(self, interrupts: Sequence[Interrupt], values: Callable[[], Any] | None) -> None:
        """Show that the run pauses; `values` where the state is shown beside the questions."""
        if self.wants_updates:
            self._put("updates", {INTERRUPT: tuple(interrupts)})
        if values is not None and self.wants_values:
            current = values()
            if isinstance(current, dict):
                self._put("values", {**cast("dict[str, Any]", current), INTERRUPT: tuple(interrupts)})
            else:
                self._put("values", {INTERRUPT: tuple(interrupts)})

    def task_started(self, task: Task, step: int, metadata: Mapping[str, Any], values: Values) -> None:
        """Show a task that is about to run; the messages that it is given are none of its own."""
        if task.node.hidden:
            return
        if self.wants_messages:
            known = known_ids(task.input)
            for outlet in self.outlets:
                outlet.seen |= known
        if not self.wants_tasks:
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
        if task.node.hidden or not (self.wants_updates or self.wants_starts):
            return
        written = [(channel, copied(written.value, values)) for channel, written in task.written]
        if self.wants_messages and not restored:
            self._messages(task, written)
        if self.wants_updates:
            self._put("updates", self._update(task.planned.name, written, restored))
        if self.wants_tasks and not restored:
            keys = {*self._shown_keys, RETURN} if task.is_call else self._shown_keys
            shown = [(channel, value) for channel, value in written if channel in keys]
            self._task_result(task, step, None, aggregate(shown), ())

    def task_paused(self, task: Task, step: int) -> None:
        """Show the questions a task asked."""
        self._task_result(task, step, None, {}, task.interrupts)

    def task_failed(self, task: Task, step: int) -> None:
        """Show a task's error; a task that had been given an answer counts as having done something."""
        if self.wants_updates and task.answered:
            self._put("updates", {task.planned.name: None})
        self._task_result(task, step, task.error, {}, ())

    def checkpoint(self, step: int, payload: Callable[[], dict[str, Any]]) -> None:
        """Show a checkpoint."""
        if self.wants_checkpoints:
            self._detail("checkpoints", "checkpoint", step, payload())

    def _messages(self, task: Task, written: list[tuple[str, Any]]) -> None:
        """Show the messages that a task wrote and that were not shown before."""
        metadata = {"ls_integration": "langgraph", **task.metadata}
        mint = minted_ids((task.planned.id,))
        for message in (message for _channel, value in written for message in messages_in(value)):
            # Only a messages channel gives ids; elsewhere the state keeps none, and what is shown has one of its own.
            shown = message if message.id is not None else message.model_copy(update={"id": mint()})
            for outlet in self.outlets:
                outlet.put_message(self.namespace, shown, metadata, once=True)

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
            self._put(mode, payload)
        if self._debug:
            timestamp = created_at(self._now_us())
            self._put("debug", {"step": step, "timestamp": timestamp, "type": kind, "payload": payload})

    def _update(self, node: str, written: list[tuple[str, Any]], restored: bool) -> dict[str, Any]:
        """Return the `updates` chunk of one task: its writes to output keys, raw."""
        returned = [value for channel, value in written if channel == RETURN]
        shown = [(channel, value) for channel, value in written if channel in self.output_keys]
        counts = Counter(channel for channel, _value in shown)
        if returned:
            parts = returned
        elif isinstance(self.output, str):
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


class Holding:
    """A block of which a stream shows all or nothing; see `Stream.all_or_none`."""

    __slots__ = ("_stream",)

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __enter__(self) -> None:
        self._stream.hold()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._stream.release(keep=kind is None)


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
