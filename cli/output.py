"""What verbs print: JSON lines for programs, tables and pairs for people. rich is loaded only when needed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .plain import dumps

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

_PIPE_WIDTH = 160
"""Columns when nobody says how wide the reader is."""


def write_json(value: Any) -> None:
    """Print one JSON object on one line."""
    sys.stdout.write(f"{dumps(value)}\n")


def say(text: str = "") -> None:
    """Print a line as it is."""
    sys.stdout.write(f"{text}\n")


def console(*, stderr: bool = False) -> Console:
    """Return a console: as wide as the terminal, or wide enough for ids when it is none."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else _PIPE_WIDTH, highlight=False)


def write_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print a table; columns named in `right` are aligned right. Ids are never cut, long texts are folded."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold", justify="right" if name in right else "left")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console().print(table)


def write_pairs(pairs: Mapping[str, str]) -> None:
    """Print names and texts, one pair a line."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for name, text in pairs.items():
        grid.add_row(Text(name), Text(text))
    console().print(grid)


def progress_bar(*, quiet: bool = False) -> Progress:
    """Return a progress bar on standard error; `quiet` or a stream that is no terminal shows nothing."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
        disable=quiet or not sys.stderr.isatty(),
    )


def size_text(count: int) -> str:
    """Return a number of bytes as people read it."""
    size = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("the loop returns at its last unit")
