"""Which graph a node runs inside of it, as far as its code shows: the node itself, or what its function refers to.

Looked up once, when a graph is compiled; runs no user code. A graph that comes from elsewhere (out of a dictionary,
say) runs all the same: it is only not seen in snapshots, by `get_subgraphs` and in drawings.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from types import CodeType
from typing import Any, cast


def inner_graph(fn: Any) -> Any:
    """Return the compiled graph that a node's action is or refers to, one that keeps its state first; or `None`."""
    found = [candidate for candidate in _candidates(fn) if is_graph(candidate)]
    return next((graph for graph in found if keeps_state(graph)), found[0] if found else None)


def keeps_state(graph: Any) -> bool:
    """Tell whether a node's graph is there and records its state in the thread of the graph around it."""
    return graph is not None and graph.checkpointer is not False


def is_graph(value: Any) -> bool:
    """Tell whether a value is a compiled graph."""
    return not inspect.isclass(value) and hasattr(value, "get_state_history") and hasattr(value, "checkpointer")


def _candidates(fn: Any) -> Iterator[Any]:
    yield fn
    for step in cast("list[Any]", getattr(fn, "steps", None) or []):
        # A sequence of LangChain's: one of its steps may be the graph, or a function that calls it.
        yield step
        yield from referred(step)
    yield from referred(fn)


def referred(action: Any) -> Iterator[Any]:
    """Yield what a function's code refers to by name: variables around it, globals, attributes of these."""
    fn: Any = action
    while isinstance(fn, partial):
        fn = cast("partial[Any]", fn).func
    for name in ("func", "afunc"):
        # LangChain's wrapper around a function.
        if inspect.isroutine(wrapped := getattr(fn, name, None)):
            fn = wrapped
            break
    owner = getattr(fn, "__self__", None)
    function = getattr(fn, "__func__", fn)
    if not inspect.isroutine(function):
        kind = cast("type[Any]", type(fn))
        function, owner = getattr(kind, "__call__", None), fn  # noqa: B004 - to look at, not to call
    function = inspect.unwrap(function) if inspect.isfunction(function) else None
    if function is None:
        return
    names = set(_names(function.__code__))
    for value in _variables(function, names):
        yield getattr(value, "__self__", value)
        yield from _attributes(value, names)
    yield from _attributes(owner, names)


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that code and the functions within it look up."""
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _variables(function: Any, names: set[str]) -> Iterator[Any]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # a name that is bound later
            continue
        if name in names:
            yield value
    known = function.__globals__
    yield from [known[name] for name in sorted(names) if name in known]


def _attributes(value: Any, names: set[str]) -> Iterator[Any]:
    members = getattr(value, "__dict__", None)
    if isinstance(members, dict) and not isinstance(value, type):
        found = cast("dict[str, Any]", members)
        yield from [found[name] for name in sorted(names) if name in found]
