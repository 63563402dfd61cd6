"""The credit desk on the graph runtime: stations, officers, notes, and going on from anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.examples.applications import Case, read_cases
from lithograph.examples.credit_day import config_of, officer_on_duty, take_in, tally, work
from lithograph.examples.credit_desk import NOTES, Decision, open_desk
from lithograph.examples.policy import Policy, assess, incomplete_fields, measure, paper_outcome
from lithograph.graph import Command
from lithograph.store import EventLogStore


@pytest.fixture
def log() -> Iterator[EventLog]:
    """Yield a log in memory."""
    with EventLog.in_memory() as log:
        yield log


def routed(route: str) -> Iterator[Case]:
    """Yield the complete cases that the policy sends along a route."""
    for case in read_cases():
        form = case.application
        if not incomplete_fields(form) and assess(form, measure(form), Policy())["route"] == route:
            yield case


def run(desk: Any, case: Case) -> dict[str, Any]:
    """Hand a case in and return its state."""
    return desk.invoke({"application": case.application}, config_of(case))


def stations(desk: Any, case: Case) -> list[str]:
    """Return the stations that a case went through, in order."""
    history = list(desk.get_state_history(config_of(case)))
    return [name for each in reversed(history) for name in each.next if name != "__start__"]


@pytest.mark.parametrize(("route", "outcome"), [("approve", "approved"), ("decline", "declined")])
def test_clear_cases_decide_themselves(log: EventLog, route: str, outcome: str) -> None:
    """A clear case goes through without an officer, and its letter says what was decided."""
    case, desk = next(routed(route)), open_desk(log)

    state = run(desk, case)

    assert (state["decision"]["outcome"], state["decision"]["decided_by"]) == (outcome, "policy")
    assert stations(desk, case) == ["intake", "ratios", "policy", "decision", "notice"]
    assert case.application_id in state["notice"]
    assert ("Reasons: " in state["notice"]) == (outcome == "declined")


def test_an_incomplete_application_is_sent_back(log: EventLog) -> None:
    """The row with missing values is decided by nobody: the letter asks for what is missing."""
    case, desk = read_cases()[-1], open_desk(log)

    state = run(desk, case)

    assert state["decision"]["outcome"] == "incomplete"
    assert stations(desk, case) == ["intake", "decision", "notice"]
    assert state["notice"].endswith(
        "Please send us: public bad record, self employed, consumer credit score, mortgage credit score."
    )


def test_a_borderline_case_waits_for_an_officer(log: EventLog) -> None:
    """A borderline case stops at the officer with its question, and the answer decides it."""
    case, desk = next(routed("officer")), open_desk(log)

    state = run(desk, case)
    question = state["__interrupt__"][0].value

    assert desk.get_state(config_of(case)).next == ("officer",)
    assert question["application_id"] == case.application_id
    assert 3 <= question["points"] <= 4
    answered = desk.invoke(Command(resume={"approve": False, "reason": "too much debt"}), config_of(case))
    assert answered["decision"] == {
        "outcome": "declined",
        "decided_by": "officer",
        "reasons": ["too much debt"],
    }
    assert "too much debt" in answered["notice"]


def test_the_next_officer_sees_how_like_cases_were_decided(log: EventLog) -> None:
    """An answer is noted in the memory store and shown with the next case of the same concerns."""
    desk, first = open_desk(log), next(routed("officer"))
    concerns = assess(first.application, measure(first.application), Policy())["concerns"]
    second = next(
        case
        for case in islice(routed("officer"), 1, None)
        if assess(case.application, measure(case.application), Policy())["concerns"] == concerns
    )
    run(desk, first)
    desk.invoke(Command(resume={"approve": True, "reason": "sound"}), config_of(first))

    question = run(desk, second)["__interrupt__"][0].value

    assert [note["application_id"] for note in question["precedents"]] == [first.application_id]
    assert [item.key for item in EventLogStore(log).search(NOTES)] == [first.application_id]


def test_a_day_decides_each_case_as_on_paper(log: EventLog) -> None:
    """Working through a pile gives each case the outcome that the rules give without a graph."""
    cases, decisions = read_cases(120), dict[str, Decision]()

    work(log, cases, progress=decisions.__setitem__)

    assert {number: each["outcome"] for number, each in decisions.items()} == {
        case.application_id: paper_outcome(case.application, Policy()) for case in cases
    }
    count = tally(cases, decisions)
    assert count.approved + count.declined + count.incomplete == 120
    assert count.by_officer > 0
    assert count.by_officer + count.by_policy == count.decisions


def test_a_second_day_on_the_same_log_does_nothing_twice(log: EventLog) -> None:
    """Every thread says that it is finished: no event is added, and the decisions are the same."""
    cases = read_cases(40)
    first, second = dict[str, Decision](), dict[str, Decision]()
    work(log, cases, progress=first.__setitem__)
    head = log.log_head().position

    work(log, cases, progress=second.__setitem__)

    assert (log.log_head().position, second) == (head, first)


def test_work_goes_on_from_wherever_a_case_stands(tmp_path: Path) -> None:
    """Cases that wait for an officer or never began are all brought to their end in another process's log."""
    cases = [*islice(routed("officer"), 2), *islice(routed("approve"), 2)]
    with EventLog(tmp_path / "desk.lithograph") as log:
        _, question = take_in(log, open_desk(log), cases[0])
        assert question is not None

    with EventLog(tmp_path / "desk.lithograph") as log:
        decisions = dict[str, Decision]()
        work(log, cases, progress=decisions.__setitem__)

    assert set(decisions) == {case.application_id for case in cases}


def test_an_officers_answer_carries_the_officer_and_the_reason(log: EventLog) -> None:
    """Who decided, and why, is on the events of the answer; the clerk is on those before."""
    case = next(routed("officer"))

    work(log, [case])

    acts = [(record.body.actor, record.body.reason) for record in log.read(limit=100) if record.body.actor]
    reason = open_desk(log).get_state(config_of(case)).values["answer"]["reason"]
    assert acts[0] == ("clerk:intake", "application received")
    assert acts[-1] == (officer_on_duty(case), reason)


def test_a_changed_policy_decides_otherwise(log: EventLog) -> None:
    """The same case under another policy needs no officer."""
    case = next(routed("officer"))

    state = run(open_desk(log, Policy(approve_points=4)), case)

    assert (state["decision"]["decided_by"], state["decision"]["outcome"]) == ("policy", "approved")
