"""Whether what a node calls is asynchronous by itself, so that it can be stopped: what a `timeout` needs."""

from __future__ import annotations

import sys
from typing import Any, cast

from .injection import is_async
from .runnables import is_runnable


def has_native_async(fn: Any) -> bool:
    """Tell whether `fn` is awaited to its end on the event loop: a coroutine function, or a Runnable with `ainvoke`.

    Of a sequence or a mapping of Runnables each one must be. A class of one's own that overrides `ainvoke` is taken at
    its word.
    """
    if not is_runnable(fn):
        return is_async(fn)
    while (bound := getattr(fn, "bound", None)) is not None:
        fn = bound
    parts = _parts(fn)
    if parts is not None:
        return all(has_native_async(part) for part in parts)
    core: Any = sys.modules.get("langchain_core.runnables.base")
    if core is not None and isinstance(fn, core.RunnableLambda):
        return bool(getattr(fn, "afunc", None))
    own = getattr(cast("type[Any]", type(fn)), "ainvoke", None)
    # What langchain-core has for all runs `invoke` on a thread.
    return own is not None and (core is None or own is not core.Runnable.ainvoke)


def _parts(fn: Any) -> list[Any] | None:
    steps = getattr(fn, "steps", None)
    if isinstance(steps, list):
        return cast("list[Any]", steps)
    branches = getattr(fn, "steps__", None)
    return list(cast("dict[str, Any]", branches).values()) if isinstance(branches, dict) else None
