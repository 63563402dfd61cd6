"""`rebuild_views`, as somebody uses it who wants to see that views are derived: from `lithograph.projections`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from lithograph.eventlog import EventLog
from lithograph.graph import START, StateGraph
from lithograph.projections import rebuild_views, threads
from lithograph.store import EventLogStore
from typing_extensions import TypedDict

ONE: Any = {"configurable": {"thread_id": "1"}}


class Count(TypedDict):
    """A number."""

    n: int


def _lived(path: Path) -> None:
    with EventLog(path) as log:
        graph = _graph(log)
        for n in range(70):
            graph.invoke({"n": n}, ONE)
        EventLogStore(log).put(("notes",), "one", {"text": "seen"})


def _graph(log: EventLog) -> Any:
    builder: StateGraph[Any] = StateGraph(Count)
    builder.add_node("next", lambda state: {"n": state["n"] + 1}).add_edge(START, "next")
    return builder.compile(checkpointer=log)


def _everything(log: EventLog) -> Any:
    item = EventLogStore(log).get(("notes",), "one")
    assert item is not None
    history = [(each.config, each.values, each.next) for each in _graph(log).get_state_history(ONE)]
    return history, [each.thread_id for each in threads(log)], item.value


def test_views_are_made_anew_and_show_the_same(tmp_path: Path) -> None:
    """Deleted, damaged or whole: afterwards there are views, all reads give what they gave, and the log verifies."""
    path = tmp_path / "log"
    _lived(path)
    with EventLog(path) as log:
        before = _everything(log)
    shutil.rmtree(path / "views")
    with EventLog(path) as log:
        assert rebuild_views(log)
        assert _everything(log) == before
    data = path / "views" / "data.mdb"
    data.write_bytes(b"\xff" * data.stat().st_size)
    with EventLog(path) as log:
        assert rebuild_views(log)
        assert _everything(log) == before
        assert rebuild_views(log), "again, with nothing to do"
        assert log.verify().ok
    with EventLog(path, read_only=True) as log:
        assert not rebuild_views(log), "a log that is only read makes none"
        assert _everything(log) == before


def test_it_may_be_called_while_a_thread_goes_on(tmp_path: Path) -> None:
    """Within a run it leaves the run alone: what the run recorded so far, and what it records then, can be read."""
    path = tmp_path / "log"
    outcomes: list[bool] = []
    with EventLog(path) as log:
        builder: StateGraph[Any] = StateGraph(Count)
        builder.add_node("look", lambda state: outcomes.append(rebuild_views(log))).add_edge(START, "look")
        builder.compile(checkpointer=log).invoke({"n": 1}, ONE)
        assert outcomes == [True]
    with EventLog(path) as log:
        assert _graph(log).get_state(ONE).values == {"n": 1}
        assert log.verify().ok


def test_where_it_cannot_be_done_it_says_so(tmp_path: Path) -> None:
    """`False` for a log in memory, which has no views, and while another process writes them."""
    log = EventLog.in_memory()
    _graph(log).invoke({"n": 1}, ONE)
    assert not rebuild_views(log)
    assert _graph(log).get_state(ONE).values == {"n": 2}
    path = tmp_path / "log"
    _lived(path)
    hold = "import sys; from pathlib import Path; from lithograph.eventlog.derived import writers_lock\n"
    hold += "with writers_lock(Path(sys.argv[1])) as held: print(held, flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", hold, str(path)]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other,
        EventLog(path) as log,
    ):
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert not rebuild_views(log)
        other.communicate("")
        assert rebuild_views(log)
