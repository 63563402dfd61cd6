"""A saver's own serde: only for what the registry refuses, never for readers that were not given it."""

from __future__ import annotations

from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import UnsupportedTypeError
from lithograph.eventlog.serde import Opaque, Serializer
from lithograph.projections import EventLogSaver, InMemorySaver, NotSupportedYet

from .conftest import METADATA, checkpoint, counter, fresh, place

INPUT: dict[str, Any] = {"done": ["in"], "word": "", "note": ""}


class Unknown:
    """A value that no registry knows."""

    def __init__(self, number: int) -> None:
        self.number = number


class Numbers:
    """A serde for `Unknown`, and for lists of it."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return the numbers, separated."""
        many = isinstance(obj, list)
        return "many" if many else "one", b",".join(b"%d" % each.number for each in (obj if many else [obj]))

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return what was dumped."""
        values = [Unknown(int(each)) for each in data[1].split(b",")]
        return values if data[0] == "many" else values[0]


def test_a_serde_is_used_for_what_the_registry_refuses(log: EventLog) -> None:
    """Without one such a value is refused before anything is stored; with one it comes back through it."""
    made = checkpoint({"odd": Unknown(7), "many": [Unknown(1), Unknown(2)], "plain": (1, 2)}, {"odd": 1})
    with pytest.raises(UnsupportedTypeError):
        EventLogSaver(log).put(place(), made, METADATA, {"odd": 1})
    assert log.log_head().position == 0

    saver = EventLogSaver(log, serde=Numbers())
    config = saver.put(place(), made, METADATA, {"odd": 1})
    saver.put_writes(config, [("odd", Unknown(8))], "t")

    for reader in (saver, EventLogSaver(fresh(log), serde=Numbers())):
        found = reader.get_tuple(place())
        assert found is not None
        values = found.checkpoint["channel_values"]
        assert values["odd"].number == 7
        assert [each.number for each in values["many"]] == [1, 2]
        assert values["plain"] == (1, 2)
        assert found.pending_writes is not None
        assert found.pending_writes[0][2].number == 8


def test_a_list_of_refused_values_is_still_stored_as_what_changed(log: EventLog) -> None:
    """Splices stay: a list of values for the serde that grows by one stores one."""
    saver = EventLogSaver(log, serde=Numbers())
    config = place()
    for count in (100, 101):
        made = checkpoint({"many": [Unknown(10_000 + each) for each in range(count)]}, {"many": count})
        config = saver.put(config, made, METADATA, {"many": count})

    record = log.read(log.log_head().position - 1)[0]

    assert len(record.data) < 600
    found = saver.get(place())
    assert found is not None
    assert [each.number for each in found["channel_values"]["many"]] == [10_000 + each for each in range(101)]


def test_who_reads_without_the_serde_gets_the_marked_part(log: EventLog) -> None:
    """Nothing is loaded by a reader that was not told to: the part is there with its tag, and is kept as it is."""
    EventLogSaver(log, serde=Numbers()).put(place(), checkpoint({"odd": Unknown(7)}, {"odd": 1}), METADATA, {"odd": 1})

    found = EventLogSaver(log).get(place())

    assert found is not None
    odd = found["channel_values"]["odd"]
    assert type(odd) is Opaque
    assert odd.fields == {"tag": "one", "data": b"7"}
    assert EventLogSaver(log, serde=Numbers()).serializer.decode(Serializer().encode([odd]))[0].number == 7


def test_a_graph_on_a_saver_with_a_serde_stores_what_the_registry_refuses(log: EventLog) -> None:
    """Our own runtime uses a saver's serde as well."""
    graph = counter(EventLogSaver(log, serde=Numbers()))  # type: ignore[arg-type]
    graph.invoke({**INPUT, "note": Unknown(5)}, place())

    assert graph.get_state(place()).values["note"].number == 5
    with pytest.raises(UnsupportedTypeError):
        counter(log).invoke({**INPUT, "note": Unknown(5)}, place("2"))


def test_a_serde_that_seals_or_is_none_is_refused() -> None:
    """A sealing serde would seal nothing yet, so it is refused; so is what is no serde."""
    sealing = Numbers()
    sealing.cipher = object()  # type: ignore[attr-defined]

    with pytest.raises(NotSupportedYet):
        InMemorySaver(serde=sealing)
    with pytest.raises(TypeError, match="dumps_typed"):
        InMemorySaver(serde=object())
