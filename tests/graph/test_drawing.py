"""Drawing: what is promised beside what `tests/oracle/test_drawing.py` compares."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from lithograph.graph import NotSupportedYet
from lithograph.graph.mermaid import CurveStyle

from .chains import chain, stamp


def _graph(**nodes: Any) -> Any:
    return chain(**nodes).compile()


def test_drawing_runs_no_node() -> None:
    """A graph is drawn from what was declared; nobody is called."""

    def never(_state: Any) -> Any:
        raise AssertionError("a node was run to be drawn")

    assert "never" in _graph(never=never).get_graph().draw_mermaid()


def test_curves_and_frontmatter_are_the_callers() -> None:
    """The front matter says how edges are bent, beside what the caller puts there."""
    text = (
        _graph(one=stamp("one"))
        .get_graph()
        .draw_mermaid(curve_style=CurveStyle.BASIS, frontmatter_config={"config": {"theme": "neutral", "x": "#fff"}})
    )
    assert text.startswith("---\nconfig:\n  flowchart:\n    curve: basis\n  theme: neutral\n  x: '#fff'\n---\n")


def test_two_inner_graphs_of_one_name_cannot_be_boxes() -> None:
    """Two nodes with the same inner node, which is a graph, cannot both be drawn as a box."""
    inner = _graph(one=stamp("one"), two=stamp("two"))
    middle = {name: _graph(inner=inner, after=stamp("after")) for name in ("left", "right")}
    with pytest.raises(ValueError, match="duplicate subgraph 'inner'"):
        _graph(**middle).get_graph(xray=True).draw_mermaid()


def test_xray_goes_so_many_levels_deep() -> None:
    """`xray=1` opens the graphs inside nodes, and not those inside of them."""
    deep = _graph(one=stamp("one"), two=stamp("two"))
    graph = _graph(middle=_graph(deep=deep, after=stamp("after")), end=stamp("end"))
    assert "middle:deep" in graph.get_graph(xray=1).nodes
    assert "middle:deep:one" in graph.get_graph(xray=True).nodes
    assert [path for path, _ in graph.get_subgraphs(recurse=True)] == ["middle", "middle|deep"]
    assert [path for path, _ in graph.get_subgraphs(namespace="middle|deep", recurse=True)] == ["middle|deep"]


def test_pictures_are_refused() -> None:
    """What needs a renderer says what to do instead."""
    drawn = asyncio.run(_graph(one=stamp("one")).aget_graph())
    for method in ("draw_png", "draw_mermaid_png", "draw_ascii"):
        with pytest.raises(NotSupportedYet, match="draw_mermaid"):
            getattr(drawn, method)()
