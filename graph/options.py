"""`Options`: how one run goes, beside its input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..projections.types import RunnableConfig
from .caching import Caching
from .inside import Inside
from .runtime import RunControl


@dataclass(frozen=True, slots=True)
class Options:
    """How one run goes, beside its input."""

    config: RunnableConfig
    context: Any
    store: Any
    durability: str
    interrupt_before: Sequence[str] | str
    interrupt_after: Sequence[str] | str
    control: RunControl
    caching: Caching | None
    inside: Inside | None = None
    """The call, when a task makes it."""
