"""Law L8: order is place in the log. A clock that jumps back, and ids that go with it, change nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from lithograph.eventlog import EventLog, ManualClock, StreamName, id_text
from lithograph.eventlog.events import CheckpointCommitted

from tests.oracle import normal

from .looks import difference, id_of, whole
from .plans import Act, GraphPlan, graphs, scripts
from .settings import laws
from .world import Place, Player, config_of

NewName = Callable[[], str]
DAY_US = 86_400_000_000


class JumpingClock(ManualClock):
    """A clock that is set, forward or back, at each look."""

    def __init__(self, jumps: list[int]) -> None:
        super().__init__()
        self._jumps = itertools.cycle(jumps)

    def now_us(self) -> int:
        """Return a time that has little to do with the one before."""
        return super().now_us() + next(self._jumps)


@contextmanager
def _place_like(place: Place, clock: ManualClock) -> Iterator[Place]:
    """Lend a place of the same engine with a clock of its own; ids made there go by that clock."""
    if place.path is None:
        yield Place(None, clock)
        return
    log = EventLog(place.path, clock=clock)
    other = Place.__new__(Place)
    other.path, other.clock, other.log = place.path, clock, log
    try:
        yield other
    finally:
        other.log.close()


def _story(player: Player) -> list[Any]:
    """Return all that can be read of the threads, with ids and times as accidents."""
    story: list[Any] = [repr(outcome) for outcome in player.outcomes if isinstance(outcome, type)]
    for thread in dict.fromkeys(player.threads):
        entries = [normal.plain(player.graph.get_state(config_of(thread)))]
        entries += [normal.plain(snapshot) for snapshot in player.history(thread)]
        story.append(entries)
    return normal.number(story)


@laws(20)
@given(
    plan=graphs(),
    script=scripts(failing=False),
    jumps=st.lists(st.sampled_from([0, -3 * DAY_US, DAY_US, -1, -400 * DAY_US]), min_size=1, max_size=7),
)
def test_clocks_change_nothing(
    place: Place, new_name: NewName, plan: GraphPlan, script: tuple[Act, ...], jumps: list[int]
) -> None:
    """The same script under a clock that jumps back tells the same story, in the same order."""
    name = new_name()
    stories: list[Any] = []
    for number, clock in enumerate((ManualClock(), JumpingClock(jumps))):
        with _place_like(place, clock) as own:
            player = Player(plan, own, f"{name}.{number}", max_concurrency=1)
            player.play(script)
            threads = player.threads
            text = _story(player)
            for at, thread in enumerate(threads):
                text = _renamed(text, thread, f"thread {at}")
            stories.append(text)
    assert stories[0] == stories[1], difference(stories[0], stories[1])


def _renamed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, old, new) for item in value]
    return value.replace(old, new) if isinstance(value, str) else value


@laws(20)
@given(
    plan=graphs(),
    script=scripts(),
    jumps=st.lists(st.sampled_from([0, -3 * DAY_US, DAY_US, -400 * DAY_US]), min_size=1, max_size=5),
)
def test_latest_before_and_history_follow_place(
    place: Place, new_name: NewName, plan: GraphPlan, script: tuple[Act, ...], jumps: list[int]
) -> None:
    """The latest checkpoint is the last committed, `before` gives what was committed before, whatever the ids say."""
    with _place_like(place, JumpingClock(jumps)) as own:
        player = Player(plan, own, new_name())
        player.play(script)
        for thread in dict.fromkeys(player.threads):
            _follows_place(player, thread)


def _follows_place(player: Player, thread: str) -> None:
    log = player.place.log
    records = log.read_stream(log.stream_id(StreamName("thread", thread)), 0, 100_000)
    committed = [id_text(r.event.id) for r in records if isinstance(r.event, CheckpointCommitted)][::-1]
    entries = [whole(snapshot) for snapshot in player.history(thread)]
    ids = [id_of(entry) for entry in entries]
    # Behind its own checkpoints a fork has those that it inherits.
    assert ids[: len(committed)] == committed
    assert len(ids) == len(committed) or "fork" in thread
    live = player.graph.get_state(config_of(thread))
    assert [live.config["configurable"].get("checkpoint_id")] == (ids[:1] or [None])
    for at, entry in enumerate(entries[:4]):
        before = player.graph.get_state_history(config_of(thread), before=entry["config"])
        assert [whole(snapshot) for snapshot in before] == entries[at + 1 :]
    assert [whole(s) for s in player.graph.get_state_history(config_of(thread), limit=2)] == entries[:2]
