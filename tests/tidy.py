"""The tidy checks: each takes one parsed source file and returns what is wrong in it, as `place: what`.

Pure functions over `ast`, so that `test_tidy` can show for each that it finds what it is there to find.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import NamedTuple, TypeAlias

MAY_IMPORT: dict[str, set[str]] = {
    "eventlog": set(),
    "projections": {"eventlog"},
    "store": {"projections", "eventlog"},
    "graph": {"store", "projections", "eventlog"},
    "testing": {"graph", "store", "projections", "eventlog"},
    "adapters": {"graph", "store", "projections", "eventlog"},
    "examples": {"graph", "store", "projections", "eventlog"},
    "cli": {"examples", "graph", "store", "projections", "eventlog"},
}
"""The arrows: which rooms a room may import besides itself."""

CORE = {"ormsgpack", "lmdb", "blake3", "msgspec"}
"""All that an installation without extras brings along."""

EXTRAS: dict[str, set[str]] = {"cli": {"typer", "rich", "click"}, "testing": {"pytest", "hypothesis"}}
"""Packages that a room may import at the top of its files because it is reached through an extra."""

LINES_MAX = 600
FUNCTION_LINES_MAX = 70
NESTING_MAX = 3

BANNED_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
PICKLES = PurePosixPath("eventlog/serde/jsonplus.py")
"""The one file that may pickle, for savers that were told to."""
BANNED_CALLS = {"eval", "exec", "__import__"}
BANNED_NAMES = {"utils.py", "util.py", "helpers.py", "misc.py", "common.py"}
BANNED_WORDS = ("TO" + "DO", "FIX" + "ME", "X" + "XX")
MACHINE_PATHS = tuple(f"/{top}/" for top in ("home", "root", "work", "tmp", "Users"))
"""How a path begins that belongs to one machine only."""

NESTING = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, ast.Match)
"""Statements that decide what runs next; a `with` holds something open and decides nothing."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Source(NamedTuple):
    """One source file: its path below the root of the repository, its text, its tree."""

    path: PurePosixPath
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        """The top-level folder it lies in."""
        return self.path.parts[0]

    def at(self, node: ast.AST, what: str) -> str:
        """Return a finding at a node."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}: {what}"


Check: TypeAlias = Callable[[Source], list[str]]


def parse(path: str, text: str) -> Source:
    """Return a source file from its path below the root and its text."""
    return Source(PurePosixPath(path), text, ast.parse(text, filename=path))


def arrows(source: Source) -> list[str]:
    """A room imports only the rooms below it, and always relatively."""
    allowed = {source.room, *MAY_IMPORT[source.room]}
    wrong = [
        source.at(node, f"{source.room} imports {target or 'the top level'}")
        for node, target in relative_imports(source)
        if target not in allowed
    ]
    return wrong + [
        source.at(node, f"{name} is imported absolutely; write it relatively")
        for node, name in absolute_imports(ast.walk(source.tree))
        if name.split(".")[0] in {"lithograph", "tests", *MAY_IMPORT}
    ]


def core_only(source: Source) -> list[str]:
    """Importing a file needs the standard library, the core packages and its room's own extra, no more."""
    allowed = CORE | set(sys.stdlib_module_names) | EXTRAS.get(source.room, set())
    return [
        source.at(node, f"{name} is imported at the top of the file; it belongs to an extra")
        for node, name in absolute_imports(eager_statements(source.tree.body))
        if name.split(".")[0] not in allowed
    ]


def lmdb_below(source: Source) -> list[str]:
    """Nobody above the log knows which engine keeps it."""
    return [
        source.at(node, "only the eventlog touches LMDB")
        for node, name in absolute_imports(ast.walk(source.tree))
        if name.split(".")[0] == "lmdb" and source.room != "eventlog"
    ]


def sizes(source: Source) -> list[str]:
    """A file has at most 600 lines, a function at most 70."""
    lines = len(source.text.splitlines())
    wrong = [source.at(source.tree, f"{lines} lines")] if lines > LINES_MAX else []
    return wrong + [
        source.at(node, f"{node.name} has {length} lines")
        for node in functions(source)
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]


def nesting(source: Source) -> list[str]:
    """Statements that decide nest at most three deep in a function."""
    return [
        source.at(node, f"{node.name} nests {found} deep")
        for node in functions(source)
        if (found := depth(node)) > NESTING_MAX
    ]


def docstrings(source: Source) -> list[str]:
    """A module, and each public class, function and method in it, says what it is."""
    wrong = [] if ast.get_docstring(source.tree) else [source.at(source.tree, "the module has no docstring")]
    return wrong + [
        source.at(node, f"{node.name} has no docstring")
        for node in public_definitions(source)
        if not ast.get_docstring(node) and not is_overload(node)
    ]


def promises(source: Source) -> list[str]:
    """Each test has a docstring that states the promise it checks."""
    homes = [source.tree, *(n for n in source.tree.body if isinstance(n, ast.ClassDef))]
    return [
        source.at(node, f"{node.name} states no promise")
        for home in homes
        for node in home.body
        if isinstance(node, FUNCTIONS) and node.name.startswith("test") and not ast.get_docstring(node)
    ]


def banned(source: Source) -> list[str]:
    """Nothing evaluates text as code or unpickles, and the log imports nothing by name."""
    modules = BANNED_MODULES | ({"importlib"} if source.room == "eventlog" else set())
    modules -= {"pickle"} if source.path == PICKLES else set()
    wrong = [
        source.at(node, f"{name} is banned")
        for node, name in absolute_imports(ast.walk(source.tree))
        if name.split(".")[0] in modules
    ]
    return wrong + [source.at(n, f"{n.func.id} is banned") for n in calls(source) if n.func.id in BANNED_CALLS]


def prints(source: Source) -> list[str]:
    """Output belongs to the command line; a library raises or returns."""
    if source.room == "cli":
        return []
    return [source.at(node, "print outside the command line") for node in calls(source) if node.func.id == "print"]


def swallowed(source: Source) -> list[str]:
    """No handler of errors is bare, and none does nothing."""
    return [
        source.at(node, "an error is swallowed")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (len(node.body) == 1 and isinstance(node.body[0], ast.Pass)))
    ]


def words(source: Source) -> list[str]:
    """No file is a drawer for odds and ends, nothing is left to do, no path belongs to one machine."""
    wrong = [source.at(source.tree, "a name that says nothing")] if source.path.name in BANNED_NAMES else []
    wrong += [source.at(source.tree, word) for word in BANNED_WORDS if word in source.text]
    return wrong + [
        source.at(node, f"{node.value[:40]} is a path of one machine")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(MACHINE_PATHS)
    ]


def error_codes(source: Source) -> Iterator[tuple[str, str]]:
    """Yield (code, place) of each class that sets a `code` of its own."""
    for node in ast.walk(source.tree):
        for statement in node.body if isinstance(node, ast.ClassDef) else ():
            if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Constant):
                continue
            if any(isinstance(target, ast.Name) and target.id == "code" for target in statement.targets):
                yield str(statement.value.value), source.at(node, "code")


def relative_imports(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """Yield each relative import with the room it leads to; empty for the top level."""
    package = source.path.parts[:-1]
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = package[: max(len(package) - node.level + 1, 0)]
        if base:
            yield node, base[0]
        elif node.module and node.level == len(package) + 1:
            yield node, node.module.split(".")[0]
        else:
            yield from ((node, alias.name if node.level == len(package) + 1 else "") for alias in node.names)


def absolute_imports(nodes: Iterator[ast.AST]) -> Iterator[tuple[ast.AST, str]]:
    """Yield each absolute import among nodes with the dotted name it leads to."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node, node.module or ""


def eager_statements(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the statements that run when the module is imported, at any depth of `if` and `try`."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        if isinstance(node, FUNCTIONS):
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from eager_statements(getattr(node, part, []))
        for handler in getattr(node, "handlers", []):
            yield from eager_statements(handler.body)


def functions(source: Source) -> Iterator[Function]:
    """Yield every function and method, nested ones too."""
    return (node for node in ast.walk(source.tree) if isinstance(node, FUNCTIONS))


def calls(source: Source) -> Iterator[ast.Call]:
    """Yield every call of a plain name."""
    return (n for n in ast.walk(source.tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))


def public_definitions(source: Source) -> Iterator[ast.ClassDef | Function]:
    """Yield the public classes and functions of a module, and the public methods of the classes."""
    for node in source.tree.body:
        if not isinstance(node, (ast.ClassDef, *FUNCTIONS)) or node.name.startswith("_"):
            continue
        yield node
        for method in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(method, FUNCTIONS) and not method.name.startswith("_"):
                yield method


def is_overload(node: ast.ClassDef | Function) -> bool:
    """Return whether a definition is only one of several signatures."""
    return any("overload" in ast.dump(decorator) for decorator in node.decorator_list)


def depth(node: ast.AST, level: int = 0) -> int:
    """Return how deep compound statements nest below a node; an `elif` is no deeper than its `if`."""
    deepest = level
    for name, part in ast.iter_fields(node):
        children = part if isinstance(part, list) else [part]
        alone = isinstance(node, ast.If) and name == "orelse" and len(children) == 1
        for child in children:
            if isinstance(child, ast.AST) and not isinstance(child, FUNCTIONS):
                is_elif = alone and isinstance(child, ast.If)
                deepest = max(deepest, depth(child, level + isinstance(child, NESTING) - is_elif))
    return deepest
