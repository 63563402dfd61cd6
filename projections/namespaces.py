"""Namespaces: where in a thread the checkpoints of a graph inside a node lie.

A namespace is a line of parts: `node:task` for each level, and a bare number behind it when the task runs a second
graph, a third, … The root's is empty. A graph whose state outlives the task leaves the tasks out: `node`.
"""

from __future__ import annotations

from typing import Final

SEPARATOR: Final = "|"
TASK: Final = ":"


def levels(namespace: str) -> tuple[str, ...]:
    """Return the parts of a namespace, none for the root's."""
    return tuple(namespace.split(SEPARATOR)) if namespace else ()


def without_tasks(namespace: str) -> str:
    """Return the namespace of a graph that keeps its state from task to task."""
    return SEPARATOR.join(part.split(TASK)[0] for part in levels(namespace))


def nodes_of(namespace: str) -> str:
    """Return the nodes that a namespace leads through, `outer|inner`: the name by which a graph is looked up."""
    return SEPARATOR.join(part.split(TASK)[0] for part in levels(namespace) if not part.isdigit())


def around(namespace: str) -> str:
    """Return the namespace of the task around the one that has this namespace; numbers are no level of their own."""
    parts = list(levels(namespace))
    while parts and parts[-1].isdigit():
        parts.pop()
    if parts:
        parts.pop()
    while parts and parts[-1].isdigit():
        parts.pop()
    return SEPARATOR.join(parts)


def is_kept(namespace: str) -> bool:
    """Tell whether a namespace is of a graph inside a node whose state outlives the task."""
    return bool(namespace) and TASK not in namespace


def inside(namespace: str, part: str) -> str:
    """Return the namespace one level further in."""
    return f"{namespace}{SEPARATOR}{part}" if namespace else part
