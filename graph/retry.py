"""`RetryPolicy`: whether a node that failed is tried again, and after how long.

Intervals grow by a factor up to a limit, as LangGraph's do. Read `tasks` for the attempts themselves.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

_HOPELESS = (
    ValueError,
    TypeError,
    ArithmeticError,
    ImportError,
    LookupError,
    NameError,
    SyntaxError,
    RuntimeError,
    ReferenceError,
    StopIteration,
    StopAsyncIteration,
    OSError,
)
"""What the same call would raise again."""
_HTTP_ERRORS = {("httpx", "HTTPStatusError"), ("requests.exceptions", "HTTPError")}


def default_retry_on(error: Exception) -> bool:
    """Say whether an error may pass: lost connections, servers' own failures (5xx), and what is of no known kind."""
    if isinstance(error, ConnectionError):
        return True
    if any((cls.__module__, cls.__name__) in _HTTP_ERRORS for cls in type(error).__mro__):
        status = getattr(getattr(error, "response", None), "status_code", None)
        return status is None or 500 <= status < 600
    return not isinstance(error, _HOPELESS)


class RetryPolicy(NamedTuple):
    """How often and when a failed node is tried again; times in seconds.

    `max_attempts` counts the first one, too. `retry_on` is a class of errors, several, or a function that says yes.
    With `jitter` up to a second is added to each interval.
    """

    initial_interval: float = 0.5
    backoff_factor: float = 2.0
    max_interval: float = 128.0
    max_attempts: int = 3
    jitter: bool = True
    retry_on: type[Exception] | Sequence[type[Exception]] | Callable[[Exception], bool] = default_retry_on


def policies_of(given: Any) -> tuple[RetryPolicy, ...]:
    """Return what `retry_policy` was given, none, one or several; raises TypeError for anything else."""
    if given is None:
        return ()
    policies = (given,) if isinstance(given, RetryPolicy) else tuple(given)
    for policy in policies:
        if not isinstance(policy, RetryPolicy):
            raise TypeError(f"retry_policy is a RetryPolicy or a sequence of them, not {policy!r}")
    return policies


def pause_before_retry(policies: Sequence[RetryPolicy], error: BaseException, attempts: int) -> float | None:
    """Return the seconds to wait before the next attempt, `None` for no more; the first policy that matches says."""
    for policy in policies:
        if _matches(policy, error):
            if attempts >= policy.max_attempts:
                return None
            interval = min(policy.max_interval, policy.initial_interval * policy.backoff_factor ** (attempts - 1))
            return interval + random.uniform(0, 1) if policy.jitter else interval  # noqa: S311
    return None


def _matches(policy: RetryPolicy, error: BaseException) -> bool:
    retry_on: Any = policy.retry_on
    if isinstance(retry_on, Sequence):
        return isinstance(error, tuple(cast("Sequence[type[Exception]]", retry_on)))
    if isinstance(retry_on, type):
        return isinstance(error, cast("type[Exception]", retry_on))
    if callable(retry_on):
        return bool(retry_on(error))
    raise TypeError("retry_on must be an Exception class, a list or tuple of Exception classes, or a callable")
