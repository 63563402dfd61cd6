"""`lithograph verify`: is every byte of a log what was appended, in the order in which it was?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import AsJson, LogPath
from .output import progress_bar, say, size_text, write_json, write_table
from .reading import CannotOpen, opened

if TYPE_CHECKING:
    from ..eventlog.verify import VerifyReport

_SHOWN_MAX = 20


Quick = Annotated[
    bool,
    typer.Option(
        "--quick", help="Only the files, the end of the log, and its last 4,096 records; says what it left out."
    ),
]


def verify(log: LogPath, *, quick: Quick = False, as_json: AsJson = False) -> int:
    """Check every hash, chain, digest and key of a log; exit code 1 when anything is not as appended."""
    report = _report(log, quick=quick, quiet=as_json)
    if as_json:
        write_json(_document(report))
    else:
        _write(report)
    return 0 if report.ok else 1


def _report(path: Path, *, quick: bool, quiet: bool) -> VerifyReport:
    """Return what verify found; a log too damaged to be opened is a finding, as any other damage."""
    from ..eventlog.audit import Finding
    from ..eventlog.verify import VerifyReport

    try:
        with opened(path) as log, progress_bar(quiet=quiet) as bar:
            checking = bar.add_task("verifying", total=None)
            return log.verify(
                quick=quick, progress=lambda done, total: bar.update(checking, completed=done, total=total)
            )
    except CannotOpen as error:
        if not error.damaged:
            raise
        return VerifyReport(0, 0, 0, [Finding(None, str(error))], b"")


def _document(report: VerifyReport) -> dict[str, Any]:
    return {
        "ok": report.ok,
        "records": report.records,
        "streams": report.streams,
        "bytes": report.bytes,
        "root": report.root.hex(),
        "findings": [each._asdict() for each in report.findings],
        "cannot_exclude": report.cannot_exclude,
        "not_checked": report.not_checked,
    }


def _write(report: VerifyReport) -> None:
    seen = f"{report.records:,} records in {report.streams:,} streams, {size_text(report.bytes)}"
    if report.ok:
        say(f"ok: {seen}; every hash, chain and digest is as it was appended")
        if report.not_checked:
            say(f"What was not checked: {report.not_checked}.")
        say(f"root: {report.root.hex()}")
        say(f"What this cannot exclude: {report.cannot_exclude}.")
        return
    write_table(
        ["position", "kind", "finding"],
        [[str(each.position or ""), each.kind, each.what] for each in report.findings[:_SHOWN_MAX]],
        right=["position"],
    )
    count = len(report.findings)
    if count > _SHOWN_MAX:
        say(f"and {count - _SHOWN_MAX} more; --json gives them all")
    if all(each.derived for each in report.findings):
        say(f"views/ is damaged: {_count_text(count)}. The log itself is as it was appended: {seen}.")
        say("Delete the folder views/ inside the log; it is computed again.")
        return
    say(f"NOT as appended: {_count_text(count)} in {seen}.")
    say("Keep the folder as evidence, and restore a backup beside it.")


def _count_text(findings: int) -> str:
    return f"{findings} finding{'' if findings == 1 else 's'}"
