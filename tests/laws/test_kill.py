"""Law L5: what was acknowledged survives SIGKILL at any instant; a log after it is a prefix of what was appended."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lithograph.eventlog import EventLog, StreamName, id_text
from lithograph.eventlog.events import ChannelWritten, CheckpointCommitted, RunStarted

from . import inner_child
from .child import expected, graph

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.crash


def _kill(folder: Path, kind: str, first: int, seconds: float, *, child: str = "child") -> list[int]:
    """Let a child run for a while after its first acknowledgement, kill it, and return what it acknowledged."""
    command = [sys.executable, "-m", f"tests.laws.{child}", str(folder), kind, str(first)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert running.stdout is not None
    acknowledged = [int(running.stdout.readline())]
    time.sleep(seconds)
    running.send_signal(signal.SIGKILL)
    acknowledged += [int(line) for line in running.stdout if line.endswith("\n")]
    running.wait(20)
    return acknowledged


def _effects(folder: Path) -> list[list[str]]:
    return [line.split() for line in (folder / "effects").read_text().splitlines()]


def _effects_of(folder: Path, thread: str) -> list[list[str]]:
    return [effect for effect in _effects(folder) if effect[0] == thread]


def _runs(folder: Path, thread: str) -> Counter[str]:
    """Return how often each task of a thread ran, as the witness says."""
    return Counter(effect[3] for effect in _effects_of(folder, thread))


def _config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def _check(folder: Path, durability: str, acknowledged: list[int]) -> None:
    """Hold the log that a killed child left to what the child had said and done; then go on with it."""
    with EventLog(folder / "log") as log:
        assert log.verify().findings == []
        compiled = graph(folder, log)
        for number in acknowledged:
            state = compiled.get_state(_config(f"t{number}"))
            assert (state.values, state.next) == (expected(number), ())
            assert set(_runs(folder, f"t{number}").values()) == {1}, (
                "a task ran twice in a thread that was acknowledged"
            )
        threads = {effect[0] for effect in _effects(folder)}
        for thread in sorted(threads):
            _check_thread(log, folder, durability, thread)
        half_way = f"t{max(acknowledged) + 1}"
        if log.head(log.stream_id(StreamName("thread", half_way))).version:
            _go_on(compiled, log, folder, durability, half_way)


def _check_thread(log: EventLog, folder: Path, durability: str, thread: str) -> None:
    events = [record.event for record in log.read_stream(log.stream_id(StreamName("thread", thread)), 0, 10_000)]
    assert isinstance(events[0], RunStarted), "a node ran before its run had claimed the thread"
    if durability == "sync":
        committed = {id_text(event.id) for event in events if isinstance(event, CheckpointCommitted)}
        witnessed = {effect[1] for effect in _effects(folder) if effect[0] == thread}
        assert witnessed <= committed, "a superstep ran before the one before it was on disk"


def _go_on(compiled: Any, log: EventLog, folder: Path, durability: str, thread: str) -> None:
    """Go on with a half-way thread: it ends as if nothing had happened; what ran twice is what was not on disk."""
    number = int(thread[1:])
    records = log.read_stream(log.stream_id(StreamName("thread", thread)), 0, 10_000)
    kept = {id_text(r.event.task) for r in records if isinstance(r.event, ChannelWritten)}
    lost = {node for _, _, task, node in _effects_of(folder, thread) if task not in kept}
    state = compiled.get_state(_config(thread))
    if durability == "exit" and not state.values:
        # The kill took the run, and left the thread where it stood: before it began.
        assert (state.next, state.tasks) == ((), ())
        compiled.invoke({"n": number}, _config(thread))
    elif state.tasks:
        compiled.invoke(None, _config(thread))
    runs = _runs(folder, thread)
    assert {node for node, count in runs.items() if count == 2} == lost
    assert set(runs.values()) <= {1, 2}
    assert compiled.get_state(_config(thread)).values == expected(number)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_killed_run_keeps_what_it_acknowledged(tmp_path: Path, durability: str) -> None:
    """After SIGKILL what `invoke` returned is there; just the tasks whose writes are not on disk run twice."""
    draw = random.Random(durability)
    first = 0
    for _ in range(2):
        acknowledged = _kill(tmp_path, durability, first, draw.uniform(0.05, 0.4))
        _check(tmp_path, durability, acknowledged)
        first = max(acknowledged) + 2


@pytest.mark.nightly
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_runs_killed_many_times_keep_what_they_acknowledged(
    tmp_path: Path, durability: str, record_property: Callable[[str, object], None]
) -> None:
    """The same, forty times on one log, at instants that are nobody's choice."""
    draw = random.Random()
    first = 0
    for _ in range(40):
        acknowledged = _kill(tmp_path, durability, first, draw.uniform(0.0, 0.6))
        _check(tmp_path, durability, acknowledged)
        first = max(acknowledged) + 2
    record_property("kills", 40)


# Graphs inside nodes, calls of tasks, event loops

KINDS = [f"{durability}{driver}" for durability in ("sync", "async", "exit") for driver in ("", ":loop")]


def _check_inside(folder: Path, kind: str, acknowledged: list[int]) -> None:
    """Hold what a killed child left to what it had said; then go on with the thread that it was at."""
    with EventLog(folder / "log") as log:
        assert log.verify().findings == []
        compiled = inner_child.graph(folder, log)
        for number in acknowledged:
            state = compiled.get_state(_config(f"t{number}"))
            assert (state.values, state.next) == (inner_child.expected(number), ())
            assert set(_runs(folder, f"t{number}").values()) == {1}, (
                "a task ran twice in a thread that was acknowledged"
            )
        number = max(acknowledged) + 1
        thread = f"t{number}"
        if not log.head(log.stream_id(StreamName("thread", thread))).version:
            return
        records = log.read_stream(log.stream_id(StreamName("thread", thread)), 0, 10_000)
        kept = {id_text(record.event.task) for record in records if isinstance(record.event, ChannelWritten)}
        lost = {node for _, _, task, node in _effects_of(folder, thread) if task not in kept}
        state = compiled.get_state(_config(thread))
        if not state.values and not state.tasks:
            assert kind.startswith("exit")
            compiled.invoke({"n": number}, _config(thread))
        elif state.tasks:
            compiled.invoke(None, _config(thread))
        runs = _runs(folder, thread)
        assert {node for node, count in runs.items() if count == 2} <= lost
        assert set(runs.values()) <= {1, 2}
        assert compiled.get_state(_config(thread)).values == inner_child.expected(number)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_killed_inside_keeps_what_it_acknowledged(tmp_path: Path, kind: str) -> None:
    """The same for graphs inside nodes and for calls: what finished in them, and is on disk, does not run again."""
    acknowledged = _kill(tmp_path, kind, 0, random.Random(kind).uniform(0.05, 0.4), child="inner_child")
    _check_inside(tmp_path, kind, acknowledged)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_runs_that_are_killed_inside_many_times(
    tmp_path: Path, kind: str, record_property: Callable[[str, object], None]
) -> None:
    """The same, forty times on one log, at instants that are nobody's choice."""
    draw = random.Random()
    first = 0
    for _ in range(40):
        acknowledged = _kill(tmp_path, kind, first, draw.uniform(0.0, 0.6), child="inner_child")
        _check_inside(tmp_path, kind, acknowledged)
        first = max(acknowledged) + 2
    record_property("kills", 40)
