"""`compile(strict=True)`: finds what would make a record untrue: inputs changed in place, keys nobody stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ..eventlog.errors import ValueEncodingError
from ..projections.cells import Values
from ..projections.fold import Cells
from ..projections.lending import UntrackedCell
from ..projections.types import ROOT, TASKS
from .errors import InvalidUpdateError, MutatedInputError
from .rules import PUSH

if TYPE_CHECKING:
    from .tasks import Task


class StrictChecks:
    """Checks around one node's call. Costs an encoding of what the node is given, twice."""

    def __init__(self, task: Task, cells: Cells, values: Values) -> None:
        self._node = task.node.name
        self._values = values
        loose = frozenset(key for key in task.node.reads if isinstance(cells.get(key), UntrackedCell))
        self._given = {key: part for key, part in _parts(task).items() if key not in loose}
        """The very objects that the node is given; what it binds to a key instead is none of our business."""
        self._before = self._encoded()

    def _encoded(self) -> dict[str, bytes | None]:
        return {key: self._encoding(part) for key, part in self._given.items()}

    def _encoding(self, part: Any) -> bytes | None:
        try:
            return self._values.raw(part)
        except ValueEncodingError:
            # A schema may have made something of its own of it, or the node just put something in that no log holds.
            return None

    def inputs_unchanged(self) -> None:
        """Raise `MutatedInputError` when the node changed something inside a value that it was given."""
        for key, data in self._encoded().items():
            if data != self._before[key]:
                raise MutatedInputError(
                    f"node '{self._node}' changed the value of channel {key!r} in place; return an update instead",
                    node=self._node,
                    channel=key,
                )

    def keys_known(self, unknown: tuple[str, ...]) -> None:
        """Raise `InvalidUpdateError` for keys that no channel has."""
        if unknown:
            raise InvalidUpdateError(
                f"node '{self._node}' wrote {', '.join(map(repr, unknown))}, which no channel of the graph has"
            )


def _parts(task: Task) -> Mapping[str, Any]:
    """Return what a node is given by key: of a state object its fields, of anything else the whole."""
    given = task.input
    if type(given) is dict and all(type(key) is str for key in cast("dict[Any, Any]", given)):
        return cast("dict[str, Any]", given).copy()
    given = cast("Any", given)
    if task.planned.path[0] == PUSH:
        return {TASKS: given}
    if task.node.reads == (ROOT,):
        return {ROOT: given}
    return {key: getattr(given, key) for key in task.node.reads if hasattr(given, key)}
