"""Error handlers: the task that runs in a node's stead, in the same superstep, when the node failed for good.

The failure is recorded before the handler starts, so after a crash the node is not run again; what the handler wrote
is recorded as any task's outcome, so a handler that finished is not run again either. `Loop` starts them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ..eventlog.events import PlannedTask
from ..projections.ids import task_id
from .rules import PUSH, PUSH_TRIGGERS
from .tasks import Task, task_input

if TYPE_CHECKING:
    from .loop import Loop

HANDLER_OF: Final = "__error_handler__"
"""What the name of a node's own handler begins with."""
DEFAULT_HANDLER: Final = "__default_error_handler__"
"""The name of the handler of all nodes that have none of their own."""
_HANDLES: Final = "node_error_handler"


def handler_of(loop: Loop, failed: Task) -> Task:
    """Return the task that handles a task's failure, with the same input and what an earlier run recorded of it."""
    state, name = loop.state, failed.node.handler
    assert state is not None
    assert name is not None
    namespace = state.namespace
    scope = f"{namespace}|{name}" if namespace else name
    place = f"{PUSH}\0{_HANDLES}\0{failed.planned.id.hex()}"
    id_ = task_id(state.id, scope, loop.step, name, place, ())
    planned = PlannedTask(id_, name, (*failed.planned.path[:3], _HANDLES, False), PUSH_TRIGGERS)
    task = Task(planned, loop.spec.nodes[name], loop.run, loop.step)
    task.failure = failed.failure
    task.again = partial(task_input, failed, loop.visible_cells(), loop.values)
    task.input = task.again()
    loop.record.restore(task, state)
    return task
