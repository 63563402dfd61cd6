"""The applications: rows of `hmda.csv` as typed values, the bank's own decision kept apart.

A field that the row lacks is `None`: it is the desk's business to ask for it. `hmda.md` tells where the rows
come from. Read `credit_desk` next.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

SOURCE = Path(__file__).with_name("hmda.csv")


class Application(TypedDict):
    """What the applicant handed in; `None` where the form was left blank."""

    application_id: str
    debt_ratio: float | None
    housing_ratio: float | None
    loan_to_value: float | None
    consumer_credit_score: float | None
    mortgage_credit_score: float | None
    public_bad_record: bool | None
    denied_insurance: bool | None
    self_employed: bool | None
    single: bool | None
    industry_unemployment: float | None
    condominium: bool | None


@dataclass(frozen=True, slots=True)
class Case:
    """An application, and what the bank decided: the answer sheet, which the desk never sees."""

    application: Application
    bank_denied: bool

    @property
    def application_id(self) -> str:
        """The application's number, which is its thread's id too."""
        return self.application["application_id"]


def read_cases(limit: int | None = None, *, source: Path = SOURCE) -> list[Case]:
    """Return the applications of `source` in file order, at most `limit`.

    A limited run ends with the last row of the file: it is the one that lacks values, so that even a short
    run shows what the desk does about it.
    """
    with source.open(newline="", encoding="utf-8") as file:
        cases = [_case(row) for row in csv.DictReader(file)]
    if limit is None or limit >= len(cases):
        return cases
    return [*cases[: limit - 1], cases[-1]] if limit > 0 else []


def _case(row: dict[str, str]) -> Case:
    application = Application(
        application_id=row["application_id"],
        debt_ratio=_number(row["debt_ratio"]),
        housing_ratio=_number(row["housing_ratio"]),
        loan_to_value=_number(row["loan_to_value"]),
        consumer_credit_score=_number(row["consumer_credit_score"]),
        mortgage_credit_score=_number(row["mortgage_credit_score"]),
        public_bad_record=_flag(row["public_bad_record"]),
        denied_insurance=_flag(row["denied_insurance"]),
        self_employed=_flag(row["self_employed"]),
        single=_flag(row["single"]),
        industry_unemployment=_number(row["industry_unemployment"]),
        condominium=_flag(row["condominium"]),
    )
    return Case(application, bank_denied=row["denied"] == "yes")


def _number(text: str) -> float | None:
    return None if text == "NA" else float(text)


def _flag(text: str) -> bool | None:
    return None if text == "NA" else text in ("yes", "1")
