"""The peer of the fold: an aggregate of `eventsourcing`, in its own SQLite recorder, whose events set one value.

The library finds classes by module and name, so this module is imported only where the library is installed.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

_EVENTS_PER_SAVE = 300


class Document(Aggregate):
    """Something with one value."""

    def __init__(self) -> None:
        self.value = ""

    @event("ValueSet")
    def set_value(self, value: str) -> None:
        """Set the value, of 40 bytes here."""
        self.value = value


def write(file: Path, aggregates: int, events: int) -> list[UUID]:
    """Store aggregates of so many events each, and return their ids."""
    application, draw = _open(file), random.Random(1)
    written: list[UUID] = []
    for _ in range(aggregates):
        document = Document()
        for number in range(1, events):
            document.set_value(draw.randbytes(20).hex())
            if number % _EVENTS_PER_SAVE == 0:
                application.save(document)
        application.save(document)
        written.append(document.id)
    application.close()
    return written


def fold(file: str, ids: list[str]) -> None:
    """Fold every aggregate to its head, and print how many events that were and how long it took."""
    application = _open(Path(file))
    began, began_cpu = time.perf_counter(), time.thread_time()
    events = sum(application.repository.get(UUID(name)).version for name in ids)
    spent, cpu = time.perf_counter() - began, time.thread_time() - began_cpu
    application.close()
    print(json.dumps({"events": events, "fold_s": spent, "cpu_s": cpu}))


def _open(file: Path) -> Application[UUID]:
    return Application[UUID](env={"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(file)})
