"""`JsonPlusSerializer`: LangGraph's name for our serializer, and the only door to pickle."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from lithograph.eventlog.errors import UnsupportedTypeError
from lithograph.eventlog.serde import JsonPlusSerializer, Opaque, Serializer, SerializerProtocol


class Plain:
    """What the registry refuses and pickle stores."""

    def __init__(self, number: int) -> None:
        self.number = number


TAGS: list[tuple[Any, str]] = [
    (None, "null"),
    (b"ab", "bytes"),
    (bytearray(b"ab"), "bytearray"),
    ({"a": (1, {2})}, "msgpack"),
    ("text", "msgpack"),
]


@pytest.mark.parametrize(("value", "tag"), TAGS, ids=repr)
def test_tags(value: Any, tag: str) -> None:
    """Each value comes back equal and of its type, under LangGraph's tag for it, whether pickle is allowed or not."""
    for serde in (JsonPlusSerializer(), JsonPlusSerializer(pickle_fallback=True)):
        stored = serde.dumps_typed(value)
        assert stored[0] == tag
        back = serde.loads_typed(stored)
        assert (type(back), back) == (type(value), value)


def test_it_is_what_a_saver_asks_for() -> None:
    """It has the methods of `SerializerProtocol`; an object without them has not."""
    assert isinstance(JsonPlusSerializer(), SerializerProtocol)
    assert not isinstance(object(), SerializerProtocol)


def test_pickle_is_opt_in() -> None:
    """Without `pickle_fallback` what has no stored form is refused with its path; with it, it is marked as a pickle."""
    with pytest.raises(UnsupportedTypeError) as caught:
        JsonPlusSerializer().dumps_typed({"a": [Plain(1)]})
    assert caught.value.path == "a[0]"
    tag, data = JsonPlusSerializer(pickle_fallback=True).dumps_typed({"a": [Plain(1)]})
    assert tag == "pickle"
    assert JsonPlusSerializer(pickle_fallback=True).loads_typed((tag, data))["a"][0].number == 1


def test_what_cannot_be_pickled_is_refused_with_its_path() -> None:
    """The error names the part without stored form, and what pickle said."""
    with pytest.raises(UnsupportedTypeError, match="nor can it be pickled") as caught:
        JsonPlusSerializer(pickle_fallback=True).dumps_typed({"a": lambda: 1})
    assert caught.value.path == "a"


class Bomb:
    """Unpickling it says so."""

    exploded: list[int]

    def __reduce__(self) -> Any:
        return explode, ()


EXPLODED: list[int] = []


def explode() -> int:
    """Note that a pickle was loaded."""
    EXPLODED.append(1)
    return 1


def test_a_pickle_is_never_loaded_unasked() -> None:
    """Bytes tagged as a pickle, and tags of nobody, are `Opaque` to one that was not told to load them."""
    data = pickle.dumps(Bomb())
    for tag in ("pickle", "json", "msgpack+aes"):
        shown = JsonPlusSerializer().loads_typed((tag, data))
        assert type(shown) is Opaque
        assert shown.fields == {"tag": tag, "data": data}
        assert Serializer().decode(Serializer().encode([shown])) == [shown]
    assert EXPLODED == []
    assert JsonPlusSerializer(pickle_fallback=True).loads_typed(("pickle", data)) == 1
    assert EXPLODED == [1]
