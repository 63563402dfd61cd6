"""How many examples a law is tried on: few in every run, many at night (`LITHOGRAPH_NIGHTLY=1`), fewer still when the
same run has tried it already on another Python (`LITHOGRAPH_SHORT=1`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings

NIGHTLY = os.environ.get("LITHOGRAPH_NIGHTLY") == "1"
NIGHTLY_TIMES = 20
SHORT = os.environ.get("LITHOGRAPH_SHORT") == "1"
SHORT_TIMES = 4


def laws(examples: int) -> Callable[[Any], Any]:
    """Return the settings of a law that is tried on `examples` examples, on each engine."""
    return settings(
        max_examples=max(1, examples * (NIGHTLY_TIMES if NIGHTLY else 1) // (SHORT_TIMES if SHORT else 1)),
        deadline=None,
        phases=[phase for phase in Phase if phase is not Phase.explain],
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
