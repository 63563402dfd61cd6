"""`LogValues`: how a logged run's values become stored data and come back; large ones go through the blob store.

Cells that nobody has looked at yet keep the `LogValues` that will decode them, and are kept in memory for as long as
their log lives. So a `LogValues` does not keep its log alive, or no log would ever be let go.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from ..eventlog.blobs import BLOB_THRESHOLD, lift_blob
from ..eventlog.errors import LogClosed, UnsupportedTypeError
from ..eventlog.log import EventLog, StreamName
from ..eventlog.serde import Serializer
from .cells import Values
from .fallback import FallbackSerializer

RECORD_BYTES = 256 * 1024
"""What one record holds of values at most, before the largest of them become blobs."""
_SMALLEST_BLOB = 1024


def encoded_for(channel: str, value: Any, values: Values) -> Any:
    """Return what is stored for a channel's value; a refusal says where in the state: `messages[3].meta.lock`."""
    try:
        return values.encode(value)
    except UnsupportedTypeError as error:
        error.lies_below(channel)
        raise


class LogValues:
    """`Values` of one thread of a log. Encodes with the graph's types; what is over 64 KiB becomes a blob."""

    plain = False
    __slots__ = ("_log", "_name", "_serializer", "encode_elements", "raw", "types", "unknown")

    def __init__(self, log: EventLog, name: StreamName | None, serializer: Serializer) -> None:
        self._log = ref(log)
        self._name = name
        self._serializer = serializer
        self.encode_elements = serializer.encode_elements
        self.raw = serializer.encode
        self.unknown = serializer.unknown
        serde = id(serializer.serde) if isinstance(serializer, FallbackSerializer) else None
        self.types = (serializer.registry.classes(), serde)

    def encode(self, value: Any) -> Any:
        """Return the bytes of a value, or the array of the blob that holds them."""
        return self.store(self._serializer.encode(value))

    def fit(self, parts: list[Any]) -> list[Any]:
        """Return the stored data that one record is to hold, its largest parts as blobs where all would be too much."""
        size = sum(len(part) for part in parts if type(part) is bytes)
        if size <= RECORD_BYTES:
            return parts
        fitted = list(parts)
        largest = sorted((len(part), place) for place, part in enumerate(parts) if type(part) is bytes)
        while size > RECORD_BYTES and largest and largest[-1][0] > _SMALLEST_BLOB:
            length, place = largest.pop()
            fitted[place] = self._blob(parts[place])
            size -= length
        return fitted

    def decode(self, data: Any) -> Any:
        """Return the value of stored data; raises `MalformedValue` or `IntegrityError`."""
        if type(data) is bytes:
            return self._serializer.decode(data)
        return self._serializer.decode(self._alive().get_blob(lift_blob(data)))

    def store(self, data: bytes) -> Any:
        """Return encoded bytes as they are stored: themselves, or the array of the blob that holds them."""
        return data if len(data) <= BLOB_THRESHOLD else self._blob(data)

    def _blob(self, data: bytes) -> Any:
        assert self._name is not None, "a reader of other threads does not write"
        return self._alive().put_blob(self._name, data)

    def _alive(self) -> EventLog:
        log = self._log()
        if log is None:
            raise LogClosed("the log of this value was let go before its blob was read; keep the log, or open it again")
        return log
