"""A run may not continue or edit its own thread from inside one of its nodes: it would take the thread from itself."""

from __future__ import annotations

from ..eventlog.errors import ConflictError
from ..projections.open_thread import OpenThread
from .config import current_scope
from .tasks import TaskScope


def not_from_within(thread: OpenThread) -> None:
    """Raise `ConflictError` when a node of a run on this very thread is asking."""
    scope = current_scope.get()
    if isinstance(scope, TaskScope) and scope.task.run.thread_stream == thread.stream:
        version = thread.thread.version
        raise ConflictError(
            f"node {scope.task.planned.name!r} of a run on thread {thread.id!r} tried to continue or edit that thread: "
            "the run holds it. Return the change from the node, or do it after the run.",
            stream=thread.id,
            expected=version,
            actual=version,
        )
