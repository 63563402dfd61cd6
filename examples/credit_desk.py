"""The credit desk: intake → ratios → policy → (an officer, for borderline cases) → decision → notice.

One thread an application: its thread id is the application's number. Clear cases decide themselves;
borderline ones stop at `interrupt` until an officer's answer is handed in as a resume, with the officer as
actor and the reason beside it. Officers' answers are noted in the memory store, and shown as precedents to
whoever gets a case with the same concerns next. `policy` holds the rules, `credit_day` works through a pile
of applications.

    log = EventLog("desk.lithograph")
    desk = open_desk(log)
    desk.invoke({"application": application}, {"configurable": {"thread_id": "0001"}})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from ..graph import END, START, StateGraph, interrupt
from ..store import BaseStore, EventLogStore
from .applications import Application
from .policy import (
    Answer,
    Assessment,
    Outcome,
    Policy,
    Ratios,
    Route,
    ask,
    assess,
    incomplete_fields,
    measure,
)

if TYPE_CHECKING:
    from ..eventlog import EventLog

NOTES = ("desk", "notes")
"""Where in the memory store the officers' answers are noted, by application."""


class Decision(TypedDict):
    """How an application ended: the outcome, who or what decided, and why."""

    outcome: Outcome
    decided_by: Literal["intake", "policy", "officer"]
    reasons: list[str]


class File(TypedDict):
    """One application's file: the state of its thread. Each station of the desk adds its page."""

    application: Application
    missing: list[str]
    ratios: Ratios
    concerns: list[str]
    points: int
    route: Route
    answer: NotRequired[Answer]
    decision: Decision
    notice: str


def build_desk(policy: Policy | None = None) -> StateGraph[Any]:
    """Return the desk's graph under `policy`, not compiled yet."""
    rules = policy or Policy()

    def apply_policy(state: File) -> dict[str, Any]:
        """Find the concerns and where the application goes."""
        return {**assess(state["application"], state["ratios"], rules)}

    desk = StateGraph(File)
    desk.add_node("intake", intake)
    desk.add_node("ratios", compute_ratios)
    desk.add_node("policy", apply_policy)
    desk.add_node("officer", officer)
    desk.add_node("decision", decide)
    desk.add_node("notice", write_notice)
    desk.add_edge(START, "intake")
    desk.add_conditional_edges("intake", after_intake)
    desk.add_edge("ratios", "policy")
    desk.add_conditional_edges("policy", after_policy)
    desk.add_edge("officer", "decision")
    desk.add_edge("decision", "notice")
    desk.add_edge("notice", END)
    return desk


def open_desk(log: EventLog, policy: Policy | None = None) -> Any:
    """Return the compiled desk: threads and notes both live in `log`."""
    return build_desk(policy).compile(checkpointer=log, store=EventLogStore(log))


def intake(state: File) -> dict[str, Any]:
    """Look through the form for what must be asked for."""
    return {"missing": incomplete_fields(state["application"])}


def after_intake(state: File) -> Literal["ratios", "decision"]:
    """Send incomplete applications back at once."""
    return "decision" if state["missing"] else "ratios"


def compute_ratios(state: File) -> dict[str, Any]:
    """Work out the figures that the policy looks at."""
    return {"ratios": measure(state["application"])}


def after_policy(state: File) -> Literal["officer", "decision"]:
    """Hand borderline cases to an officer."""
    return "officer" if state["route"] == "officer" else "decision"


def officer(state: File, *, store: BaseStore) -> dict[str, Any]:
    """Wait for an officer's answer, and note it.

    The node runs again from its top when the answer arrives. What it does before `interrupt` only reads; the
    note is written after, under the application's number, so that running it twice writes the same note.
    """
    number = state["application"]["application_id"]
    pattern = " + ".join(state["concerns"])
    precedents = [item.value for item in store.search(NOTES, filter={"concerns": pattern}, limit=3)]
    found = Assessment(concerns=state["concerns"], points=state["points"], route=state["route"])
    answer: Answer = interrupt(ask(state["application"], state["ratios"], found, precedents=precedents))
    store.put(NOTES, number, {"application_id": number, "concerns": pattern, **answer})
    return {"answer": answer}


def decide(state: File) -> dict[str, Any]:
    """Record the decision, and who or what took it."""
    if state["missing"]:
        return {"decision": Decision(outcome="incomplete", decided_by="intake", reasons=state["missing"])}
    if "answer" in state:
        outcome: Outcome = "approved" if state["answer"]["approve"] else "declined"
        return {"decision": Decision(outcome=outcome, decided_by="officer", reasons=[state["answer"]["reason"]])}
    outcome = "approved" if state["route"] == "approve" else "declined"
    return {"decision": Decision(outcome=outcome, decided_by="policy", reasons=state["concerns"])}


def write_notice(state: File) -> dict[str, Any]:
    """Write the letter to the applicant; a refusal states its reasons, as the law asks."""
    number, decision = state["application"]["application_id"], state["decision"]
    if decision["outcome"] == "incomplete":
        fields = ", ".join(name.replace("_", " ") for name in decision["reasons"])
        return {"notice": f"Application {number}: we cannot decide yet. Please send us: {fields}."}
    if decision["outcome"] == "approved":
        return {"notice": f"Application {number}: your loan is approved."}
    reasons = [*state["concerns"], *decision["reasons"]] if "answer" in state else decision["reasons"]
    return {"notice": f"Application {number}: we cannot offer you this loan. Reasons: {'; '.join(reasons)}."}
