"""Whether what a node calls is asynchronous by itself, so that it can be stopped: what a `timeout` needs."""

from __future__ import annotations

import sys
from typing import Any, cast

from .injection import is_async, is_runnable


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
    if hasattr(fn, "afunc"):
        return bool(fn.afunc)
    own = getattr(cast("type[Any]", type(fn)), "ainvoke", None)
    return own is not None and own is not _inherited_ainvoke()


def _parts(fn: Any) -> list[Any] | None:
    steps = getattr(fn, "steps", None)
    if isinstance(steps, list):
        return cast("list[Any]", steps)
    branches = getattr(fn, "steps__", None)
    return list(cast("dict[str, Any]", branches).values()) if isinstance(branches, dict) else None


def _inherited_ainvoke() -> Any:
    """Return langchain-core's `ainvoke` for all, which runs `invoke` on a thread; `None` when nobody imported it."""
    base = getattr(sys.modules.get("langchain_core.runnables.base"), "Runnable", None)
    return getattr(base, "ainvoke", None)
