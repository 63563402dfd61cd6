"""A saver's own serde, for values that the registry refuses: kept as one marked part under the serde's type tag.

What the registry can store never meets the serde. Whoever reads without it gets the part as `Opaque`: equal by its
bytes, stored again as the same bytes, never loaded.
"""

from __future__ import annotations

from typing import Any

from ..eventlog.errors import LithographError, UnsupportedTypeError, ValueEncodingError
from ..eventlog.serde import Serializer, SerializerProtocol, TypeRegistry
from ..eventlog.serde.format import MARKED
from ..eventlog.serde.tagged import marked, marked_parts


class FallbackSerializer(Serializer):
    """A serializer that hands to a serde what its registry refuses. Such values come back as exact as the serde is."""

    def __init__(self, registry: TypeRegistry | None, serde: SerializerProtocol) -> None:
        super().__init__(registry)
        self.serde = serde
        self._types.builders[MARKED] = lambda payload, unpack: self._load(*marked_parts(unpack(payload)))

    def encode(self, value: Any) -> bytes:
        """Return the stored form of a value; raises UnsupportedTypeError when the serde cannot store it either."""
        try:
            return super().encode(value)
        except UnsupportedTypeError as refusal:
            return super().encode(marked(*self._dump(value, refusal)))

    def encode_elements(self, value: list[Any]) -> list[bytes]:
        """Return the stored form of each element, each on its own where the whole is refused."""
        try:
            return self.split_elements(super().encode(value))
        except UnsupportedTypeError:
            return [self.encode(element) for element in value]

    def _dump(self, value: Any, refusal: UnsupportedTypeError) -> tuple[str, bytes]:
        try:
            tag, data = self.serde.dumps_typed(value)
        except LithographError:
            raise
        except Exception as error:
            raise UnsupportedTypeError(
                f"{refusal} (nor can the saver's serde store it: {error})",
                path=refusal.path,
                type_name=refusal.type_name,
            ) from error
        return tag, bytes(data)

    def _load(self, tag: str, data: bytes) -> Any:
        try:
            return self.serde.loads_typed((tag, data))
        except LithographError:
            raise
        except Exception as error:
            raise ValueEncodingError(
                f"the saver's serde cannot load {len(data)} bytes tagged {tag!r}: {type(error).__name__}: {error}"
            ) from error


def serializer_like(serializer: Serializer | None, registry: TypeRegistry) -> Serializer:
    """Return a serializer under another registry that falls back as `serializer` does."""
    if isinstance(serializer, FallbackSerializer):
        return FallbackSerializer(registry, serializer.serde)
    return Serializer(registry)
