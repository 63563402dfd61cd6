"""The persistence document's code, ready to run: imports changed by the import map, example ids by real ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
BLOCKS = sorted(HERE.joinpath("seed").glob("*.txt"))
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ROW = re.compile(r"\| `(\w+)` \| `from ([\w.]+) import (\w+)`")
_ELSEWHERE = {"langchain_core.runnables": "lithograph.graph"}
"""What the import map says in its text: a config is a plain dictionary, whoever names its type."""


def block(number: int) -> str:
    """Return a block as the document has it."""
    return next(path for path in BLOCKS if path.name.startswith(f"{number:02d}.")).read_text(encoding="utf-8")


def code(number: int, *, checkpoint: str | None = None) -> str:
    """Return a block of code ready to run; `checkpoint` takes the place of the example's checkpoint id."""
    text = block(number)
    for node in reversed([each for each in ast.parse(text).body if isinstance(each, ast.ImportFrom)]):
        lines = text.splitlines()
        lines[node.lineno - 1 : node.end_lineno] = list(_imports(node))
        text = "\n".join(lines) + "\n"
    return text if checkpoint is None else _ID.sub(checkpoint, text)


def _imports(node: ast.ImportFrom) -> Iterator[str]:
    module = node.module or ""
    if module.startswith("langgraph"):
        known = _import_map(module)
        for name in node.names:
            room, ours = known[name.name]
            yield f"from {room} import {ours} as {name.asname or name.name}"
        return
    names = ", ".join(name.name for name in node.names)
    yield f"from {_ELSEWHERE.get(module, module)} import {names}"


def _import_map(module: str) -> dict[str, tuple[str, str]]:
    """Return what `docs/import-map.md` says of a module: by name, our room and our name."""
    page = HERE.parents[1].joinpath("docs", "import-map.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {module}\n", 1)[1].split("\n## ", 1)[0]
    return {row[1]: (row[2], row[3]) for row in _ROW.finditer(section)}
