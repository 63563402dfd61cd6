"""The reference of the command line: made from the verbs, complete, and current."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer.main
from lithograph.cli.app import VERBS, build
from lithograph.cli.reference import page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
COMMANDS: dict[str, Any] = getattr(typer.main.get_command(build()), "commands")  # noqa: B009 - typed in typer's subclass


def test_the_page_is_current() -> None:
    """The page in the repository is what the verbs say today."""
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m lithograph.cli.reference > docs/reference/cli.md"


def test_every_verb_is_registered() -> None:
    """No verb is forgotten: a file of the room that defines a function of its own name is a verb."""
    files = {path.stem for path in (PAGE.parents[2] / "cli").glob("*.py")}

    assert {verb.__name__ for verb in VERBS} == set(COMMANDS)
    assert set(COMMANDS) <= files


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_verb_has_help_for_everything(name: str) -> None:
    """Each verb and each of its arguments and options says what it is for, and takes --json."""
    verb = COMMANDS[name]

    assert verb.help
    assert all(each.help for each in verb.params)
    assert "--json" in {option for each in verb.params for option in each.opts}
    assert f"\n## {name}\n" in page()
