"""Which code a reducer is: a digest of its source, or of its byte code where there is no source to read."""

from __future__ import annotations

from typing import Any

from blake3 import blake3


def source_digest(function: Any) -> str:
    """Return 16 hex digits that change when the function's own source changes.

    What the function calls, closes over or reads from outside is not covered.
    """
    import inspect

    target = inspect.unwrap(function) if callable(function) else function
    if not hasattr(target, "__code__") and not inspect.isclass(target):
        target = getattr(target, "func", None) or type(target)
    try:
        text = inspect.getsource(target)
    except (OSError, TypeError):
        code = getattr(target, "__code__", None)
        text = repr((code.co_code, code.co_consts, code.co_names)) if code else repr(target)
    return blake3(text.encode("utf-8", "surrogatepass")).hexdigest(8)
