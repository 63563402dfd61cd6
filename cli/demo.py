"""`lithograph demo`: the credit desk at work on real applications, killed in the middle if you like."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .crash import Killed, Proof, inspect_kill, prove, run_and_kill
from .options import AsJson
from .output import program, progress_bar, say, size_text, write_json, write_pairs
from .reading import CannotOpen, opened
from .stats import folder_bytes

if TYPE_CHECKING:
    from ..examples.applications import Case
    from ..examples.credit_day import Tally
    from ..examples.credit_desk import Decision

LIMIT = 400
"""Applications worked through by default: enough to see everything, a few seconds."""

NAME = "credit-desk"


@dataclass(slots=True)
class _Result:
    path: Path
    cases: Sequence[Case]
    decisions: dict[str, Decision]
    events: int
    new_events: int
    seconds: float
    verified: bool
    killed: Killed | None = None
    proof: Proof | None = None

    @property
    def fine(self) -> bool:
        return self.verified and not (self.killed and self.killed.lost) and (self.proof is None or self.proof.holds)


def demo(
    *,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="The log's folder, old or new. Default: a new one in this folder.",
        ),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="So many of the 2,381 applications.")] = LIMIT,
    crash: Annotated[
        bool,
        typer.Option("--crash", help="Kill the process half-way (SIGKILL), go on, and compare."),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Run the credit desk on real mortgage applications into a log, and say what the log has to say."""
    from ..eventlog.errors import ConflictError
    from ..examples.applications import read_cases

    path, cases = log or new_path(), read_cases(limit)
    with opened(path, read_only=False):
        pass  # A path that cannot be a log is refused before anything else is said.
    if not as_json:
        say(f"Credit desk: {len(cases):,} mortgage applications (Boston 1990), each a thread of {path}")
    try:
        result = _run(path, cases, crash=crash, quiet=as_json)
    except ConflictError as error:
        raise CannotOpen(
            f"another program is at work on the applications in {path}, and each of them has one writer at a time. "
            f"Run the same command again when it is done, or give this demo a log of its own [{error.code}]"
        ) from error
    except KeyboardInterrupt:
        sys.stderr.write(f"stopped. Go on with: {program()} demo --log {shlex.quote(str(path))} --limit {limit}\n")
        raise
    if as_json:
        write_json(_document(result))
    else:
        _write(result)
    return 0 if result.fine else 1


def new_path(folder: Path | None = None) -> Path:
    """Return a path that is not taken yet: in this folder, or in a temporary one when it is not writable."""
    home = folder or Path()
    if not os.access(home, os.W_OK):
        home = Path(tempfile.mkdtemp(prefix="lithograph-"))
    path, count = home / f"{NAME}.lithograph", 1
    while path.exists():
        count += 1
        path = home / f"{NAME}-{count}.lithograph"
    return path


def _run(path: Path, cases: Sequence[Case], *, crash: bool, quiet: bool) -> _Result:
    from ..examples.credit_day import work

    decisions: dict[str, Decision] = {}
    killed: Killed | None = None
    if crash:
        killed = _crash(path, cases, quiet=quiet)
    with opened(path, read_only=False) as log, progress_bar(quiet=quiet) as bar:
        before, started = log.log_head().position, time.perf_counter()
        working = bar.add_task("at the desk", total=len(cases))

        def done(number: str, decision: Decision) -> None:
            decisions[number] = decision
            bar.advance(working)

        work(log, cases, progress=done)
        seconds = time.perf_counter() - started
        events = log.log_head().position
        bar.update(working, description="verifying")
        return _Result(
            path=path,
            cases=cases,
            decisions=decisions,
            events=events,
            new_events=events - before,
            seconds=seconds,
            verified=log.verify().ok,
            killed=killed,
            proof=prove(log, cases) if crash else None,
        )


def _crash(path: Path, cases: Sequence[Case], *, quiet: bool) -> Killed:
    """Let a child work nearly half of the pile, kill it, and look at what it left."""
    # Not quite half: at the end of a batch nobody would be waiting, and half of a round number is one.
    half = max(1, len(cases) * 9 // 20)
    with progress_bar(quiet=quiet) as bar:
        working = bar.add_task("a child at the desk", total=len(cases))
        acknowledged = run_and_kill(path, len(cases), kill_after=half, on_done=lambda: bar.advance(working))
    with opened(path) as log:
        killed = inspect_kill(log, cases, acknowledged)
    if not quiet:
        say(
            f"SIGKILL after {len(acknowledged):,} decisions: {len(killed.lost)} of them lost, "
            f"{killed.half_way} applications half-way; going on"
        )
    return killed


def _document(result: _Result) -> dict[str, Any]:
    count = _tally(result)
    document: dict[str, Any] = {
        "log": str(result.path),
        "applications": len(result.cases),
        "approved": count.approved,
        "declined": count.declined,
        "incomplete": count.incomplete,
        "by_policy": count.by_policy,
        "by_officer": count.by_officer,
        "agreement": round(count.agreement, 4),
        "agreement_if_all_were_approved": round(_all_approved(result), 4),
        "events": result.events,
        "new_events": result.new_events,
        "seconds": round(result.seconds, 3),
        "events_per_second": round(result.new_events / result.seconds) if result.new_events else None,
        "folder_bytes": folder_bytes(result.path),
        "verified": result.verified,
    }
    if result.killed and result.proof:
        document["crash"] = {
            "acknowledged": len(result.killed.acknowledged),
            "lost": result.killed.lost,
            "half_way": result.killed.half_way,
            "undecided": result.proof.undecided,
            "doubled": result.proof.doubled,
            "different": result.proof.different,
        }
    return document


def _write(result: _Result) -> None:
    document, count = _document(result), _tally(result)
    rate = f", {document['events_per_second']:,} a second" if result.new_events else ", none of them new"
    pairs = {
        "applications": f"{document['applications']:,}",
        "decisions": f"{count.approved:,} approved, {count.declined:,} declined, "
        f"{count.by_officer:,} of them by an officer; {count.incomplete} sent back",
        "agreement": f"{count.agreement:.1%} decided as the bank did "
        f"(approving everybody: {_all_approved(result):.1%}); "
        f"{count.both_declined:,} of its {_bank_denials(result):,} denials",
        "events": f"{result.events:,}{rate}",
        "bytes": f"{size_text(document['folder_bytes'])} on disk",
        "verify": "ok: all is as it was appended" if result.verified else f"FAILED: run {program()} verify",
    }
    if result.killed and result.proof:
        pairs["crash"] = _crash_text(result.killed, result.proof)
    say()
    write_pairs(pairs)
    say()
    _write_next(result)


def _crash_text(killed: Killed, proof: Proof) -> str:
    if proof.holds and not killed.lost:
        return "nothing lost, nothing decided twice, every decision as on paper"
    parts = {
        "lost": killed.lost,
        "undecided": proof.undecided,
        "decided twice": proof.doubled,
        "decided differently": proof.different,
    }
    return "FAILED: " + "; ".join(f"{name}: {', '.join(found[:5])}" for name, found in parts.items() if found)


def _write_next(result: _Result) -> None:
    decided = (number for number, each in result.decisions.items() if each["decided_by"] == "officer")
    number, run = next(decided, result.cases[0].application_id), program()
    path = shlex.quote(str(result.path))
    commands = {
        f"{run} threads {path}": "all applications",
        f"{run} history {path} {number}": "one, step by step",
        f"{run} show {path} {number}": "one, as it stands",
        f"{run} tail {path}": "the last events",
        f"{run} verify {path}": "any byte changed?",
    }
    width = max(map(len, commands))
    say("Next, ask the log:")
    for command, what in commands.items():
        say(f"  {command:<{width}}  # {what}")


def _tally(result: _Result) -> Tally:
    from ..examples.credit_day import tally

    return tally(result.cases, result.decisions)


def _compared(result: _Result) -> list[Case]:
    return [case for case in result.cases if result.decisions[case.application_id]["outcome"] != "incomplete"]


def _bank_denials(result: _Result) -> int:
    return sum(case.bank_denied for case in _compared(result))


def _all_approved(result: _Result) -> float:
    """Return what a desk without any policy would reach, to see what the policy is worth."""
    compared = _compared(result)
    return 1 - _bank_denials(result) / len(compared) if compared else 0.0
