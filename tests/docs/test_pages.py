"""The documentation holds: its Python runs, its links lead somewhere, its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lithograph.cli.app import VERBS

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page.relative_to(ROOT)
    for page in (
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").glob("*.md"),
    )
)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")
COMMAND = re.compile(r"^\$ lithograph (\w+)", re.MULTILINE)


def blocks(page: Path, language: str) -> list[str]:
    """Return the blocks of a page in a language."""
    return [text for name, text in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")) if name == language]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=str)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All Python blocks of a page, one after the other, run in an empty folder and leave it to the reader."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}

    for block in blocks(page, "python"):
        exec(compile(block, f"<{page}>", "exec", dont_inherit=True), names)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    """Every relative link names a file or folder of the repository."""
    links = LINK.findall((ROOT / page).read_text(encoding="utf-8"))

    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_commands_of_a_page_exist(page: Path) -> None:
    """Every `$ lithograph …` names a verb."""
    named = {name for block in blocks(page, "console") for name in COMMAND.findall(block)}

    assert named <= {verb.__name__ for verb in VERBS}


def test_the_readme_opens_with_two_commands() -> None:
    """What it is, then exactly two commands, each making an environment of its own; then the import map."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line for block in blocks(Path("README.md"), "bash") for line in block.splitlines()]

    assert len(commands) == 2
    assert all(re.match(r"python3 -m venv (\S+) && \1/bin/pip install ", each) for each in commands)
    assert "lithograph demo" in commands[0]
    assert "pytest" in commands[1]
    assert text.index(commands[1]) < text.index("docs/import-map.md") < text.index("\n## ")


def test_the_blocks_of_the_readme_are_seen() -> None:
    """The README has Python to run; an empty match would test nothing."""
    assert len(blocks(Path("README.md"), "python")) >= 3
