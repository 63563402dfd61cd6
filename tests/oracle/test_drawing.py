"""Graphs of the corpus drawn by both runtimes: the same Mermaid text, the same nodes and edges."""

from __future__ import annotations

import os
from typing import Any

import pytest

from . import api, corpus
from .harness import FACES, SCENARIOS, Script

pytestmark = pytest.mark.skipif(not api.HAVE_ORACLE and os.environ.get("CI") != "true", reason=api.NEEDED)
assert corpus.__all__


class _Drawn(Exception):
    """The graph was compiled: that is all that is wanted of a script."""


class _Drawer(Script):
    """A script that stops at its first graph."""

    def compile(self, builder: Any, *, persist: bool = True, **options: Any) -> Any:
        """Keep the graph and stop."""
        self.graph = builder.compile(**options)
        raise _Drawn


def _graph(runtime: api.Api, name: str) -> Any:
    drawer = _Drawer(runtime, api.place(runtime, None), FACES[0])
    with pytest.raises(_Drawn):
        SCENARIOS[name].run(runtime, drawer)
    return drawer.graph


def _shape(graph: Any) -> Any:
    json = graph.to_json()
    nodes = [{key: node[key] for key in ("id", "metadata") if key in node} for node in json["nodes"]]
    return {"nodes": nodes, "edges": json["edges"]}


UNDRAWN_THERE = {name for name in SCENARIOS if name.startswith("cached_")}
"""LangGraph computes the key of a node's input for its cache, of an input that is not there, and fails."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in SCENARIOS if name not in UNDRAWN_THERE])
def test_a_graph_is_drawn_the_same(name: str) -> None:
    """Nodes, edges and labels of each graph of the corpus, flat and with the graphs inside, are LangGraph's."""
    theirs, ours = _graph(api.langgraph(), name), _graph(api.lithograph(), name)
    for xray in (False, True):
        one, other = theirs.get_graph(xray=xray), ours.get_graph(xray=xray)
        assert _shape(other) == _shape(one)
        assert other.draw_mermaid() == one.draw_mermaid()
        assert other.draw_mermaid(with_styles=False) == one.draw_mermaid(with_styles=False)
    assert [path for path, _ in ours.get_subgraphs(recurse=True)] == [
        path for path, _ in theirs.get_subgraphs(recurse=True)
    ]
