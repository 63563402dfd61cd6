"""`DrawnGraph`: the methods of a graph that show its shape, and the graphs inside its nodes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from ..projections.channels import LastValueAfterFinish
from ..projections.types import END, START, RunnableConfig
from .inner_graphs import keeps_state
from .ready_graph import ReadyGraph

if TYPE_CHECKING:
    from .drawable import Graph


class DrawnGraph(ReadyGraph):
    """What shows a graph: `get_graph`, `get_subgraphs` and their async twins."""

    def get_graph(self, config: RunnableConfig | Mapping[str, Any] | None = None, *, xray: int | bool = False) -> Graph:
        """Return the graph's shape, to be drawn: `get_graph().draw_mermaid()`.

        `xray`: with the graphs inside nodes in their places, so many levels deep, or all.
        """
        graph = self._shape()
        inside = dict(self.get_subgraphs()) if xray else {}
        deeper = xray if isinstance(xray, bool) or xray <= 0 else xray - 1
        for name, each in inside.items():
            inner = each.get_graph(config, xray=deeper)
            if len(inner.nodes) > 1 and name in graph.nodes and inner.first_node() and inner.last_node():
                graph = graph.extended(name, inner.trimmed())
        return graph

    async def aget_graph(
        self, config: RunnableConfig | Mapping[str, Any] | None = None, *, xray: int | bool = False
    ) -> Graph:
        """Do what `get_graph` does; it waits for nothing."""
        return self.get_graph(config, xray=xray)

    def get_subgraphs(self, *, namespace: str | None = None, recurse: bool = False) -> Iterator[tuple[str, Any]]:
        """Yield the graphs inside nodes that keep their state, each with the names of the nodes that lead to it.

        `namespace`: only the one there, `outer|inner`. `recurse`: those inside of these, too.
        """
        for name, node in self.spec.nodes.items():
            below = namespace is not None and namespace.startswith(f"{name}|")
            if not keeps_state(node.graph) or not (namespace is None or namespace == name or below):
                continue
            if namespace is None or namespace == name:
                yield name, node.graph
            if namespace == name:
                return
            if recurse:
                rest = None if namespace is None else namespace[len(name) + 1 :]
                inner = cast("DrawnGraph", node.graph).get_subgraphs(namespace=rest, recurse=True)
                yield from ((f"{name}|{path}", graph) for path, graph in inner)

    async def aget_subgraphs(
        self, *, namespace: str | None = None, recurse: bool = False
    ) -> AsyncIterator[tuple[str, Any]]:
        """Do what `get_subgraphs` does; it waits for nothing."""
        for found in self.get_subgraphs(namespace=namespace, recurse=recurse):
            yield found

    def _shape(self) -> Graph:
        from .drawable import Graph  # only who draws pays for it
        from .walk import Walk

        walk, graph = Walk(self.rules), Graph()
        for name, node in self.spec.nodes.items():
            graph.add_node(node, name, metadata=self._shown(name) or None)
        if START not in self.spec.nodes:
            graph.add_node(None, START)
            for name in walk.first:
                graph.add_edge(START, name)
        ways = sorted(walk.ways, key=lambda way: (way.source, way.target, way.conditional, way.label or ""))
        ends = {way.target for way in ways} - {way.source for way in ways} - {END}
        last = [(name, False) for name in sorted(ends)]
        if not ends and len(walk.last) == 1 and all(way.target != END for way in ways):
            last = [(walk.last[0], True)]
        if last or any(way.target == END for way in ways):
            graph.add_node(None, END)
        for way in ways:
            label = None if way.label == way.target else way.label
            graph.add_edge(way.source, way.target, data=label, conditional=way.conditional)
        for name, conditional in last:
            graph.add_edge(name, END, conditional=conditional)
        return graph

    def _shown(self, name: str) -> dict[str, Any]:
        """Return a node's metadata as it is drawn: its own, whether it is deferred, where a run stops."""
        shown = dict(self.spec.nodes[name].metadata or {})
        channels = (self.spec.channels.get(trigger) for trigger in self.spec.nodes[name].triggers)
        if any(isinstance(channel, LastValueAfterFinish) for channel in channels):
            shown["defer"] = True
        stops = [
            when
            for when, nodes in (("before", self.spec.interrupt_before), ("after", self.spec.interrupt_after))
            if name in nodes
        ]
        return {**shown, "__interrupt": ",".join(stops)} if stops else shown
