"""A day at the desk: take in a pile of applications, answer the borderline ones, and count what came out.

`work` may be stopped at any moment, by SIGKILL too, and be called again with the same log: each thread says
itself how far it came. Run as a module it is the process that `lithograph demo --crash` kills:

    python -m lithograph.examples.credit_day LOG LIMIT
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ..eventlog import EventLog
from ..graph import Command
from .applications import Case, read_cases
from .credit_desk import Decision, open_desk
from .policy import Policy, officer_rule

BATCH = 50
"""So many applications are taken in before the officers answer those that wait."""

DESKS = 8
"""So many threads work side by side: what they append at the same time shares one flush of the disk."""

CLERK = "clerk:intake"
OFFICERS = ("officer:lindqvist", "officer:okafor")

Progress = Callable[[str, Decision], None]
"""Called with the application's number when its decision is safely in the log."""


@dataclass(slots=True)
class Tally:
    """What came out, beside what the bank decided. Incomplete applications are not compared."""

    approved: int = 0
    declined: int = 0
    incomplete: int = 0
    by_policy: int = 0
    by_officer: int = 0
    both_approved: int = 0
    both_declined: int = 0

    @property
    def decisions(self) -> int:
        """Applications that were approved or declined."""
        return self.approved + self.declined

    @property
    def agreement(self) -> float:
        """Share of the decisions that are the bank's too; 0 when there are none."""
        return (self.both_approved + self.both_declined) / self.decisions if self.decisions else 0.0


def work(
    log: EventLog, cases: Sequence[Case], *, policy: Policy | None = None, progress: Progress | None = None
) -> None:
    """Bring every case to its decision, from wherever each of them stands in `log`."""
    rules, desk = policy or Policy(), open_desk(log, policy)
    report = progress or _silent

    def taken_in(case: Case) -> tuple[dict[str, Any], Any]:
        return take_in(log, desk, case)

    def answered(asked: tuple[Case, Any]) -> dict[str, Any]:
        return answer(log, desk, *asked, rules)

    with ThreadPoolExecutor(DESKS, thread_name_prefix="desk") as desks:
        for start in range(0, len(cases), BATCH):
            batch = cases[start : start + BATCH]
            waiting: list[tuple[Case, Any]] = []
            for case, (state, question) in zip(batch, desks.map(taken_in, batch), strict=True):
                if question is None:
                    report(case.application_id, state["decision"])
                else:
                    waiting.append((case, question))
            for (case, _), state in zip(waiting, desks.map(answered, waiting), strict=True):
                report(case.application_id, state["decision"])


def take_in(log: EventLog, desk: Any, case: Case) -> tuple[dict[str, Any], Any]:
    """Bring a case to its end or to its question; return the state and the question, if one waits."""
    config = config_of(case)
    before = desk.get_state(config)
    if before.interrupts:
        return before.values, before.interrupts[0].value
    if before.values and not before.next:
        return before.values, None
    with log.as_actor(CLERK, reason="application received"):
        # A thread that was killed between two stations has a next one: `None` means "go on from there".
        state = desk.invoke(None if before.next else {"application": case.application}, config)
    asked = state.get("__interrupt__")
    return state, asked[0].value if asked else None


def answer(log: EventLog, desk: Any, case: Case, question: Any, policy: Policy) -> dict[str, Any]:
    """Answer a waiting case as the officer on duty would, with the officer and the reason on every event."""
    decided = officer_rule(question, policy)
    with log.as_actor(officer_on_duty(case), reason=decided["reason"]):
        return desk.invoke(Command(resume=decided), config_of(case))


def officer_on_duty(case: Case) -> str:
    """Return who answers for a case: the officers share them out by number."""
    return OFFICERS[int(case.application_id) % len(OFFICERS)]


def config_of(case: Case) -> dict[str, Any]:
    """Return the config of a case's thread."""
    return {"configurable": {"thread_id": case.application_id}}


def tally(cases: Iterable[Case], decisions: dict[str, Decision]) -> Tally:
    """Count decisions by outcome, by who took them, and by whether the bank decided the same."""
    count = Tally()
    for case in cases:
        decision = decisions.get(case.application_id)
        if decision is None:
            continue
        if decision["outcome"] == "incomplete":
            count.incomplete += 1
            continue
        declined = decision["outcome"] == "declined"
        count.declined += declined
        count.approved += not declined
        count.by_officer += decision["decided_by"] == "officer"
        count.by_policy += decision["decided_by"] == "policy"
        count.both_declined += declined and case.bank_denied
        count.both_approved += not declined and not case.bank_denied
    return count


def _silent(_number: str, _decision: Decision) -> None:
    """Report nothing."""


def _main(path: str, limit: str) -> None:
    """Work through the pile, naming each application on standard output as soon as its decision is safe."""

    def say(number: str, decision: Decision) -> None:
        sys.stdout.write(f"{number} {decision['outcome']}\n")
        sys.stdout.flush()

    with EventLog(path) as log:
        work(log, read_cases(int(limit)), progress=say)


if __name__ == "__main__":
    _main(*sys.argv[1:3])
