"""One run from call to return: open the thread, begin, drive, end; what was recorded is durable when it returns."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import UUID

from ..eventlog.beside import beside
from ..eventlog.clock import CheckpointIds, Clock, id_text
from ..eventlog.context import Actor
from ..eventlog.errors import ConflictError
from ..eventlog.record import NO_ID
from ..eventlog.texts import checked_text
from ..projections.cells import PLAIN, Values, own
from ..projections.errors import CheckpointerRequired, NotSupportedYet
from ..projections.run_metadata import run_metadata
from ..projections.types import Command, RunnableConfig
from .begin import Start, begin
from .caching import Caching
from .config import configurable, current_scope, max_concurrency_of, recursion_limit_of
from .driver import drive
from .ending import end_run
from .errors import GraphDrained, InvalidRunId
from .fence import not_from_within
from .interrupts import is_answer_map
from .journal import Journal
from .loop import Loop
from .loser import Lost, branch
from .persistence import OpenThread, Persistence
from .rules import Rules
from .run_writer import RunWriter
from .runtime import RunControl
from .stream import Stream
from .tasks import RunScope

_PAUSES = ("interrupted", "interrupt_before", "interrupt_after")


@dataclass(frozen=True, slots=True)
class Options:
    """How one run goes, beside its input."""

    config: RunnableConfig
    context: Any
    store: Any
    durability: str
    interrupt_before: Sequence[str] | str
    interrupt_after: Sequence[str] | str
    control: RunControl
    caching: Caching | None


class Run:
    """A run of a graph: made for one call."""

    def __init__(
        self,
        rules: Rules,
        persistence: Persistence | None,
        clock: Clock,
        ids: CheckpointIds,
        options: Options,
        stream: Stream,
        *,
        forks_on_conflict: bool = False,
    ) -> None:
        self._rules = rules
        self._persistence = persistence
        self._clock = clock
        self._ids = ids
        self._options = options
        self._stream = stream
        self._forks_on_conflict = forks_on_conflict
        self._id = NO_ID
        self._base: bytes | None = None
        self._begun = 0
        """The thread's version when the run began."""
        self._writer: RunWriter | None = None
        self._goes_on = False
        """Whether what is durable of the run is all there is to it, its input too."""
        self._failure: BaseException | None = None
        """What a node raised; a conflict of its own is not one over this run's thread."""

    def steps(self, given: Any) -> Generator[None, None, None]:
        """Run; yields between steps. Raises what made the run fail, after recording it."""
        try:
            yield from self._steps(given)
        except ConflictError as conflict:
            given = self._on_a_branch(conflict, given)
            yield from self._steps(given)

    async def asteps(self, given: Any) -> AsyncGenerator[None]:
        """Run as `steps` does, on the event loop."""
        try:
            async with aclosing(self._asteps(given)) as steps:
                async for _ in steps:
                    yield
        except ConflictError as conflict:
            given = await beside(self._on_a_branch, conflict, given)
            async with aclosing(self._asteps(given)) as steps:
                async for _ in steps:
                    yield

    def _on_a_branch(self, conflict: ConflictError, given: Any) -> Any:
        """Begin the branch of a run that lost its thread and return its input; raises the conflict otherwise."""
        writer = self._writer
        # Whoever closes the iterator, or cancels the task, wants no more of it.
        left = conflict.__context__ is not None and not isinstance(conflict.__context__, Exception)
        if not self._forks_on_conflict or writer is None or conflict is self._failure or left:
            raise conflict
        lost = Lost(self._id, self._base, self._begun, writer.durable, goes_on=self._goes_on)
        config, given = branch(cast("Persistence", self._persistence), self._options.config, lost, given)
        self._options = replace(self._options, config=config)
        return given

    def _steps(self, given: Any) -> Iterator[None]:
        max_concurrency = max_concurrency_of(self._options.config)
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
        self._raise_failure(loop)

    async def _asteps(self, given: Any) -> AsyncGenerator[None]:
        from . import async_driver

        max_concurrency = max_concurrency_of(self._options.config)
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
        self._raise_failure(loop)

    def _end(self, loop: Loop, outcome: str) -> None:
        """Record how the run ended; durable when this returns."""
        journal = loop.journal
        if journal is None:
            return
        journal.writer.release()
        if outcome != "lost" and loop.records:
            end_run(loop, outcome)
            journal.writer.drain()
            journal.publish()

    def _raise_failure(self, loop: Loop) -> None:
        if loop.failure is not None:
            self._failure = loop.failure
            raise loop.failure

    def _prepare(self, given: Any) -> Loop:
        options, persistence = self._options, self._persistence
        if persistence is None:
            if isinstance(given, Command) and cast("Command[Any]", given).resumes:
                raise CheckpointerRequiredToResume(
                    "Cannot use Command(resume=...) without checkpointer: compile the graph with one."
                )
            loop = self._loop(PLAIN, None, None, None)
            begin(loop, Start(None, {}, False, False, options.durability, None, frozenset()), given)
            return loop
        thread = persistence.open(options.config)
        not_from_within(thread)
        start = self._start(thread, given)
        self._id = _run_id(options.config, self._clock)
        self._base = None if start.base is None else start.base.id
        journal = self._journal(persistence, thread, self._id)
        self._begun, self._writer, self._goes_on = thread.thread.version, journal.writer, False
        loop = self._loop(thread.values, journal, thread.id, start.metadata)
        try:
            begin(loop, start, given)
        except BaseException:
            journal.writer.release()
            raise
        self._goes_on = loop.commits and not loop.run.offered
        return loop

    def _start(self, thread: OpenThread, given: Any) -> Start:
        config = self._options.config
        asked = configurable(config)
        checkpoint_id = asked.get("checkpoint_id")
        # Whatever namespace the config names (a node's own, say): a graph that is called runs at its thread's root.
        head = thread.head()
        place = head
        addressed = bool(checkpoint_id)
        if checkpoint_id:
            place = thread.find(checkpoint_id)
        raised: frozenset[str] = frozenset()
        if isinstance(given, Command):
            command = cast("Command[Any]", given)
            if command.resumes:
                thread.log.demand_actor("resume", actor=actor_of(config).name)
            if is_answer_map(command.resume):
                raised = thread.raised()
        return Start(
            None if place is None else place.state,
            {} if place is None else place.writes,
            addressed,
            addressed and (head is None or place is None or head.state.id != place.state.id),
            self._options.durability,
            encoded_metadata(config, thread.values),
            raised,
        )

    def _journal(self, persistence: Persistence, thread: OpenThread, run_id: bytes) -> Journal:
        log = persistence.log
        writer = RunWriter(
            log,
            thread.name,
            thread.thread.version,
            run_id,
            durability=self._options.durability,
            actor=actor_of(self._options.config),
        )
        key = log.scope_key(log.scope_of(thread.name))
        return Journal(
            log,
            thread.thread.copy(),
            thread.values,
            writer,
            run=run_id,
            scope_key=key,
            before_first=persistence.register_graph,
        )

    def _loop(self, values: Values, journal: Journal | None, thread_id: str | None, metadata: bytes | None) -> Loop:
        options = self._options
        scope = RunScope(
            self._stream.heard(options.config),
            context=options.context,
            store=options.store,
            writer=self._stream.custom,
            thread_id=thread_id,
            run_id=None if journal is None else id_text(journal.run),
            namespace="",
            stream=b"" if journal is None else journal.thread.stream,
            # `raw`, for `encode` would store a large answer as a blob.
            copied=own if values.plain else lambda answer: values.decode(values.raw(answer)),
            actor=actor_of(options.config),
            message=self._stream.message,
            control=options.control,
            caching=options.caching,
            now_us=self._clock.now_us,
        )
        loop = Loop(
            self._rules,
            values,
            scope,
            self._stream,
            journal=journal,
            commits=options.durability != "exit",
            new_id=self._ids.next,
            now_us=self._clock.now_us,
            interrupt_before=options.interrupt_before,
            interrupt_after=options.interrupt_after,
            metadata=metadata,
        )
        loop.limit = recursion_limit_of(options.config)
        return loop

    def _show_pause(self, loop: Loop) -> None:
        if loop.journal is None and loop.status in _PAUSES and current_scope.get() is not None:
            raise NotSupportedYet(
                f"graph {loop.spec.name!r} was run within a node of another graph and stopped there, for an answer or "
                "at a breakpoint: that comes with graphs inside graphs. Ask in a node of the outer graph."
            )
        if loop.status == "interrupted":
            loop.paused_values()
        elif loop.status in ("interrupt_before", "interrupt_after"):
            self._stream.interrupted((), None)


class CheckpointerRequiredToResume(CheckpointerRequired, RuntimeError):
    """An answer needs a thread to answer on, and the graph has no checkpointer."""

    code = "LG515"


def actor_of(config: Mapping[str, Any]) -> Actor:
    """Return who acts and why, as `config["metadata"]` says; raises `InvalidText` for half characters."""
    metadata: dict[str, Any] = config.get("metadata") or {}
    actor, reason = metadata.get("actor"), metadata.get("reason")
    return Actor(
        checked_text(actor, "the actor") if isinstance(actor, str) else None,
        checked_text(reason, "the reason") if isinstance(reason, str) else None,
    )


def encoded_metadata(config: Mapping[str, Any], values: Values) -> bytes | None:
    """Return what a checkpoint keeps of a run's config, encoded; `None` when there is nothing."""
    kept = run_metadata(config, {})
    return values.raw(kept) if kept else None


def _run_id(config: Mapping[str, Any], clock: Clock) -> bytes:
    given = config.get("run_id")
    if given is None:
        return clock.random(16)
    if isinstance(given, UUID):
        return given.bytes
    try:
        return UUID(str(given)).bytes
    except ValueError:
        raise InvalidRunId(
            f"run_id must be a UUID or its text, not {given!r}: pass uuid.uuid4(), or leave it out. Nothing was stored."
        ) from None


def _outcome_of(error: Exception) -> str:
    if isinstance(error, GraphDrained):
        return "stopped"
    return "lost" if isinstance(error, ConflictError) else "failed"


def _outcome(loop: Loop) -> str:
    if loop.failure is not None:
        return "stopped" if loop.status in ("out_of_steps", "draining") else "failed"
    return "finished" if loop.status == "done" else "interrupted"
