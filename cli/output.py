"""What verbs print: JSON lines for programs, tables and pairs for people. rich is loaded only when needed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .plain import dumps

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.text import Text

_PIPE_WIDTH = 160
"""Columns when nobody says how wide the reader is."""

_NARROW = 120
"""A screen of fewer columns has no room for an id, a time and a text beside each other."""


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


def program() -> str:
    """Return what the reader types to run this: its path as it was called, unless the shell finds it by name."""
    called = sys.argv[0]
    return called if Path(called).stem == "lithograph" and not shutil.which("lithograph") else "lithograph"


def write_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[str] = (),
    whole: str = "",
    below: Sequence[str] = (),
) -> None:
    """Print a table; columns named in `right` are aligned right, long texts are folded.

    The column `whole` holds ids to copy: it is never folded. On a narrow screen the columns in `below` go under it.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    screen, cells = console(), [[Text(cell) for cell in row] for row in rows]
    if whole and screen.width < _NARROW:
        columns, cells = _stacked(columns, cells, whole, below)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for index, name in enumerate(columns):
        width = max((len(row[index].plain.partition("\n")[0]) for row in cells), default=0) if name == whole else None
        justify = "right" if name in right else "left"
        table.add_column(name, overflow="fold", justify=justify, width=width)
    for row in cells:
        table.add_row(*row)
    screen.print(table)


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


def _stacked(
    columns: Sequence[str], cells: Sequence[Sequence[Text]], whole: str, below: Sequence[str]
) -> tuple[list[str], list[list[Text]]]:
    """Return the table without the columns in `below`: their cells are lines under the one in `whole`."""
    kept = [index for index, name in enumerate(columns) if name not in below]
    moved = [columns.index(name) for name in below]
    rows: list[list[Text]] = []
    for row in cells:
        for index in moved:
            if row[index].plain:
                row[columns.index(whole)].append(f"\n{columns[index]}: {row[index].plain}", style="dim")
        rows.append([row[index] for index in kept])
    return [columns[index] for index in kept], rows
