"""What a foreign runtime's tasks wrote, by checkpoint: it may store a step's writes after the step's checkpoint.

An index of versions only, made by reading a stream once and its tail after that, for the streams asked for last.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from ..eventlog.events import ChannelWritten, ThreadForked
from ..eventlog.log import EventLog
from .inherited import inherited
from .open_thread import OpenThread, Place
from .reader import StreamPast
from .thread import OpenWrites

_Versions = dict[bytes, list[int]]
_CACHED_STREAMS = 256


class LateWrites:
    """The write events of foreign threads, by the checkpoint they belong to. Thread-safe."""

    def __init__(self) -> None:
        self._streams: OrderedDict[bytes, tuple[int, _Versions]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, log: EventLog, thread: OpenThread, place: Place) -> OpenWrites:
        """Return all that was written at a checkpoint, whenever it was."""
        past = thread.past()
        numbers = self._numbers(log, past, thread.stream, place.state.id)
        written = {number: past.written_at(number) for number in numbers}
        return {number: w for number, w in written.items() if w.namespace == place.state.namespace}

    def _numbers(self, log: EventLog, past: StreamPast, stream: bytes, checkpoint: bytes) -> list[int]:
        own = self._versions(log, stream).get(checkpoint, [])
        fork: ThreadForked | None = past.fork()
        if fork is None:
            return own
        until = max(fork.cut, fork.version)
        before = self._numbers(log, past.source_of(fork), fork.source, checkpoint)
        return [inherited(number) for number in before if number <= until] + own

    def _versions(self, log: EventLog, stream: bytes) -> _Versions:
        with self._lock:
            upto, found = self._streams.get(stream, (0, {}))
            for page in log.scan_stream(stream, after=upto):
                for record in page:
                    upto = record.header.version
                    if record.header.kind == ChannelWritten.kind:
                        event = record.event
                        assert isinstance(event, ChannelWritten)
                        found.setdefault(event.checkpoint, []).append(upto)
            self._streams[stream] = (upto, found)
            self._streams.move_to_end(stream)
            while len(self._streams) > _CACHED_STREAMS:
                self._streams.popitem(last=False)
            return found
