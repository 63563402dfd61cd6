"""Channels that a user writes on `BaseChannel`: run once, live; what they show and keep is recorded."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

import operator
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.events import ChannelResult
from lithograph.graph import (
    MISSING,
    BaseChannel,
    BinaryOperatorAggregate,
    EmptyChannelError,
    InvalidUpdateError,
    LastValue,
)
from lithograph.graph.schema import channel_of
from lithograph.projections import history
from lithograph.projections.base_channel import HostedChannel, as_channel
from lithograph.projections.cells import PLAIN, Cell, Written
from lithograph.projections.fold import Cells, fold_step
from typing_extensions import TypedDict

from .chains import ONE, chain, parallel


class Own(BaseChannel[Any, Any, Any]):
    """A channel of a user; counts how often any code of its kind ran."""

    ran: ClassVar[list[str]] = []

    def __init__(self, typ: Any, key: str = "") -> None:
        super().__init__(typ, key)
        self.held: Any = MISSING

    @property
    def ValueType(self) -> Any:
        """What it shows."""
        return self.typ

    @property
    def UpdateType(self) -> Any:
        """What it takes."""
        return self.typ

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """Return one that holds what was kept."""
        self.ran.append("from_checkpoint")
        made = type(self)(self.typ)
        made.held = checkpoint
        return made

    def get(self) -> Any:
        """Return what is held."""
        self.ran.append("get")
        if self.held is MISSING:
            raise EmptyChannelError
        return self.held

    def update(self, values: Sequence[Any]) -> bool:
        """Hold the last one."""
        self.ran.append("update")
        self.held = values[-1] if values else self.held
        return bool(values)


class Mean(Own):
    """Shows the mean, keeps sum and count; takes no text."""

    def get(self) -> float:
        """Return the mean."""
        total, count = super().get()
        return total / count

    def checkpoint(self) -> Any:
        """Return sum and count."""
        return self.held

    def update(self, values: Sequence[float]) -> bool:
        """Take more numbers."""
        if any(isinstance(value, str) for value in values):
            raise InvalidUpdateError("a mean of texts")
        total, count = (0, 0) if self.held is MISSING else self.held
        self.held = [total + sum(values), count + len(values)]
        return bool(values)


class Numbers(TypedDict):
    """A mean, and a number beside it."""

    mean: Annotated[float, Mean]
    n: int


@pytest.fixture(autouse=True)
def _quiet() -> None:
    Own.ran.clear()


@pytest.fixture
def log() -> Iterator[EventLog]:
    """A log in memory."""
    with EventLog.in_memory() as opened:
        yield opened


def means(log: EventLog | None) -> Any:
    """Return a graph whose two parallel nodes write to a mean."""
    return parallel(Numbers, a=lambda state: {"mean": 1.0}, b=lambda state: {"mean": 3.0}).compile(checkpointer=log)


def test_reading_runs_nothing_of_a_users_channel(log: EventLog) -> None:
    """State and history, here, in a fresh reader and without the graph, show what was recorded."""
    means(log).invoke({"mean": 8.0, "n": 1}, ONE)
    Own.ran.clear()
    graph = means(EventLog.over(log.engine))
    Own.ran.clear()

    shown = [past.values for past in graph.get_state_history(ONE)]
    assert shown == [past.values for past in history(EventLog.over(log.engine), ONE)]
    assert [values.get("mean") for values in shown] == [4.0, 8.0, None]
    assert graph.get_state(ONE).values == {"mean": 4.0, "n": 1}
    assert Own.ran == []


def test_a_channel_goes_on_from_what_it_kept(log: EventLog) -> None:
    """A later run, in another process, begins with sum and count, not with the mean that was shown."""
    means(log).invoke({"mean": 8.0}, ONE)
    result = means(EventLog.over(log.engine)).invoke({"mean": 0.0}, ONE)

    assert result["mean"] == (8 + 1 + 3 + 0 + 1 + 3) / 6


def test_without_a_log_it_lives_the_same() -> None:
    """A run without persistence gives what a logged run gives."""
    with EventLog.in_memory() as log:
        assert means(None).invoke({"mean": 8.0}) == means(log).invoke({"mean": 8.0}, ONE)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_refolding_runs_it_again_and_agrees(durability: Any) -> None:
    """`fold="reducers"` asks the user's channel for every step, and finds what was recorded."""
    with EventLog.in_memory() as log:
        graph = means(log)
        for number in (8.0, 2.0):
            graph.invoke({"mean": number}, ONE, durability=durability)
        for past in graph.get_state_history(ONE):
            assert graph.get_state(past.config, fold="reducers").values == past.values


def test_what_it_refuses_is_not_applied(log: EventLog) -> None:
    """An update that the channel refuses raises as the channel did, and the thread stays as it was."""
    graph = means(log)
    graph.invoke({"mean": 8.0}, ONE)
    with pytest.raises(InvalidUpdateError, match="a mean of texts"):
        graph.update_state(ONE, {"mean": "text"}, as_node="a")

    assert graph.get_state(ONE).values["mean"] == 4.0


@pytest.mark.parametrize("without_views", [False, True])
def test_views_keep_what_is_shown_and_what_is_kept(tmp_path: Path, without_views: bool) -> None:
    """After many turns a reopened log shows and goes on with the same, also where its views were deleted."""
    with EventLog(tmp_path / "log") as log:
        graph = means(log)
        for turn in range(80):
            graph.invoke({"mean": float(turn)}, ONE)
        shown = graph.get_state(ONE).values["mean"]
    if without_views:
        shutil.rmtree(tmp_path / "log" / "views")
    with EventLog(tmp_path / "log") as log:
        graph = means(log)
        read = graph.get_state(ONE).values["mean"]
        further = graph.invoke({"mean": 0.0}, ONE)["mean"]

    assert read == shown == (sum(range(80)) + 80 * 4) / 240
    assert further == (sum(range(80)) + 81 * 4) / 243


class Latch(Own):
    """Keeps what it was given; shows it once the run would end, until a task it triggered has run."""

    open = False

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """Return one that holds what was kept, open or not."""
        made = super().from_checkpoint(MISSING)
        if checkpoint is not MISSING:
            made.held, made.open = checkpoint
        return made

    def checkpoint(self) -> Any:
        """Return what is held and whether it shows."""
        return MISSING if self.held is MISSING else [self.held, self.open]

    def is_available(self) -> bool:
        """Say whether it shows."""
        return self.held is not MISSING and self.open

    def consume(self) -> bool:
        """Let go."""
        was, self.held, self.open = self.open, MISSING, False
        return was

    def finish(self) -> bool:
        """Open."""
        was, self.open = self.open, self.held is not MISSING
        return self.open and not was


def test_it_hears_of_the_end_and_of_being_consumed() -> None:
    """Kept but not shown, then opened, then taken: each step of that is recorded and applied."""
    channel = as_channel(Latch(str)).named("latch")
    written = [Written("text", (), lambda data: data, "text")]
    cells: Cells = {}

    def after(change: Any) -> Cell | None:
        nonlocal cells
        cells = fold_step(cells, [ChannelResult("latch", *change, b"")], {"latch": written}, PLAIN)
        return cells.get("latch")

    kept = after(channel.decide(None, written, PLAIN))
    assert kept is not None
    assert not kept.readable
    shown = after(channel.finish(kept, PLAIN))
    assert shown is not None
    assert (shown.readable, shown.get()) == (True, "text")
    assert channel.finish(shown, PLAIN) is None
    assert after(channel.consume(shown, PLAIN)) is None


def test_a_channel_in_a_schema_may_be_a_class_or_an_object() -> None:
    """The class is made with the field's type; an object keeps its own, and is never changed."""
    made = Own(str)

    class State(TypedDict):
        a: Annotated[int, Own]
        b: Annotated[int, made]

    builder = chain(State, node=lambda state: {"a": 1, "b": 2})
    assert builder.compile().invoke({"a": 0}) == {"a": 1, "b": 2}
    assert [channel_of(hint).typ for hint in (Annotated[int, Own], Annotated[int, made])] == [int, str]
    assert (made.key, made.held) == ("", MISSING)


def test_every_channel_is_a_base_channel() -> None:
    """`BaseChannel` is what annotations and `isinstance` ask for: ours and a user's alike."""
    for channel in (LastValue(int), BinaryOperatorAggregate(int, operator.add), Own(int)):
        assert isinstance(channel, BaseChannel)
    assert as_channel(last := LastValue(int)) is last
    assert isinstance(as_channel(Own(int)), HostedChannel)


def test_the_class_identifies_the_channel() -> None:
    """A graph's description names the class and a digest of its source; equality is the user's own."""
    mean, own = as_channel(Mean(float)), as_channel(Own(float))
    assert mean.describe()["channel"] == "Mean"
    assert mean.describe()["source"] != own.describe()["source"]
    assert mean != own
    assert mean != as_channel(Mean(float))
    assert as_channel(one := Mean(float)) == as_channel(one)


def test_copy_and_availability_follow_from_the_rest() -> None:
    """`copy` goes through what is kept; a channel without a value is not available and keeps nothing."""
    own = Own(int)
    assert (own.is_available(), own.checkpoint()) == (False, MISSING)
    own.update([3])
    assert (own.copy().get(), own.is_available(), own.checkpoint()) == (3, True, 3)
    assert (own.consume(), own.finish()) == (False, False)
