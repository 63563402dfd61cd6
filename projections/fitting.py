"""Making a step's recorded results fit into the one record that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..eventlog.events import ChannelResult, ResultOp
from .cells import Values
from .values import RECORD_BYTES

_STORED_FROM = {ResultOp.SPLICE: 2, ResultOp.ENTRIES: 0}
"""From which place on the data of an operation is stored values, where it is not one stored value itself."""


def fitted(results: Sequence[ChannelResult], values: Values) -> Sequence[ChannelResult]:
    """Return results for one record: the same ones, or with their largest values moved to blobs where all is too much.

    Readers decode either form, and digests cover values, so this changes nothing but where bytes are.
    """
    size = 0
    for result in results:
        data = result.data
        if type(data) is bytes:
            size += len(data)
        elif data is not None:
            size += sum([len(part) for part in _parts(result) if type(part) is bytes])
    if values.plain or size <= RECORD_BYTES:
        return results
    parts = [part for result in results for part in _parts(result)]
    stored = iter(values.fit(parts))
    return [_with_parts(result, [next(stored) for _ in _parts(result)]) for result in results]


def _parts(result: ChannelResult) -> list[Any]:
    data = result.data
    if type(data) is bytes:
        return [data]
    start = _STORED_FROM.get(result.op)
    return [] if start is None else data[start:]


def _with_parts(result: ChannelResult, parts: list[Any]) -> ChannelResult:
    if not parts:
        return result
    if result.op not in _STORED_FROM:
        return result._replace(data=parts[0])
    return result._replace(data=[*result.data[: _STORED_FROM[result.op]], *parts])
