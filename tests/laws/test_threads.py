"""Laws L2 and L3 over random graphs and scripts: what a run held is what is read, and the past stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from lithograph.graph import ReducerDrift

from .looks import difference, fixed, id_of, inside, same, sight, whole
from .plans import Act, GraphPlan, graphs, scripts
from .settings import laws
from .world import Place, Player, World, compiled, config_of, strangers_schema

NewName = Callable[[], str]


def check_live_is_folded(player: Player, act: Act) -> None:
    """Compare what the writing process holds of the act's thread with what a stranger folds from the log."""
    thread = player.threads[act.thread]
    with player.place.stranger() as stranger:
        world = World()
        graph = compiled(player.plan, world, stranger, strangers_schema())
        serializer = player.graph._persistence.serializer
        held, read = sight(player.graph, thread), sight(graph, thread)
        assert same(held, read), difference(held, read)
        one, other = inside(player.place.log, thread, serializer), inside(stranger, thread, serializer)
        assert same(one, other), difference(one, other)
        assert world.ran == [], "reading ran a node"


def check_refold(player: Player) -> None:
    """Compare what was recorded with what the graph's own reducers make of the recorded writes."""
    for thread in player.threads:
        for snapshot in player.history(thread):
            config = config_of(thread, snapshot.config["configurable"]["checkpoint_id"])
            try:
                refolded = player.graph.get_state(config, fold="reducers")
            except ReducerDrift as error:
                pytest.fail(f"{error} in {player.plan}")
            assert same(refolded.values, snapshot.values), difference(refolded.values, snapshot.values)


class Past:
    """What was seen of each checkpoint when it was first seen, and what its tasks showed last."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.first: dict[tuple[str, str], dict[str, Any]] = {}
        self.closed: dict[tuple[str, str], Any] = {}
        """The tasks of each checkpoint whose step had closed when it was seen."""
        self.orders: dict[str, list[str]] = {}
        self.held: list[tuple[Any, Any]] = []
        """Live snapshots whose values nobody has looked at yet, and what they were when they were taken."""

    def look(self, _act: Act) -> None:
        """Read all threads; what was there before must be there unchanged, in its place."""
        for thread in self.player.threads:
            self._look(thread, self.player.history(thread))
            get_state, config = self.player.graph.get_state, config_of(thread)
            self.held.append((get_state(config), get_state(config).values))

    def look_at_what_is_held(self) -> None:
        """Look at the values of every snapshot that was taken on the way: they are of that moment."""
        for snapshot, then in self.held:
            assert same(snapshot.values, then), difference(snapshot.values, then)

    def _look(self, thread: str, history: list[Any]) -> None:
        entries = [fixed(snapshot) for snapshot in history]
        order = [id_of(entry) for entry in entries]
        known = self.orders.get(thread, [])
        assert order[len(order) - len(known) :] == known, "the history's older part changed"
        self.orders[thread] = order
        parents = [entry["parent_config"] for entry in entries if entry["parent_config"] is not None]
        closed = {parent["configurable"]["checkpoint_id"] for parent in parents}
        for entry, snapshot in zip(entries, history, strict=True):
            key = (thread, id_of(entry))
            first = self.first.setdefault(key, entry)
            assert same(first, entry), difference(first, entry)
            if id_of(entry) in closed:
                tasks = whole(snapshot)["tasks"]
                known = self.closed.setdefault(key, tasks)
                assert same(known, tasks), difference(known, tasks)

    def look_by_id(self) -> None:
        """Read each checkpoint by its id, as a stranger whose code has changed since."""
        with self.player.place.stranger() as stranger:
            graph = compiled(self.player.plan, World(), stranger, strangers_schema())
            for (thread, id_), first in self.first.items():
                entry = fixed(graph.get_state(config_of(thread, id_)))
                assert same(first, entry), difference(first, entry)


@laws(60)
@given(plan=graphs(), script=scripts())
def test_what_a_run_held_is_what_a_stranger_reads(
    place: Place, new_name: NewName, plan: GraphPlan, script: tuple[Act, ...]
) -> None:
    """L2: after every act, state, history and all that is folded beneath are what a fresh reader folds.

    The reader's graph has other reducers and nodes, none of which runs.
    """
    player = Player(plan, place, new_name())
    player.play(script, after=lambda act: check_live_is_folded(player, act))


@laws(60)
@given(plan=graphs(), script=scripts())
def test_recorded_writes_refold_to_recorded_results(
    place: Place, new_name: NewName, plan: GraphPlan, script: tuple[Act, ...]
) -> None:
    """L2: at every checkpoint, the graph's own reducers over the recorded writes give the recorded values."""
    player = Player(plan, place, new_name())
    player.play(script)
    check_refold(player)


@laws(60)
@given(plan=graphs(), script=scripts())
def test_the_past_is_immutable(place: Place, new_name: NewName, plan: GraphPlan, script: tuple[Act, ...]) -> None:
    """L3: whatever is done later, each checkpoint reads as when first seen: in history, and by id to a stranger.

    So do snapshots that a caller still holds.
    """
    player = Player(plan, place, new_name())
    past = Past(player)
    player.play(script, after=past.look)
    past.look_by_id()
    past.look_at_what_is_held()
