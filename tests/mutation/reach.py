"""A pytest plugin for mutation runs: which functions a test reaches, in which order to test, when a test hangs.

Loaded with `-p tests.mutation.reach` and told what to do by three environment variables, each of them optional.
Who reaches what decides the order only: a mutant survives when all tests passed, those that never reach it too.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

KEEP = "MUTATION_REACH"
"""A file for what each test reached and how long it took."""
ORDER = "MUTATION_ORDER"
"""A file with test ids: those come first, in this order."""
LIMIT_S = "MUTATION_LIMIT_S"
"""After this long a test hangs, and the whole run ends with exit code `HUNG`."""
HUNG = 99

_reached: set[CodeType] = set()
_kept: dict[str, dict[str, Any]] = {}


def pytest_configure() -> None:
    """Begin to watch calls, on threads made later too."""
    if KEEP in os.environ:
        threading.settrace(_on_call)
        sys.settrace(_on_call)


def _on_call(frame: FrameType, event: str, argument: object) -> None:
    _reached.add(frame.f_code)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests in the order asked for."""
    if ORDER in os.environ:
        ids = json.loads(Path(os.environ[ORDER]).read_text())
        places = {id_: place for place, id_ in enumerate(ids)}
        items.sort(key=lambda item: places.get(item.nodeid, len(places)))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Watch one test: what it calls, and its time."""
    global _reached
    _reached = set()
    started = time.monotonic()
    _limit(item.nodeid)
    yield
    _limit(None)
    codes, _reached = _reached, set()
    if KEEP in os.environ:
        # A test that starts a process may reach anything there.
        everywhere = item.get_closest_marker("crash") is not None
        functions = ["*"] if everywhere else sorted({name for code in list(codes) if (name := _name(code))})
        _kept[item.nodeid] = {"seconds": time.monotonic() - started, "functions": functions}


def pytest_sessionfinish() -> None:
    """Keep what was seen."""
    if KEEP in os.environ:
        sys.settrace(None)
        Path(os.environ[KEEP]).write_text(json.dumps(_kept))


@cache
def _name(code: CodeType) -> str | None:
    """Return `file:function` with the function that a nested one belongs to, or `None` for other people's code."""
    path = Path(code.co_filename).resolve()
    root = Path.cwd().resolve()
    if not path.is_relative_to(root):
        return None
    return f"{path.relative_to(root)}:{code.co_qualname.split('.<locals>')[0]}"


def _limit(test: str | None) -> None:
    if LIMIT_S not in os.environ:
        return

    def end(number: int, frame: FrameType | None) -> None:
        # Threads of a hanging test cannot be stopped, and pytest would wait for them.
        os.write(1, f"\nFAILED {test} - hangs\n".encode())
        os._exit(HUNG)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, 0 if test is None else float(os.environ[LIMIT_S]))
