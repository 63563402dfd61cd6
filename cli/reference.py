"""The reference page of the command line, made from the verbs themselves.

    python -m lithograph.cli.reference > docs/reference/cli.md

A test fails when the page in the repository is another than this one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import typer.main

from .app import build

_HEAD = """\
# Command line

Made from the verbs by `python -m lithograph.cli.reference`; edit their docstrings, not this page.

Install with `pip install 'lithograph[cli]'`. Every verb takes `--json`: one JSON object a line, for programs.
Every verb but `demo` opens the log read-only, runs none of your code, and may be used while a program writes.

| exit code | means |
|---|---|
| 0 | fine |
| 1 | a finding: `verify` failed, or what was asked for is not there |
| 2 | wrong usage, or the log cannot be opened; one line on standard error says what to do |

`LITHOGRAPH_TRACEBACK=1` in the environment lets errors through with their traceback.
"""


def page() -> str:
    """Return the whole page."""
    group: Any = typer.main.get_command(build())
    return "\n".join([_HEAD, *(_section(name, verb) for name, verb in group.commands.items())])


def _section(name: str, verb: Any) -> str:
    arguments = [each for each in verb.params if each.param_type_name == "argument"]
    options = [each for each in verb.params if each.param_type_name == "option"]
    usage = " ".join(["lithograph", name, *(_usage(each) for each in arguments)])
    rows = [f"| {entry} | {text} |" for entry, text in (*_arguments(arguments), *_options(options))]
    parts = [
        f"## {name}",
        "",
        f"`{usage} [options]`",
        "",
        _text(verb.help),
        "",
        "| | |",
        "|---|---|",
        *rows,
        "",
    ]
    return "\n".join(parts)


def _usage(argument: Any) -> str:
    return argument.metavar if argument.required else f"[{argument.metavar}]"


def _arguments(arguments: list[Any]) -> Iterator[tuple[str, str]]:
    for each in arguments:
        yield f"`{each.metavar}`", _text(each.help)


def _options(options: list[Any]) -> Iterator[tuple[str, str]]:
    for each in options:
        names = ", ".join(each.opts)
        value = "" if each.is_flag else f" {each.metavar}"
        default = "" if each.is_flag or each.default in (None, "") else f" Default {each.default}."
        yield f"`{names}{value}`", f"{_text(each.help)}{default}"


def _text(text: str | None) -> str:
    return " ".join((text or "").split())


if __name__ == "__main__":
    sys.stdout.write(page())
