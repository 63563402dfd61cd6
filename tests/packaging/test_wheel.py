"""The wheel, as a stranger meets it: built, installed afresh, used from somebody's own folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Sequence
from email import message_from_string
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
ROOMS = ("cli", "eventlog", "examples", "graph", "projections", "store", "testing")
CORE = {"ormsgpack", "lmdb", "blake3", "msgspec"}
NOT_SHIPPED = shutil.ignore_patterns(".*", "*.egg-info", "__pycache__", "build", "dist", "*.lithograph")
STRAY = "raise SystemExit('a stray file of the user was imported in place of ours')\n"
USER_FILE = Path(__file__).with_name("user_file.py")


def run(*command: str | Path, cwd: Path, expect: int = 0) -> str:
    """Run a command without our source on any path and return what it printed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    result = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    output = result.stdout + result.stderr
    assert result.returncode == expect, f"{command} ended with {result.returncode}:\n{output}"
    return output


def environment(folder: Path, *requirements: str) -> Path:
    """Make a virtual environment, install into it, and return its folder of programs."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    run(programs / "python", "-m", "pip", "install", "-q", *requirements, cwd=folder)
    return programs


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the checkout, so that no leftovers of earlier builds get in."""
    folder = tmp_path_factory.mktemp("build")
    shutil.copytree(ROOT, folder / "source", ignore=NOT_SHIPPED)
    run(sys.executable, "-m", "build", "-q", "--wheel", "-o", folder, folder / "source", cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def core(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and nothing but its core dependencies."""
    return environment(tmp_path_factory.mktemp("core"), str(wheel))


@pytest.fixture(scope="module")
def full(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and its command line."""
    return environment(tmp_path_factory.mktemp("full"), f"lithograph[cli] @ {wheel.as_uri()}")


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A user's folder with files named like our rooms; none of them may be imported."""
    for room in ROOMS:
        (tmp_path / f"{room}.py").write_text(STRAY)
    return tmp_path


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_wheel_holds_the_rooms_and_nothing_else(wheel: Path) -> None:
    """The wheel holds every source file and data file of the rooms, typed, below one namespace."""
    inside = {name.removeprefix("lithograph/") for name in names_in(wheel) if ".dist-info/" not in name}
    source = wheel.parent / "source"
    wanted = {
        path.relative_to(source).as_posix()
        for room in ROOMS
        for pattern in ("*.py", "py.typed", "*.csv", "*.md")
        for path in (source / room).rglob(pattern)
    }
    assert inside == wanted
    assert {f"{room}/py.typed" for room in ROOMS} <= inside
    assert "lithograph/__init__.py" not in names_in(wheel)


def test_wheel_requires_four_packages(wheel: Path) -> None:
    """Without an extra, installing brings exactly the four core packages."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = message_from_string(archive.read(name).decode())
    required = [text for text in metadata.get_all("Requires-Dist", []) if "extra ==" not in text]
    assert {re.split(r"[^a-z0-9]", text)[0] for text in required} == CORE


def test_core_alone_is_enough_for_a_program(core: Path, desk: Path) -> None:
    """With nothing but the core packages, a user's program runs: graph, log, store and history."""
    shutil.copy(USER_FILE, desk / "program.py")
    assert run(core / "python", "program.py", cwd=desk).splitlines()[-1] == "done"


def test_core_alone_says_what_the_command_needs(core: Path, desk: Path) -> None:
    """Without its extra the console script says in one line what to install."""
    output = run(core / "lithograph", "demo", cwd=desk, expect=2).strip()
    assert "pip install 'lithograph[cli]'" in output
    assert len(output.splitlines()) == 1


def test_types_reach_the_user(core: Path, desk: Path) -> None:
    """A user's fully typed file passes pyright strict against the installed wheel."""
    shutil.copy(USER_FILE, desk / "program.py")
    (desk / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict", "include": ["program.py"]}')
    arguments: Sequence[str | Path] = ("--pythonpath", core / "python")
    output = run(sys.executable, "-m", "pyright", *arguments, cwd=desk)
    assert "0 errors, 0 warnings" in output


def test_types_are_not_unknown(core: Path, desk: Path) -> None:
    """The checker sees our types in the wheel: a wrong argument is an error."""
    (desk / "wrong.py").write_text("from lithograph.eventlog import EventLog\nEventLog.in_memory(clock=3)\n")
    (desk / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict", "include": ["wrong.py"]}')
    arguments: Sequence[str | Path] = ("--pythonpath", core / "python")
    assert "reportArgumentType" in run(sys.executable, "-m", "pyright", *arguments, cwd=desk, expect=1)


def test_demo_runs_anywhere(full: Path, desk: Path) -> None:
    """The installed demo runs from a folder with stray files named like our rooms."""
    run(full / "lithograph", "demo", "--limit", "20", "--log", "desk.lithograph", cwd=desk)
    assert "20" in run(full / "lithograph", "threads", "desk.lithograph", "--json", cwd=desk)
    run(full / "lithograph", "verify", "desk.lithograph", cwd=desk)
