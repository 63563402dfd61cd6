"""Law L1: delete every view, fold the log again in another process under another hash seed: all is the same."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lithograph.eventlog import EventLog
from lithograph.eventlog.events import GraphRegistered
from lithograph.eventlog.serde import BASE, Serializer
from lithograph.projections.history import history
from lithograph.projections.reader import threads_of
from lithograph.projections.values import LogValues

from .looks import state_of
from .plans import Act, GraphPlan, NodePlan, graphs, scripts
from .settings import laws
from .world import Place, Player

ROOT = Path(__file__).parents[2]


def folded(log: EventLog) -> list[str]:
    """Return one line for each checkpoint of each thread of a log: what its fold holds."""
    lines: list[str] = []
    for stream in sorted(found for found in _streams(log) if log.stream_name(found).kind == "thread"):
        name = log.stream_name(stream)
        values = LogValues(log, name, Serializer(BASE))
        thread = threads_of(log).head(log, stream, values)
        for state, writes in history(log, thread, values):
            whole = repr((state_of(state, values), sorted(writes.items())))
            digest = hashlib.sha256(whole.encode("utf-8", "backslashreplace")).hexdigest()
            lines.append(f"{name.name!r} {state.version} {digest}")
    return lines


def _streams(log: EventLog) -> set[bytes]:
    return {record.header.stream for page in log.scan() for record in page}


def _in_another_process(path: Path, seed: str) -> list[str]:
    return _shown(f"show({str(path)!r})", seed)


def _shown(call: str, seed: str) -> list[str]:
    code = f"from tests.laws.test_rebuild import *; {call}"
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return run.stdout.splitlines()


def show(path: str) -> None:
    """Print what a log folds to: what the child process does."""
    with EventLog(path, read_only=True) as log:
        print("\n".join(folded(log)))


def show_digest() -> None:
    """Print the digest under which a graph with joins of several nodes is registered."""
    nodes = tuple(NodePlan(name, (), 0, "dict", (), ()) for name in ("one", "two", "three", "end"))
    edges = tuple(("__start__", node.name) for node in nodes[:3])
    plan = GraphPlan(nodes, edges, ((("one", "two", "three"), "end"),), (), (), ())
    place = Place(None)
    Player(plan, place, "t").play((Act("invoke", 0, 0, {}, "sync"),))
    events = [record.event for page in place.log.scan() for record in page]
    print([event.digest for event in events if isinstance(event, GraphRegistered)])


def test_a_graph_has_one_digest_everywhere() -> None:
    """A graph is described in one way, whatever order a process keeps its sets in."""
    digests = {tuple(_shown("show_digest()", seed)) for seed in ("1", "2", "3", "4")}
    assert len(digests) == 1
    assert digests != {("[]",)}, "no run without the description of its graph"


@laws(1)
@given(drawn=st.lists(st.tuples(graphs(), scripts()), min_size=12, max_size=12))
def test_a_log_folds_to_the_same_anywhere(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[GraphPlan, tuple[Act, ...]]]
) -> None:
    """Every checkpoint of random threads: as the writer folds it, and two processes without views or its hash seed."""
    path = tmp_path_factory.mktemp("rebuild") / "log"
    place = Place(path)
    for number, (plan, script) in enumerate(drawn):
        Player(plan, place, f"t{number}").play(script)
    here = folded(place.log)
    place.close()
    assert len(here) > len(drawn)
    shutil.rmtree(path / "views", ignore_errors=True)
    assert _in_another_process(path, "1") == here
    assert _in_another_process(path, "2") == here
