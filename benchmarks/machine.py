"""What every figure is printed with: the machine, versions, and how fast the disk commits, measured in the same run."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import lmdb

MEMORY_FOLDER = "/dev/shm"
_PACKAGES = ("lithograph", "lmdb", "langgraph", "langgraph-checkpoint", "langgraph-checkpoint-sqlite", "eventsourcing")
FSYNC = {
    "lithograph": "LMDB, each append synced (no MDB_NOSYNC, no MDB_NOMETASYNC)",
    "SqliteSaver": "as it comes: journal_mode=WAL, synchronous=FULL",
}


def describe() -> dict[str, Any]:
    """Return the machine and the versions."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "kernel": platform.release(),
        "python": sys.version.split()[0],
        "sqlite": sqlite3.sqlite_version,
        "versions": {name: _version(name) for name in _PACKAGES},
        "fsync": FSYNC,
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


@contextmanager
def folder(*, in_memory: bool = False) -> Iterator[Path]:
    """Lend an empty folder: on the disk, or on a file system in memory where there is one."""
    home = MEMORY_FOLDER if in_memory and os.access(MEMORY_FOLDER, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="lithograph-", dir=home) as path:
        yield Path(path)


def file_system(path: Path) -> str:
    """Return the type of the file system that a folder lies on."""
    best, kind = "", "unknown"
    for line in Path("/proc/mounts").read_text().splitlines() if Path("/proc/mounts").exists() else ():
        _device, mount, found, *_ = line.split()
        if str(path).startswith(mount) and len(mount) >= len(best):
            best, kind = mount, found
    return kind


def raw_rates(path: Path, *, seconds: float = 1.0, record_bytes: int = 200) -> dict[str, Any]:
    """Return how many commits a second the folder takes: LMDB with one record each, and 4 KiB overwritten in place."""
    return {
        "file_system": file_system(path),
        "lmdb_commits_per_s": round(1 / commit_seconds(path, seconds=seconds, record_bytes=record_bytes), 1),
        "fdatasync_4k_per_s": round(_overwrites(path, seconds), 1),
    }


def commit_seconds(path: Path, *, seconds: float = 1.0, record_bytes: int = 200, work_seconds: float = 0.0) -> float:
    """Return the mean time of one synced LMDB commit of one record, with so much work of the processor between two."""
    home = path / f"raw-{time.monotonic_ns()}"
    record, count, spent = os.urandom(record_bytes), 0, 0.0
    with lmdb.open(str(home), map_size=1 << 30) as env:
        while spent < seconds:
            until = time.perf_counter() + work_seconds
            while (began := time.perf_counter()) < until:
                pass
            with env.begin(write=True) as transaction:
                transaction.put(count.to_bytes(8, "big"), record, append=True)
            spent += time.perf_counter() - began
            count += 1
    return spent / count


def _overwrites(path: Path, seconds: float) -> float:
    file = os.open(path / "raw-file", os.O_CREAT | os.O_RDWR)
    try:
        os.pwrite(file, bytes(1 << 20), 0)
        os.fsync(file)
        count, began = 0, time.perf_counter()
        while (spent := time.perf_counter() - began) < seconds:
            os.pwrite(file, os.urandom(4096), (count % 256) * 4096)
            os.fdatasync(file)
            count += 1
        return count / spent
    finally:
        os.close(file)


def folder_bytes(path: Path) -> int:
    """Return what a folder takes on the disk: allocated blocks, since files are sparse."""
    return sum(file.stat().st_blocks * 512 for file in path.rglob("*") if file.is_file())
