"""A fork is one event: bytes and time of a thousand forks, of a short thread and of a long one."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from . import machine, peers, report

FORKS = 1000


def main() -> None:
    """Measure, print and keep."""
    asked = report.options(__doc__)
    rows: dict[str, Any] = {}
    with machine.folder(in_memory=True) as path:
        raw = machine.raw_rates(path, seconds=0.05 if asked.quick else 1)
        for turns in (5, 20) if asked.quick else (10, 1000):
            found = _forks(path / f"log{turns}", turns, 20 if asked.quick else FORKS)
            rows |= {f"thread of {turns} turns: {row}": value for row, value in found.items()}
    report.keep("forks", rows, raw=raw, asked=asked)


def _forks(path: Path, turns: int, forks: int) -> dict[str, Any]:
    text = peers.talker(1)
    with peers.log(path) as log:
        graph = peers.chat(peers.ours(), text).compile(checkpointer=log)
        for _ in range(turns):
            graph.invoke({"messages": [text()]}, peers.config("source"))
    before = machine.folder_bytes(path)
    with peers.log(path) as log:
        graph = peers.chat(peers.ours(), text).compile(checkpointer=log)
        log.fork(peers.config("source"), "first")
        first = log.log_head().position
        took: list[float] = []
        for number in range(forks):
            began = time.perf_counter()
            log.fork(peers.config("source"), f"fork-{number}")
            took.append(time.perf_counter() - began)
        records = log.read(first, forks)
        assert len(records) == forks, "one event a fork"
        began = time.perf_counter()
        held = graph.get_state(peers.config(f"fork-{forks - 1}")).values["messages"]
        read_ms = (time.perf_counter() - began) * 1e3
        assert len(held) == 2 * turns
    return {
        "bytes of a fork's record": max(len(record.data) for record in records),
        f"folder growth by {forks} forks, bytes": machine.folder_bytes(path) - before,
        "a fork, µs (median)": round(statistics.median(took) * 1e6, 1),
        "get_state of a fork, ms": round(read_ms, 2),
    }


if __name__ == "__main__":
    main()
