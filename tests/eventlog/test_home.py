"""A path that begins with `~`: no folder of that name is made by mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import NotALog


@pytest.mark.parametrize("path", ["~/audit.lithograph", "~", Path("~") / "deep" / "audit.lithograph", "~root/audit"])
def test_a_home_directory_is_for_the_caller_to_expand(
    path: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`NotALog` says how to expand it, and neither place has a new folder."""
    here, home = tmp_path / "here", tmp_path / "home"
    here.mkdir()
    home.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(home))
    with pytest.raises(NotALog, match=r"expanduser\(\)"):
        EventLog(path)
    assert list(here.iterdir()) == list(home.iterdir()) == []
    if not str(path).startswith("~root"):
        with EventLog(Path(path).expanduser()) as log:
            assert log.record("topic", b"").last == 1
        assert list(home.iterdir())


def test_names_with_a_tilde_are_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`~` elsewhere in a path, or before what is no user, is part of a name; a log that is there already opens."""
    monkeypatch.chdir(tmp_path)
    for path in ("~nobody-of-that-name", "audit~", str(tmp_path / "~")):
        with EventLog(path) as log:
            log.record("topic", b"")
    with EventLog("~") as log:
        assert log.log_head().position == 1
