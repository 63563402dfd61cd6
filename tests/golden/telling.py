"""What a reader is told by the golden log, as JSON can hold it: the same on every machine and in every version to come.

Read without the graphs, as an auditor would. The thread `values` is left out: its values are compared as values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lithograph.eventlog import EventLog
from lithograph.eventlog.reading import Record
from lithograph.graph import EventLogCache
from lithograph.projections import history, snapshot, threads
from lithograph.store import EventLogStore

from tests.golden.tour import config_of
from tests.laws.looks import whole

_MESSAGE = ("type", "id", "content")
_BRIEF = 200
CACHED = [(("desk", "rates"), "large"), (("desk", "rates"), "none"), (("desk", "gone"), "4711")]


def tell(log: EventLog) -> dict[str, Any]:
    """Return everything that the log's records, threads and store tell."""
    store = EventLogStore(log)
    return {
        "records": [_record(log, record) for page in log.scan() for record in page],
        "threads": {info.thread_id: [info.status, *_looks(log, info.thread_id)] for info in threads(log)},
        "items": [plain(item.dict()) for item in store.search((), limit=100)],
        "namespaces": plain(store.list_namespaces()),
        "cached": {key: plain(value) for (_space, key), value in EventLogCache[Any](log).get(CACHED).items()},
    }


def _record(log: EventLog, record: Record) -> str:
    name = log.stream_name(record.header.stream)
    label = name.name if isinstance(name.name, str) else name.name.hex()
    body = record.body
    place = f"{record.position} {name.kind}/{label} {record.header.version}"
    who = "" if body.actor is None else f" by {body.actor}: {body.reason}"
    return f"{place} {type(body.event).__name__} {record.hash.hex()}{who}"


def _looks(log: EventLog, thread: str) -> Iterator[Any]:
    """Yield the thread as it stands and as each checkpoint shows it, newest first."""
    if thread != "values":
        yield plain(whole(snapshot(log, config_of(thread))))
        for entry in history(log, config_of(thread)):
            yield plain(whole(entry))


def plain(value: Any) -> Any:
    """Return a value as JSON has it; a message is what every library of messages has, all else its text."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(part) for part in value)
    if hasattr(value, "content"):
        return {name: getattr(value, name) for name in _MESSAGE}
    if isinstance(value, str):
        return value if len(value) <= _BRIEF else f"{value[:_BRIEF]}… ({len(value)} characters)"
    return value if value is None or isinstance(value, (bool, int, float)) else repr(value)
