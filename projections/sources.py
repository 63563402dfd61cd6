"""Which code a reducer is: a digest of its source, or of its byte code where there is no source to read."""

from __future__ import annotations

from typing import Any, cast

from blake3 import blake3


def source_digest(function: Any) -> str:
    """Return 16 hex digits that change when the function's own source changes.

    What the function calls, closes over or reads from outside is not covered.
    """
    import inspect

    target: Any = inspect.unwrap(function) if callable(function) else function
    if not hasattr(target, "__code__") and not inspect.isclass(target):
        target = getattr(target, "func", None) or cast("Any", type(target))
    try:
        text = inspect.getsource(target)
    except (OSError, TypeError):
        code: Any = getattr(target, "__code__", None)
        text = repr((code.co_code, code.co_names, _plain(code.co_consts))) if code else repr(target)
    return blake3(text.encode("utf-8", "surrogatepass")).hexdigest(8)


def _plain(constants: tuple[Any, ...]) -> list[Any]:
    """Return a function's constants without addresses: of the functions in it, their byte code."""
    return [getattr(constant, "co_code", constant) for constant in constants]
