"""`RunScope`: what all tasks of one loop share: config, context, store, stream, the place in the thread."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from ..eventlog.context import NOBODY, Actor, acting_for, as_actor, current_actor
from ..projections.types import RunnableConfig
from .config import metadata_of
from .errors import UnknownKeyWarning
from .ground import Ground
from .runtime import RunControl, beat_nowhere
from .types import StreamWriter

if TYPE_CHECKING:
    from .caching import Caching
    from .calls import Calls
    from .stream import Stream

_AS_BEFORE = nullcontext()
_NO_PARENTS: Mapping[str, bytes] = {}


class RunScope:
    """One loop's surroundings. A graph inside a node has its own, on the ground of the run that it is part of."""

    def __init__(
        self,
        config: RunnableConfig,
        *,
        ground: Ground,
        context: Any,
        store: Any,
        stream: Stream,
        thread_id: str | None,
        run_id: str | None,
        namespace: str = "",
        parents: Mapping[str, bytes] = _NO_PARENTS,
        is_inside: bool = False,
        actor: Actor = NOBODY,
        control: RunControl | None = None,
        caching: Caching | None = None,
        progress: Callable[[], None] = beat_nowhere,
    ) -> None:
        """`parents`: by namespace, the checkpoints in whose steps the loop runs.

        `is_inside`: whether the graph runs inside a node of another. `actor`: who runs it, and why, as its config says.
        `control`: what may ask the run to stop. `caching`: where nodes' writes are kept for other runs.
        `progress`: told that a task began, ended or sent something.
        """
        self.actor = actor
        self.ground = ground
        self.config = config
        self.metadata = metadata_of(config)
        self.context = context
        self.store = store
        self.stream = stream
        """What the loop tells to whoever reads."""
        self.thread_id = thread_id
        self.run_id = run_id
        self.namespace = namespace
        self.parents = parents
        self.is_inside = is_inside
        self.control = control
        self.caching = caching
        self.progress = progress
        self.stop = 0
        """The superstep behind which the run may not go on."""
        self.previous: Any = None
        """What the thread's last run saved for this one, in the functional API."""
        self.calls: Calls | None = None
        """How tasks of the loop call other tasks; a driver says."""
        self.continues = False
        """Whether the present step is one that an earlier run began: then graphs inside its nodes go on, too."""
        self._warned: set[tuple[str, str]] = set()

    @property
    def writer(self) -> StreamWriter:
        """Sends a chunk to the `custom` stream."""
        return self.stream.custom

    @property
    def message(self) -> Callable[[Any, Mapping[str, Any]], None]:
        """Shows a message, with its metadata, in the `messages` stream."""
        return self.stream.message

    @property
    def now_us(self) -> Callable[[], int]:
        """The run's clock."""
        return self.ground.now_us

    @property
    def thread_stream(self) -> bytes:
        """The thread's stream in the log; empty without a log."""
        thread = self.ground.thread
        return b"" if thread is None else thread.stream

    def acting(self) -> AbstractContextManager[Any]:
        """Act, within the block, as who runs the graph, so that what nodes do to the store says so too."""
        actor = acting_for(self.actor)
        if actor.name is None or actor == current_actor():
            return _AS_BEFORE
        return as_actor(actor.name, reason=actor.reason)

    def warn_unknown(self, node: str, keys: tuple[str, ...]) -> None:
        """Say once a run, for each node and key, that a key was not stored."""
        for key in keys:
            if (node, key) not in self._warned:
                self._warned.add((node, key))
                warnings.warn(
                    f"node '{node}' wrote the key {key!r}, which no channel of the graph has: routers saw it, it "
                    "was not stored. Add it to the state's schema, or compile(strict=True) to refuse it.",
                    UnknownKeyWarning,
                    stacklevel=2,
                )
