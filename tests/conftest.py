"""What every test run shares: on a CI machine the tests that matter most may not be skipped in silence."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("lithograph", deadline=None, print_blob=True)
settings.load_profile("lithograph")

MUST_RUN = ("oracle", "conformance", "crash", "machine", "packaging")
"""Markers of tests whose skip is a failure when the environment variable `CI` is set."""


def _is_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true", "yes")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of a test that must run into a failure, on CI only."""
    report = yield
    marked = [name for name in MUST_RUN if item.get_closest_marker(name)]
    if report.skipped and marked and _is_ci() and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"a test marked {', '.join(marked)} was skipped on CI: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn the skip of a whole test file into a failure, on CI only: nobody knows what was in it."""
    report = yield
    if report.outcome == "skipped" and _is_ci():
        report.outcome = "failed"
        report.longrepr = f"a whole file was skipped on CI: {report.longrepr}"
    return report
