"""`Held`: what is recorded of a user's channel that shows one thing to readers and goes on from another.

Most channels go on from what they show, and then their value is recorded as it is (`base_channel` decides).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..eventlog.serde.registry import BASE


@dataclass(frozen=True, slots=True)
class Held:
    """`shown` is the channel's value to every reader, `kept` is what the channel is made of again."""

    shown: Any
    kept: Any


# Stored form: number and order of the parts are for ever.
BASE.register_native(68, Held, lambda v: [v.shown, v.kept], lambda parts: Held(*parts))
