"""Calls user code with what it asks for by parameter name and annotation.

The first positional parameter is the state. A further parameter is injected when both its name and its
annotation say so: `config: RunnableConfig`, `store: BaseStore`, `writer: StreamWriter`, `error: NodeError`;
`runtime` and `previous` by name alone. The signature is read once, at build time; a call costs one
dictionary at most.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Union, cast, get_args, get_origin

from .errors import SyncNodeMissing
from .runnables import afollowed, followed, is_runnable, made_runnable
from .scope import NodeScope
from .types import StreamWriter

Call = Callable[[Any, NodeScope], Any]
AsyncCall = Callable[[Any, NodeScope], Awaitable[Any]]
_INJECTED_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_OPEN = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Callee:
    """User code, ready to be called: `call` on a thread, `acall` on an event loop."""

    fn: Any
    name: str | None
    call: Call
    acall: AsyncCall
    is_async: bool


def callee(fn: Any, *, name: str | None = None) -> Callee:
    """Return `fn` (function, method, partial, callable object, Runnable, or dict of these) ready to be called.

    A function may return a Runnable: it is invoked with the same input. Raises `TypeError` for anything else. Warns
    when a `config` parameter has another annotation than `RunnableConfig`, because it is then not injected.
    """
    fn = made_runnable(fn)
    if is_runnable(fn):
        return _runnable(fn, name)
    if not callable(fn):
        raise TypeError(f"Expected a Runnable, callable or dict. Instead got an unsupported type: {type(fn)}")
    name = name or _own_name(fn)
    wanted = _wanted(fn)
    if is_async(fn):
        return Callee(fn, name, _refuse_sync(name), _awaited(_plain_call(fn, wanted)), True)
    call = _plain_call(fn, wanted, followed)
    return Callee(fn, name, call, _in_thread(call), False)


def exploded(fn: Any, *, name: str) -> Callee:
    """Return `fn` ready to be called with `(args, kwargs)`, and with what it asks for by name that is not in there."""
    wanted = _wanted(fn, state_first=False)

    def call(given: tuple[tuple[Any, ...], dict[str, Any]], scope: NodeScope) -> Any:
        args, kwargs = given
        return fn(*args, **{key: source(scope) for key, source in wanted if key not in kwargs}, **kwargs)

    if is_async(fn):
        return Callee(fn, name, _refuse_sync(name), call, True)
    return Callee(fn, name, call, _in_thread(call), False)


def is_async(fn: Any) -> bool:
    """Return whether calling `fn` gives a coroutine."""
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004


def default_name(fn: Any) -> str | None:
    """Return the name that a node takes from its function, object or Runnable."""
    if is_runnable(fn):
        get_name = getattr(fn, "get_name", None)
        return cast("str", get_name()) if callable(get_name) else getattr(fn, "name", type(fn).__name__)
    return getattr(fn, "__name__", type(fn).__name__)


def _own_name(fn: Any) -> str | None:
    name = getattr(fn, "__name__", None)
    return None if name == "<lambda>" else name


def _wanted(fn: Any, *, state_first: bool = True) -> tuple[tuple[str, Callable[[NodeScope], Any]], ...]:
    """Return the parameters to inject, each with how the scope gives it."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except ValueError:  # built-ins without a signature take the state alone
        return ()
    wanted: list[tuple[str, Callable[[NodeScope], Any]]] = []
    for place, parameter in enumerate(parameters):
        is_state = state_first and place == 0 and parameter.kind is not inspect.Parameter.KEYWORD_ONLY
        if is_state or parameter.kind not in _INJECTED_KINDS or parameter.name not in _SOURCES:
            continue
        accepts, source = _SOURCES[parameter.name]
        if accepts(parameter.annotation):
            wanted.append((parameter.name, source))
        elif parameter.name == "config":
            warnings.warn(
                "The 'config' parameter should be typed as 'RunnableConfig' or 'RunnableConfig | None', "
                f"not '{parameter.annotation}'. ",
                UserWarning,
                stacklevel=4,
            )
    return tuple(wanted)


def _named(*names: str) -> Callable[[Any], bool]:
    """Return a test for an annotation that is absent, or means one of the named classes, optional or not."""

    def accepts(annotation: Any) -> bool:
        if annotation is _OPEN:
            return True
        if isinstance(annotation, str):
            text = annotation.replace(" ", "").replace("|None", "").replace("None|", "").strip("'\"")
            text = text.removeprefix("typing.").removeprefix("Optional[").removesuffix("]")
            return text.rpartition(".")[2].partition("[")[0] in names
        parts = [part for part in get_args(annotation) if part is not type(None)]
        if len(parts) == 1 and get_origin(annotation) in (Union, _UNION):
            return accepts(parts[0])
        lineage: tuple[Any, ...] = getattr(annotation, "__mro__", (annotation,))
        return any(getattr(cls, "__name__", None) in names for cls in lineage)

    return accepts


_UNION = type(int | None)
_is_config = _named("RunnableConfig")
_is_store = _named("BaseStore")
_is_error = _named("NodeError")
_names_writer = _named("StreamWriter")


def _is_writer(annotation: Any) -> bool:
    return annotation == StreamWriter or _names_writer(annotation)


def _anything(_annotation: Any) -> bool:
    return True


_SOURCES: dict[str, tuple[Callable[[Any], bool], Callable[[NodeScope], Any]]] = {
    "config": (_is_config, lambda scope: scope.config),
    "store": (_is_store, lambda scope: scope.store),
    "writer": (_is_writer, lambda scope: scope.writer),
    "error": (_is_error, lambda scope: scope.error),
    "runtime": (_anything, lambda scope: scope.runtime),
    "previous": (_anything, lambda scope: scope.previous),
}


INJECTED = frozenset(_SOURCES)
"""The parameter names that may be injected."""


def _as_it_is(result: Any, _value: Any, _scope: NodeScope) -> Any:
    return result


def _plain_call(
    fn: Any,
    wanted: tuple[tuple[str, Callable[[NodeScope], Any]], ...],
    then: Callable[[Any, Any, NodeScope], Any] = _as_it_is,
) -> Call:
    if not wanted:
        return lambda value, scope: then(fn(value), value, scope)
    if len(wanted) == 1:
        ((name, source),) = wanted
        return lambda value, scope: then(fn(value, **{name: source(scope)}), value, scope)
    return lambda value, scope: then(fn(value, **{name: source(scope) for name, source in wanted}), value, scope)


def _awaited(call: Call) -> AsyncCall:
    async def acall(value: Any, scope: NodeScope) -> Any:
        return await afollowed(await call(value, scope), value, scope)

    return acall


def _refuse_sync(name: str | None) -> Call:
    def call(_value: Any, _scope: NodeScope) -> Any:
        raise SyncNodeMissing(
            f'No synchronous function provided to "{name}".\nEither initialize with a synchronous '
            "function or invoke via the async API (ainvoke, astream, etc.)"
        )

    return call


def _in_thread(call: Call) -> AsyncCall:
    """Return `call` for an event loop: on a worker thread, with the caller's context variables."""

    async def acall(value: Any, scope: NodeScope) -> Any:
        import asyncio  # only an asynchronous driver pays for it

        return await asyncio.to_thread(call, value, scope)

    return acall


def _runnable(fn: Any, name: str | None) -> Callee:
    def call(value: Any, scope: NodeScope) -> Any:
        return fn.invoke(value, scope.config)

    async def acall(value: Any, scope: NodeScope) -> Any:
        return await fn.ainvoke(value, scope.config)

    has_async = callable(getattr(fn, "ainvoke", None))
    return Callee(fn, name or default_name(fn), call, acall if has_async else _in_thread(call), False)
