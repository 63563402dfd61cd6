"""`TimeoutPolicy`: how long one attempt of a node may take, in all and without a sign of life.

A value only: it travels in a `Send` and in a graph's description of a node. Who watches the clock is
`graph/timed.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

_REFRESHED_BY = ("auto", "heartbeat")


@dataclass(kw_only=True, slots=True, frozen=True)
class TimeoutPolicy:
    """The longest that an attempt of an asynchronous node may take; seconds, or a `timedelta`.

    `run_timeout` is for the attempt as a whole and never extended. `idle_timeout` is for the time without a sign of
    life: with `refresh_on="auto"` everything the node writes, sends or calls is one, with `"heartbeat"` only
    `runtime.heartbeat()`. A node that blocks its event loop is not stopped before it lets go.

        builder.add_node(ask_model, timeout=TimeoutPolicy(run_timeout=60, idle_timeout=5))
    """

    run_timeout: float | timedelta | None = None
    idle_timeout: float | timedelta | None = None
    refresh_on: Literal["auto", "heartbeat"] = "auto"

    @classmethod
    def coerce(cls, value: float | timedelta | TimeoutPolicy | None) -> TimeoutPolicy | None:
        """Return a policy with both limits as seconds; `None` when there is no limit.

        A number or a `timedelta` limits the attempt as a whole. Raises `ValueError` for limits that are not above zero
        and for another `refresh_on`.
        """
        if value is None:
            return None
        policy = value if isinstance(value, TimeoutPolicy) else cls(run_timeout=value)
        if policy.refresh_on not in _REFRESHED_BY:
            raise ValueError("refresh_on must be 'auto' or 'heartbeat'")
        run = _seconds(policy.run_timeout, "run_timeout")
        idle = _seconds(policy.idle_timeout, "idle_timeout")
        if run is None and idle is None:
            return None
        return cls(run_timeout=run, idle_timeout=idle, refresh_on=policy.refresh_on)


def _seconds(given: float | timedelta | None, field: str) -> float | None:
    if given is None:
        return None
    seconds = given.total_seconds() if isinstance(given, timedelta) else float(given)
    if not seconds > 0:
        raise ValueError(f"{field} must be greater than 0")
    return seconds
