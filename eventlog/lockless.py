"""Reading without locks: on a read-only file system a reader can leave no sign that would keep a writer off its pages.

LMDB then reads without any lock. A writer that reaches the same file another way overwrites pages under such a
reader, which kills the reader's process. Everybody else who has the file open holds a shared lock on the first byte
of its lock file; that can be asked for with the right to read alone, so it is asked before each transaction. Read
`environments` for who asks.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from pathlib import Path

LOCK_FILE = "lock.mdb"
_LAYOUTS = {"linux": ("@hhqqi4x", 0), "darwin": ("@qqihh", 3)}
"""How the system's `struct flock` is laid out, and which of its fields is the lock's type."""


def opened_elsewhere(folder: Path) -> bool:
    """Tell whether another process of this machine has the environment in a folder open, with locks.

    Not for a process that has it open with locks itself: closing the lock file here would let go of those.
    """
    layout = _LAYOUTS.get(sys.platform)
    if layout is None:
        return False
    try:
        file = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        form, kind = struct.Struct(layout[0]), layout[1]
        asked = [0, os.SEEK_SET, 0, 1, 0] if not kind else [0, 1, 0, 0, os.SEEK_SET]
        asked[kind] = fcntl.F_WRLCK
        answer = form.unpack(fcntl.fcntl(file, fcntl.F_GETLK, form.pack(*asked))[: form.size])
        return answer[kind] != fcntl.F_UNLCK
    finally:
        os.close(file)
