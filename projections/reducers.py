"""Which reducers are pinned, so that the log stores the writes only, and by what name any reducer is known.

A pinned reducer is one of ours or of Python's whose meaning is fixed by the number of its `ResultOp`: reading folds the
writes again. Every other reducer is a user's: what it made is recorded.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from ..eventlog.events import ResultOp
from .add_messages import add_messages

_PINNED: tuple[tuple[object, int, str], ...] = (
    (operators.add, ResultOp.ADD, "operator.add/1"),
    (getattr(operators, "or_"), ResultOp.UNION, "operator.or_/1"),  # noqa: B009 (its type is generic beyond use)
    (add_messages, ResultOp.MESSAGES, "add_messages/1"),
)
_NAMED = frozenset({type(None), bool, int, float, str, bytes})
"""Types of arguments whose text says the same in every process."""


def pinned_reducer(reducer: Any) -> tuple[int, str] | None:
    """Return the operation and name of a pinned reducer, else `None`.

    Decided by identity, because a reducer may define equality. `add_messages()`, which gives no argument in advance
    that means anything, is `add_messages`.
    """
    if type(reducer) is partial:
        return pinned_reducer(add_messages) if is_add_messages(reducer) and not _formats(reducer) else None
    for pinned, op, name in _PINNED:
        if reducer is pinned:
            return op, name
    return None


def is_add_messages(reducer: Any) -> bool:
    """Tell whether a reducer is `add_messages`, or that with options given in advance."""
    if type(reducer) is partial:
        given = cast("partial[Any]", reducer)
        return given.func is add_messages and not given.args and given.keywords.keys() <= {"format"}
    return reducer is add_messages


def reducer_name(reducer: Callable[..., Any]) -> str:
    """Return the pinned name of a reducer, or its qualified name and a digest of its source or byte code.

    What was given to a `functools.partial` in advance is part of the name.
    """
    pinned = pinned_reducer(reducer)
    if pinned is not None:
        return pinned[1]
    if type(reducer) is partial:
        given = cast("partial[Any]", reducer)
        parts = [_text(part) for part in given.args]
        parts += [f"{name}={_text(part)}" for name, part in given.keywords.items()]
        return f"partial({', '.join((reducer_name(given.func), *parts))})"
    from .sources import source_digest

    name = getattr(reducer, "__qualname__", type(reducer).__qualname__)
    return f"{name}/{source_digest(reducer)}"


def _formats(reducer: Any) -> bool:
    return bool(cast("partial[Any]", reducer).keywords.get("format"))


def _text(given: Any) -> str:
    return repr(given) if type(given) in _NAMED else type(given).__qualname__
