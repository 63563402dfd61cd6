"""`verify`: rows, index, heads, frontier and files against each other; and views, which are never believed unseen."""

from __future__ import annotations

from .entry import Break

_VERIFY, _QUICK = "tests/eventlog/test_verify.py", "tests/eventlog/test_verify_quick.py"

VERIFYING = (
    Break(
        "the log is read by a child process",
        "eventlog/verify.py",
        "    if path is not None and sys.executable:\n",
        "    if path is None and sys.executable:\n",
        f"{_VERIFY} {_QUICK}",
    ),
    Break(
        "a child that was killed is a finding",
        "eventlog/verify.py",
        "    if report is None:\n        findings.append",
        "    if report is None:\n        [].append",
        _VERIFY,
    ),
    Break(
        "each record follows the one before it in its stream",
        "eventlog/audit.py",
        "        if header.previous != last.hash:\n",
        "        if False:\n",
        f"{_VERIFY} {_QUICK}",
    ),
    Break(
        "each record's content has its digest",
        "eventlog/audit.py",
        "        if blake3(erasable).digest() != header.digest:\n",
        "        if False:\n",
        f"{_VERIFY} {_QUICK}",
    ),
    Break(
        "each salt was made with its scope's key",
        "eventlog/audit.py",
        "        if key is not None and derive_salts",
        "        if False and derive_salts",
        f"{_VERIFY} {_QUICK}",
    ),
    Break(
        "the index names each record",
        "eventlog/audit.py",
        "            if place != key:\n",
        "            if False:\n",
        f"{_VERIFY} {_QUICK}",
    ),
    Break(
        "the index names nothing else",
        "eventlog/audit.py",
        "        if count != self.records:\n",
        "        if False:\n",
        f"{_VERIFY} {_QUICK}",
    ),
    Break(
        "each head is its stream's last record",
        "eventlog/audit.py",
        "        elif head != self.streams.get(stream):\n",
        "        elif False:\n",
        f"{_VERIFY} {_QUICK}",
    ),
    Break(
        "a stream without a head is a finding",
        "eventlog/audit.py",
        "        for stream in self.streams.keys() - seen:\n",
        "        for stream in set[bytes]():\n",
        f"{_VERIFY} {_QUICK}",
    ),
    Break(
        "the first record of a stream names it",
        "eventlog/audit.py",
        "            if header.version == 1 and (body.name is None or stream_id(decode_name(body.name)) != header.stream):\n",
        "            if False:\n",
        f"{_VERIFY} {_QUICK}",
    ),
    Break(
        "the tree at the end is that of the records",
        "eventlog/quick.py",
        "        if len(tail) == end - self._first + 1 and tuple(found) != frontier[len(frontier) - subtrees :]:\n",
        "        if False:\n",
        _QUICK,
    ),
    Break(
        "a finding says of what kind it is",
        "eventlog/audit.py",
        "        self._report(Finding(position, what, kind=kind))\n",
        "        self._report(Finding(position, what))\n",
        _QUICK,
    ),
    Break(
        "a finding says where it is",
        "eventlog/audit.py",
        "        self._report(Finding(position, what, kind=kind))\n",
        "        self._report(Finding(None, what, kind=kind))\n",
        _QUICK,
    ),
    Break(
        "the quick form says what it left out",
        "eventlog/quick.py",
        "            self._say_what_was_left_out,\n",
        "",
        _QUICK,
    ),
    Break(
        "the quick form costs the same however long the log is",
        "eventlog/quick.py",
        "        self._first = max(0, end - self._last) + 1\n",
        "        self._first = 1\n",
        _QUICK,
    ),
    Break(
        "the quick form looks at the files",
        "eventlog/quick.py",
        "            self._check_storage,\n",
        "",
        f"{_VERIFY} {_QUICK}",
    ),
    Break(
        "a value out of a view is believed only when it has the digest that the log recorded",
        "projections/rungs.py",
        "            if digest and whole_digest(key, data) != digest:\n",
        "            if False:\n",
        "tests/projections/test_views.py::test_a_value_in_a_rung_is_what_its_commit_recorded",
    ),
)
