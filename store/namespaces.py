"""Namespaces: which labels are allowed, and which namespaces a pattern matches.

A namespace is a tuple of labels. A label is a non-empty string without a full stop and without NUL; the root
label `langgraph` is reserved. Reads accept the empty namespace as a prefix of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..eventlog.texts import is_text
from .errors import InvalidNamespaceError, InvalidSearchError
from .items import MatchCondition

RESERVED_ROOT = "langgraph"
WILDCARD = "*"
"""In a pattern: any one label."""


def checked_labels(namespace: Sequence[str]) -> tuple[str, ...]:
    """Return the namespace as a tuple after checking each of its labels; it may be empty.

    Raises `InvalidNamespaceError` naming the label that is not allowed.
    """
    if isinstance(namespace, (str, bytes)):
        raise InvalidNamespaceError(
            f"Namespace {namespace!r} is a single string. Write a tuple of labels: ({namespace!r},)."
        )
    for label in namespace:
        _check_label(label, namespace)
    return tuple(namespace)


def checked_for_put(namespace: Sequence[str]) -> tuple[str, ...]:
    """Return the namespace as a tuple after checking that an item may be put there.

    Raises `InvalidNamespaceError` also when it is empty or its root is reserved.
    """
    if not namespace:
        raise InvalidNamespaceError("Namespace cannot be empty: an item needs at least one label.")
    labels = checked_labels(namespace)
    if labels[0] == RESERVED_ROOT:
        raise InvalidNamespaceError(
            f'Root label for namespace cannot be "{RESERVED_ROOT}", which is reserved. Got: {labels}'
        )
    return labels


def matches(namespace: tuple[str, ...], conditions: Iterable[MatchCondition]) -> bool:
    """Return whether a namespace meets every condition."""
    return all(_matches_one(namespace, condition) for condition in conditions)


def check_condition(condition: MatchCondition) -> None:
    """Refuse a condition whose path or match type is not allowed."""
    checked_labels(condition.path)
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidSearchError(f"Unsupported match type: {condition.match_type!r}. Use 'prefix' or 'suffix'.")


def _matches_one(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    start = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    return all(wanted in (WILDCARD, label) for label, wanted in zip(namespace[start:], path, strict=False))


def _check_label(label: object, namespace: Sequence[str]) -> None:
    where = f"Invalid namespace label {label!r} found in {namespace!r}."
    if not isinstance(label, str):
        raise InvalidNamespaceError(f"{where} Namespace labels must be strings, but got {type(label).__name__}.")
    if not label:
        raise InvalidNamespaceError(f"{where} Namespace labels cannot be empty strings.")
    if "." in label:
        raise InvalidNamespaceError(f"{where} Namespace labels cannot contain periods ('.').")
    if "\x00" in label:
        raise InvalidNamespaceError(f"{where} Namespace labels cannot contain NUL ('\\x00').")
    if not is_text(label):
        raise InvalidNamespaceError(f"{where} Namespace labels cannot contain lone surrogates.")
