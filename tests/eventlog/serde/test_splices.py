"""What ormsgpack would write into a stored value as raw bytes is refused: fragments, and extensions of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ormsgpack
import pytest
from lithograph.eventlog.errors import UnsupportedTypeError
from lithograph.eventlog.serde import BASE, Serializer


@dataclass
class Holder:
    """A registered class with a field for anything."""

    name: str
    held: Any


SPLICES: dict[str, Callable[[], Any]] = {
    "a fragment of a number": lambda: ormsgpack.Fragment(b"\x05"),
    "a fragment of a list": lambda: ormsgpack.Fragment(b"\x92\x01\x02"),
    "a fragment of bytes": lambda: ormsgpack.Fragment(b"\xc4\x01x"),
    "a fragment of an extension": lambda: ormsgpack.Fragment(b"\xd4\x01\x90"),
    "an extension like ours": lambda: ormsgpack.Ext(1, b"\x90"),
    "an extension of nobody": lambda: ormsgpack.Ext(99, b"x"),
}
PLACES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "alone": (lambda part: part, "$"),
    "in a list": (lambda part: [1, part], "$[1]"),
    "in a dict": (lambda part: {"a": 1, "b": part}, "b"),
    "deep": (lambda part: {"a": [{"b": [0, 1, part]}]}, "a[0].b[2]"),
    "in a tuple": (lambda part: [(1, part)], "$[0][1]"),
    "in a dict with other keys": (lambda part: {1: part}, "$[1]"),
    "in a dataclass": (lambda part: Holder("x", part), "held"),
    "deep in a dataclass": (lambda part: [Holder("x", {"a": [part]})], "$[0].held.a[0]"),
    "in a dataclass in one": (lambda part: Holder("x", Holder("y", [part])), "held.held[0]"),
}


@pytest.mark.parametrize("splice", SPLICES)
@pytest.mark.parametrize("place", PLACES)
def test_raw_bytes_are_refused_with_their_path(place: str, splice: str) -> None:
    """Wherever it is, such an object is an `UnsupportedTypeError` that names where, and no bytes come out."""
    wrap, path = PLACES[place]
    serializer = Serializer(BASE.extended([Holder]))
    with pytest.raises(UnsupportedTypeError) as caught:
        serializer.encode(wrap(SPLICES[splice]()))
    assert caught.value.path == path


def test_one_that_lies_elsewhere_is_no_matter() -> None:
    """While there are such objects, values without one are stored as ever; when they are gone, too."""
    serializer = Serializer(BASE.extended([Holder]))
    values = [{"a": [1, "x", b"y", None]}, Holder("x", [1, {2, 3}]), (1, 2), "text", 5]
    before = [serializer.encode(value) for value in values]
    others = [make() for make in SPLICES.values()]
    assert [serializer.encode(value) for value in values] == before
    with pytest.raises(UnsupportedTypeError):
        serializer.encode(others)
    del others
    assert [serializer.decode(data) for data in before] == values


_LOOKS = """
import lithograph.graph, lithograph.projections, lithograph.store
from lithograph.eventlog.serde import Serializer, format
looks = 0
def look(value, hides=format.hides_buffers):
    global looks
    looks += 1
    return hides(value)
format.hides_buffers = look
Serializer().encode({"a": [1, "x", (2, {3})]})
print(looks)
"""


def test_nobody_looks_for_what_is_not_there() -> None:
    """Where the process holds no such object, plain values are stored without a look at each of their parts."""
    done = subprocess.run([sys.executable, "-c", _LOOKS], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


_HELD = """
import ormsgpack
held = [ormsgpack.Fragment(b"\\x01") for _ in range(3)]
from lithograph.eventlog.errors import UnsupportedTypeError
from lithograph.eventlog.serde import Serializer
del held
try:
    print(Serializer().encode({"a": ormsgpack.Fragment(b"\\x93\\x01\\x02\\x03")}))
except UnsupportedTypeError as error:
    print("refused", error.path)
"""


def test_one_is_found_where_others_were_let_go_of() -> None:
    """Such objects that the process held before this package was imported make no room for others when they go."""
    done = subprocess.run([sys.executable, "-c", _HELD], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "refused a"
