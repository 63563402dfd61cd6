"""`compile(strict=True)`: finds what would make a record untrue: inputs changed in place, keys nobody stores."""

from __future__ import annotations

from ..projections.cells import Values
from ..projections.fold import Cells
from .errors import InvalidUpdateError, MutatedInputError
from .spec import NodeSpec


class StrictChecks:
    """Checks around one node's call. Costs an encoding of what the node reads, twice."""

    def __init__(self, node: NodeSpec, cells: Cells, values: Values) -> None:
        self._node = node
        self._cells = cells
        self._values = values
        self._before = self._encoded()

    def _encoded(self) -> dict[str, bytes]:
        return {key: self._values.raw(self._cells[key].value) for key in self._node.reads if key in self._cells}

    def inputs_unchanged(self) -> None:
        """Raise `MutatedInputError` when the node changed something inside a value that it read."""
        for key, data in self._encoded().items():
            if data != self._before[key]:
                raise MutatedInputError(
                    f"node '{self._node.name}' changed the value of channel {key!r} in place; return an update instead",
                    node=self._node.name,
                    channel=key,
                )

    def keys_known(self, unknown: tuple[str, ...]) -> None:
        """Raise `InvalidUpdateError` for keys that no channel has."""
        if unknown:
            raise InvalidUpdateError(
                f"node '{self._node.name}' wrote {', '.join(map(repr, unknown))}, which no channel of the graph has"
            )
