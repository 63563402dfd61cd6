"""What style and structure promise, checked on the source itself: arrows, sizes, banned calls."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

from tests import tidy

ROOT = Path(__file__).parents[1]
ROOMS = [room for room in tidy.MAY_IMPORT if (ROOT / room).is_dir()]
LAYERS = {"oracle", "mutation", "breaks", "packaging", "docs", "laws", "crash", "golden", "benchmarks", "typing"}
"""Folders of tests that cross all rooms."""


def sources(*folders: str) -> list[tidy.Source]:
    """Return every Python file below some folders of the repository, parsed."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return [tidy.parse(str(p.relative_to(ROOT).as_posix()), p.read_text(encoding="utf-8")) for p in paths]


IN_ROOMS = sources(*ROOMS)
IN_TESTS = sources("tests")
ROOM_CHECKS: list[tidy.Check] = [
    tidy.arrows,
    tidy.core_only,
    tidy.lmdb_below,
    tidy.sizes,
    tidy.nesting,
    tidy.docstrings,
    tidy.banned,
    tidy.prints,
    tidy.swallowed,
    tidy.words,
]
TEST_CHECKS: list[tidy.Check] = [tidy.sizes, tidy.promises, tidy.swallowed, tidy.words]

SEVEN = "\n".join(f"    x = {i}" for i in range(tidy.FUNCTION_LINES_MAX))
DEEP = "def f():\n if 1:\n  for _ in ():\n   while 1:\n    try:\n     pass\n    finally:\n     pass"
WRONG: list[tuple[tidy.Check, str, str]] = [
    (tidy.arrows, "eventlog/log.py", "from ..graph import loop"),
    (tidy.arrows, "eventlog/engines/lmdb.py", "from ...projections.fold import fold_step"),
    (tidy.arrows, "store/base.py", "from .. import graph"),
    (tidy.arrows, "graph/loop.py", "def f():\n    from ..cli.main import main"),
    (tidy.arrows, "graph/loop.py", "from lithograph.eventlog import EventLog"),
    (tidy.arrows, "graph/loop.py", "import eventlog.log"),
    (tidy.arrows, "graph/loop.py", "from .... import x"),
    (tidy.core_only, "graph/loop.py", "import pydantic"),
    (tidy.core_only, "graph/loop.py", "try:\n    import orjson\nexcept ImportError:\n    import rich"),
    (tidy.core_only, "cli/main.py", "class A:\n    import langgraph"),
    (tidy.lmdb_below, "graph/loop.py", "def f():\n    import lmdb"),
    (tidy.sizes, "graph/loop.py", "x = 1\n" * (tidy.LINES_MAX + 1)),
    (tidy.sizes, "graph/loop.py", f"class A:\n  def f(self):\n{SEVEN}"),
    (tidy.nesting, "graph/loop.py", DEEP),
    (tidy.docstrings, "graph/loop.py", "x = 1"),
    (tidy.docstrings, "graph/loop.py", '"""M."""\nclass A:\n  """A."""\n  def f(self): return 1'),
    (tidy.promises, "tests/test_a.py", "def test_a(): assert True"),
    (tidy.promises, "tests/test_a.py", "class TestA:\n  def test_a(self): assert True"),
    (tidy.banned, "graph/loop.py", "from pickle import loads"),
    (tidy.banned, "eventlog/codec.py", "def f():\n    import importlib"),
    (tidy.banned, "eventlog/serde/serializer.py", "import pickle"),
    (tidy.banned, "eventlog/serde/jsonplus.py", "import marshal"),
    (tidy.banned, "graph/loop.py", "eval('1')"),
    (tidy.prints, "graph/loop.py", "print(1)"),
    (tidy.swallowed, "graph/loop.py", "try:\n    f()\nexcept ValueError:\n    pass"),
    (tidy.swallowed, "graph/loop.py", "try:\n    f()\nexcept:\n    raise"),
    (tidy.words, "graph/utils.py", "x = 1"),
    (tidy.words, "graph/loop.py", f"x = 1  # {tidy.BANNED_WORDS[0]}"),
    (tidy.words, "graph/loop.py", f"x = '{tidy.MACHINE_PATHS[0]}me/log'"),
]
FINE: list[tuple[tidy.Check, str, str]] = [
    (tidy.arrows, "eventlog/engines/lmdb.py", "from ..errors import LogError\nfrom . import memory"),
    (tidy.arrows, "graph/loop.py", "from ..store import BaseStore\nfrom .. import eventlog\nimport json"),
    (tidy.core_only, "eventlog/messages.py", "import lmdb.x\ndef f():\n    import langchain_core"),
    (
        tidy.nesting,
        "graph/loop.py",
        "def f():\n if 1: g()\n elif 2: g()\n elif 3: g()\n elif 4: g()\n else: h()",
    ),
    (tidy.nesting, "graph/loop.py", DEEP.replace("while 1", "with a")),
    (tidy.prints, "cli/main.py", "print(1)"),
    (tidy.banned, "eventlog/serde/jsonplus.py", "import pickle"),
]


def assert_none(findings: list[str]) -> None:
    """Fail with one line a finding."""
    assert not findings, "\n" + "\n".join(findings)


def name_of(check: object) -> str | None:
    """Name a test case after the check it runs."""
    return getattr(check, "__name__", None) if callable(check) else ""


@pytest.mark.parametrize("check", ROOM_CHECKS, ids=name_of)
def test_rooms_are_tidy(check: tidy.Check) -> None:
    """The rooms keep the house style; the check's own docstring says which part of it."""
    assert_none([finding for source in IN_ROOMS for finding in check(source)])


@pytest.mark.parametrize("check", TEST_CHECKS, ids=name_of)
def test_tests_are_tidy(check: tidy.Check) -> None:
    """The tests keep the house style too."""
    assert_none([finding for source in IN_TESTS for finding in check(source)])


@pytest.mark.parametrize(("check", "path", "text"), WRONG, ids=name_of)
def test_each_check_finds_what_it_is_for(check: tidy.Check, path: str, text: str) -> None:
    """A file that breaks a rule is found by the rule's check."""
    assert check(tidy.parse(path, text)) != []


@pytest.mark.parametrize(("check", "path", "text"), FINE, ids=name_of)
def test_what_is_allowed_passes(check: tidy.Check, path: str, text: str) -> None:
    """A file that keeps to a rule by a narrow margin is not reported."""
    assert check(tidy.parse(path, text)) == []


def test_error_codes_are_unique() -> None:
    """Each error class has a code of its own, so that a code found in a log names one error."""
    codes: dict[str, list[str]] = defaultdict(list)
    for source in IN_ROOMS:
        for code, place in tidy.error_codes(source):
            codes[code].append(place)
    assert "LG000" in codes
    assert {code: places for code, places in codes.items() if len(places) > 1} == {}


def test_packages_and_folders_agree() -> None:
    """Every folder of a room is a listed package mapped to itself, and every room says that it is typed."""
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {source.path.parent for source in IN_ROOMS}
    named = {f"lithograph.{'.'.join(folder.parts)}": str(folder) for folder in folders}
    assert tool["package-dir"] == named
    assert sorted(tool["packages"]) == sorted(named)
    assert [room for room in ROOMS if not (ROOT / room / "py.typed").is_file()] == []
    assert not (ROOT / "lithograph").exists()


def test_core_dependencies() -> None:
    """An installation without extras brings exactly four packages."""
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {text.split(">")[0] for text in dependencies} == tidy.CORE


def test_tests_mirror_the_rooms() -> None:
    """A folder of tests is named after a room, or after one of the layers that cross all rooms."""
    folders = {source.path.parts[1] for source in IN_TESTS if len(source.path.parts) > 2}
    assert folders - LAYERS - set(tidy.MAY_IMPORT) == set()


@pytest.mark.parametrize("room", ["eventlog", "projections", "store", "graph", "examples", "cli.main"])
def test_importing_a_room_is_light(room: str) -> None:
    """Importing a room loads no optional package and none of the standard library's heavy ones."""
    heavy = {"asyncio", "pickle", "numpy", "pydantic", "langchain_core", "langgraph", "rich", "typer"}
    heavy |= {"pytest", "hypothesis"}
    code = f"import sys, lithograph.{room}; print(sorted({heavy!r} & sys.modules.keys()))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.stdout.strip(), result.stderr) == ("[]", "")
