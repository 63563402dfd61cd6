"""One run from call to return: open the thread, begin, drive, end; what was recorded is durable when it returns."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, cast
from uuid import UUID

from ..eventlog.beside import beside
from ..eventlog.clock import CheckpointIds, Clock, any_id, id_text
from ..eventlog.errors import ConflictError
from ..eventlog.record import NO_ID
from ..projections.cells import PLAIN, Values, own
from ..projections.errors import CheckpointerRequired
from ..projections.types import Command
from .begin import Start, begin
from .config import checkpoint_map_of, configurable, recursion_limit_of
from .driven import Driven
from .ending import end_run
from .errors import InvalidRunId
from .fence import not_from_within
from .ground import Ground
from .interrupts import is_answer_map
from .journal import Journal
from .loop import Loop
from .loser import Lost, branch
from .options import Options
from .persistence import OpenThread, Persistence
from .rules import Rules
from .run_metadata import actor_of, encoded_metadata
from .run_scope import RunScope
from .run_writer import RunWriter
from .stream import Stream


class Run(Driven):
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
            yield from self._drive(given, self._options.config)
        except ConflictError as conflict:
            given = self._on_a_branch(conflict, given)
            yield from self._drive(given, self._options.config)

    async def asteps(self, given: Any) -> AsyncGenerator[None]:
        """Run as `steps` does, on the event loop."""
        try:
            async with aclosing(self._adrive(given, self._options.config)) as steps:
                async for _ in steps:
                    yield
        except ConflictError as conflict:
            given = await beside(self._on_a_branch, conflict, given)
            async with aclosing(self._adrive(given, self._options.config)) as steps:
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

    def _raise_outcome(self, loop: Loop) -> None:
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
        loop = self._loop(thread.values, journal, thread, start.metadata)
        try:
            begin(loop, start, given)
        except BaseException:
            journal.writer.release()
            raise
        self._goes_on = loop.commits and not loop.run.ground.offered
        return loop

    def _start(self, thread: OpenThread, given: Any) -> Start:
        config = self._options.config
        asked = configurable(config)
        checkpoint_id = asked.get("checkpoint_id")
        if asked.get("checkpoint_ns"):
            # A graph that is called runs at its thread's root, from where it stood when the other checkpoint was made.
            checkpoint_id = checkpoint_map_of(config).get("")
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
            before_first=partial(persistence.register_graph, self._rules.spec),
        )

    def _loop(self, values: Values, journal: Journal | None, thread: OpenThread | None, metadata: bytes | None) -> Loop:
        options = self._options
        ground = Ground(
            new_id=self._ids.next,
            now_us=self._clock.now_us,
            durability=options.durability,
            # `raw`, for `encode` would store a large answer as a blob.
            copied=own if values.plain else lambda answer: values.decode(values.raw(answer)),
            journal=journal,
            thread=thread,
            register=None if self._persistence is None else self._persistence.register_graph,
        )
        scope = RunScope(
            self._stream.heard(options.config),
            ground=ground,
            context=options.context,
            store=options.store,
            stream=self._stream,
            thread_id=None if thread is None else thread.id,
            run_id=None if journal is None else id_text(journal.run),
            parents=_asked_parents(options.config),
            actor=actor_of(options.config),
            control=options.control,
            caching=options.caching,
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
        if loop.status == "interrupted":
            loop.paused_values()
        if loop.status in ("interrupt_before", "interrupt_after") or (
            loop.status == "interrupted" and not any(task.interrupts for task in loop.tasks if not task.done)
        ):
            # At a breakpoint, of this graph or of one inside a node, nobody asks.
            self._stream.interrupted((), None)


def _asked_parents(config: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the checkpoints that a config from inside a graph names; they stay with the checkpoints of the run."""
    return {namespace: any_id(checkpoint) for namespace, checkpoint in checkpoint_map_of(config).items()}


class CheckpointerRequiredToResume(CheckpointerRequired, RuntimeError):
    """An answer needs a thread to answer on, and the graph has no checkpointer."""

    code = "LG515"


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
