"""`LogValues`: how a logged run's values become stored data and come back; large ones go through the blob store."""

from __future__ import annotations

from typing import Any

from ..eventlog.blobs import BLOB_THRESHOLD, lift_blob
from ..eventlog.log import EventLog, StreamName
from ..eventlog.serde import Serializer
from .fallback import FallbackSerializer


class LogValues:
    """`Values` of one thread of a log. Encodes with the graph's types; what is over 64 KiB becomes a blob."""

    plain = False
    __slots__ = ("_log", "_name", "_serializer", "encode_elements", "raw", "types")

    def __init__(self, log: EventLog, name: StreamName | None, serializer: Serializer) -> None:
        self._log = log
        self._name = name
        self._serializer = serializer
        self.encode_elements = serializer.encode_elements
        self.raw = serializer.encode
        serde = id(serializer.serde) if isinstance(serializer, FallbackSerializer) else None
        self.types = (serializer.registry.classes(), serde)

    def encode(self, value: Any) -> Any:
        """Return the bytes of a value, or the array of the blob that holds them."""
        return self.store(self._serializer.encode(value))

    def decode(self, data: Any) -> Any:
        """Return the value of stored data; raises `MalformedValue` or `IntegrityError`."""
        if type(data) is bytes:
            return self._serializer.decode(data)
        return self._serializer.decode(self._log.get_blob(lift_blob(data)))

    def store(self, data: bytes) -> Any:
        """Return encoded bytes as they are stored: themselves, or the array of the blob that holds them."""
        if len(data) <= BLOB_THRESHOLD:
            return data
        assert self._name is not None, "a reader of other threads does not write"
        return self._log.put_blob(self._name, data)
