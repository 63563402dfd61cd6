"""The event log: bytes, and what is promised of them.

Start at `EventLog` in `log`; `events` is all that can be said, `record` how it is stored, `engine` the seam
to storage.
"""

from .blobs import BLOB_THRESHOLD, BlobRef, lift_blob
from .clock import CheckpointId, CheckpointIds, Clock, ManualClock, SystemClock, id_bytes, id_text
from .engine import ANY, Appended, Engine, Head, Identity, Limits, LogHead
from .log import EventLog
from .reading import Record
from .record import NO_ID, Header, Position
from .streams import StreamName
from .verify import Finding, VerifyReport
from .writing import StreamWrite

__all__ = [
    "EventLog",
    "Record",
    "Header",
    "Position",
    "StreamName",
    "StreamWrite",
    "Appended",
    "Head",
    "LogHead",
    "Identity",
    "ANY",
    "NO_ID",
    "BlobRef",
    "BLOB_THRESHOLD",
    "lift_blob",
    "Finding",
    "VerifyReport",
    "Clock",
    "SystemClock",
    "ManualClock",
    "CheckpointId",
    "CheckpointIds",
    "id_text",
    "id_bytes",
    "Engine",
    "Limits",
]
