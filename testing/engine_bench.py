"""An engine on the bench: shorthands with which the conformance suite appends to one and reads it back."""

from __future__ import annotations

from ..eventlog.codec import encode_body
from ..eventlog.engine import Append, Appended, Conflict, Draft, Engine, StreamAppend
from ..eventlog.events import Recorded
from ..eventlog.reading import checked, checked_stream
from ..eventlog.record import NO_ID
from ..eventlog.streams import StreamName, encode_name, stream_ids


class Bench:
    """An engine with shorthands: what a test needs to append to it and to read it back."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.scope, keys = engine.draw_keys(1)
        self.scope_key = keys[0]
        self._id = stream_ids(engine.identity().secret)
        self._appends = 0

    def stream(self, name: StreamName | str) -> bytes:
        """Return the id of a stream."""
        return self._id(StreamName("thread", name) if isinstance(name, str) else name)

    def part(self, name: StreamName | str, expected: int, *data: bytes, first: bool | None = None) -> StreamAppend:
        """Return a stream's part of an append; `first` says that the first record has to name the stream."""
        full = encode_name(StreamName("thread", name) if isinstance(name, str) else name)
        named = expected == 0 if first is None else first
        drafts = [
            Draft(
                Recorded.kind,
                Recorded.schema,
                1_000_000,
                NO_ID,
                self._body(item, full if named and not at else None),
            )
            for at, item in enumerate(data)
        ]
        return StreamAppend(self.stream(name), expected, drafts, self.scope, self.scope_key)

    def make(self, *parts: StreamAppend, append_id: bytes | None = None, since: int | None = None) -> Append:
        """Return an append, under a new id unless one is given."""
        self._appends += 1
        return Append(append_id or self._appends.to_bytes(16, "big"), parts, since)

    def append(self, *parts: StreamAppend, append_id: bytes | None = None, since: int | None = None) -> Appended:
        """Append and return where; a conflict fails the test."""
        outcome = self.engine.commit((self.make(*parts, append_id=append_id, since=since),))[0]
        assert isinstance(outcome, Appended), outcome
        return outcome

    def refused(self, *parts: StreamAppend, append_id: bytes | None = None) -> Conflict:
        """Append and return the conflict; acceptance fails the test."""
        outcome = self.engine.commit((self.make(*parts, append_id=append_id),))[0]
        assert isinstance(outcome, Conflict), outcome
        return outcome

    def everything(self) -> list[tuple[int, bytes]]:
        """Return all records, read in small pages and checked."""
        found: list[tuple[int, bytes]] = []
        while page := self.engine.read(len(found), 7).records:
            checked(self.engine.read(len(found), 7), len(found))
            found += page
        return found

    def data(self, name: StreamName | str) -> list[object]:
        """Return what was appended to a stream, read in pages and checked."""
        stream, found = self.stream(name), list[object]()
        while records := checked_stream(self.engine.read_stream(stream, len(found), 100), stream, len(found)):
            for record in records:
                event = record.event
                assert isinstance(event, Recorded)
                found.append(event.data)
        return found

    def _body(self, data: bytes, name: bytes | None) -> bytes:
        return encode_body(Recorded("test", data), None, None, name)
