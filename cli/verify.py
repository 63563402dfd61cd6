"""`lithograph verify`: is every byte of a log what was appended, in the order in which it was?"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import AsJson, LogPath
from .output import progress_bar, say, size_text, write_json, write_table
from .reading import CannotOpen, opened

if TYPE_CHECKING:
    from ..eventlog import EventLog
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
    report, streams = _report(log, quick=quick, quiet=as_json)
    if as_json:
        write_json(_document(report, streams))
    else:
        _write(report, streams)
    return 0 if report.ok else 1


def _report(path: Path, *, quick: bool, quiet: bool) -> tuple[VerifyReport, dict[int, str]]:
    """Return what verify found, and in which streams; a log too damaged to be opened is a finding, too."""
    from ..eventlog.audit import Finding
    from ..eventlog.verify import VerifyReport

    try:
        with opened(path) as log, progress_bar(quiet=quiet) as bar:
            checking = bar.add_task("verifying", total=None)
            report = log.verify(
                quick=quick, progress=lambda done, total: bar.update(checking, completed=done, total=total)
            )
            return report, _streams(log, [each.position for each in report.findings[:_SHOWN_MAX]])
    except CannotOpen as error:
        if not error.damaged:
            raise
        return VerifyReport(0, 0, 0, [Finding(None, str(error))], b""), {}


def _streams(log: EventLog, positions: list[int | None]) -> dict[int, str]:
    """Return in which streams the records at some positions are, as far as what is stored still says so."""
    from ..eventlog.errors import LithographError
    from ..eventlog.record import HEADER
    from .describe import stream_text

    found: dict[int, str] = {}
    for position in {each for each in positions if each is not None}:
        try:
            # The record as stored: what checks it on the way may be what is wrong with it.
            ((_, record),) = log.engine.read(position - 1, 1).records
            stream = HEADER.unpack_from(record)[4]
        except (LithographError, ValueError, struct.error):
            continue
        try:
            found[position] = stream_text(log, stream)
        except LithographError:
            found[position] = stream.hex()  # what is damaged is the record that names it
    return found


def _document(report: VerifyReport, streams: dict[int, str]) -> dict[str, Any]:
    return {
        "ok": report.ok,
        "records": report.records,
        "streams": report.streams,
        "bytes": report.bytes,
        "root": report.root.hex(),
        "findings": [{**each._asdict(), "stream": streams.get(each.position or 0)} for each in report.findings],
        "cannot_exclude": report.cannot_exclude,
        "not_checked": report.not_checked,
    }


def _write(report: VerifyReport, streams: dict[int, str]) -> None:
    seen = f"{report.records:,} records in {report.streams:,} streams, {size_text(report.bytes)}"
    if report.ok:
        say(f"ok: {seen}; every hash, chain and digest is as it was appended")
        if report.not_checked:
            say(f"What was not checked: {report.not_checked}.")
        say(f"root: {report.root.hex()}")
        say(f"What this cannot exclude: {report.cannot_exclude}.")
        return
    write_table(
        ["position", "stream", "kind", "finding"],
        [
            [str(each.position or ""), streams.get(each.position or 0, ""), each.kind, each.what]
            for each in report.findings[:_SHOWN_MAX]
        ],
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
