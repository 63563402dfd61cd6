"""`EventLogSaver`: a log as a checkpointer."""

from __future__ import annotations

import os
from typing import Any

from ..eventlog.log import EventLog
from ..eventlog.serde import Serializer


class EventLogSaver:
    """A log under the name that `compile(checkpointer=…)` knows it by."""

    def __init__(self, log: EventLog | str | os.PathLike[str], *, serde: Any = None) -> None:
        self.log = log if isinstance(log, EventLog) else EventLog(log)
        self.serde = serde
        self.serializer = Serializer()


class InMemorySaver(EventLogSaver):
    """A saver over a log that lives as long as the process."""

    def __init__(self, *, serde: Any = None) -> None:
        super().__init__(EventLog.in_memory(), serde=serde)
