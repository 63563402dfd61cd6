"""What `verify` says when it has nothing to check, or no keys to check with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import LogClosed


def test_a_closed_log_is_not_verified(log: EventLog) -> None:
    """`verify` on a closed log raises `LogClosed`, as every other call does, instead of finding nothing wrong."""
    log.record("topic", b"data")
    assert log.verify().ok
    log.close()
    with pytest.raises(LogClosed):
        log.verify()


@pytest.mark.parametrize("gone", ["keys", "keys/data.mdb"])
@pytest.mark.parametrize("read_only", [True, False])
def test_missing_keys_are_the_first_thing_said(tmp_path: Path, gone: str, read_only: bool) -> None:
    """Without `keys/` there is one finding: that they are missing and what to do. Everything else is still checked."""
    path = tmp_path / "log"
    with EventLog(path) as log:
        for number in range(30):
            log.record(f"topic {number % 3}", b"data")
    if not read_only:
        log = EventLog(path)
    victim = path / gone
    _ = shutil.rmtree(victim) if victim.is_dir() else victim.unlink()
    if read_only:
        log = EventLog(path, read_only=True)
    with log:
        report = log.verify()
    (finding,) = report.findings
    assert "keys is missing" in finding.what
    assert "Copies of keys/ are kept apart" in finding.what
    assert (report.records, report.streams) == (30, 3)


def test_damage_beside_missing_keys_is_found(tmp_path: Path) -> None:
    """A record that was changed is found without keys, behind the word about them."""
    path = tmp_path / "log"
    with EventLog(path) as log:
        for _ in range(5):
            log.record("topic", b"a mark to be changed")
    shutil.rmtree(path / "keys")
    data = path / "log" / "data.mdb"
    content = data.read_bytes()
    assert b"a mark to be changed" in content
    data.write_bytes(content.replace(b"a mark to be changed", b"a mark that is other"))
    with EventLog(path, read_only=True) as log:
        findings = log.verify().findings
    assert "keys is missing" in findings[0].what
    assert {finding.position for finding in findings[1:]} >= {5}
    assert "digest" in findings[1].what
