"""One event as plain data: the few fields that say what happened, without the values that it carries."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..eventlog import events
from ..eventlog.clock import id_text

if TYPE_CHECKING:
    from ..eventlog import EventLog, Record


def describe_record(log: EventLog, record: Record) -> dict[str, Any]:
    """Return what a record says: place, time, stream, who and why, and what happened."""
    header, body = record.header, record.body
    return {
        "position": record.position,
        "at": datetime.fromtimestamp(header.time_us / 1_000_000, UTC).isoformat(timespec="milliseconds"),
        "kind": type(body.event).__name__,
        "stream": stream_text(log, header.stream),
        "version": header.version,
        "actor": body.actor,
        "reason": body.reason,
        "what": describe(body.event),
    }


def stream_text(log: EventLog, stream: bytes) -> str:
    """Return a stream's name as people read it: its kind and name."""
    name = log.stream_name(stream)
    text = name.name if isinstance(name.name, str) else name.name.hex()
    return f"{name.kind}/{text}"


def describe(event: events.Event) -> dict[str, Any]:
    """Return the fields of an event that say what happened."""
    match event:
        case events.RunStarted():
            return {"trigger": event.trigger, "durability": event.durability, "branch": event.branch}
        case events.RunEnded():
            return {"outcome": event.outcome}
        case events.ChannelWritten():
            return {"node": event.node, "channels": [channel for channel, _ in event.writes]}
        case events.CheckpointCommitted():
            return {
                "checkpoint": id_text(event.id),
                "step": event.step,
                "source": event.source,
                "next": [task.name for task in event.tasks],
            }
        case events.StepRefused():
            return {"channel": event.channel, "error": event.error[1]}
        case events.ItemPut() | events.ItemDeleted():
            return {"namespace": list(event.namespace), "key": event.key}
        case events.CacheStored():
            return {"namespace": list(event.namespace), "key": event.key}
        case events.CacheCleared():
            return {"namespace": None if event.namespace is None else list(event.namespace)}
        case events.ThreadForked():
            return {"source_version": event.version}
        case events.GraphRegistered():
            return {"name": event.name, "digest": event.digest.hex()}
        case events.Recorded():
            return {"topic": event.topic}
        case events.BlobChunk():
            return {"index": event.index, "bytes": len(event.data)}
        case _:
            return {}
