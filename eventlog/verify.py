"""`verify`: is everything in the log what was appended?

The checks are in `audit`, those of its quick form in `quick`. A log on disk is read by a child process, because
touching a damaged map can kill whoever does it: the child's death is a finding, too.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from . import merkle
from .audit import Audit, Finding
from .derived import inspect_rows
from .engine import Engine, Rows
from .errors import LithographError
from .quick import QuickAudit

CANNOT_EXCLUDE = (
    "that the whole log was rewritten, or set back to an earlier state: compare this root with a head kept elsewhere"
)
_CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from lithograph.eventlog.verify import child; child(*sys.argv[2:])"
)
_PROGRESS_EVERY = 4096
_FULL, _QUICK = "full", "quick"

Progress = Callable[[int, int], None]


class VerifyReport(NamedTuple):
    """What `verify` saw, and what it cannot see."""

    records: int
    """That were looked at; `streams` and `bytes` are theirs."""
    streams: int
    bytes: int
    """Of the records as stored."""
    findings: list[Finding]
    root: bytes
    """Of the tree over all records: keep it elsewhere, signed, to find a rewrite or a rollback."""
    cannot_exclude: str = CANNOT_EXCLUDE
    not_checked: str = ""
    """What the quick form left out; empty when all was checked."""

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def verify(engine: Engine, path: Path | None, *, quick: bool = False, progress: Progress | None = None) -> VerifyReport:
    """Check every row of a log and return what was found; damage is a finding and raises nothing.

    With `quick` only the files, the end of the log, its last records and what belongs to them.
    `progress(done, total)` is called now and then with numbers of records. Records that are appended
    meanwhile may or may not be looked at.
    """
    told = progress or _silent
    if path is not None and sys.executable:
        return _verify_in_child(path, told, quick=quick)
    if not isinstance(engine, Rows):
        raise TypeError(f"{type(engine).__name__} does not show its rows, so they cannot be verified")
    findings: list[Finding] = []
    audit = _audit_of(quick)(engine, findings.append, told)
    audit.run()
    return VerifyReport(**_told(audit), findings=findings)


def audit_folder(
    path: Path, report: Callable[[Finding], None], progress: Progress, *, quick: bool = False
) -> Audit | None:
    """Audit the log at `path` in this process; one that cannot be opened is a finding."""
    from .engines.lmdb import LmdbEngine

    try:
        engine = LmdbEngine(path, read_only=True)
    except LithographError as error:
        report(Finding(None, f"the log cannot be opened: {error}"))
        return None
    try:
        audit = _audit_of(quick)(engine, report, progress)
        audit.run()
        for what in () if quick else inspect_rows(path):
            report(Finding(None, what, derived=True, kind="view"))
        return audit
    finally:
        engine.close()


def child(path: str, how: str) -> None:
    """Audit the log at `path` and write what is to be told to standard output, one JSON a line."""

    def tell(what: str, *content: Any) -> None:
        sys.stdout.write(json.dumps([what, *content]) + "\n")
        sys.stdout.flush()

    def advance(done: int, total: int) -> None:
        nonlocal told
        if done >= told + _PROGRESS_EVERY or done == total:
            told = done
            tell("progress", done, total)

    told = 0
    audit = audit_folder(Path(path), lambda finding: tell("finding", *finding), advance, quick=how == _QUICK)
    if audit is None:
        tell("report", 0, 0, 0, "", "")
    else:
        told_at_last = _told(audit)
        tell("report", *[value.hex() if isinstance(value, bytes) else value for value in told_at_last.values()])


def _verify_in_child(path: Path, progress: Progress, *, quick: bool) -> VerifyReport:
    import subprocess

    findings: list[Finding] = []
    report: VerifyReport | None = None
    reached = 0
    command = [sys.executable, "-c", _CHILD, json.dumps(sys.path), str(path.absolute()), _QUICK if quick else _FULL]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            match json.loads(line):
                case ["progress", int() as reached, int() as total]:
                    progress(reached, total)
                case ["finding", position, str() as what, bool() as derived, kind]:
                    findings.append(Finding(position, what, derived, kind))
                case ["report", int() as records, int() as streams, int() as size, str() as root, str() as left]:
                    report = VerifyReport(records, streams, size, findings, bytes.fromhex(root), not_checked=left)
                case other:
                    raise AssertionError(other)
        complaint = process.stderr.read().decode(errors="replace").strip()
    if report is None:
        findings.append(Finding(None, _death(process.returncode, reached, complaint)))
        report = VerifyReport(reached, 0, 0, findings, b"")
    return report


def _death(code: int, reached: int, complaint: str) -> str:
    where = f"after {reached:,} records or more"
    if code < 0:
        return f"reading the file killed the reader ({signal.Signals(-code).name}) {where}: it is cut or damaged"
    return f"the reader failed {where}: {complaint.splitlines()[-1] if complaint else f'exit code {code}'}"


def _audit_of(quick: bool) -> type[Audit]:
    return QuickAudit if quick else Audit


def _told(audit: Audit) -> dict[str, Any]:
    """Return what an audit counted, in the order in which the child tells it."""
    return {
        "records": audit.records,
        "streams": len(audit.streams),
        "bytes": audit.bytes,
        "root": merkle.root_of(audit.frontier),
        "not_checked": audit.not_checked,
    }


def _silent(done: int, total: int) -> None:
    """Say nothing."""
