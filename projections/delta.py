"""`DeltaChannel`: a reducer that is called once a step, with all of the step's writes.

LangGraph stores the writes and runs the reducer over them on every read, so it asks for a reducer to which batches mean
nothing, and stores a snapshot from time to time. Our log stores what the reducer made of each step, as the change
that it is, which costs what changed and is read without running it. So the reducer need not be batching-invariant, and
no snapshots are due.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .add_messages import minting
from .cells import MISSING, Cell, Values, Written, overwrite_of, own
from .channels import Channel, concrete_type, owned_cell, the_overwrite
from .given_ids import with_ids_for_delta
from .reducers import reducer_name
from .splices import Change, describe_change


class DeltaChannel(Channel):
    """Reduces a step's writes in one call: `reducer(value, [write, …])`, in apply order.

    items: Annotated[list, DeltaChannel(lambda value, writes: value + [part for write in writes for part in write])]

    An `Overwrite` among them replaces the value, and the other writes of its step do not count; `None` in it is an
    empty value. `snapshot_frequency` is LangGraph's and has no effect here: nothing has to be replayed. Raises
    `ValueError` when it is not positive.
    """

    def __init__(
        self,
        reducer: Callable[[Any, Sequence[Any]], Any],
        typ: Any = None,
        *,
        snapshot_frequency: int = 100,
    ) -> None:
        if snapshot_frequency <= 0:
            raise ValueError(f"snapshot_frequency must be a positive int, got {snapshot_frequency}")
        super().__init__(list if typ is None else concrete_type(typ))
        self.reducer = reducer
        self.snapshot_frequency = snapshot_frequency

    def of(self, typ: Any) -> DeltaChannel:
        """Return this channel for values of another type: that of the field which it annotates."""
        return type(self)(self.reducer, typ, snapshot_frequency=self.snapshot_frequency)

    def initial(self) -> Any:
        """Return an empty value of the channel's type, when it has one."""
        try:
            return self.typ()
        except Exception:  # noqa: BLE001 - any constructor of a user's type may refuse, in any way: no initial value
            return MISSING

    def decide(self, cell: Cell | None, writes: Sequence[Written], values: Values) -> Change | None:
        """Record what the reducer makes of the writes; a second `Overwrite` is refused."""
        replaced = the_overwrite(self, writes)
        if replaced is not None:
            _, by = overwrite_of(with_ids_for_delta(replaced.value, replaced.origin))
            return describe_change(cell, self.typ() if by is None else own(by), values)
        value = self.typ() if cell is None else owned_cell(cell, values).get()
        with minting() as mint:
            mint.follow(writes[0])
            # A write of the run's input has the ids of its messages only here: it is stored once, as it was given.
            outcome = self.reducer(value, [with_ids_for_delta(written.value, written.origin) for written in writes])
        return describe_change(cell, outcome, values)

    def is_pinned(self) -> bool:
        """Tell that folding writes runs code of a user."""
        return False

    def describe(self) -> dict[str, Any]:
        """Return kind and reducer."""
        return {"channel": type(self).__name__, "reducer": reducer_name(self.reducer)}
