"""Names, actors and reasons are texts: half a character is refused where it comes in, before anything is stored."""

from __future__ import annotations

from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import InvalidText
from lithograph.eventlog.texts import checked_text, written_text

BAD = "half \ud800 a character"


def test_a_text_is_given_back() -> None:
    """Whatever UTF-8 can hold is a text; the error names what was none, and shows it."""
    for text in ("", "plain", "ßü", "\0", "\U0001f600"):
        assert checked_text(text, "the thing") is text
        assert written_text(text) is text
    with pytest.raises(InvalidText, match=r"the thing 'half \\ud800 a character'") as caught:
        checked_text(BAD, "the thing")
    assert isinstance(caught.value, ValueError)
    assert written_text(BAD) == r"half \ud800 a character"


@pytest.mark.parametrize("acting", [{"actor": BAD}, {"actor": "ada", "reason": BAD}])
def test_nobody_acts_under_half_characters(acting: Any) -> None:
    """`as_actor` refuses the name and the reason at once, so no append in the block can fail for them."""
    with EventLog.in_memory() as log:
        with pytest.raises(InvalidText), log.as_actor(**acting):
            log.record("topic", b"")
        assert log.log_head().position == 0


@pytest.mark.parametrize("acting", [{"actor": 5}, {"actor": "ada", "reason": 5}])
def test_who_acts_is_a_string(acting: Any) -> None:
    """Anything but a string is a `TypeError`: it used to be stored, and could not be read."""
    with EventLog.in_memory() as log:
        with pytest.raises(TypeError, match="must be a str, not int"), log.as_actor(**acting):
            log.record("topic", b"")
        assert log.log_head().position == 0


def test_a_topic_is_a_text() -> None:
    """An application's own events are refused for their topic before anything is stored."""
    with EventLog.in_memory() as log:
        with pytest.raises(InvalidText, match="the topic"):
            log.record(BAD, b"")
        assert log.log_head().position == 0


def test_a_fork_is_given_a_text() -> None:
    """Nor does a fork get such an id."""
    with EventLog.in_memory() as log, pytest.raises(InvalidText, match="the thread id"):
        log.fork({"configurable": {"thread_id": BAD}}, "2")
