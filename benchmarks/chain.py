"""A chain of ten nodes: supersteps a second with each durability, against LangGraph with and without a saver.

Two folders, since flushes are most of the time on a disk: one on the disk, one in memory, where only the work shows.
For `sync` also what a superstep costs beyond the commit that it waits for.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lithograph.eventlog import EventLog

from . import machine, peers, report

_threads = itertools.count()


def main() -> None:
    """Measure, print and keep."""
    asked = report.options(__doc__)
    rows: dict[str, Any] = {}
    raw: dict[str, Any] = {}
    for place, in_memory in (("disk", False), ("memory", True)):
        with machine.folder(in_memory=in_memory) as path:
            raw[place] = machine.raw_rates(path, seconds=0.05 if asked.quick else 1)
            rows |= {f"{place}: {row}": value for row, value in _measure(path, quick=asked.quick).items()}
    report.keep("chain", rows, raw=raw, asked=asked)


def _measure(path: Path, *, quick: bool) -> dict[str, Any]:
    with ExitStack() as stack:
        log = stack.enter_context(peers.log(path / "log"))
        rivals = _rivals(path, log, stack, invocations=2 if quick else 20)
        figures = report.alternate(rivals, 1 if quick else 7)
        rows: dict[str, Any] = {f"{name}, supersteps/s": report.median(found) for name, found in figures.items()}
        if peers.PEERS:
            rows |= _ratios(figures)
        return rows | _beyond_the_commit(path, log, invocations=2 if quick else 40)


def _rivals(path: Path, log: EventLog, stack: ExitStack, *, invocations: int) -> dict[str, Callable[[], float]]:
    mine, theirs = peers.ours(), peers.theirs() if peers.PEERS else None
    graph = peers.chain(mine).compile(checkpointer=log)
    rivals = {
        "lithograph, async": _timed(graph, invocations),
        "lithograph, sync": _timed(graph, invocations, durability="sync"),
        "lithograph, no log": _timed(peers.chain(mine).compile(), invocations),
    }
    if theirs is not None:
        saver = stack.enter_context(peers.sqlite_saver(path / "checkpoints.sqlite"))
        sqlite = peers.chain(theirs).compile(checkpointer=saver)
        memory = peers.chain(theirs).compile(checkpointer=peers.memory_saver())
        rivals["LangGraph + SqliteSaver, async"] = _timed(sqlite, invocations)
        rivals["LangGraph + SqliteSaver, sync"] = _timed(sqlite, invocations, durability="sync")
        rivals["LangGraph + InMemorySaver"] = _timed(memory, invocations)
        rivals["LangGraph, no checkpointer"] = _timed(peers.chain(theirs).compile(), invocations)
    return rivals


def _timed(graph: Any, invocations: int, **options: Any) -> Callable[[], float]:
    def run() -> float:
        began = time.perf_counter()
        for _ in range(invocations):
            graph.invoke({"n": 0}, peers.config(f"t{next(_threads)}"), **options)
        return invocations * peers.CHAIN / (time.perf_counter() - began)

    return run


def _ratios(figures: dict[str, list[float]]) -> dict[str, float]:
    """Return ours over theirs, round by round, so that a slow moment of the machine hits both."""

    def ratio(one: str, other: str) -> float:
        return report.median([a / b for a, b in zip(figures[one], figures[other], strict=True)])

    return {
        "async / SqliteSaver async": ratio("lithograph, async", "LangGraph + SqliteSaver, async"),
        "sync / SqliteSaver sync": ratio("lithograph, sync", "LangGraph + SqliteSaver, sync"),
        "async / LangGraph without checkpointer": ratio("lithograph, async", "LangGraph, no checkpointer"),
    }


def _beyond_the_commit(path: Path, log: EventLog, *, invocations: int) -> dict[str, Any]:
    """Return the mean time from one node to the next in `sync`, less the mean raw commit of the same bytes."""
    times: list[float] = []

    def node(state: peers.Count) -> Any:
        times.append(time.perf_counter())
        return {"n": state["n"] + 1}

    graph = peers.chain(peers.ours(), node).compile(checkpointer=log)
    graph.invoke({"n": 0}, peers.config(f"t{next(_threads)}"), durability="sync")
    times.clear()
    size = _bytes_a_superstep(log)
    commits: list[float] = []
    for _ in range(invocations):
        commits.append(machine.commit_seconds(path, seconds=0.02, record_bytes=size))
        graph.invoke({"n": 0}, peers.config(f"t{next(_threads)}"), durability="sync")
    gaps = [b - a for at, (a, b) in enumerate(itertools.pairwise(times)) if (at + 1) % peers.CHAIN]
    superstep, commit = statistics.mean(gaps), statistics.mean(commits)
    medians = statistics.median(gaps) - statistics.median(commits)
    # A disk that had time to rest takes longer, whoever asks it.
    paced = statistics.mean(
        machine.commit_seconds(path, seconds=0.02, record_bytes=size, work_seconds=superstep - commit)
        for _ in range(invocations)
    )
    return {
        "sync: bytes a superstep": size,
        "sync: mean superstep, µs": round(superstep * 1e6, 1),
        "sync: mean raw commit of the same bytes, µs": round(commit * 1e6, 1),
        "sync: mean superstep - mean raw commit, µs": round((superstep - commit) * 1e6, 1),
        "sync: median superstep - median raw commit, µs": round(medians * 1e6, 1),
        "sync: mean raw commit with as much work between two, µs": round(paced * 1e6, 1),
        "sync: mean superstep - that, µs": round((superstep - paced) * 1e6, 1),
    }


def _bytes_a_superstep(log: EventLog) -> int:
    """Return what the last run took in the log, for each of its supersteps."""
    records = log.read(max(log.log_head().position - 2 * peers.CHAIN, 0), 2 * peers.CHAIN)
    return sum(len(record.data) for record in records) // peers.CHAIN


if __name__ == "__main__":
    main()
