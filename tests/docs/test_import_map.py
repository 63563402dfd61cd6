"""The import map: every public LangGraph name is in it, and what it promises can be imported."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PROMISE = re.compile(r"`from (lithograph\.[\w.]+) import (\w+)`")

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    """Return the script that makes the page."""
    spec = importlib.util.spec_from_file_location("import_map", DOCS / "import_map.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current(maker: ModuleType) -> None:
    """The page is what both packages say today: nothing promised is missing, nothing there is unmentioned."""
    assert maker.PAGE.read_text(encoding="utf-8") == maker.page(), "run: python docs/import_map.py"


def test_what_is_promised_can_be_imported(maker: ModuleType) -> None:
    """Every import that the page gives works."""
    promised = PROMISE.findall(maker.PAGE.read_text(encoding="utf-8"))

    assert promised
    assert [(m, n) for m, n in promised if not hasattr(importlib.import_module(m), n)] == []


@pytest.mark.parametrize(
    "name",
    [
        "StateGraph",
        "START",
        "END",
        "MessagesState",
        "Command",
        "Send",
        "interrupt",
        "InMemorySaver",
        "InMemoryStore",
    ],
)
def test_what_everybody_imports_is_there(maker: ModuleType, name: str) -> None:
    """The names of LangGraph's own first examples all have a counterpart."""
    assert any(entry.name == name and entry.target for entry in maker.entries())


def test_a_listed_module_that_is_installed_has_the_listed_names(maker: ModuleType) -> None:
    """Names given by hand are names that LangGraph really has."""
    for module, names in maker.NAMES.items():
        try:
            found = importlib.import_module(module)
        except ImportError:
            continue
        assert [name for name in names if not hasattr(found, name)] == [], module
