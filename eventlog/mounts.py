"""Which file system a path lies on, from the text of `/proc/self/mountinfo`. Pure: bytes in, a name out.

The table is a tree: each mount names the one that it was mounted on. A path is looked up as the kernel does it, from
the root down, so that of two mounts on one folder the upper one counts, and a mount below a folder that was mounted
over later does not count at all. The system's older table, `/proc/self/mounts`, lacks the tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_OCTAL = re.compile(rb"\\([0-7]{3})")


class Mount(NamedTuple):
    """One line of the table: what is mounted at `point`, on which other mount."""

    number: int
    parent: int
    point: bytes
    kind: str
    """The type of the file system, `ext4` say, or `fuse.sshfs`."""


def parse_mounts(table: bytes) -> list[Mount]:
    """Return the mounts of a table, in its order; lines that are not understood are left out."""
    return [mount for mount in map(_parse, table.split(b"\n")) if mount]


def file_system_of(path: bytes, table: bytes) -> str:
    """Return the type of the file system on which an absolute path without links lies; empty when nothing tells."""
    mounts = parse_mounts(table)
    on_the_way = [mount for mount in mounts if _holds(mount.point, path)]
    known = {mount.number for mount in mounts}
    # The root is mounted on something that this process does not see; in a jail it may be no mount of its own.
    here = _nearest(mount for mount in on_the_way if mount.parent not in known or mount.parent == mount.number)
    if here is None or here.point != b"/":
        # The last of the longest.
        return max(reversed(on_the_way), key=lambda mount: len(mount.point)).kind if on_the_way else ""
    passed: set[int] = set()
    while here.number not in passed:
        passed.add(here.number)
        here = _nearest(m for m in on_the_way if m.parent == here.number and m.number not in passed) or here
    return here.kind


def _nearest(mounts: Iterable[Mount]) -> Mount | None:
    """Return the mount that a walk from the root meets first; of several at one point the last one mounted."""
    return min(reversed([*mounts]), key=lambda mount: len(mount.point), default=None)


def _parse(line: bytes) -> Mount | None:
    """Return what a line says: number, parent, device, root, mount point, options, optional fields, `-`, type."""
    before, separator, behind = line.partition(b" - ")
    fields, kind = before.split(), behind.split()
    if not separator or len(fields) < 6 or not kind or not (fields[0].isdigit() and fields[1].isdigit()):
        return None
    return Mount(int(fields[0]), int(fields[1]), _plain(fields[4]), _plain(kind[0]).decode(errors="replace"))


def _plain(escaped: bytes) -> bytes:
    """Return a field without the octal escapes of space, tab, line feed, backslash and number sign."""
    return _OCTAL.sub(lambda found: bytes([int(found[1], 8)]), escaped)


def _holds(point: bytes, path: bytes) -> bool:
    return path == point or path.startswith(point.rstrip(b"/") + b"/")
