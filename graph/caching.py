"""What a graph keeps of its nodes in a cache, and when it takes it from there instead of running one.

What is kept are a node's writes, edges and packets included, encoded by the graph's serializer, so that no cache has to
know its types. A hit is an outcome like any other: it is recorded and folded, only nobody was called. Errors and
questions are never kept. The drivers call `recall` before a step's tasks run and `keep` behind them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import ormsgpack
from blake3 import blake3

from ..eventlog.errors import ValueEncodingError
from ..eventlog.serde import BASE, Serializer, opaque_in
from .cache import BaseCache, CachePolicy, FullKey, Namespace, cache_key, default_cache_key
from .errors import CacheKeyError
from .persistence import types_of
from .spec import GraphSpec, NodeSpec, Write
from .tasks import Task

if TYPE_CHECKING:
    from .loop import Loop

NAMESPACE = "__pregel_ns_writes"
_NAMELESS = "__dynamic__"
_Pairs = dict[FullKey, tuple[Any, int | None]]


class Caching:
    """A graph's use of a cache."""

    def __init__(self, cache: BaseCache[Any], serializer: Serializer) -> None:
        self.cache = cache
        self._serializer = serializer

    def recall(self, loop: Loop) -> None:
        """Finish those tasks of the present step whose writes are in the cache."""
        if wanted := self.wanted(loop):
            self.take(loop, wanted, self.cache.get(list(wanted)))

    def wanted(self, loop: Loop) -> dict[FullKey, list[Task]]:
        """Return the tasks that may be in the cache by their keys, and give each its key.

        A task that somebody was asked in is not looked up, nor is any while an answer waits for whoever asks first:
        what a person answers is never passed over.

        Raises what a `key_func` raises, and `CacheKeyError` for an input without a stored form.
        """
        wanted: dict[FullKey, list[Task]] = {}
        for task in loop.tasks:
            policy = task.node.cache
            if policy is not None and not task.done:
                task.cache_key = (namespace_of(task.node), self._key(task, policy))
                if not task.has_asked and not loop.run.ground.has_answer:
                    wanted.setdefault(task.cache_key, []).append(task)
        return wanted

    def take(self, loop: Loop, wanted: Mapping[FullKey, Sequence[Task]], found: Mapping[FullKey, Any]) -> None:
        """Finish the tasks that were found."""
        for (namespace, key), value in found.items():
            for task in wanted[(tuple(namespace), key)]:
                # Decoded for each: two tasks must not share what one of them may change.
                writes = self._writes(value)
                if writes is not None:
                    task.writes, task.cached = writes, True
                    loop.on_task_done(task)

    def recall_call(self, task: Task) -> None:
        """Finish a call of a task whose result is in the cache; gives it its key."""
        policy = task.node.cache
        if policy is None:
            return
        task.cache_key = (namespace_of(task.node), self._key(task, policy))
        if found := self.cache.get([task.cache_key]):
            task.writes = self._writes(next(iter(found.values())))
            task.cached = task.writes is not None

    def kept(self, tasks: Sequence[Task]) -> _Pairs:
        """Return what is to be kept of a step's tasks: of those that ran now and finished.

        Raises `ValueEncodingError` for a write that has no stored form.
        """
        pairs: _Pairs = {}
        for task in tasks:
            if task.cache_key is not None and task.writes is not None and not task.cached:
                policy = cast("CachePolicy[Any]", task.node.cache)
                pairs[task.cache_key] = (self._stored(task), policy.ttl)
        return pairs

    def keep(self, tasks: Sequence[Task]) -> None:
        """Put into the cache what `kept` says."""
        if pairs := self.kept(tasks):
            self.cache.set(pairs)

    def _key(self, task: Task, policy: CachePolicy[Any]) -> str:
        args: tuple[Any, ...]
        kwargs: dict[str, Any]
        args, kwargs = task.input if task.is_call else ((task.input,), {})
        if policy.key_func is not default_cache_key:
            given = policy.key_func(*args, **kwargs)
        else:
            try:
                given = cache_key(self._serializer, args, kwargs)
            except ValueEncodingError as error:
                raise CacheKeyError(
                    f"the input of the node {task.planned.name!r} has no stored form, so there is no key for it in the "
                    f"cache ({error}). Give the node a CachePolicy with a key_func of your own."
                ) from error
        data = given.encode("utf-8", "surrogatepass") if isinstance(given, str) else given
        return blake3(_ways_on(task.node) + data).hexdigest(16)

    def _stored(self, task: Task) -> list[list[Any]]:
        try:
            return [[channel, self._serializer.encode(written.value)] for channel, written in task.written]
        except ValueEncodingError as error:
            error.add_note(f"The value was written by the node {task.planned.name!r}, and was to be kept in the cache.")
            raise

    def _writes(self, value: Any) -> list[Write] | None:
        """Return the writes that a cache holds; `None` for what is none, or of types that the graph does not know."""
        writes: list[Write] = []
        for part in cast("list[Any]", value) if isinstance(value, list | tuple) else [None]:
            match part:
                case [str() as channel, bytes() as data]:
                    writes.append((channel, self._serializer.decode(data)))
                case _:
                    return None
        return None if any(opaque_in(written) for _channel, written in writes) else writes


def caching_of(cache: Any, spec: GraphSpec, serializer: Serializer | None) -> Caching | None:
    """Return a graph's use of a cache, with the serializer of its log, or one that knows its types."""
    if cache is None:
        return None
    if serializer is None:
        registry = BASE.extended(())
        for annotation in types_of(spec):
            registry.collect(annotation)
        serializer = Serializer(registry)
    return Caching(cache, serializer)


def namespaces_of(spec: GraphSpec, nodes: Sequence[str] | None) -> list[Namespace]:
    """Return the namespaces of some of a graph's nodes, or of all; those that it does not have are left out."""
    return [namespace_of(spec.nodes[name]) for name in nodes or spec.nodes if name in spec.nodes]


def namespace_of(node: NodeSpec) -> Namespace:
    """Return where a node's writes are kept: under what its function is called where it was defined, and its name."""
    name = getattr(node.fn, "__qualname__", None) or getattr(node.fn, "__name__", None)
    module = getattr(node.fn, "__module__", None)
    return (NAMESPACE, f"{module}.{name}" if name and module else _NAMELESS, node.name)


def _ways_on(node: NodeSpec) -> bytes:
    """Return where a node leads: what was kept of one that led elsewhere would lead there."""
    branches = [[branch.name, None if branch.ends is None else list(branch.ends.values())] for branch in node.branches]
    return ormsgpack.packb([[channel for channel, _ in node.edges], branches])
