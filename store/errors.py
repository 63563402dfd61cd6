"""Errors of the memory store (codes LG6xx): a bad name, a bad search, a bad operation.

Each derives from the built-in class that a LangGraph user would catch at the same place. Nothing was written
when one of them is raised.
"""

from __future__ import annotations

from ..eventlog.errors import LithographError
from ..projections.errors import InvalidSearchError

__all__ = ["InvalidItemError", "InvalidNamespaceError", "InvalidSearchError", "StoreError"]


class StoreError(LithographError):
    """An operation of the memory store was refused; nothing of its batch was written."""

    code = "LG600"


class InvalidNamespaceError(StoreError, ValueError):
    """A namespace is empty where it may not be, or one of its labels is not allowed."""

    code = "LG601"


class InvalidItemError(StoreError, ValueError, TypeError):
    """A key, a value or an index list is of a kind that no item can have, or an operation is unknown."""

    code = "LG603"
