"""What a checkpoint records of itself: one version for all that its step changed, and digests of what it made."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from lithograph.eventlog import StreamName
from lithograph.eventlog.events import CheckpointCommitted, ResultOp
from lithograph.eventlog.serde import BASE, Serializer
from lithograph.graph import Command, InvalidUpdateError
from lithograph.projections.cells import Cell, ListCell
from lithograph.projections.digests import channel_key, digest_of
from lithograph.projections.history import history
from lithograph.projections.reader import threads_of
from lithograph.projections.values import LogValues

from .plans import Act, GraphPlan, NodePlan, graphs, scripts
from .settings import laws
from .world import Place, Player, config_of


def check_versions(place: Place, thread: str) -> None:
    """Hold each checkpoint of a thread to what its record says it changed."""
    log, name = place.log, StreamName("thread", thread)
    values = LogValues(log, name, Serializer(BASE))
    stream = log.stream_id(name)
    states = {state.id: state for state, _writes in history(log, threads_of(log).head(log, stream, values), values)}
    for event in (record.event for record in log.read_stream(stream, 0, 10_000)):
        if not isinstance(event, CheckpointCommitted) or event.id not in states:
            continue
        changed = {change.channel for change in event.results if change.op != ResultOp.INITIAL}
        changed.update(event.consumed)
        before = states.get(event.parent) if event.parent is not None else None
        above = max(before.versions.values(), default=0) if before is not None else 0
        if changed:
            assert event.version > above, event
        else:
            assert event.version == 0 or event.skips, event
        if before is None and changed and event.source == "input":
            assert event.version == 1, "versions begin with the thread's first input"
        assert event.updated is None or list(event.updated) == sorted(event.updated)
        assert {states[event.id].versions[channel] for channel in changed} <= {event.version}


def check_digests(place: Place, thread: str) -> int:
    """Hold each recorded digest to the value that a stranger reads there; return how many there were."""
    name, seen = StreamName("thread", thread), 0
    with place.stranger() as log:
        values = LogValues(log, name, Serializer(BASE))
        stream = log.stream_id(name)
        scope_key = log.scope_key(log.read_stream(stream, 0, 1)[0].header.scope)
        for state, _writes in history(log, threads_of(log).head(log, stream, values), values):
            for channel, cell in state.cells.items():
                if cell.digest:
                    seen += 1
                    alone = ListCell(list(cell.value)) if isinstance(cell, ListCell) else Cell(cell.value)
                    key = channel_key(scope_key, state.namespace, channel)
                    assert cell.digest == digest_of(key, alone, values), (channel, cell.value)
    return seen


@laws(30)
@given(plan=graphs(), script=scripts())
def test_recorded_digests_are_those_of_the_values(
    place: Place, new_name: Callable[[], str], plan: GraphPlan, script: tuple[Act, ...]
) -> None:
    """Every recorded digest, made at the cost of the change, is that of the whole value under the scope's key."""
    player = Player(plan, place, new_name())
    player.play((Act("invoke", 0, 0, {}, "sync"), *script))
    assert check_digests(place, player.threads[0])


@laws(40)
@given(plan=graphs(), script=scripts())
def test_a_checkpoint_gives_one_new_version_to_what_it_changed(
    place: Place, new_name: Callable[[], str], plan: GraphPlan, script: tuple[Act, ...]
) -> None:
    """A checkpoint that changes channels has a version above all earlier ones, one that changes none has 0.

    But for one that stands for a whole run: it has its last step's.
    """
    player = Player(plan, place, new_name())
    player.play(script)
    for thread in set(player.threads):
        check_versions(place, thread)


LEAF = GraphPlan((NodePlan("leaf", (("total", 1),), 0, "dict", (), ()),), (("__start__", "leaf"),), (), (), (), ())


@pytest.mark.parametrize("as_node", ["leaf", "__copy__", "__end__"])
@pytest.mark.parametrize("begun", [True, False])
def test_an_edit_of_nothing_has_no_version(
    place: Place, new_name: Callable[[], str], as_node: str, begun: bool
) -> None:
    """Edits that leave every channel alone: nothing said as a node, a copy, pending tasks given up when none wait."""
    player = Player(LEAF, place, new_name())
    thread = player.threads[0]
    if begun:
        player.graph.invoke({"total": 1}, config_of(thread))
    elif as_node == "__copy__":
        with pytest.raises(InvalidUpdateError):
            player.graph.update_state(config_of(thread), None, as_node=as_node)
        return
    player.graph.update_state(config_of(thread), {} if as_node == "leaf" else None, as_node=as_node)
    check_versions(place, thread)
    records = place.log.read_stream(place.log.stream_id(StreamName("thread", thread)), 0, 10_000)
    assert [record.event.version for record in records if isinstance(record.event, CheckpointCommitted)][-1] == 0


@pytest.mark.parametrize("how", ["exit", "ahead"])
def test_a_plain_list_has_the_digest_of_what_a_reader_folds(
    place: Place, new_name: Callable[[], str], how: str
) -> None:
    """A list on a plain channel that is recorded whole, by a run's one checkpoint or ahead of a step."""
    asks = GraphPlan((NodePlan("asks", (), 1, "dict", (), ()),), (("__start__", "asks"),), (), (), (), ())
    player = Player(LEAF if how == "exit" else asks, place, new_name())
    thread = player.threads[0]
    if how == "exit":
        for values in ([1, 2], [1, 2, 3]):
            player.graph.invoke({"last": values}, config_of(thread), durability="exit")
    else:
        player.graph.invoke({"last": [1]}, config_of(thread))
        player.graph.invoke(Command(update={"last": [1, 2]}), config_of(thread))
        player.graph.invoke(Command(resume="yes"), config_of(thread))
    assert check_digests(place, thread)


def test_a_step_is_a_version_above_what_a_command_wrote_ahead_of_it(place: Place, new_name: Callable[[], str]) -> None:
    """A command's writes and those of the step that waited are two changes, though one checkpoint records them."""
    plan = GraphPlan((NodePlan("asks", (), 1, "dict", (), ()),), (("__start__", "asks"),), (), (), (), ())
    player = Player(plan, place, new_name())
    config = config_of(player.threads[0])
    player.graph.invoke({}, config)
    player.graph.invoke(Command(update={"total": 1}), config)
    player.graph.invoke(Command(resume="yes"), config)
    records = place.log.read_stream(place.log.stream_id(StreamName("thread", player.threads[0])), 0, 10_000)
    versions = [record.event.version for record in records if isinstance(record.event, CheckpointCommitted)]
    assert versions == [1, 2, 4]
