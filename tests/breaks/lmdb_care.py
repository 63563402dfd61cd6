"""The log's files: opened once, grown, cut, full, read-only, remote, and left by processes that died."""

from __future__ import annotations

from .entry import Break

_ENVIRONMENTS = "tests/eventlog/test_environments.py"
_SLOTS = "tests/eventlog/test_slots.py"
_MACHINE = "tests/eventlog/test_machine.py"
_OPENING = "eventlog/environments.py"

LMDB_CARE = (
    Break(
        "a file is opened once, through a symlink too",
        _OPENING,
        "        shared = _OPEN.get(_file_key(path) or (0, 0))\n",
        "        shared = next((each for each in _OPEN.values() if each.path == path), None)\n",
        f"{_ENVIRONMENTS} {_MACHINE}",
    ),
    Break(
        "an environment is counted: the last one closes it",
        _OPENING,
        "            if self._references == 0:\n",
        "            if self._references >= 0:\n",
        _ENVIRONMENTS,
    ),
    Break(
        "a child of a fork is told to open anew",
        _OPENING,
        "    def _not_forked(self) -> None:\n        if self._pid != os.getpid():\n",
        "    def _not_forked(self) -> None:\n        if self._pid == 0:\n",
        _ENVIRONMENTS,
    ),
    Break(
        "growth by another process is adopted",
        _OPENING,
        "            except lmdb.MapResizedError:\n                self._adopt()\n            except lmdb.ReadersFullError",
        "            except lmdb.ReadersFullError",
        f"{_ENVIRONMENTS} {_SLOTS}",
    ),
    Break(
        "a full map grows, and the same work is run again",
        _OPENING,
        "            except lmdb.MapFullError:\n                self._grow(map_size)\n",
        "",
        _ENVIRONMENTS,
    ),
    Break(
        "a refused map is halved",
        _OPENING,
        "            self._map_size //= 2\n",
        "            self._map_size = SMALLEST_MAP\n",
        f"{_ENVIRONMENTS} {_MACHINE}",
    ),
    Break(
        "room is left for keys and views where an address space is small",
        _OPENING,
        "                if not refused or self._map_size <= SMALLEST_MAP:\n",
        "                if self._map_size:\n",
        f"{_ENVIRONMENTS} {_MACHINE}",
    ),
    Break(
        "a file that was cut is found at open",
        _OPENING,
        "        try:\n            self.check_size()\n            self._open_tables(tables)\n",
        "        try:\n            self._open_tables(tables)\n",
        _ENVIRONMENTS,
    ),
    Break(
        "a file that is cut under an open log is found at the next page",
        "eventlog/engines/lmdb.py",
        '        """Return records by position."""\n        self._log.check_size()\n',
        '        """Return records by position."""\n',
        _ENVIRONMENTS,
    ),
    Break(
        "slots of killed readers are swept at open",
        _OPENING,
        "        env.reader_check()\n        self._map_size",
        "        self._map_size",
        _SLOTS,
    ),
    Break(
        "slots of killed readers are swept when none is left",
        _OPENING,
        "                if swept or not self._sweep():\n",
        "                if True:\n",
        _SLOTS,
    ),
    Break(
        "killed readers are swept now and then",
        _OPENING,
        "        if self._writes % _SWEEP_EVERY == 0:\n            self._sweep()\n",
        "",
        _SLOTS,
    ),
    Break(
        "there is room for more readers than LMDB has by itself",
        _OPENING,
        "            max_readers=_MAX_READERS,\n",
        "            max_readers=126,\n",
        _SLOTS,
    ),
    Break(
        "a full disk kills nobody through the lock file",
        _OPENING,
        "            reserve_lock_file(self.path, _MAX_READERS)\n",
        "            pass\n",
        _MACHINE,
    ),
    Break(
        "half a beginning on a full disk does not pass for a cut file",
        _OPENING,
        "                if begins:\n                    self._forget_half_a_beginning()\n",
        "",
        _MACHINE,
    ),
    Break(
        "what the file system may not write is not read without locks beside a writer",
        _OPENING,
        "            if self._lockless:\n                self._demand_nobody_writes()\n            with env",
        "            with env",
        _MACHINE,
    ),
    Break(
        "records behind the end make an append refused",
        "eventlog/engines/lmdb.py",
        "        if added != len(events) or placed != len(events):\n",
        "        if placed != len(events):\n",
        _ENVIRONMENTS,
    ),
    Break(
        "a stray place in the index makes an append refused",
        "eventlog/engines/lmdb.py",
        "        if added != len(events) or placed != len(events):\n",
        "        if added != len(events):\n",
        _ENVIRONMENTS,
    ),
    Break(
        "of two mounts on one folder the upper one counts",
        "eventlog/mounts.py",
        "    return min(reversed([*mounts]), key=",
        "    return min([*mounts], key=",
        "tests/eventlog/test_mounts.py",
    ),
    Break(
        "a mount that lies below another one is met",
        "eventlog/mounts.py",
        "    while here.number not in passed:\n",
        "    while not passed:\n",
        "tests/eventlog/test_mounts.py",
    ),
    Break(
        "spaces in a mount's path are read",
        "eventlog/mounts.py",
        "_plain(fields[4])",
        "fields[4]",
        "tests/eventlog/test_mounts.py",
    ),
    Break(
        "servers' file systems are refused",
        "eventlog/engines/folder.py",
        "    if kind in _NETWORK or kind in _NETWORK_FUSE:\n",
        "    if kind in _NETWORK:\n",
        "tests/eventlog/test_mounts.py",
    ),
    Break(
        "a network file system is refused unless that is forced",
        "eventlog/engines/folder.py",
        "    if kind in _NETWORK or kind in _NETWORK_FUSE:\n",
        "    if kind in _NETWORK_FUSE:\n",
        f"{_ENVIRONMENTS} tests/eventlog/test_mounts.py",
    ),
    *(
        Break(
            f"no log lies on {kind}",
            "eventlog/engines/folder.py",
            f'    "{kind}",\n',
            "",
            "tests/eventlog/test_mounts.py",
        )
        for kind in ("9p", "cifs", "nfs", "nfs4")
    ),
    Break(
        "no log lies on fuse.sshfs",
        "eventlog/engines/folder.py",
        '"fuse.sshfs", ',
        "",
        "tests/eventlog/test_mounts.py",
    ),
    Break(
        "reads do not wait for a writer",
        _OPENING,
        "            with env.begin() as transaction:\n                return work(transaction)\n",
        "            with env.begin(write=not self.read_only) as transaction:\n                return work(transaction)\n",
        _SLOTS,
    ),
)
