"""`lithograph stats`: what a log holds, counted: events by kind, bytes, streams, time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .options import AsJson, LogPath
from .output import progress_bar, size_text, write_json, write_pairs, write_table
from .reading import opened

if TYPE_CHECKING:
    from ..eventlog import EventLog, Record

_PAGE = 4096


@dataclass(slots=True)
class _Count:
    events: Counter[str] = field(default_factory=Counter[str])
    bytes: Counter[str] = field(default_factory=Counter[str])
    first_us: int | None = None
    last_us: int | None = None

    def add(self, name: str, record: Record) -> None:
        self.events[name] += 1
        self.bytes[name] += len(record.data)
        self.last_us = record.header.time_us
        if self.first_us is None:
            self.first_us = self.last_us


def stats(log: LogPath, *, as_json: AsJson = False) -> int:
    """Count a log's events by kind, their bytes, its threads and other streams."""
    with opened(log) as opened_log:
        document = _document(log, opened_log, quiet=as_json)
    if as_json:
        write_json(document)
        return 0
    head = {
        "log": document["log"],
        "events": f"{document['events']:,}",
        "threads": f"{document['threads']:,}",
        "record bytes": size_text(document["record_bytes"]),
        "folder bytes": size_text(document["folder_bytes"]),
        "first event": document["first_at"] or "none",
        "last event": document["last_at"] or "none",
    }
    write_pairs(head)
    write_table(
        ["kind", "events", "bytes"],
        [[name, f"{part['events']:,}", size_text(part["bytes"])] for name, part in document["kinds"].items()],
        right=["events", "bytes"],
    )
    return 0


def folder_bytes(path: Path) -> int:
    """Return what a log's folder takes up on disk: allocated blocks, since the files are sparse."""
    return sum(file.stat().st_blocks * 512 for file in path.rglob("*") if file.is_file())


def _document(path: Path, log: EventLog, *, quiet: bool) -> dict[str, Any]:
    from ..projections import threads

    count = _count(log, quiet=quiet)
    return {
        "log": str(path),
        "events": count.events.total(),
        "threads": sum(1 for _ in threads(log)),
        "record_bytes": count.bytes.total(),
        "folder_bytes": folder_bytes(path),
        "first_at": _time(count.first_us),
        "last_at": _time(count.last_us),
        "kinds": {name: {"events": events, "bytes": count.bytes[name]} for name, events in count.events.most_common()},
    }


def _count(log: EventLog, *, quiet: bool) -> _Count:
    from ..eventlog.events import EVENTS

    names, count = {kind: cls.__name__ for kind, cls in EVENTS.items()}, _Count()
    with progress_bar(quiet=quiet) as bar:
        counted = bar.add_task("counting", total=log.log_head().position)
        for page in log.scan(page=_PAGE):
            for record in page:
                count.add(names.get(record.header.kind, f"kind {record.header.kind}"), record)
            bar.advance(counted, len(page))
    return count


def _time(time_us: int | None) -> str | None:
    return None if time_us is None else datetime.fromtimestamp(time_us / 1_000_000, UTC).isoformat()
