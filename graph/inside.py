"""`Inside`: a call of a graph by a task, found by the config of the call; where in the thread that graph runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..projections.namespaces import inside, without_tasks
from .config import CONFIG_TASK, configurable
from .tasks import TaskScope


class Inside:
    """A call of a graph by a task: who calls, and where in the thread the graph runs."""

    __slots__ = ("caller", "keeps", "namespace", "records")

    def __init__(self, caller: TaskScope, checkpointer: Any) -> None:
        """`checkpointer`: as the graph was compiled."""
        task = caller.task
        self.caller = caller
        self.keeps = checkpointer is True
        """Whether the graph's state outlives the task."""
        self.records = checkpointer is not False
        self.namespace = without_tasks(task.namespace) if self.keeps else task.namespace
        if (count := task.next_graph()) > 0:
            self.namespace = inside(self.namespace, str(count))


def caller_of(config: Mapping[str, Any]) -> TaskScope | None:
    """Return the task inside of which a graph is called with this config, `None` for a run of its own."""
    found = configurable(config).get(CONFIG_TASK)
    return found if isinstance(found, TaskScope) else None
