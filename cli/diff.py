"""`lithograph diff`: what differs between two checkpoints of a thread, down to the parts that differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import AsJson, LogPath, Namespace, ThreadId
from .output import say, write_json, write_table
from .plain import plain, short
from .reading import config_of, find_snapshot, opened

if TYPE_CHECKING:
    from ..projections import Change, ChannelDiff

_SIDES = ("before", "after")
_VALUE_WIDTH = 300


def diff(
    log: LogPath,
    thread: ThreadId,
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="A checkpoint id, as `history` lists them.")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="The checkpoint id to compare it with.")],
    *,
    namespace: Namespace = "",
    as_json: AsJson = False,
) -> int:
    """Show what differs between two checkpoints of a thread: channels, and the parts of them that differ."""
    from ..projections import diff as all_differences

    with opened(log) as opened_log:
        for checkpoint in (before, after):
            find_snapshot(opened_log, thread, checkpoint, namespace=namespace)
        old = config_of(thread, before, namespace=namespace)
        new = config_of(thread, after, namespace=namespace)
        channels = all_differences(opened_log, old, new)
    if as_json:
        document = {name: _channel(each) for name, each in channels.items()}
        write_json({"thread_id": thread, "before": before, "after": after, "channels": document})
    elif channels:
        write_table(["channel", "part", "kind", "before", "after"], _rows(channels))
    else:
        say("no channel differs")
    return 0


def _channel(each: ChannelDiff) -> dict[str, Any]:
    changes = [{"path": plain(change.path), **_sides(change)} for change in each.changes]
    return {**_sides(each), "changes": changes}


def _sides(each: ChannelDiff | Change) -> dict[str, Any]:
    """Return kind, before and after; a side that does not exist is left out."""
    sides: dict[str, Any] = {"kind": each.kind}
    if each.kind != "added":
        sides["before"] = plain(each.before)
    if each.kind != "removed":
        sides["after"] = plain(each.after)
    return sides


def _rows(channels: Mapping[str, ChannelDiff]) -> Iterator[list[str]]:
    for name, channel in channels.items():
        for change in channel.changes:
            sides = _sides(change)
            texts = [short(sides[side], width=_VALUE_WIDTH) if side in sides else "" for side in _SIDES]
            yield [name, ".".join(str(step) for step in change.path), change.kind, *texts]
