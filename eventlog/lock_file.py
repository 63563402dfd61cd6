"""LMDB's lock file: room for it, and what it tells those who may only read it.

LMDB makes the file long and full of holes, and writes to it through a map: on a full disk the first touch of a hole
kills the process. So its room is taken before LMDB sees it.

On a read-only file system a reader can leave no sign that would keep a writer off its pages, and LMDB reads without
any lock. A writer that reaches the same file another way overwrites pages under such a reader, which kills the
reader's process. Everybody else who has the file open holds a shared lock on its first byte; that can be asked for with
the right to read alone, so it is asked before each transaction. Read `environments` for who asks.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
from pathlib import Path

LOCK_FILE = "lock.mdb"
_READER_BYTES = 64
_HEAD_BYTES = 128
_PAGE_BYTES = 4096
_MODE = 0o644
_LAYOUTS = {"linux": ("@hhqqi4x", 0), "darwin": ("@qqihh", 3)}
"""How the system's `struct flock` is laid out, and which of its fields is the lock's type."""


def reserve_lock_file(folder: Path, readers: int) -> None:
    """Take the disk's room for the lock file of the environment in a folder; raises `OSError` when there is none.

    Not for a process that has the environment open: closing the file here would let go of its locks.
    """
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        file = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
    except OSError:
        # What may not be written is LMDB's to complain about, or to read without locks.
        return
    try:
        _fill_holes(file, _HEAD_BYTES + readers * _READER_BYTES)
    finally:
        os.close(file)


def _fill_holes(file: int, wanted: int) -> None:
    size = os.fstat(file).st_size
    # A file that somebody has mapped keeps its length, from which LMDB tells how many readers it has room for.
    end = size if size and _is_locked(file) else max(size, wanted)
    solid = os.lseek(file, 0, os.SEEK_HOLE) if size else 0
    if solid >= end:
        return
    try:
        os.posix_fallocate(file, solid, end - solid)
    except OSError as error:
        # With its first page there, a log on a full disk can be read by some dozen readers.
        if error.errno not in (errno.ENOSPC, errno.EDQUOT) or solid < min(_PAGE_BYTES, wanted):
            raise


def opened_elsewhere(folder: Path) -> bool:
    """Tell whether another process of this machine has the environment in a folder open, with locks.

    Not for a process that has it open with locks itself: closing the lock file here would let go of those.
    """
    try:
        file = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return _is_locked(file)
    finally:
        os.close(file)


def _is_locked(file: int) -> bool:
    """Tell whether another process holds a lock on the first byte; where the system is not known, nobody does."""
    if sys.platform not in _LAYOUTS:
        return False
    layout, kind = _LAYOUTS[sys.platform]
    form = struct.Struct(layout)
    asked = [0, os.SEEK_SET, 0, 1, 0] if not kind else [0, 1, 0, 0, os.SEEK_SET]
    asked[kind] = fcntl.F_WRLCK
    answer = form.unpack(fcntl.fcntl(file, fcntl.F_GETLK, form.pack(*asked))[: form.size])
    return answer[kind] != fcntl.F_UNLCK
