"""32 threads append 5 chained events of 200 B each, durably: events a second over the raw one-record commit rate."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

from lithograph.eventlog import EventLog, StreamName, StreamWrite
from lithograph.eventlog.events import Recorded

from . import machine, report

APPENDERS = 32
EVENTS = 5
SIZE = 200


def main() -> None:
    """Measure, print and keep."""
    asked = report.options(__doc__)
    seconds, rounds = (0.2, 1) if asked.quick else (3.0, 5)
    rates: list[float] = []
    commits: list[float] = []
    with machine.folder() as path:
        raw = machine.raw_rates(path, seconds=seconds / 3)
        for number in range(rounds):
            commits.append(1 / machine.commit_seconds(path, seconds=seconds / 2, record_bytes=SIZE))
            rates.append(_append(path / f"log{number}", seconds))
    rows: dict[str, Any] = {
        "appenders": APPENDERS,
        "durable chained events/s": report.median(rates),
        "raw one-record commits/s, between the rounds": report.median(commits),
        "events over raw commits": report.median([a / b for a, b in zip(rates, commits, strict=True)]),
        "verified afterwards": True,
    }
    report.keep("appenders", rows, raw=raw, asked=asked)


def _append(path: Path, seconds: float) -> float:
    """Return durable events a second; verifies the log afterwards and that nothing is missing."""
    written = [0] * APPENDERS
    with EventLog(path) as log:
        deadline = time.perf_counter() + seconds

        def work(number: int) -> None:
            name = StreamName("thread", f"t{number}")
            while time.perf_counter() < deadline:
                events = [log.stamp(Recorded("bench", os.urandom(SIZE))) for _ in range(EVENTS)]
                log.append([StreamWrite(name, written[number], events)])
                written[number] += EVENTS

        began = time.perf_counter()
        workers = [threading.Thread(target=work, args=(number,)) for number in range(APPENDERS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        spent = time.perf_counter() - began
        assert log.log_head().position == sum(written)
        assert log.verify().findings == []
    return sum(written) / spent


if __name__ == "__main__":
    main()
