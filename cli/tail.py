"""`lithograph tail`: the log's last events, and with `--follow` those that come."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import AsJson, LogPath
from .output import say, write_json
from .plain import short
from .reading import NothingFound, Who, opened, require_thread, thread_stream, who_text

if TYPE_CHECKING:
    from ..eventlog import EventLog, Record


def tail(
    log: LogPath,
    *,
    lines: Annotated[int, typer.Option("--lines", "-n", metavar="N", min=0, help="So many of the last events.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with events as they come.")] = False,
    thread: Annotated[str | None, typer.Option(metavar="THREAD", help="Only this thread's events.")] = None,
    as_json: AsJson = False,
) -> int:
    """Print the log's last events, oldest first; with --follow go on until stopped with Ctrl-C."""
    write = write_json if as_json else _write_line
    with opened(log) as opened_log:
        if thread is not None:
            require_thread(opened_log, thread)
        head = opened_log.log_head().position
        last = _last(opened_log, thread, lines, head)
        _print(opened_log, last, write)
        if follow:
            wanted = None if thread is None else thread_stream(opened_log, thread)
            coming = opened_log.follow(after=head)
            _print(opened_log, (each for each in coming if wanted in (None, each.header.stream)), write)
        elif not last and lines:
            raise NothingFound("the log has no event yet")
    return 0


def _last(log: EventLog, thread: str | None, lines: int, head: int) -> list[Record]:
    if lines == 0:
        return []
    if thread is None:
        return log.read(after=max(0, head - lines), limit=lines)
    stream = thread_stream(log, thread)
    return log.read_stream(stream, after=max(0, log.head(stream).version - lines), limit=lines)


def _print(log: EventLog, records: Iterable[Record], write: Callable[[dict[str, Any]], None]) -> None:
    from .describe import describe_record

    for record in records:
        write(describe_record(log, record))
        sys.stdout.flush()


def _write_line(event: dict[str, Any]) -> None:
    what = " ".join(
        f"{name}={short(value, width=60)}" for name, value in event["what"].items() if value not in (None, "", [])
    )
    who = who_text(Who(event["actor"], event["reason"]))
    stream = event["stream"] if event["kind"] != "GraphRegistered" else "graph"  # its name is the digest beside it
    say(
        f"{event['position']:>8}  {event['at'][11:23]}  {stream:<24} {event['kind']:<20} {what}"
        + (f"  [{who}]" if who else "")
    )
