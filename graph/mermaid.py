"""Mermaid diagrams of graphs: the text, as langchain-core writes it for the same graph."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, Protocol, cast

_ALLOWED = frozenset(string.ascii_letters + string.digits + "_-")
_MARKDOWN = ("*", "_", "`")
_ESCAPES = {
    "#": "#35;",
    "[": "#91;",
    "]": "#93;",
    "(": "#40;",
    ")": "#41;",
    "{": "#123;",
    "}": "#125;",
    '"': "#quot;",
    "<": "#60;",
    ">": "#62;",
    "|": "#124;",
}
_PLAIN = frozenset(string.ascii_letters + string.digits + "_-. /")


class CurveStyle(Enum):
    """How edges are bent."""

    BASIS = "basis"
    BUMP_X = "bumpX"
    BUMP_Y = "bumpY"
    CARDINAL = "cardinal"
    CATMULL_ROM = "catmullRom"
    LINEAR = "linear"
    MONOTONE_X = "monotoneX"
    MONOTONE_Y = "monotoneY"
    NATURAL = "natural"
    STEP = "step"
    STEP_AFTER = "stepAfter"
    STEP_BEFORE = "stepBefore"


@dataclass
class NodeStyles:
    """The styles of the first node, the last one, and all others."""

    default: str = "fill:#f2f0ff,line-height:1.2"
    first: str = "fill-opacity:0"
    last: str = "fill:#bfb6fc"


class AnyNode(Protocol):
    """What is drawn of a node."""

    @property
    def name(self) -> str:
        """Its label."""
        ...

    @property
    def metadata(self) -> dict[str, Any] | None:
        """What is written under the label."""
        ...


class AnyEdge(Protocol):
    """What is drawn of an edge."""

    @property
    def source(self) -> str:
        """The id of the node that it leads from."""
        ...

    @property
    def target(self) -> str:
        """The id of the node that it leads to."""
        ...

    @property
    def data(self) -> Any:
        """Its label."""
        ...

    @property
    def conditional(self) -> bool:
        """Whether its line is dashed."""
        ...


def mermaid(
    nodes: Mapping[str, AnyNode],
    edges: Sequence[AnyEdge],
    *,
    first: str | None,
    last: str | None,
    with_styles: bool,
    curve: CurveStyle,
    styles: NodeStyles,
    words: int,
    frontmatter: Mapping[str, Any],
) -> str:
    """Return the diagram; raises `ValueError` when two graphs inside nodes have the same name."""
    drawing = _Drawing(nodes, edges, first, last, with_styles=with_styles, words=words)
    text = "".join(drawing.lines())
    if not with_styles:
        return f"graph TD;\n{text}"
    classes = "".join(f"\tclassDef {name} {style}\n" for name, style in asdict(styles).items())
    return f"---\n{_yaml(_with_curve(frontmatter, curve))}---\ngraph TD;\n{text}{classes}"


class _Drawing:
    """The lines of one diagram; a graph inside a node is a box."""

    def __init__(
        self,
        nodes: Mapping[str, AnyNode],
        edges: Sequence[AnyEdge],
        first: str | None,
        last: str | None,
        *,
        with_styles: bool,
        words: int,
    ) -> None:
        self._ends = {first: "{0}([{1}]):::first", last: "{0}([{1}]):::last"}
        self._with_styles = with_styles
        self._words = words
        self._drawn: set[str] = set()
        self._nodes: dict[str, dict[str, AnyNode]] = {}
        self._edges: dict[str, list[AnyEdge]] = {}
        for id_, node in nodes.items():
            self._nodes.setdefault(id_.rpartition(":")[0], {})[id_] = node
        for edge in edges:
            pairs = zip(edge.source.split(":"), edge.target.split(":"), strict=False)
            self._edges.setdefault(":".join(one for one, other in pairs if one == other), []).append(edge)

    def lines(self) -> list[str]:
        """Return the nodes, the edges, and the boxes with theirs."""
        lines = self._node_lines("")
        lines += self._box("", self._edges.get("", []))
        for prefix, edges in self._edges.items():
            if prefix and ":" not in prefix:
                lines += self._box(prefix, edges)
                self._drawn.add(prefix)
        for prefix in self._nodes if self._with_styles else ():
            if prefix and ":" not in prefix and prefix not in self._drawn:
                lines += [f"\tsubgraph {prefix}\n", *self._node_lines(prefix), "\tend\n"]
                self._drawn.add(prefix)
        return lines

    def _box(self, prefix: str, edges: Sequence[AnyEdge]) -> list[str]:
        is_box = bool(prefix) and not (len(edges) == 1 and edges[0].source == edges[0].target)
        lines: list[str] = []
        if is_box:
            name = prefix.rpartition(":")[2]
            if name in self._drawn:
                raise ValueError(
                    f"Found duplicate subgraph '{name}' -- this likely means that you're reusing a subgraph node with "
                    "the same name. Please adjust your graph to have subgraph nodes with unique names."
                )
            self._drawn.add(name)
            lines += [f"\tsubgraph {name}\n", *self._node_lines(prefix)]
        lines += [self._edge_line(edge) for edge in edges]
        for inner, found in self._edges.items():
            if inner.startswith(f"{prefix}:") and ":" not in inner[len(prefix) + 1 :]:
                lines += self._box(inner, found)
        return [*lines, "\tend\n"] if is_box else lines

    def _node_lines(self, prefix: str) -> list[str]:
        found = self._nodes.get(prefix, {}) if self._with_styles else {}
        return [self._node_line(id_, node) for id_, node in found.items()]

    def _node_line(self, id_: str, node: AnyNode) -> str:
        label = node.name.rpartition(":")[2]
        if label.startswith(_MARKDOWN) and label.endswith(_MARKDOWN):
            label = f"<p>{label}</p>"
        if about := _about(node.metadata or {}):
            label = f"{label}<hr/><small><em>{about}</em></small>"
        return f"\t{self._ends.get(id_, '{0}({1})').format(_safe(id_), label)}\n"

    def _edge_line(self, edge: AnyEdge) -> str:
        arrow = " -.-> " if edge.conditional else " --> "
        if edge.data is not None:
            label, words = str(edge.data), str(edge.data).split()
            if len(words) > self._words:
                lines = [" ".join(words[at : at + self._words]) for at in range(0, len(words), self._words)]
                label = "&nbsp<br>&nbsp".join(lines)
            arrow = f" -. &nbsp;{label}&nbsp; .-> " if edge.conditional else f" -- &nbsp;{label}&nbsp; --> "
        return f"\t{_safe(edge.source)}{arrow}{_safe(edge.target)};\n"


def _about(metadata: Mapping[str, Any]) -> str:
    """Return what a node's metadata says, a line each; values that are no plain ones are left out."""
    lines = [f"{key} = {text}" for key, value in metadata.items() if (text := _plain(value)) is not None]
    return "\n".join("".join(_ESCAPES.get(each, each) for each in line) for line in lines)


def _plain(value: Any) -> str | None:
    if isinstance(value, str | int | float | bool):
        return str(value)
    if isinstance(value, list | tuple | set):
        items = list(cast("list[Any]", value))
        if all(isinstance(item, str | int | float | bool) for item in items):
            texts = [str(item) for item in items]
            return ", ".join(sorted(texts) if isinstance(value, set) else texts)
    return None


def _safe(label: str) -> str:
    return "".join(each if each in _ALLOWED else f"\\{ord(each):x}" for each in label)


def _with_curve(frontmatter: Mapping[str, Any], curve: CurveStyle) -> dict[str, Any]:
    config = dict(frontmatter.get("config", {}))
    return {**frontmatter, "config": {**config, "flowchart": {**config.get("flowchart", {}), "curve": curve.value}}}


def _yaml(value: Mapping[str, Any], indent: str = "") -> str:
    """Return plain data as YAML, keys sorted."""
    lines: list[str] = []
    for key in sorted(value):
        part = value[key]
        if isinstance(part, Mapping):
            lines.append(f"{indent}{key}:\n{_yaml(cast('Mapping[str, Any]', part), indent + '  ')}")
        else:
            lines.append(f"{indent}{key}: {_scalar(part)}\n")
    return "".join(lines)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return (
        text
        if not isinstance(value, str) or (text and _PLAIN.issuperset(text))
        else f"'{text.replace(chr(39), chr(39) * 2)}'"
    )
