"""A thread with arrays, met by a process without numpy: an error for whoever looks at them, and for nobody else."""

from __future__ import annotations

import operator
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Annotated, Any, TypedDict

import numpy as np
from lithograph.eventlog import EventLog
from lithograph.graph import START, StateGraph
from lithograph.projections import snapshot


class State(TypedDict):
    """A state that grows."""

    items: Annotated[list[Any], operator.add]


def fill(log: EventLog, thread: str, item: Any, turns: int) -> None:
    """Run a graph that adds an item, some times."""
    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("add", lambda state: {"items": [item]})
    builder.add_edge(START, "add")
    graph = builder.compile(checkpointer=log)
    for _ in range(turns):
        graph.invoke({"items": []}, {"configurable": {"thread_id": thread}})


_WITHOUT = """
    import sys
    sys.modules["numpy"] = None
    from lithograph.eventlog import EventLog
    from lithograph.eventlog.errors import MissingExtra
    from lithograph.projections import history, rebuild_views, snapshot, threads
    def config(thread): return {"configurable": {"thread_id": thread}}
    with EventLog(sys.argv[1]) as log:
        rebuild_views(log)
        print(sorted(info.thread_id for info in threads(log)))
        print(len(snapshot(log, config("plain")).values["items"]))
        try:
            snapshot(log, config("arrays")).values
        except MissingExtra as error:
            print(error.code)
        print(log.verify().ok)
"""


def test_views_are_made_of_the_threads_that_can_be_read(tmp_path: Path) -> None:
    """Making views where numpy is missing passes over the threads that need it; the others are there, and so are all
    with numpy again."""
    with EventLog(tmp_path / "log") as log:
        fill(log, "arrays", np.arange(5_000), 6)
        fill(log, "plain", "x" * 40_000, 3)
    command = [sys.executable, "-c", textwrap.dedent(_WITHOUT), str(tmp_path / "log")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.splitlines(), done.stderr) == (["['arrays', 'plain']", "3", "LG900", "True"], "")
    with EventLog(tmp_path / "log") as log:
        items = snapshot(log, {"configurable": {"thread_id": "arrays"}}).values["items"]
    assert [item.tolist() == list(range(5_000)) for item in items] == [True] * 6
