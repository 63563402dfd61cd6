"""What a node or router may be beside a function: a LangChain Runnable, or what langchain-core makes one of.

Objects with `invoke` are called as they are. A dict, and a function that yields, become Runnables of langchain-core's,
which is imported only then. A function may also return one, which is invoked with the same input.
"""

from __future__ import annotations

import inspect
from typing import Any, cast

from ..eventlog.errors import MissingExtra
from .scope import NodeScope

_PLAIN = frozenset({dict, type(None), str, bool, int, float, list, tuple})
"""What is no Runnable for sure."""


def is_runnable(fn: Any) -> bool:
    """Return whether `fn` is an object with `invoke(input, config)`: a Runnable or a compiled graph."""
    return not isinstance(fn, type) and not inspect.isroutine(fn) and callable(getattr(fn, "invoke", None))


def made_runnable(fn: Any) -> Any:
    """Return what langchain-core makes of a dict or of a function that yields; anything else as it is.

    Raises `MissingExtra` where it is needed and not installed.
    """
    if not isinstance(fn, dict) and not inspect.isgeneratorfunction(fn) and not inspect.isasyncgenfunction(fn):
        return fn
    try:
        from langchain_core.runnables import RunnableLambda, RunnableParallel
    except ImportError as error:
        raise MissingExtra(
            "a dict, or a function that yields, is made a Runnable by langchain-core, which is not installed: "
            "pip install langchain-core, or give a function that returns"
        ) from error
    return RunnableParallel(cast("dict[str, Any]", fn)) if isinstance(fn, dict) else RunnableLambda(fn)


def followed(result: Any, value: Any, scope: NodeScope) -> Any:
    """Return a function's result; when that is a Runnable, what it gives for the function's input."""
    if type(result) in _PLAIN or not is_runnable(result):
        return result
    return result.invoke(value, scope.config)


async def afollowed(result: Any, value: Any, scope: NodeScope) -> Any:
    """Do what `followed` does on the event loop."""
    if type(result) in _PLAIN or not is_runnable(result):
        return result
    return await result.ainvoke(value, scope.config)
