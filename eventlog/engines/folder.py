"""A path, judged: is it a log, may it become one, or is it something else?

Every way to hold it wrong has its own answer here, before LMDB sees the path.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ..environments import DATA_FILE
from ..errors import LogLocked, NetworkFileSystem, NotALog
from ..mounts import file_system_of
from .lmdb import KEYS, LOG, LmdbEngine

_OURS = {LOG, KEYS, "views"}
_SQLITE = b"SQLite format 3\x00"
_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = {
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "gfs2",
    "glusterfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "smb3",
    "smbfs",
}
_NETWORK_FUSE = {"fuse.ceph", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "fuse.rclone"}


def open_folder(
    path: Path, *, read_only: bool, force_network: bool, random: Callable[[int], bytes] = os.urandom
) -> LmdbEngine:
    """Return the engine over the log at `path`, made when the path is absent or an empty folder."""
    try:
        exists = _is_log(path)
    except PermissionError as error:
        raise LogLocked(f"{path} may not be read: {error}; check its permissions") from error
    if not exists and read_only:
        raise NotALog(f"there is no log at {path}, and reading makes none; check the path")
    if not exists and os.path.expanduser(path) != str(path):
        raise NotALog(
            f"{path} begins with ~, which a shell expands, a program does not: pass Path({str(path)!r}).expanduser() "
            "instead, or the absolute path of a folder that is to be called so"
        )
    if not force_network:
        _refuse_network(path)
    try:
        return LmdbEngine(path, read_only=read_only, random=random)
    except OSError as error:
        raise LogLocked(f"{path} cannot be opened: {error}; check its permissions and the disk") from error


def _is_log(path: Path) -> bool:
    """Return whether a log is there, or raise `NotALog` when something else is."""
    if path.is_dir():
        if (path / LOG / DATA_FILE).exists() or (path / KEYS / DATA_FILE).exists():
            return True
        others = {entry.name for entry in path.iterdir()} - _OURS
        if others:
            named = f"{min(others)!r}{', …' if len(others) > 1 else ''}"
            raise NotALog(f"{path} is no log: a folder with other things in it ({named}); give a log its own path")
        return False
    if not path.exists():
        return False
    try:
        with path.open("rb") as file:
            begins = file.read(len(_SQLITE))
    except IsADirectoryError:
        # Another process has just made it.
        return _is_log(path)
    if begins == _SQLITE:
        raise NotALog(f"{path} is a SQLite database, a log is a folder: give the log its own path")
    raise NotALog(f"{path} is a file, a log is a folder: give the log a path of its own")


def _refuse_network(path: Path) -> None:
    kind = _file_system(path)
    if kind in _NETWORK or kind in _NETWORK_FUSE:
        raise NetworkFileSystem(
            f"{path} lies on {kind}, where locks and memory maps cannot be relied on: use a local disk, "
            "or force_network=True when only this machine ever opens it"
        )


def _file_system(path: Path) -> str:
    """Return the type of the file system a path lies on; empty where the system does not say."""
    try:
        table = _MOUNTS.read_bytes()
    except OSError:
        return ""
    return file_system_of(os.fsencode(path.absolute().resolve()), table)
