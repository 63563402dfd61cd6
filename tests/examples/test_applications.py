"""The applications: every row is read, typed, and kept apart from what the bank decided."""

from __future__ import annotations

from lithograph.examples.applications import read_cases


def test_every_row_of_the_file_is_a_case() -> None:
    """2,381 applications, each number once, 285 of them denied by the bank."""
    cases = read_cases()

    assert len({case.application_id for case in cases}) == len(cases) == 2381
    assert sum(case.bank_denied for case in cases) == 285


def test_the_banks_decision_never_reaches_the_desk() -> None:
    """The application handed to the graph does not hold the answer sheet."""
    assert "denied" not in read_cases(1)[0].application


def test_a_limited_run_keeps_the_row_that_lacks_values() -> None:
    """Any limit ends with the last row, so that a short run shows an incomplete application too."""
    few = read_cases(5)

    assert [case.application_id for case in few] == ["0001", "0002", "0003", "0004", "2381"]
    assert few[-1].application["public_bad_record"] is None
    assert len(read_cases(99_999)) == 2381
    assert read_cases(0) == []
