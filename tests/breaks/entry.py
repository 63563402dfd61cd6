"""`Break`: one mistake that somebody might make, and the tests that must notice it."""

from __future__ import annotations

from typing import NamedTuple


class Break(NamedTuple):
    """A promise, and a change of the code that breaks it."""

    promise: str
    """What no longer holds; unique."""
    file: str
    old: str
    """A text that the file holds exactly once."""
    new: str
    tests: str
    """Test files, or ids in them, separated by spaces: one of them must fail."""
