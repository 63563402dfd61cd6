"""What nodes wrote, kept for other runs: `CachePolicy`, the interface of caches, and one in memory.

A cache maps (namespace, key) to a value until its time is up. It knows nothing of graphs: what a node's key is and what
is kept of it, is in `caching`. A cache that is an event log is in `event_cache`.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from ..eventlog.clock import Clock, SystemClock
from ..eventlog.serde import JsonPlusSerializer, Serializer, SerializerProtocol

ValueT = TypeVar("ValueT")
KeyFuncT = TypeVar("KeyFuncT", bound=Callable[..., str | bytes])
Namespace = tuple[str, ...]
FullKey = tuple[Namespace, str]

_PLAIN = Serializer()


def default_cache_key(*args: Any, **kwargs: Any) -> bytes:
    """Return the stored form of what a node is called with; dicts that differ in order alone have the same one.

    Raises `UnsupportedTypeError` for what has no stored form. A graph that is given this function uses the classes of
    its own schemas, too.
    """
    return cache_key(_PLAIN, args, kwargs)


def cache_key(serializer: Serializer, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bytes:
    """Return `default_cache_key` of arguments, with the types that a serializer knows."""
    return serializer.encode([[_sorted(value) for value in args], _sorted(dict(kwargs))])


def _sorted(value: Any) -> Any:
    if type(value) is dict:
        given = cast("dict[Any, Any]", value)
        keys = sorted(given) if all(type(key) is str for key in given) else list(given)
        return {key: _sorted(given[key]) for key in keys}
    if type(value) is list:
        return [_sorted(part) for part in cast("list[Any]", value)]
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePolicy(Generic[KeyFuncT]):
    """Lets a node be skipped when it, or its like in another run, was called with the same before.

    `key_func` gets the node's input and returns what "the same" is; by default all of it. `ttl`: seconds; `None`: until
    the cache is cleared. The code of the node is no part of the key: clear the cache when it changed.

        builder.add_node(rate, cache_policy=CachePolicy(ttl=3600))
        graph = builder.compile(cache=InMemoryCache())
    """

    key_func: KeyFuncT = default_cache_key  # pyright: ignore[reportAssignmentType]
    ttl: int | None = None


class BaseCache(ABC, Generic[ValueT]):
    """A cache: values under (namespace, key), each for so many seconds or for ever. Safe to share between threads.

    Values are of types that `serde` takes; graphs give lists of [channel, bytes].
    """

    serde: SerializerProtocol = JsonPlusSerializer()

    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        self.serde = serde or self.serde

    @abstractmethod
    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """Return the values of those keys that have one."""

    @abstractmethod
    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """Do what `get` does on an event loop."""

    @abstractmethod
    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Keep values, each with the seconds that it is good for, `None` for ever."""

    @abstractmethod
    async def aset(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Do what `set` does on an event loop."""

    @abstractmethod
    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget all values of some namespaces, or of all."""

    @abstractmethod
    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Do what `clear` does on an event loop."""


class InMemoryCache(BaseCache[ValueT]):
    """A cache that lives as long as this object. Values are kept encoded, so nobody can change one in place."""

    def __init__(self, *, serde: SerializerProtocol | None = None, clock: Clock | None = None) -> None:
        super().__init__(serde=serde)
        self._now_us = (clock or SystemClock()).now_us
        self._lock = threading.Lock()
        self._values: dict[Namespace, dict[str, tuple[tuple[str, bytes], int | None]]] = {}

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """Return the values of those keys that have one; what is past its time is forgotten."""
        now_us = self._now_us()
        found: dict[FullKey, tuple[str, bytes]] = {}
        with self._lock:
            for namespace, key in keys:
                kept = self._values.get(tuple(namespace), {})
                stored, ends_us = kept.get(key, (None, None))
                if ends_us is not None and now_us >= ends_us:
                    del kept[key]
                elif stored is not None:
                    found[(tuple(namespace), key)] = stored
        return {full: self.serde.loads_typed(stored) for full, stored in found.items()}

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """Do what `get` does: nothing of it waits."""
        return self.get(keys)

    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Keep values; raises what the serde raises for one that it cannot take, and keeps none then."""
        now_us = self._now_us()
        stored = [(full, self.serde.dumps_typed(value), ends(now_us, ttl)) for full, (value, ttl) in pairs.items()]
        with self._lock:
            for (namespace, key), data, ends_us in stored:
                self._values.setdefault(tuple(namespace), {})[key] = (data, ends_us)

    async def aset(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Do what `set` does: nothing of it waits."""
        self.set(pairs)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget all values of some namespaces, or of all."""
        with self._lock:
            for namespace in list(self._values) if namespaces is None else namespaces:
                self._values.pop(tuple(namespace), None)

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Do what `clear` does: nothing of it waits."""
        self.clear(namespaces)


def ends(now_us: int, ttl: float | None) -> int | None:
    """Return when a value that is kept now has to be forgotten, in microseconds; `None`: never."""
    return None if ttl is None else now_us + int(ttl * 1_000_000)
