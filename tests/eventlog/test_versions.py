"""Events of other versions: older schemas are lifted, unknown kinds refused, or skipped when they are marked so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from lithograph.eventlog import ANY, EventLog, StreamName, StreamWrite, codec
from lithograph.eventlog.codec import UnknownEvent
from lithograph.eventlog.errors import MalformedValue, NewerFormat
from lithograph.eventlog.events import EVENTS, SKIPPABLE, Event, Recorded
from lithograph.eventlog.upcast import LIFTS

KIND = 901
STREAM = StreamName("app", "appraisals")


class FirstAppraisal(Event, frozen=True):
    """The kind as it began: a price as text, and whom it is for."""

    kind: ClassVar[int] = KIND
    price: str
    client: str


class SecondAppraisal(Event, frozen=True):
    """The price became a number of cents, in the client's place."""

    kind: ClassVar[int] = KIND
    schema: ClassVar[int] = 2
    client: str
    cents: int


class ThirdAppraisal(Event, frozen=True):
    """A field was added at the end: that needs no step."""

    kind: ClassVar[int] = KIND
    schema: ClassVar[int] = 3
    client: str
    cents: int
    currency: str = "EUR"


class Appraisal(Event, frozen=True):
    """Clients became several."""

    kind: ClassVar[int] = KIND
    schema: ClassVar[int] = 4
    clients: tuple[str, ...]
    cents: int
    currency: str = "EUR"


class Note(Event, frozen=True):
    """A kind that readers may skip."""

    kind: ClassVar[int] = KIND | SKIPPABLE
    text: str


class NewerRecorded(Event, frozen=True):
    """`Recorded` as a later version might have it."""

    kind: ClassVar[int] = Recorded.kind
    schema: ClassVar[int] = Recorded.schema + 1
    topic: str
    data: Any
    place: str


class NewerBlobChunk(Event, frozen=True):
    """A kind that no reader may skip, as a later version might have it."""

    kind: ClassVar[int] = 8
    schema: ClassVar[int] = 9


def _first_to_second(fields: list[Any]) -> list[Any]:
    price, client = fields
    return [client, round(float(price) * 100)]


def _third_to_fourth(fields: list[Any]) -> list[Any]:
    client, *rest = fields
    return [[client], *rest]


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Let nobody after the test have decoders of made-up kinds."""
    yield
    codec._decoder.cache_clear()  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def fourth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be the version that knows the fourth schema."""
    monkeypatch.setitem(EVENTS, KIND, Appraisal)
    monkeypatch.setitem(LIFTS, (KIND, 1), _first_to_second)
    monkeypatch.setitem(LIFTS, (KIND, 3), _third_to_fourth)


def _append(log: EventLog, *events: Event) -> None:
    with log.as_actor("valuer", reason="on site"):
        log.append([StreamWrite(STREAM, ANY, [log.stamp(event) for event in events])])


@pytest.mark.usefixtures("fourth")
def test_older_schemas_are_lifted(log: EventLog) -> None:
    """Every older version reads as the newest, through all the steps between, on each way of reading."""
    old = [FirstAppraisal("12.50", "a"), SecondAppraisal("b", 7), ThirdAppraisal("c", 8, "CHF")]
    _append(log, *old, Appraisal(("d", "e"), 9))
    lifted = [
        Appraisal(("a",), 1250),
        Appraisal(("b",), 7),
        Appraisal(("c",), 8, "CHF"),
        Appraisal(("d", "e"), 9),
    ]
    stream = log.stream_id(STREAM)
    assert [record.event for record in log.read()] == lifted
    assert [record.event for record in log.read_stream(stream)] == lifted
    assert [event for page in log.scan_events(stream) for event, *_ in page] == lifted
    assert {(record.body.actor, record.body.reason) for record in log.read()} == {("valuer", "on site")}
    assert log.stream_name(stream) == STREAM


@pytest.mark.usefixtures("fourth")
def test_what_is_stored_stays_as_it_is(log: EventLog) -> None:
    """Lifting is part of reading: records keep their schema, bytes and hashes, and `verify` finds nothing."""
    _append(log, FirstAppraisal("12.50", "a"))
    (before,) = log.read()
    assert before.event == Appraisal(("a",), 1250)
    (after,) = log.read()
    assert after.header.schema == 1
    assert (after.data, after.hash) == (before.data, before.hash)
    if log.path is None:  # a folder is verified by another process, which does not know the made-up kind
        assert log.verify().findings == []


@pytest.mark.usefixtures("fourth")
def test_fields_that_do_not_fit_their_schema_are_malformed(log: EventLog) -> None:
    """A step that fails says which kind it failed on; nothing raw comes out of it."""
    _append(log, FirstAppraisal("a price", "a"))
    with pytest.raises(MalformedValue, match=f"kind {KIND}.*a price"):
        _ = log.read()[0].event
    with pytest.raises(MalformedValue, match=f"kind {KIND}"):
        [*log.scan_events(log.stream_id(STREAM))]


@pytest.mark.usefixtures("fourth")
def test_lifted_fields_are_checked(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a step returns must be what the newest schema holds."""
    monkeypatch.setitem(LIFTS, (KIND, 3), lambda fields: fields)
    _append(log, SecondAppraisal("b", 7))
    with pytest.raises(MalformedValue, match=f"kind {KIND}"):
        _ = log.read()[0].event


@pytest.mark.parametrize("event", [FirstAppraisal("1", "a"), NewerBlobChunk()])
def test_unknown_kinds_and_schemas_are_refused(log: EventLog, event: Event) -> None:
    """An event that this version does not know is `NewerFormat`, which says to upgrade, and its neighbours are read."""
    _append(log, Recorded("before", 1), event, Recorded("after", 2))
    records = log.read()
    with pytest.raises(NewerFormat, match=rf"kind {event.kind} and schema {event.schema}.*upgrade"):
        _ = records[1].event
    with pytest.raises(NewerFormat, match="upgrade"):
        [*log.scan_events(log.stream_id(STREAM))]
    assert [records[0].event, records[2].event] == [Recorded("before", 1), Recorded("after", 2)]
    (finding,) = log.verify().findings
    assert finding.position == 2
    assert "upgrade" in finding.what


@pytest.mark.parametrize("event", [Note("a later kind"), NewerRecorded("topic", 1, "here")])
def test_kinds_that_are_marked_are_skipped(log: EventLog, event: Event) -> None:
    """An unknown event of a skippable kind is an `UnknownEvent`: kept as stored, with who and why; nothing is amiss."""
    _append(log, event, Recorded("after", 2))
    skipped, after = log.read()
    unknown = skipped.event
    assert isinstance(unknown, UnknownEvent)
    assert (unknown.number, unknown.version) == (event.kind, event.schema)
    assert unknown.raw in skipped.data
    assert (skipped.body.actor, skipped.body.reason) == ("valuer", "on site")
    assert after.event == Recorded("after", 2)
    assert [event for page in log.scan_events(log.stream_id(STREAM)) for event, *_ in page] == [unknown, after.event]
    assert log.verify().findings == []
