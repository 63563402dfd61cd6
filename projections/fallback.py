"""A saver's own serde, for values that the registry refuses: kept as one marked part under the serde's type tag.

What the registry can store never meets the serde. Whoever reads without it gets the `Marked` part itself: equal by
its bytes, stored again as the same bytes, never loaded.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

from ..eventlog.errors import UnsupportedTypeError
from ..eventlog.serde import BASE, Serializer, TypeRegistry


@runtime_checkable
class Serde(Protocol):
    """LangGraph's interface of a serializer with a tag for the kind of its bytes."""

    def dumps_typed(self, obj: Any, /) -> tuple[str, bytes]:
        """Return a value's tag and bytes."""
        ...

    def loads_typed(self, data: tuple[str, bytes], /) -> Any:
        """Return the value of a tag and bytes."""
        ...


class Marked(NamedTuple):
    """A value that a serde stored: its type tag and its bytes."""

    tag: str
    data: bytes


class FallbackSerializer(Serializer):
    """A serializer that hands to a serde what its registry refuses. Such values come back as exact as the serde is."""

    def __init__(self, registry: TypeRegistry | None, serde: Serde) -> None:
        super().__init__(registry)
        self.serde = serde

    def encode(self, value: Any) -> bytes:
        """Return the stored form of a value; raises what the serde raises when it refuses the value too."""
        try:
            return super().encode(value)
        except UnsupportedTypeError:
            tag, data = self.serde.dumps_typed(value)
            return super().encode(Marked(tag, data))

    def decode(self, data: bytes) -> Any:
        """Return the value that was encoded, loaded by the serde when it is marked so."""
        value = super().decode(data)
        return self.serde.loads_typed((value.tag, value.data)) if type(value) is Marked else value

    def encode_elements(self, value: list[Any]) -> list[bytes]:
        """Return the stored form of each element, each on its own where the whole is refused."""
        try:
            return self.split_elements(super().encode(value))
        except UnsupportedTypeError:
            return [self.encode(element) for element in value]


def serializer_like(serializer: Serializer | None, registry: TypeRegistry) -> Serializer:
    """Return a serializer under another registry that falls back as `serializer` does."""
    if isinstance(serializer, FallbackSerializer):
        return FallbackSerializer(registry, serializer.serde)
    return Serializer(registry)


# The tag is for ever.
BASE.register_native(68, Marked, list, lambda parts: Marked(*parts))
