"""Lives that leave views behind: a chat that is asked, edited, branched and forked; and all that can be read of it."""

from __future__ import annotations

import operator
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import lmdb
from lithograph.eventlog import EventLog
from lithograph.eventlog.derived import TABLES
from lithograph.graph import END, START, StateGraph, add_messages, interrupt
from lithograph.projections import threads

LONG = "blah " * 900
"""Makes a turn some KB, so that a rung is due after a dozen of them."""


def merged(left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
    """Add up counts: a reducer of the user's, so outcomes are recorded."""
    return {key: left.get(key, 0) + right.get(key, 0) for key in {**left, **right}}


class State(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    lines: Annotated[list[str], operator.add]
    counts: Annotated[dict[str, int], merged]
    table: Annotated[dict[str, Any], operator.or_]
    marks: Annotated[set[str], operator.or_]
    note: str
    big: bytes


def answer(state: State) -> dict[str, Any]:
    """Answer the last message; ask now and then, say something large now and then."""
    turn = len(state.get("lines", ()))
    if state.get("note") == "ask":
        interrupt("sure?")
    update: dict[str, Any] = {
        "messages": [{"role": "ai", "content": f"answer {turn} {LONG}"}],
        "lines": [f"line {turn}"],
        "counts": {"turns": 1, f"kind {turn % 3}": turn},
        "table": {f"row {turn % 7}": [turn, {"of": turn % 5}]},
        "marks": {f"mark {turn % 4}"},
    }
    if turn % 40 == 7:
        update["big"] = bytes([turn % 256]) * 70_000
    return update


def graph_over(log: EventLog) -> Any:
    """Return a small chat over a log."""
    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_node("rest", lambda state: {})
    builder.add_edge(START, "answer")
    builder.add_edge("answer", "rest")
    builder.add_edge("rest", END)
    return builder.compile(checkpointer=log)


def config_of(thread: str, checkpoint: str | None = None) -> dict[str, Any]:
    """Return the config of a thread, or of one of its checkpoints."""
    extra = {} if checkpoint is None else {"checkpoint_id": checkpoint, "checkpoint_ns": ""}
    return {"configurable": {"thread_id": thread, **extra}}


def talk(graph: Any, thread: str, turns: int, *, durability: str = "async") -> None:
    """Say something, several times."""
    for turn in range(turns):
        said = {"messages": [("user", f"question {turn} {LONG}")], "note": f"{turn}"}
        graph.invoke(said, config_of(thread), durability=durability)


def live_a_little(log: EventLog, turns: int, *, seed: int = 1) -> None:
    """Do what users do: chat, ask, go back, branch, fork, copy; on several threads in turn."""
    dice = random.Random(seed)
    graph = graph_over(log)
    names = ["one", "two"]
    for turn in range(turns):
        thread = dice.choice(names)
        talk(graph, thread, 1, durability=dice.choice(["sync", "async", "exit"]))
        past = [snapshot.config for snapshot in graph.get_state_history(config_of(thread), limit=40)]
        what = dice.randrange(10)
        if what == 0:
            graph.update_state(dice.choice(past), {"lines": ["edited"], "note": "edited"}, as_node="rest")
        elif what == 1:
            graph.invoke({"messages": [("user", "elsewhere")]}, dice.choice(past))
        elif what == 2:
            graph.invoke({"note": "ask"}, config_of(thread))
        elif what == 3 and len(names) < 5:
            names.append(f"fork {seed} {turn}")
            log.fork(dice.choice(past), names[-1])


def everything(log: EventLog) -> list[Any]:
    """Return all that can be read of a log's threads."""
    return list(each(log))


def each(log: EventLog) -> Iterator[Any]:
    """Yield all that can be read of a log's threads, without a graph's help or any cache of another reader."""
    graph = graph_over(log)
    for info in threads(log):
        yield info
        yield plain(graph.get_state(config_of(info.thread_id)))
        yield from map(plain, graph.get_state_history(config_of(info.thread_id)))


def plain(snapshot: Any) -> Any:
    """Return a snapshot in a form that is compared by value and type."""
    values = {key: sorted(value) if type(value) is set else value for key, value in snapshot.values.items()}
    kinds = {key: type(value) for key, value in snapshot.values.items()}
    return repr((values, kinds, *snapshot[1:]))


def without_views(path: Path, to: Path) -> Path:
    """Return a copy of a log that has no views."""
    shutil.rmtree(to, ignore_errors=True)
    for folder in ("log", "keys"):
        (to / folder).mkdir(parents=True)
        shutil.copyfile(path / folder / "data.mdb", to / folder / "data.mdb")
    return to


def rows_of(path: Path) -> dict[str, list[tuple[bytes, bytes]]]:
    """Return every row of a log's views."""
    with lmdb.open(str(path / "views"), max_dbs=16, readonly=True, lock=False) as environment:
        handles = {name: environment.open_db(name.encode(), create=False) for name in TABLES}
        with environment.begin() as transaction:
            return {name: list(transaction.cursor(db=handle)) for name, handle in handles.items()}
