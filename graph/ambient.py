"""The config of a running task, at hand for langchain-core's runnables that a node calls without one.

langchain-core keeps it in a context variable of its own. That is only looked for where langchain-core has been imported
already; nothing here imports it.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar, Token
from typing import Any

from .scope import NodeScope

Lent = tuple["ContextVar[Any]", "Token[Any]"] | None
"""What to take back."""


def lend_config(scope: NodeScope) -> Lent:
    """Put a task's config where runnables look for one."""
    module = sys.modules.get("langchain_core.runnables.config")
    variable: ContextVar[Any] | None = getattr(module, "var_child_runnable_config", None)
    return None if variable is None else (variable, variable.set(scope.config))


def take_back(lent: Lent) -> None:
    """Put back what was there before."""
    if lent is not None:
        lent[0].reset(lent[1])
