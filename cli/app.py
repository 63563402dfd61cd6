"""The verbs together, and the one place where an error becomes a line and an exit code.

Verbs return 0 (fine) or 1 (a finding: verify failed, nothing found). Whatever they raise ends here: one line
that says what happened and what to do next, never a traceback. Rooms are imported inside the verbs, so that
`--help` costs no more than the parser.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer
import typer.main

from .demo import demo
from .diff import diff
from .history import history
from .show import show
from .stats import stats
from .tail import tail
from .threads import threads
from .verify import verify

VERBS: tuple[Callable[..., int], ...] = (demo, threads, history, show, diff, verify, tail, stats)
"""In the order in which `--help` and the reference show them."""

FINE, FINDING, UNUSABLE, INTERRUPTED = 0, 1, 2, 130

# typer has its own copy of the parser's errors in some versions, click's in others; this finds either.
_UsageError = typer.BadParameter.__mro__[1]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        sys.stdout.write(f"lithograph {version('lithograph')}\n")
        raise typer.Exit


def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Lithograph: an append-only log of every step your graphs take, and what it can tell you.

    Every verb takes --json: one JSON object a line. Exit codes: 0 fine, 1 a finding, 2 cannot do it.

    Begin with: lithograph demo
    """


def build() -> typer.Typer:
    """Return the application with all its verbs."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.callback()(_root)
    for verb in VERBS:
        app.command()(verb)
    return app


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; errors are told in one line on standard error."""
    command = typer.main.get_command(build())
    try:
        # Not `command.main`: it has ideas of its own about closed pipes and exit codes.
        with command.make_context("lithograph", list(arguments) or ["--help"]) as context:
            code = command.invoke(context)
        sys.stdout.flush()
    except typer.Exit as ended:
        return ended.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # rich turns the one into the other
        return _reader_left()
    except Exception as error:
        if os.environ.get("LITHOGRAPH_TRACEBACK"):
            raise
        return _tell(error)
    return code if isinstance(code, int) else FINE


def _tell(error: Exception) -> int:
    """Write the one line; return the exit code."""
    line, code = _line(error)
    sys.stdout.flush()
    sys.stderr.write(f"lithograph: {' '.join(line.split())}\n")
    return code


def _line(error: Exception) -> tuple[str, int]:
    if isinstance(error, _UsageError):
        return _usage_line(error), UNUSABLE
    from ..eventlog.errors import CorruptionError, LithographError
    from .reading import CannotOpen, NothingFound

    if isinstance(error, NothingFound):
        return str(error), FINDING
    if isinstance(error, CannotOpen):
        return str(error), UNUSABLE
    if isinstance(error, LithographError):
        # A log that opens and then proves damaged is a finding, as it is for verify.
        return f"{error} [{error.code}]", FINDING if isinstance(error, CorruptionError) else UNUSABLE
    if isinstance(error, OSError):
        return f"{error.strerror or error}: {error.filename or 'no file named'}", UNUSABLE
    hint = "set LITHOGRAPH_TRACEBACK=1 to see where, and report it"
    return f"unexpected {type(error).__name__}: {error} ({hint})", UNUSABLE


def _usage_line(error: Exception) -> str:
    """Return what is wrong with the command line, and which help to read."""
    describe: Callable[[], str] = getattr(error, "format_message", error.__str__)
    command = getattr(getattr(error, "ctx", None), "command_path", "lithograph")
    return f"{describe().rstrip('.')}; see: {command} --help"


def _reader_left() -> int:
    """End quietly when whoever read our output (`head`, a pager) went away."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FINE
