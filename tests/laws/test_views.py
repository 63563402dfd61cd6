"""Law L1 for readers: with the views that somebody wrote on the way, everything reads as it does from the log alone."""

from __future__ import annotations

import operator
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lithograph.eventlog import EventLog
from lithograph.eventlog.derived import TABLES, open_rows
from lithograph.graph import START, LastValueAfterFinish, StateGraph
from lithograph.projections import ThreadInfo, rebuild_views, threads, view_pass, view_writer
from lithograph.projections.reader import threads_of
from typing_extensions import TypedDict

from .conftest import MEMORY_FOLDER
from .looks import Sight, difference, same, sight
from .plans import Act, GraphPlan, graphs, scripts
from .settings import laws
from .world import Place, Player, World, compiled, strangers_schema

RUNG_EVERY = 3
"""Commits between two kept states: few, so that short threads have several."""


@pytest.fixture(scope="module", autouse=True)
def _many_rungs() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view_pass, "RUNG_COMMITS", RUNG_EVERY)
        yield


@contextmanager
def _folder() -> Iterator[Path]:
    home = MEMORY_FOLDER if os.access(MEMORY_FOLDER, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=home) as folder:
        yield Path(folder)


def _seen(path: Path, plan: GraphPlan, threads: list[str]) -> tuple[bool, list[Sight]]:
    """Return whether a reader who knows nothing yet found views, and what it read."""
    with EventLog(path, read_only=True) as log:
        graph = compiled(plan, World(), log, strangers_schema())
        seen = [sight(graph, thread) for thread in threads]
        return threads_of(log).views.rows(log) is not None, seen


@laws(15)
@given(plan=graphs(), script=scripts(), pauses=st.integers(1, 4))
def test_views_change_nothing_that_is_read(plan: GraphPlan, script: tuple[Act, ...], pauses: int) -> None:
    """Views are brought up to date every few acts, by whoever runs; then the log is read with them and without."""
    with _folder() as folder:
        place = Place(folder / "log")
        player = Player(plan, place, "t")
        acts = 0

        def write_views(_act: Act) -> None:
            nonlocal acts
            acts += 1
            if acts % pauses == 0:
                view_writer.view_writer_of(place.log).catch_up(all=True)

        player.play((*script, *script), after=write_views)
        view_writer.view_writer_of(place.log).catch_up(all=True)
        begun = place.log.log_head().position > 0
        place.close()
        bare = folder / "bare"
        shutil.copytree(folder / "log", bare, ignore=shutil.ignore_patterns("views"))
        threads = list(dict.fromkeys(player.threads))
        with_views, seen = _seen(folder / "log", plan, threads)
        without, told = _seen(bare, plan, threads)
        assert (with_views, without) == (begun, False)
        assert same(told, seen), difference(told, seen)


class Desk(TypedDict, total=False):
    """A list that is long and written to with nothing, and a number that changes."""

    notes: Annotated[list[str], operator.add]
    n: int


def test_a_list_to_which_nothing_is_added_costs_the_views_nothing(tmp_path: Path) -> None:
    """However many states are kept after a list grew, its elements are stored once: views grow with the change."""
    notes = [f"{number:0400}" for number in range(100)]
    config = {"configurable": {"thread_id": "t"}}
    with EventLog(tmp_path / "log") as log:
        builder: StateGraph[Any] = StateGraph(Desk)
        builder.add_node("count", lambda state: {"n": state["n"] + 1, "notes": []})
        builder.add_edge(START, "count")
        graph = builder.compile(checkpointer=log)
        graph.invoke({"notes": notes, "n": 0}, config)
        for n in range(10 * RUNG_EVERY):
            graph.invoke({"n": n}, config)
        rebuild_views(log)
        rows = threads_of(log).views.rows(log)
        assert rows is not None
        kept = sum(len(value) for table in TABLES for _, value in rows.range(table, b"", b"\xff" * 64))
        assert len(notes) * 400 < kept < 2 * len(notes) * 400
    with EventLog(tmp_path / "log") as log:
        assert graph.builder.compile(checkpointer=log).get_state(config).values["notes"] == notes


class Held(TypedDict, total=False):
    """A value that nobody sees before the run would end, and steps to wait through."""

    held: Annotated[str, LastValueAfterFinish(str)]
    steps: Annotated[list[str], operator.add]


def test_a_value_that_waits_in_a_kept_state_is_what_its_commit_recorded(tmp_path: Path) -> None:
    """One that was exchanged there, checksum and all, comes out of no fold: the log is folded instead."""
    builder: StateGraph[Any] = StateGraph(Held)
    builder.add_node("hold", lambda state: {"held": f"held {len(state['steps']):04}"})
    for before, name in (("hold", "one"), ("one", "two")):
        builder.add_node(name, lambda state, name=name: {"steps": [name]})
        builder.add_edge(before, name)
    builder.add_edge(START, "hold")
    with EventLog(tmp_path / "log") as log:
        graph = builder.compile(checkpointer=log)
        for turn in range(8):
            graph.invoke({"steps": [f"turn {turn}"]}, {"configurable": {"thread_id": "t"}})
        rebuild_views(log)
        expected = sight(graph, "t")
    assert expected.live["values"]["held"].startswith("held ")
    rows = open_rows(tmp_path / "log", read_only=False)
    assert rows is not None
    stamp = rows.stamp()
    assert stamp is not None
    kept = {
        (table, key): data
        for table in ("rungs", "chunks")
        for key, data in rows.range(table, b"", b"\xff" * 64)
        if b"held 0" in data
    }
    assert kept
    for (table, key), data in kept.items():
        rows.write({table: {key: data.replace(b"held 0", b"fake 0")}}, stamp)
    rows.rest()
    with EventLog(tmp_path / "log") as log:
        seen = sight(builder.compile(checkpointer=log), "t")
        assert same(seen, expected), difference(seen, expected)
        assert threads_of(log).views.distrusted


def test_views_of_another_life_of_the_log_are_not_believed(tmp_path: Path) -> None:
    """A log that was set back to a backup and went on otherwise is not read through views of what it was to become."""
    builder: StateGraph[Any] = StateGraph(Desk)
    builder.add_node("count", lambda state: {"n": state["n"] + 1, "notes": [f"note {state['n']}"]})
    builder.add_edge(START, "count")

    def goes_on(path: Path, first: int) -> tuple[Sight, list[ThreadInfo]]:
        with EventLog(path) as log:
            graph = builder.compile(checkpointer=log)
            for n in range(first, first + 6 * RUNG_EVERY):
                graph.invoke({"n": n}, {"configurable": {"thread_id": "t"}})
            rebuild_views(log)
            return sight(graph, "t"), [*threads(log)]

    goes_on(tmp_path / "log", 0)
    shutil.copytree(tmp_path / "log", tmp_path / "backup")
    goes_on(tmp_path / "log", 100)
    expected = goes_on(tmp_path / "backup", 200)
    shutil.rmtree(tmp_path / "backup" / "views")
    shutil.copytree(tmp_path / "log" / "views", tmp_path / "backup" / "views")
    with EventLog(tmp_path / "backup", read_only=True) as log:
        assert [*threads(log)] == expected[1]
        seen = sight(builder.compile(checkpointer=log), "t")
    assert same(seen, expected[0]), difference(seen, expected[0])
