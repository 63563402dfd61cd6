"""Arguments and options that several verbs share, described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

LogPath = Annotated[Path, typer.Argument(metavar="LOG", help="The log's folder.")]
ThreadId = Annotated[str, typer.Argument(metavar="THREAD", help="A thread id, as `threads` lists them.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object a line instead of a table.")]
Namespace = Annotated[
    str,
    typer.Option("--namespace", metavar="NS", help="A subgraph's namespace; default the root's."),
]
