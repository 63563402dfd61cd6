"""Law L4: of two continuations that expect the same version one is accepted; who is overtaken stops."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from lithograph.eventlog import Appended, EventLog, Record, StreamName, StreamWrite
from lithograph.eventlog.errors import ConflictError
from lithograph.eventlog.events import RunStarted

from .plans import DURABILITIES, INPUTS, Act, GraphPlan, graphs, scripts
from .settings import laws
from .world import EXPECTED, Place, Player, World, compiled, config_of, written

NewName = Callable[[], str]


class GatedLog(EventLog):
    """A log whose appends to one thread wait at a gate; who stands there has read the thread already."""

    gate: Callable[[], None] | None = None
    thread: StreamName

    @classmethod
    def of(cls, log: EventLog, thread: str, gate: Callable[[], None]) -> GatedLog:
        """Return a log over the same engine with a gate before the first append to `thread`."""
        gated = cls.over(log.engine, clock=log.clock)
        assert isinstance(gated, GatedLog)
        gated.thread, gated.gate = StreamName("thread", thread), gate
        return gated

    def append(
        self, writes: Sequence[StreamWrite], *, append_id: bytes | None = None, since: int | None = None
    ) -> Appended:
        """Append, once the gate has let through the first append to the thread."""
        if self.gate is not None and any(write.name == self.thread for write in writes):
            gate, self.gate = self.gate, None
            gate()
        return super().append(writes, append_id=append_id, since=since)


def _records(log: EventLog, thread: str) -> list[Record]:
    return log.read_stream(log.stream_id(StreamName("thread", thread)), 0, 100_000)


def _prepared(place: Place, name: str, plan: GraphPlan, script: tuple[Act, ...]) -> Player:
    player = Player(plan, place, name)
    player.play(script)
    player.world.broken = set()
    return player


@laws(25)
@given(plan=graphs(), script=scripts(most=3), inputs=st.tuples(INPUTS, INPUTS), durability=DURABILITIES)
def test_a_loser_has_run_nothing_and_left_nothing(
    place: Place,
    new_name: NewName,
    plan: GraphPlan,
    script: tuple[Act, ...],
    inputs: tuple[dict[str, Any], dict[str, Any]],
    durability: str,
) -> None:
    """A run that read the thread before another claimed it gets both versions; no node ran, no event is its own."""
    player = _prepared(place, new_name(), plan, script)
    thread, world = player.threads[0], World()
    winner = Act("invoke", 0, 0, inputs[0], "sync")
    version = len(_records(place.log, thread))
    gated = GatedLog.of(place.log, thread, lambda: player.play((winner,)))
    loser = compiled(plan, world, gated)
    error = _attempt(lambda: loser.invoke(written(inputs[1]), config_of(thread), durability=durability))
    if type(error) is not ConflictError:
        # Refused before it came to an append, as the winner was: an input that no channel takes.
        assert type(error) in player.outcomes[-1:]
        return
    records = _records(place.log, thread)
    assert (error.expected, error.actual, error.stream) == (version, len(records), thread)
    assert sum(isinstance(r.event, RunStarted) for r in records[version:]) == 1
    assert world.ran == []


@laws(10)
@given(
    plan=graphs(),
    script=scripts(most=2),
    inputs=st.lists(INPUTS, min_size=2, max_size=4),
    edits=st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_of_many_at_once_exactly_one_is_accepted(
    place: Place,
    new_name: NewName,
    plan: GraphPlan,
    script: tuple[Act, ...],
    inputs: list[dict[str, Any]],
    edits: list[bool],
) -> None:
    """Threads that all expect one version, runs and manual edits mixed, append together: one is accepted."""
    player = _prepared(place, new_name(), plan, script)
    thread = player.threads[0]
    version = len(_records(place.log, thread))
    barrier = threading.Barrier(len(inputs))
    outcomes: list[Any] = [None] * len(inputs)
    worlds = [World() for _ in inputs]

    def continue_(number: int) -> None:
        graph = compiled(plan, worlds[number], GatedLog.of(place.log, thread, lambda: barrier.wait(20)))
        try:
            if edits[number]:
                graph.update_state(config_of(thread), {"total": 1}, as_node=plan.nodes[0].name)
            else:
                graph.invoke({**written(inputs[number]), "total": 1}, config_of(thread), durability="sync")
        except EXPECTED as error:
            outcomes[number] = error

    rivals = [threading.Thread(target=continue_, args=(number,)) for number in range(len(inputs))]
    for rival in rivals:
        rival.start()
    for rival in rivals:
        rival.join(30)
    losers = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, ConflictError)]
    assert len(losers) == len(inputs) - 1
    assert all(worlds[number].ran == [] for number in losers)
    assert all(outcomes[number].expected == version for number in losers)
    started = [r for r in _records(place.log, thread)[version:] if isinstance(r.event, RunStarted)]
    assert len(started) == 1


TAKEOVERS = st.builds(Act, st.sampled_from(["invoke", "update", "command"]), value=INPUTS, durability=DURABILITIES)


@laws(25)
@given(
    plan=graphs(asks=False),
    visit=st.integers(1, 4),
    run=st.builds(Act, st.just("invoke"), value=INPUTS, durability=st.sampled_from(["sync", "async"])),
    takeover=TAKEOVERS,
)
def test_an_overtaken_run_stops(
    place: Place, new_name: NewName, plan: GraphPlan, visit: int, run: Act, takeover: Act
) -> None:
    """A run whose thread is taken over in the middle raises at its next append and adds nothing behind the other."""
    name = new_name()
    player, rival = Player(plan, place, name, max_concurrency=1), Player(plan, place, name)
    thread = player.threads[0]
    taken: list[int] = []

    def take_over(_node: str) -> None:
        if len(player.world.ran) != visit:
            return
        rival.play((takeover,))
        runs = [record.header.run for record in _records(place.log, thread)]
        if runs[-1] != runs[0]:
            # Accepted: it was not refused for what it wrote, nor did it meet the run's own flusher.
            taken.append(len(runs))

    player.world.on_run = take_over
    player.play((run,))
    if not taken:
        return
    assert player.outcomes[-1] is ConflictError
    runs = [record.header.run for record in _records(place.log, thread)]
    assert len(runs) == taken[0], "the overtaken run appended behind the one that took its thread"
    assert runs == sorted(runs, key=runs.index), "two runs' events are mixed"
    if run.durability == "sync":
        assert len(player.world.ran) <= visit + len(plan.nodes), "the overtaken run went on to a later step"


def _attempt(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except EXPECTED as error:
        return error
