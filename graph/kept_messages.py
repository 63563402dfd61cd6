"""Messages that stay when their list is rebuilt: are they what was recorded of them?

Messages are shared with nodes and callers, who may have edited one in place. A list that only grew goes on from the
digest it had; a rebuilt one is hashed anew, and must not record a digest of what no event says.
"""

from __future__ import annotations

from ..eventlog.serde.format import join_array
from ..projections.cells import Cell, ListCell, Values
from ..projections.digests import ListDigest


def are_as_recorded(old: Cell | None, new: Cell, key: bytes, values: Values) -> bool:
    """Tell whether what a rebuilt list was made of has the digest that was recorded for it, if one was.

    What was hashed stays with the new list, so that its own digest costs no second encoding.
    """
    if not isinstance(old, ListCell) or not isinstance(new, ListCell) or not old.digest or new.extends(old):
        return True
    items = old.get()
    parts = values.encode_elements(items)
    if _hashed(key, parts).digest() != old.digest:
        return False
    known = dict(zip(map(id, items), parts, strict=True))
    new.backing.running = _hashed(key, [known.get(id(item)) or values.raw(item) for item in new.get()])
    return True


def _hashed(key: bytes, parts: list[bytes]) -> ListDigest:
    hashed = ListDigest(key)
    hashed.extend(join_array(parts))
    return hashed
