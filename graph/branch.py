"""Conditional edges: a router sees the fresh state and names where to go.

The router gets the state with its node's own writes applied. When both that state and the node's output are
dictionaries and the router declares no schema of its own, keys of the output that no channel has are visible
too (`{**output, **state}`).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from ..projections.types import END, START, Send
from .errors import InvalidUpdateError
from .injection import Callee
from .schema import Schema
from .scope import NodeScope
from .spec import BranchSpec, Write
from .writes import Targets


def destinations(path: Any, path_map: dict[Any, str] | list[str] | None) -> dict[Any, str] | None:
    """Return what a router may answer, mapped to node names; `None` when that is not declared."""
    if isinstance(path_map, dict):
        return dict(path_map)
    if isinstance(path_map, list):
        return {name: name for name in path_map}
    if not inspect.isroutine(path):
        return None
    try:
        returned = get_type_hints(path).get("return")
    except (NameError, TypeError):
        return None
    if get_origin(returned) is Literal:
        return {name: name for name in get_args(returned)}
    return None


def branch_spec(
    name: str,
    *,
    source: str,
    router: Callee,
    schema: Schema,
    declares_schema: bool,
    ends: Mapping[Any, str] | None,
    targets: Targets,
) -> BranchSpec:
    """Return the conditional edge `name` of the node `source`, ready to run."""

    def state_for(values: Mapping[str, Any], output: Any) -> Any:
        state = schema.read(values)
        if declares_schema or not isinstance(state, dict) or not isinstance(output, dict):
            return cast("Any", state)
        return {**cast("dict[str, Any]", output), **cast("dict[str, Any]", state)}

    def finish(answer: Any) -> list[Write]:
        return targets.writes(_chosen(answer, ends), source=source)

    def route(values: Mapping[str, Any], output: Any, scope: NodeScope) -> list[Write]:
        return finish(router.call(state_for(values, output), scope))

    async def aroute(values: Mapping[str, Any], output: Any, scope: NodeScope) -> list[Write]:
        return finish(await router.acall(state_for(values, output), scope))

    return BranchSpec(name, schema.keys, route, aroute, router.is_async, ends, router.fn, schema.managed)


def _chosen(answer: Any, ends: Mapping[Any, str] | None) -> list[Any]:
    """Return the destinations an answer stands for: node names and `Send`s, END kept."""
    answers = list(cast("list[Any]", answer)) if isinstance(answer, list | tuple) else [answer]
    chosen = [part if ends is None or isinstance(part, Send) else ends[part] for part in answers]
    if any(part is None or part == START for part in chosen):
        raise ValueError("Branch did not return a valid destination")
    if any(isinstance(part, Send) and part.node == END for part in chosen):
        raise InvalidUpdateError("Cannot send a packet to the END node")
    return chosen
