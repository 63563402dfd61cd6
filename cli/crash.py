"""The demo's crash: a child process at the desk is really killed, and what it had said is held to it.

The child names an application on its standard output only after the log has its decision; those are the
acknowledged ones. After SIGKILL the log must still have each of them as it was said, and after going on each
application must have been decided exactly once, as on paper.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .reading import config_of, thread_stream

if TYPE_CHECKING:
    from ..eventlog import EventLog
    from ..examples.applications import Case


@dataclass(frozen=True, slots=True)
class Killed:
    """What the killed child left: what it had acknowledged, and how many threads stood half-way."""

    acknowledged: dict[str, str]
    lost: list[str]
    """Acknowledged applications whose decision the log does not have, or has differently."""
    half_way: int


@dataclass(frozen=True, slots=True)
class Proof:
    """What going on after the kill came to; empty lists are what is promised."""

    undecided: list[str]
    doubled: list[str]
    different: list[str]
    """Applications whose decision is not the one worked out on paper."""

    @property
    def holds(self) -> bool:
        """Nothing is missing, nothing was done twice, nothing came out differently."""
        return not (self.undecided or self.doubled or self.different)


def run_and_kill(path: Path, limit: int, *, kill_after: int, on_done: Callable[[], None]) -> dict[str, str]:
    """Start a child at the desk, kill it after `kill_after` decisions; return all that it acknowledged."""
    # -P: whatever lies in the current folder must not be taken for one of our modules.
    command = [sys.executable, "-P", "-m", "lithograph.examples.credit_day", str(path), str(limit)]
    acknowledged: dict[str, str] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603 - our own module
        assert child.stdout is not None, "stdout=PIPE gives a pipe"
        for line in child.stdout:
            number, _, outcome = line.strip().partition(" ")
            acknowledged[number] = outcome
            on_done()
            if len(acknowledged) == kill_after:
                child.kill()
    return acknowledged


def inspect_kill(log: EventLog, cases: Sequence[Case], acknowledged: dict[str, str]) -> Killed:
    """Compare what the child had said with what the log has."""
    from ..projections import snapshot

    lost: list[str] = []
    half_way = 0
    for case in cases:
        number = case.application_id
        if not log.head(thread_stream(log, number)).version:
            if number in acknowledged:
                lost.append(number)
            continue
        state = snapshot(log, config_of(number))
        half_way += bool(state.next)
        if number in acknowledged and _outcome(state.values) != acknowledged[number]:
            lost.append(number)
    return Killed(acknowledged, lost, half_way)


def prove(log: EventLog, cases: Sequence[Case]) -> Proof:
    """Check that each case has one decision, taken once, and the one that the policy gives on paper."""
    from ..examples.policy import Policy, paper_outcome
    from ..projections import snapshot

    taken, policy = _decisions_taken(log), Policy()
    undecided: list[str] = []
    doubled: list[str] = []
    different: list[str] = []
    for case in cases:
        number = case.application_id
        times = taken[thread_stream(log, number)]
        if times == 0:
            undecided.append(number)
            continue
        if times > 1:
            doubled.append(number)
        if _outcome(snapshot(log, config_of(number)).values) != paper_outcome(case.application, policy):
            different.append(number)
    return Proof(undecided, doubled, different)


def _decisions_taken(log: EventLog) -> Counter[bytes]:
    """Count, for each thread, how often the station that decides wrote its result."""
    from ..eventlog.events import ChannelWritten

    taken: Counter[bytes] = Counter()
    for page in log.scan():
        for record in page:
            if record.header.kind != ChannelWritten.kind:
                continue
            event = record.event
            if isinstance(event, ChannelWritten) and event.node == "decision":
                taken[record.header.stream] += any(channel == "decision" for channel, _ in event.writes)
    return taken


def _outcome(values: Mapping[str, Any]) -> str | None:
    """Return the outcome in a case's values, or `None` when it is not decided."""
    return values["decision"]["outcome"] if "decision" in values else None
