"""`Graph`: a graph to be looked at: nodes and edges, as JSON or as a Mermaid diagram, in LangGraph's shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..projections.errors import NotSupportedYet
from .mermaid import CurveStyle, NodeStyles, mermaid


class Node(NamedTuple):
    """A node; `data` is what it runs, `None` for the start and the end."""

    id: str
    name: str
    data: Any
    metadata: dict[str, Any] | None


class Edge(NamedTuple):
    """An edge; `data` is what a router answers to take it."""

    source: str
    target: str
    data: Any = None
    conditional: bool = False


@dataclass
class Graph:
    """Nodes by id, and edges in the order in which they are drawn."""

    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    edges: list[Edge] = field(default_factory=list[Edge])

    def add_node(self, data: Any, id: str, *, metadata: dict[str, Any] | None = None) -> Node:
        """Add a node and return it; raises `ValueError` for an id that is taken."""
        if id in self.nodes:
            raise ValueError(f"Node with id {id} already exists")
        self.nodes[id] = Node(id, id, data, metadata)
        return self.nodes[id]

    def add_edge(self, source: str, target: str, *, data: Any = None, conditional: bool = False) -> None:
        """Add an edge, unless there is one between the two."""
        if any((edge.source, edge.target) == (source, target) for edge in self.edges):
            return
        self.edges.append(Edge(source, target, data, conditional))

    def first_node(self) -> Node | None:
        """Return the one node that no edge leads to; `None` for none or several."""
        return self._alone({edge.target for edge in self.edges})

    def last_node(self) -> Node | None:
        """Return the one node that no edge leads from; `None` for none or several."""
        return self._alone({edge.source for edge in self.edges})

    def trimmed(self) -> Graph:
        """Return the graph without its first and its last node, where others come first and last then."""
        graph = Graph(dict(self.nodes), list(self.edges))
        for end in ("first_node", "last_node"):
            node: Node | None = getattr(graph, end)()
            rest = graph if node is None else graph._without(node)
            if node is not None and getattr(rest, end)() is not None:
                graph = rest
        return graph

    def extended(self, name: str, inner: Graph) -> Graph:
        """Return the graph with another one in the place of the node `name`; the other's ids get it as a prefix."""
        first, last = inner.first_node(), inner.last_node()
        assert first is not None, "a graph that is put inside another has one first node"
        assert last is not None, "a graph that is put inside another has one last node"
        nodes = {id_: node for id_, node in self.nodes.items() if id_ != name}
        nodes.update((f"{name}:{id_}", node._replace(id=f"{name}:{id_}")) for id_, node in inner.nodes.items())
        own = [
            edge._replace(
                source=f"{name}:{last.id}" if edge.source == name else edge.source,
                target=f"{name}:{first.id}" if edge.target == name else edge.target,
            )
            for edge in self.edges
        ]
        inside = [edge._replace(source=f"{name}:{edge.source}", target=f"{name}:{edge.target}") for edge in inner.edges]
        return Graph(nodes, [*own, *inside])

    def to_json(self, *, with_schemas: bool = False) -> dict[str, list[dict[str, Any]]]:
        """Return nodes and edges as plain data. `with_schemas` changes nothing: no node is a schema."""
        edges = [
            {
                "source": edge.source,
                "target": edge.target,
                **({} if edge.data is None else {"data": edge.data}),
                **({"conditional": True} if edge.conditional else {}),
            }
            for edge in self.edges
        ]
        return {"nodes": [_node_json(node) for node in self.nodes.values()], "edges": edges}

    def draw_mermaid(
        self,
        *,
        with_styles: bool = True,
        curve_style: CurveStyle = CurveStyle.LINEAR,
        node_colors: NodeStyles | None = None,
        wrap_label_n_words: int = 9,
        frontmatter_config: Mapping[str, Any] | None = None,
    ) -> str:
        """Return the graph as a Mermaid diagram."""
        first, last = self.first_node(), self.last_node()
        return mermaid(
            self.nodes,
            self.edges,
            first=None if first is None else first.id,
            last=None if last is None else last.id,
            with_styles=with_styles,
            curve=curve_style,
            styles=node_colors or NodeStyles(),
            words=wrap_label_n_words,
            frontmatter=frontmatter_config or {},
        )

    def draw_mermaid_png(self, **_options: Any) -> bytes:
        """Raise `NotSupportedYet`: what draws pictures is no part of Lithograph."""
        raise NotSupportedYet("draw_mermaid_png() is not there: give the text of draw_mermaid() to a Mermaid renderer")

    def draw_png(self, **_options: Any) -> bytes:
        """Raise `NotSupportedYet`: what draws pictures is no part of Lithograph."""
        raise NotSupportedYet("draw_png() is not there: give the text of draw_mermaid() to a Mermaid renderer")

    def draw_ascii(self) -> str:
        """Raise `NotSupportedYet`: draw a Mermaid diagram instead."""
        raise NotSupportedYet("draw_ascii() is not there: print draw_mermaid() instead")

    def _alone(self, others: Iterable[str]) -> Node | None:
        found = [node for id_, node in self.nodes.items() if id_ not in others]
        return found[0] if len(found) == 1 else None

    def _without(self, node: Node) -> Graph:
        nodes = {id_: each for id_, each in self.nodes.items() if id_ != node.id}
        return Graph(nodes, [edge for edge in self.edges if node.id not in (edge.source, edge.target)])


def _node_json(node: Node) -> dict[str, Any]:
    json: dict[str, Any] = {"id": node.id}
    if node.data is not None:
        where: str = type(node.data).__module__
        data = {"id": [*where.split("."), type(node.data).__qualname__], "name": node.id}
        json |= {"type": "runnable", "data": data}
    if node.metadata is not None:
        json["metadata"] = node.metadata
    return json
