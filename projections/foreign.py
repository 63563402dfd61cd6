"""Checkpoints that a foreign runtime puts: stored as what changed since their parent, given back as they were.

A put becomes one `CheckpointCommitted`, whose results are the changes of the values (splices, entries, whole values);
the runtime's bookkeeping (versions, versions seen, everything else in the checkpoint) is kept in channels of its own,
whose names no state can have, so it is stored as changes too and is read, forked and copied like any value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, cast

from ..eventlog.clock import any_id, id_text
from ..eventlog.events import ChannelResult, ChannelWritten, CheckpointCommitted, ResultOp
from ..eventlog.texts import checked_text, written_text
from .cells import Values
from .checkpoints import Checkpoint
from .digests import channel_key, digest_after
from .fitting import fitted
from .fold import Cells, fold_step
from .lending import lent
from .splices import describe_change
from .state import CheckpointState
from .types import FOREIGN
from .values import encoded_for

VERSIONS = FOREIGN + "versions"
SEEN = FOREIGN + "seen"
REST = FOREIGN + "rest"
_APART = frozenset({"channel_values", "channel_versions", "versions_seen", "id"})


def is_foreign(state: CheckpointState) -> bool:
    """Tell whether a foreign runtime put the checkpoint."""
    return REST in state.cells


def check_texts(*groups: Iterable[str]) -> None:
    """Raise `InvalidText` for names of a foreign runtime that cannot be written as text."""
    for name in chain.from_iterable(groups):
        checked_text(name, "the name")


def commit_of(
    checkpoint: Mapping[str, Any],
    metadata: Mapping[str, Any],
    new_versions: Mapping[str, Any],
    base: CheckpointState | None,
    *,
    parent: str | None,
    namespace: str,
    values: Values,
    scope_key: bytes,
) -> CheckpointCommitted:
    """Return the event that stores a checkpoint as what changed since `base`, its parent, when that is known."""
    changes = _changes(checkpoint, new_versions, base, values)
    results = _with_digests(changes, base, namespace, values, scope_key)
    updated = checkpoint.get("updated_channels")
    step = metadata.get("step")
    return CheckpointCommitted(
        any_id(checkpoint["id"]),
        None if parent is None else any_id(parent),
        0 if base is None else base.version,
        namespace,
        step if isinstance(step, int) else -2,
        written_text(str(metadata.get("source", "loop"))),
        values.raw(dict(metadata)),
        {},
        b"",
        (),
        (),
        tuple(fitted(results, values)),
        0,
        (),
        (),
        None if updated is None else tuple(updated),
    )


def checkpoint_from(state: CheckpointState, values: Values) -> Checkpoint:
    """Return a foreign checkpoint as it was put."""
    cells = state.cells
    whole: dict[str, Any] = {
        **lent(cells[REST], values),
        "id": id_text(state.id),
        "channel_values": {name: lent(cell, values) for name, cell in cells.items() if not name.startswith(FOREIGN)},
        "channel_versions": lent(cells[VERSIONS], values),
        "versions_seen": {node: dict(seen) for node, seen in cells[SEEN].get().items()},
    }
    return cast("Checkpoint", whole)


def writes_event(
    writes: Sequence[tuple[str, Any]], checkpoint: str, *, namespace: str, task: str, path: str, values: Values
) -> ChannelWritten:
    """Return the event of what a foreign task wrote."""
    data = values.fit([encoded_for(channel, value, values) for channel, value in writes])
    stored = tuple((channel, part) for (channel, _value), part in zip(writes, data, strict=True))
    return ChannelWritten(any_id(checkpoint), namespace, any_id(task), "", (path,) if path else (), stored)


def next_version(current: Any) -> Any:
    """Return the version after `current`, of its kind: integers for us, padded text where another saver began."""
    if current is None:
        return 1
    if isinstance(current, str):
        return f"{int(current.partition('.')[0]) + 1:032}.{0:016}"
    return current + 1


def _changes(
    checkpoint: Mapping[str, Any],
    new_versions: Mapping[str, Any],
    base: CheckpointState | None,
    values: Values,
) -> list[tuple[str, int, Any]]:
    before: Cells = {} if base is None else base.cells
    known: dict[str, Any] = before[VERSIONS].value if VERSIONS in before else {}
    versions: dict[str, Any] = checkpoint.get("channel_versions") or {}
    held: Mapping[str, Any] = checkpoint.get("channel_values") or {}
    changes: list[tuple[str, int, Any]] = [
        (name, ResultOp.EMPTY, None) for name in before if name not in held and not name.startswith(FOREIGN)
    ]
    for name, value in held.items():
        unchanged = name in before and name in versions and name not in new_versions
        if not unchanged or known.get(name) != versions[name]:
            changes.append((name, *describe_change(before.get(name), value, values)))
    rest = {key: value for key, value in checkpoint.items() if key not in _APART}
    own = {VERSIONS: dict(versions), SEEN: dict(checkpoint.get("versions_seen") or {}), REST: rest}
    for name, value in own.items():
        if name not in before or values.raw(before[name].value) != values.raw(value):
            changes.append((name, *describe_change(before.get(name), value, values)))
    return changes


def _with_digests(
    changes: list[tuple[str, int, Any]],
    base: CheckpointState | None,
    namespace: str,
    values: Values,
    scope_key: bytes,
) -> list[ChannelResult]:
    before: Cells = {} if base is None else base.cells
    after = fold_step(before, [ChannelResult(*change, b"") for change in changes], {}, values)
    results: list[ChannelResult] = []
    for name, op, data in changes:
        digest, new = b"", after.get(name)
        if new is not None and not name.startswith(FOREIGN):
            key = channel_key(scope_key, namespace, name)
            digest = digest_after(key, op, data, new, values)
        results.append(ChannelResult(name, op, data, digest))
    return results
