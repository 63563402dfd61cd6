"""LangGraph's names for a saver's own serde: `SerializerProtocol`, and `JsonPlusSerializer` with its pickle fallback.

This is the only file that knows pickle. It pickles what the registry refuses, and unpickles, only when it was made with
`pickle_fallback=True`; bytes that say they are a pickle are otherwise shown as `Opaque`. Unpickling runs whatever code
the bytes ask for: accept it only from a log that nobody else can write to.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ..errors import UnsupportedTypeError
from .registry import TypeRegistry
from .serializer import Serializer
from .tagged import marked


@runtime_checkable
class SerializerProtocol(Protocol):
    """A serializer with a tag for the kind of its bytes."""

    def dumps_typed(self, obj: Any, /) -> tuple[str, bytes]:
        """Return a value's tag and bytes."""
        ...

    def loads_typed(self, data: tuple[str, bytes], /) -> Any:
        """Return the value of a tag and bytes."""
        ...


class JsonPlusSerializer:
    """Our serializer behind LangGraph's name: pass it to a saver to let it pickle what has no stored form.

    >>> graph = builder.compile(checkpointer=InMemorySaver(serde=JsonPlusSerializer(pickle_fallback=True)))

    Tags: `null`, `bytes`, `bytearray`, `msgpack` (our stored form), and `pickle` with `pickle_fallback`. A saver asks
    it only for values that its own registry refuses. Values of a pickle are as exact as their classes' pickling.
    """

    def __init__(self, *, pickle_fallback: bool = False, registry: TypeRegistry | None = None) -> None:
        self.pickle_fallback = pickle_fallback
        self._serializer = Serializer(registry)

    def dumps_typed(self, obj: Any, /) -> tuple[str, bytes]:
        """Return a value's tag and bytes; raises UnsupportedTypeError with the path of what has no stored form."""
        if obj is None:
            return "null", b""
        if type(obj) is bytes or type(obj) is bytearray:
            return type(obj).__name__, bytes(obj)
        try:
            return "msgpack", self._serializer.encode(obj)
        except UnsupportedTypeError as refusal:
            if not self.pickle_fallback:
                raise
            return "pickle", _pickled(obj, refusal)

    def loads_typed(self, data: tuple[str, bytes], /) -> Any:
        """Return the value of a tag and bytes; `Opaque` for a pickle that may not be loaded and for other tags."""
        tag, stored = data
        if tag == "null":
            return None
        if tag == "bytes" or tag == "bytearray":
            return bytes(stored) if tag == "bytes" else bytearray(stored)
        if tag == "msgpack":
            return self._serializer.decode(stored)
        if tag == "pickle" and self.pickle_fallback:
            import pickle

            return pickle.loads(stored)  # noqa: S301  the caller asked for it, for this very saver
        return marked(tag, bytes(stored))


def _pickled(value: Any, refusal: UnsupportedTypeError) -> bytes:
    import pickle

    try:
        return pickle.dumps(value, protocol=5)
    except Exception as error:  # pickling runs the code of the value's classes
        raise UnsupportedTypeError(
            f"{refusal} (nor can it be pickled: {error})", path=refusal.path, type_name=refusal.type_name
        ) from error
