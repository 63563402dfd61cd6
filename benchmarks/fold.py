"""Folding a million events of 300 B as stored over 100 threads, a third of them commits: no views, all checks on.

From disk: a child process folds, so that nothing is warm but the file system's cache. Where `eventsourcing` is
installed, it folds in turns with ours: aggregates from its own SQLite file, whose events set a value of 40 bytes each.

An event takes 300 B as stored: 144 of header, 16 of salt, and 125 (a write of 40 to 50 characters) to 171 (a commit) of
body, most of it ids and names. With empty values it would still be 270.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from lithograph.eventlog import EventLog, StreamName, StreamWrite
from lithograph.eventlog.events import ChannelResult, ChannelWritten, CheckpointCommitted, Event, PlannedTask, ResultOp
from lithograph.eventlog.serde import BASE, Serializer

from . import machine, peers, report

THREADS = 100
EVENTS = 1_000_000
AGGREGATES = 5
EVENTS_PER_AGGREGATE = 10_000
_STEPS_PER_APPEND = 100
_PULL = "__pregel_pull"


def main() -> None:
    """Measure, print and keep."""
    asked = report.options(__doc__)
    events = 20_000 if asked.quick else EVENTS
    with machine.folder() as path:
        raw = machine.raw_rates(path, seconds=0.05 if asked.quick else 1)
        began = time.perf_counter()
        with EventLog(path / "log") as log:
            write(log, events, THREADS)
            records = log.read(log.log_head().position - 300, 300)
        wrote = time.perf_counter() - began
        shutil.rmtree(path / "log" / "views", ignore_errors=True)
        peer = _peer(path / "aggregates.sqlite", quick=asked.quick) if peers.AGGREGATES else None
        ours: list[dict[str, Any]] = []
        theirs: list[dict[str, Any]] = []
        for _ in range(1 if asked.quick else 3):
            ours.append(_elsewhere(f"from benchmarks.fold import fold; fold({str(path / 'log')!r})"))
            if peer is not None:
                theirs.append(_elsewhere(peer))
    folded = ours[0]["events"]
    rows: dict[str, Any] = {
        "events": folded,
        "threads": THREADS,
        "bytes an event, as stored": sum(len(record.data) for record in records) // len(records),
        "appending, events/s": round(folded / wrote),
        "folding every thread to its head, events/s": report.median([r["events"] / r["fold_s"] for r in ours]),
        "the same, for each second of processor time": report.median([r["events"] / r["cpu_s"] for r in ours]),
        "reading with all checks alone, events/s": report.median([r["events"] / r["scan_s"] for r in ours]),
    }
    if theirs:
        rows |= _against(ours, theirs)
    report.keep("fold", rows, raw=raw, asked=asked)


def _against(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> dict[str, float]:
    """Return their rate, and ours over theirs, round by round and by processor time."""
    ratios = [
        (mine["events"] / mine["cpu_s"]) / (other["events"] / other["cpu_s"])
        for mine, other in zip(ours, theirs, strict=True)
    ]
    return {
        f"eventsourcing, {theirs[0]['events']:,} events from SQLite, events/s": report.median(
            [other["events"] / other["fold_s"] for other in theirs]
        ),
        "lithograph / eventsourcing, by processor time": report.median(ratios),
    }


def _peer(file: Path, *, quick: bool) -> str:
    """Write the peer's aggregates, and return the code that folds them in a process of its own."""
    from . import aggregates

    ids = aggregates.write(file, AGGREGATES, 200 if quick else EVENTS_PER_AGGREGATE)
    return f"from benchmarks.aggregates import fold; fold({str(file)!r}, {[str(id_) for id_ in ids]})"


def write(log: EventLog, events: int, threads: int) -> None:
    """Append supersteps of two writes and a commit, of 140 B each beside header and salt, thread by thread in turns."""
    serializer, draw = Serializer(BASE), random.Random(1)
    heads = [(b"", 0, 0)] * threads
    while True:
        for number in range(threads):
            if log.log_head().position >= events:
                return
            checkpoint, parent_version, version = heads[number]
            batch: list[Event] = []
            for _ in range(_STEPS_PER_APPEND):
                new = draw.randbytes(16)
                step = _superstep(serializer, draw, checkpoint, new, parent_version, version)
                batch += step
                version += len(step)
                checkpoint, parent_version = new, version
            drafts = [log.stamp(event, run=b"r" * 16, time_us=1_700_000_000_000_000) for event in batch]
            name = StreamName("thread", f"t{number}")
            log.append([StreamWrite(name, heads[number][2], drafts)])
            heads[number] = (checkpoint, parent_version, version)


def _superstep(
    serializer: Serializer, draw: random.Random, old: bytes, new: bytes, parent_version: int, version: int
) -> list[Event]:
    writes = [
        ChannelWritten(old or bytes(16), "", draw.randbytes(16), name, (_PULL, name), ((channel, data),))
        for name, channel, data in (
            ("left", "items", serializer.encode([draw.randbytes(20).hex()])),
            ("right", "last", serializer.encode(draw.randbytes(25).hex())),
        )
    ]
    results = (
        ChannelResult("items", ResultOp.ADD, None, b""),
        ChannelResult("last", ResultOp.LAST, None, b""),
    )
    task = PlannedTask(draw.randbytes(16), "left", (_PULL, "left"), ("go",))
    commit = CheckpointCommitted(
        new,
        old or None,
        parent_version,
        "",
        version // 3,
        "loop",
        None,
        {},
        b"g" * 16,
        (task,),
        (version + 1, version + 2),
        results,
        version // 3 + 1,
        (),
        (),
        ("items", "last"),
    )
    return [*writes, commit]


def _elsewhere(code: str) -> dict[str, Any]:
    """Run code in a new process and return the JSON that it prints."""
    root = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout)


def fold(path: str) -> None:
    """Fold every thread of a log, opened read-only, and print how long it took."""
    from lithograph.projections.reader import threads_of
    from lithograph.projections.values import LogValues

    with EventLog(path, read_only=True) as log:
        streams = {record.header.stream for record in log.read(0, 3 * _STEPS_PER_APPEND * THREADS)}
        names = [log.stream_name(stream) for stream in streams]
        began = time.perf_counter()
        scanned = sum(len(page) for page in log.scan())
        scan_s = time.perf_counter() - began
        began, began_cpu = time.perf_counter(), time.thread_time()
        folded = 0
        for name in names:
            values = LogValues(log, name, Serializer(BASE))
            folded += threads_of(log).head(log, log.stream_id(name), values).version
        fold_s, cpu_s = time.perf_counter() - began, time.thread_time() - began_cpu
    assert folded == scanned
    print(json.dumps({"events": folded, "fold_s": fold_s, "cpu_s": cpu_s, "scan_s": scan_s}))


if __name__ == "__main__":
    main()
