"""The desk's rules: one frozen dataclass of thresholds, and pure functions from application to proposal.

No graph, no log, no clock in here, so the same rules can be run on paper beside the desk, and a replay can
run last month's log under another `Policy`. Read `credit_desk` next: the graph that applies the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypedDict, cast

from .applications import Application

Route = Literal["approve", "decline", "officer"]
Outcome = Literal["approved", "declined", "incomplete"]

_REQUIRED = (
    "debt_ratio",
    "housing_ratio",
    "loan_to_value",
    "consumer_credit_score",
    "mortgage_credit_score",
    "public_bad_record",
    "denied_insurance",
    "self_employed",
)
_SCALES = {"consumer_credit_score": 6, "mortgage_credit_score": 4}


@dataclass(frozen=True, slots=True)
class Policy:
    """Every threshold of the desk. Points add up: few approve, many decline, in between officers decide."""

    debt_ratio_guideline: float = 0.36
    debt_ratio_limit: float = 0.43
    housing_ratio_limit: float = 0.33
    loan_to_value_guideline: float = 0.80
    loan_to_value_limit: float = 0.95
    slow_payer_score: float = 3
    """Consumer credit score from which payments were late, or there were too few to tell."""
    bad_payer_score: float = 5
    """Consumer credit score from which they were seriously late."""
    mortgage_score_limit: float = 3
    bad_record_points: int = 2
    approve_points: int = 2
    """Approved without an officer up to this many points."""
    decline_points: int = 5
    """Declined without an officer from this many points on."""


class Ratios(TypedDict):
    """The figures that the rules look at, rounded to four places: 0.36 on the form is 0.36 here."""

    debt: float
    housing: float
    other_debt: float
    loan_to_value: float


class Assessment(TypedDict):
    """What the rules found: the concerns by name, their points, and where the application goes."""

    concerns: list[str]
    points: int
    route: Route


class Question(TypedDict):
    """What an officer is shown: the file, the concerns, and how cases with the same concerns were decided."""

    application_id: str
    concerns: list[str]
    points: int
    ratios: Ratios
    public_bad_record: bool
    consumer_credit_score: float
    precedents: list[dict[str, object]]


class Answer(TypedDict):
    """What an officer decides, and why."""

    approve: bool
    reason: str


def incomplete_fields(application: Application) -> list[str]:
    """Return the fields that must be asked for: left blank, or no value of the form's scale."""
    form = cast("Mapping[str, object]", application)
    missing = [name for name in _REQUIRED if form[name] is None]
    for name, worst in _SCALES.items():
        score = form[name]
        if isinstance(score, float) and not (score.is_integer() and 1 <= score <= worst):
            missing.append(name)
    return missing


def measure(application: Application) -> Ratios:
    """Return the ratios of a complete application."""
    debt, housing = application["debt_ratio"], application["housing_ratio"]
    loan_to_value = application["loan_to_value"]
    assert debt is not None, "intake lets complete applications through only"
    assert housing is not None, "intake lets complete applications through only"
    assert loan_to_value is not None, "intake lets complete applications through only"
    return Ratios(
        debt=round(debt, 4),
        housing=round(housing, 4),
        other_debt=round(debt - housing, 4),
        loan_to_value=round(loan_to_value, 4),
    )


def assess(application: Application, ratios: Ratios, policy: Policy) -> Assessment:
    """Apply the policy to a complete application."""
    score = application["consumer_credit_score"] or 0
    found: list[tuple[bool, str, int]] = [
        (ratios["debt"] > policy.debt_ratio_guideline, "debts above the guideline", 1),
        (ratios["debt"] > policy.debt_ratio_limit, "debts above the limit", 2),
        (ratios["housing"] > policy.housing_ratio_limit, "housing costs above the limit", 1),
        (ratios["loan_to_value"] > policy.loan_to_value_guideline, "loan high for the property", 1),
        (ratios["loan_to_value"] > policy.loan_to_value_limit, "loan near the property's value", 1),
        (score >= policy.slow_payer_score, "payment record late or too short", 1),
        (score >= policy.bad_payer_score, "payments seriously late", 1),
        (
            (application["mortgage_credit_score"] or 0) >= policy.mortgage_score_limit,
            "mortgage payments late",
            1,
        ),
        (bool(application["public_bad_record"]), "public bad record", policy.bad_record_points),
    ]
    concerns = [name for holds, name, _ in found if holds]
    points = sum(weight for holds, _, weight in found if holds)
    if application["denied_insurance"]:
        return Assessment(concerns=["mortgage insurance denied", *concerns], points=points, route="decline")
    return Assessment(concerns=concerns, points=points, route=_route(points, policy))


def officer_rule(question: Question, policy: Policy) -> Answer:
    """Answer as the demo's officers do: a rule of the application's data, so that every run is the same.

    A public bad record together with seriously late payments is declined; anything else is approved.
    """
    if question["public_bad_record"] and question["consumer_credit_score"] >= policy.bad_payer_score:
        return Answer(approve=False, reason="bad record and payments still late: no sign of recovery")
    if question["public_bad_record"]:
        return Answer(approve=True, reason="bad record is past: payments are in order since")
    return Answer(approve=True, reason="the concerns do not add up to a risk")


def paper_outcome(application: Application, policy: Policy) -> Outcome:
    """Return what the desk must decide, worked out without graph, log or store."""
    if incomplete_fields(application):
        return "incomplete"
    ratios = measure(application)
    assessment = assess(application, ratios, policy)
    if assessment["route"] == "officer":
        question = ask(application, ratios, assessment, precedents=[])
        return "approved" if officer_rule(question, policy)["approve"] else "declined"
    return "approved" if assessment["route"] == "approve" else "declined"


def ask(
    application: Application,
    ratios: Ratios,
    assessment: Assessment,
    *,
    precedents: list[dict[str, object]],
) -> Question:
    """Return the question for an officer."""
    return Question(
        application_id=application["application_id"],
        concerns=assessment["concerns"],
        points=assessment["points"],
        ratios=ratios,
        public_bad_record=bool(application["public_bad_record"]),
        consumer_credit_score=application["consumer_credit_score"] or 0,
        precedents=precedents,
    )


def _route(points: int, policy: Policy) -> Route:
    if points <= policy.approve_points:
        return "approve"
    return "decline" if points >= policy.decline_points else "officer"
