"""Numbers under which a fork knows the records of its source.

A record of the fork's own stream has its version: 1, 2, 3 … One that the fork inherits has a number below zero, made of
its version in the source; one that the source itself inherited lies a level deeper. So one integer names any record
that a thread reaches, in `parent_version`, in `applied` and as a key of open writes.
"""

from __future__ import annotations

_LEVEL = 1 << 48


def inherited(version: int) -> int:
    """Return the number under which a fork knows the record that its source knows as `version`."""
    return -(_LEVEL + abs(version))


def in_source(number: int) -> int:
    """Return what the source calls the record that its fork knows under `number`, which is below zero."""
    below = -number - _LEVEL
    assert below > 0, "only numbers of inherited records are below zero"
    return below if below < _LEVEL else -below
