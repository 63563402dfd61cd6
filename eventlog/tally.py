"""`Tally`: how many rows a table of views should have, and the sum of their checksums.

A row that is gone, or an older one in its place, leaves all others with right checksums; it does not leave the sum.
Rows are added and taken away in any order. Read `derived` for the rows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .errors import ViewDamaged

CHECK_BYTES = 8
"""How long the checksum is that ends each stored row."""
_MODULUS = 1 << 8 * CHECK_BYTES


class Tally(NamedTuple):
    """The rows of one table."""

    rows: int = 0
    sum: int = 0

    def plus(self, stored: bytes) -> Tally:
        """Return the tally with a row more."""
        return Tally(self.rows + 1, (self.sum + _checksum(stored)) % _MODULUS)

    def minus(self, stored: bytes) -> Tally:
        """Return the tally with a row less; raises `ViewDamaged` when there is none left."""
        if not self.rows:
            raise ViewDamaged("the views have a row that was never written")
        return Tally(self.rows - 1, (self.sum - _checksum(stored)) % _MODULUS)

    def after(self, changes: Iterable[tuple[bytes | None, bytes]]) -> Tally:
        """Return the tally after rows are written, each given with the one before it in its place."""
        tally = self
        for before, stored in changes:
            tally = (tally if before is None else tally.minus(before)).plus(stored)
        return tally


def pack_tallies(tallies: Mapping[str, Tally], tables: Sequence[str]) -> bytes:
    """Return the tallies of tables as they are stored."""
    return _layout(tables).pack(*[number for table in tables for number in tallies[table]])


def unpack_tallies(stored: bytes, tables: Sequence[str]) -> dict[str, Tally]:
    """Return stored tallies; raises `ViewDamaged` when they are of other tables than these."""
    layout = _layout(tables)
    if len(stored) != layout.size:
        raise ViewDamaged("the views are of another version")
    numbers = layout.unpack(stored)
    return {table: Tally(*numbers[2 * place : 2 * place + 2]) for place, table in enumerate(tables)}


def _layout(tables: Sequence[str]) -> struct.Struct:
    return struct.Struct(f">{2 * len(tables)}Q")


def _checksum(stored: bytes) -> int:
    return int.from_bytes(stored[-CHECK_BYTES:], "big")
