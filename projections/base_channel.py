"""`BaseChannel`: the base of channels that a user writes in LangGraph's way, and how they live on a log.

Such a channel is an object with a value in it: `update` changes it, `get` shows it, `checkpoint` and `from_checkpoint`
take it apart and put it together. On our log a channel is a description without a value, so `HostedChannel` stands for
the user's: whenever a live step closes it makes the user's channel of what is held, lets it take the step's writes, and
records what it shows afterwards, as for any reducer of a user. That runs once. A reader folds the record and runs none
of it.

A channel that shows something else than it keeps (a mean keeps sum and count) is recorded as `Held`, always whole; one
that keeps something and shows nothing yet waits, as a barrier does. `get_state(fold="reducers")` runs it again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Self, TypeVar

from ..eventlog.events import ResultOp
from .cells import MISSING, Cell, Values, Written, own
from .channels import Channel
from .errors import EmptyChannelError
from .held import Held
from .splices import Change, describe_change

Value = TypeVar("Value")
Update = TypeVar("Update")
Kept = TypeVar("Kept")

__all__ = ["MISSING", "BaseChannel", "HostedChannel", "as_channel"]


class BaseChannel(ABC, Generic[Value, Update, Kept]):
    """A channel that keeps its own value; subclass it for a state key with rules of its own.

    `value: Annotated[float, Mean]` or `Annotated[float, Mean(float)]` in a schema makes it the channel of the key. The
    outcome has to be a function of what was kept and of the writes; what the object knows beside that is lost between
    steps. The channels of `channels` count as subclasses.
    """

    def __init__(self, typ: Any, key: str = "") -> None:
        self.typ = typ
        self.key = key

    @property
    @abstractmethod
    def ValueType(self) -> Any:
        """The type of what the channel shows."""

    @property
    @abstractmethod
    def UpdateType(self) -> Any:
        """The type of what is written to it."""

    @abstractmethod
    def from_checkpoint(self, checkpoint: Kept | Any) -> Self:
        """Return a new channel like this one that holds what `checkpoint()` returned; `MISSING` for an empty one."""

    @abstractmethod
    def get(self) -> Value:
        """Return the value; raises `EmptyChannelError` when there is none."""

    @abstractmethod
    def update(self, values: Sequence[Update]) -> bool:
        """Take a step's writes, in apply order, or none when it wrote nothing here; return whether that changed it.

        Raises `InvalidUpdateError` to refuse them.
        """

    def copy(self) -> Self:
        """Return a channel that holds the same."""
        return self.from_checkpoint(self.checkpoint())

    def checkpoint(self) -> Kept | Any:
        """Return what the channel is to be made of again, `MISSING` for nothing; without an override its value."""
        try:
            return self.get()
        except EmptyChannelError:
            return MISSING

    def is_available(self) -> bool:
        """Return whether there is a value: then it is read, and triggers."""
        try:
            self.get()
        except EmptyChannelError:
            return False
        return True

    def consume(self) -> bool:
        """Hear that a task ran which the channel had triggered; return whether that changed it."""
        return False

    def finish(self) -> bool:
        """Hear that the run would end now; return whether that changed it."""
        return False


BaseChannel.register(Channel)


class HostedChannel(Channel):
    """A user's `BaseChannel` as a channel of ours; `made` is the user's object, which is never changed."""

    forgets = True

    def __init__(self, made: BaseChannel[Any, Any, Any]) -> None:
        super().__init__(getattr(made, "typ", Any))
        self.made = made

    def initial(self) -> Any:
        """Return what an empty channel of the user's shows already, or `MISSING`."""
        begun = self.made.from_checkpoint(MISSING)
        shown, kept = _shown(begun), _kept(begun)
        return shown if shown is MISSING or kept is MISSING or kept is shown else Held(shown, kept)

    def decide(self, cell: Cell | None, writes: Sequence[Written], values: Values) -> Change | None:
        """Let the user's channel take the writes, and record what it is then."""
        live = self._live(cell, values)
        return self._change(cell, live, values) if live.update([written.value for written in writes]) else None

    def pass_step(self, cell: Cell, values: Values) -> Change | None:
        """Tell the user's channel that nothing was written to it."""
        live = self._live(cell, values)
        return self._change(cell, live, values) if live.update([]) else None

    def consume(self, cell: Cell, values: Values) -> Change | None:
        """Tell the user's channel that what it triggered has run."""
        live = self._live(cell, values)
        return self._change(cell, live, values) if live.consume() else None

    def finish(self, cell: Cell, values: Values) -> Change | None:
        """Tell the user's channel that the run would end."""
        live = self._live(cell, values)
        return self._change(cell, live, values) if live.finish() else None

    def is_pinned(self) -> bool:
        """Tell that folding writes runs code of a user."""
        return False

    def describe(self) -> dict[str, Any]:
        """Return the class's name, and a digest of its source."""
        from .sources import source_digest

        kind = type(self.made)
        return {"channel": kind.__qualname__, "source": source_digest(kind)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostedChannel) and self.made == other.made

    def __hash__(self) -> int:
        return hash(type(self.made))

    def _live(self, cell: Cell | None, values: Values) -> BaseChannel[Any, Any, Any]:
        """Return the user's channel with what is held; all of that is its own."""
        live = self.made.from_checkpoint(MISSING if cell is None else _owned(cell.value, values))
        live.key = self.key
        return live

    def _change(self, cell: Cell | None, live: BaseChannel[Any, Any, Any], values: Values) -> Change | None:
        shown, kept = _shown(live), _kept(live)
        if shown is not MISSING:
            if kept is not MISSING and not _same(shown, kept, values):
                return ResultOp.WHOLE, values.encode(Held(shown, kept))
            return describe_change(cell if cell is not None and cell.readable else None, shown, values)
        if kept is not MISSING:
            return ResultOp.WHOLE_WAITING, values.encode(kept)
        return None if cell is None else (ResultOp.EMPTY, None)


def as_channel(given: Channel | BaseChannel[Any, Any, Any]) -> Channel:
    """Return the channel of ours that stands for what a user gave: itself, or the host of the user's own."""
    return given if isinstance(given, Channel) else HostedChannel(given)


def _shown(live: BaseChannel[Any, Any, Any]) -> Any:
    try:
        return live.get() if live.is_available() else MISSING
    except EmptyChannelError:
        return MISSING


def _kept(live: BaseChannel[Any, Any, Any]) -> Any:
    try:
        return live.checkpoint()
    except EmptyChannelError:
        return MISSING


def _owned(value: Any, values: Values) -> Any:
    kept = value.kept if type(value) is Held else value
    return own(kept) if values.plain else values.decode(values.raw(kept))


def _same(shown: Any, kept: Any, values: Values) -> bool:
    return shown is kept or (not values.plain and values.raw(shown) == values.raw(kept))
