"""What a node's result means: writes to channels, and where to go next.

`None` writes nothing; a dictionary writes its keys; a state object writes its fields; a `Command` updates
and routes; a list may mix commands with updates. Anything else is an `InvalidUpdateError`. Order is the
order of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..projections.types import END, ROOT, TASKS, Command, Send
from .errors import InvalidUpdateError, NodeNotFound, ParentCommand
from .schema import annotated_keys, update_pairs
from .spec import Write, branch_channel

Pairs = list[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Targets:
    """The nodes that work may be sent to, and the names they had before."""

    nodes: Mapping[str, str]
    """Every name that work may be addressed to (aliases too), and the node it means."""

    @classmethod
    def of(cls, nodes: Iterable[str], aliases: Mapping[str, str]) -> Targets:
        """Return the targets of a graph with these nodes, where `aliases` maps old names to nodes."""
        return cls({**aliases, **{name: name for name in nodes}})

    def resolve(self, name: Any, *, source: str) -> str:
        """Return today's name of a node; raises `NodeNotFound` naming who asked for it."""
        node = self.nodes.get(name) if isinstance(name, str) else None
        if node is None:
            raise NodeNotFound(
                f"Node '{source}' sends to {name!r}, which is no node of this graph. "
                "Add the node, or map the old name with compile(aliases={old: new})."
            )
        return node

    def writes(self, destinations: Iterable[Any], *, source: str) -> list[Write]:
        """Return the writes that start `destinations` (names, `Send`s, END) in the next superstep."""
        writes: list[Write] = []
        for target in destinations:
            if isinstance(target, Send):
                writes.append((TASKS, self._send(target, source)))
            elif target != END:
                writes.append((branch_channel(self.resolve(target, source=source)), None))
        return writes

    def _send(self, packet: Send, source: str) -> Send:
        if packet.node == END:
            raise InvalidUpdateError(
                f"Cannot send a packet to the END node (sent by '{source}'); send to a node instead."
            )
        name = self.resolve(packet.node, source=source)
        return packet if name == packet.node else Send(name, packet.arg, timeout=packet.timeout)


def writer(node: str, keys: tuple[str, ...], targets: Targets) -> Callable[[Any], list[Write]]:
    """Return what turns raw results of `node` into writes to `keys` and to the nodes it names."""
    if keys == (ROOT,):
        return lambda result: _root_pairs(result) + _control(result, node, targets)
    known = frozenset(keys)

    def writes(result: Any) -> list[Write]:
        if result is None:
            return []
        if type(result) is dict:
            given = cast("dict[str, Any]", result)
            return [(key, value) for key, value in given.items() if key in known]
        pairs = [pair for pair in _pairs(result, keys, node) if pair[0] in known]
        return pairs + _control(result, node, targets)

    return writes


def unknown_key_finder(keys: tuple[str, ...]) -> Callable[[Any], tuple[str, ...]]:
    """Return the function that names the keys of a raw result that no channel of the graph has."""
    if keys == (ROOT,):
        # The result is the one channel's value, whatever keys are in it.
        return no_unknown_keys
    known = frozenset(keys)

    def unknown(result: Any) -> tuple[str, ...]:
        if type(result) is dict:
            given = cast("dict[str, Any]", result)
            return () if given.keys() <= known else tuple(key for key in given if key not in known)
        return tuple(dict.fromkeys(key for key in _dict_keys(result) if key not in known))

    return unknown


def no_unknown_keys(_result: Any) -> tuple[str, ...]:
    """Stand in where unknown keys are no finding: input, and a graph used as a node."""
    return ()


def command_pairs(command: Command[Any]) -> Pairs:
    """Return the updates of a command as (key, value) pairs."""
    update = command.update
    if update is None:
        return []
    if isinstance(update, dict):
        return list(cast("dict[str, Any]", update).items())
    if isinstance(update, list | tuple):
        parts = cast("list[Any]", update)
        if all(_is_pair(part) for part in parts):
            return list(parts)
    return _object_pairs(command.update)


def _object_pairs(update: Any) -> Pairs:
    keys = annotated_keys(cast("type[Any]", type(update)))
    return update_pairs(update, keys) if keys else [(ROOT, update)]


def _is_pair(part: Any) -> bool:
    if not isinstance(part, tuple):
        return False
    pair = cast("tuple[Any, ...]", part)
    return len(pair) == 2 and isinstance(pair[0], str)


def _pairs(result: Any, keys: tuple[str, ...], node: str) -> Pairs:
    if result is None:
        return []
    if isinstance(result, dict):
        return list(cast("dict[str, Any]", result).items())
    if isinstance(result, Command):
        command = cast("Command[Any]", result)
        return [] if command.graph == Command.PARENT else command_pairs(command)
    if _has_command(result):
        return [pair for part in result for pair in _pairs(part, keys, node)]
    if annotated_keys(cast("type[Any]", type(result))):
        return update_pairs(result, keys)
    raise InvalidUpdateError(
        f"Expected dict, got {result}\nFor troubleshooting, visit: "
        "https://docs.langchain.com/oss/python/langgraph/errors/INVALID_GRAPH_NODE_RETURN_VALUE"
    )


def _root_pairs(result: Any) -> Pairs:
    if result is None:
        return []
    if isinstance(result, Command):
        command = cast("Command[Any]", result)
        return [] if command.graph == Command.PARENT else command_pairs(command)
    if not _has_command(result):
        return [(ROOT, result)]
    pairs: Pairs = []
    for part in cast("list[Any]", result):
        pairs += _root_pairs(part) if isinstance(part, Command) else [(ROOT, part)]
    return pairs


def _has_command(result: Any) -> bool:
    if not isinstance(result, list | tuple):
        return False
    return any(isinstance(part, Command) for part in cast("list[Any]", result))


def _control(result: Any, node: str, targets: Targets) -> list[Write]:
    """Return the writes that choose the next nodes; a command for the parent graph leaves as a signal."""
    if isinstance(result, Send):
        return targets.writes((result,), source=node)
    parts = cast("list[Any]", result) if isinstance(result, list | tuple) else [result]
    writes: list[Write] = []
    for part in parts:
        if not isinstance(part, Command):
            continue
        command = cast("Command[Any]", part)
        if command.graph == Command.PARENT:
            raise ParentCommand(command)
        goto = command.goto
        single = isinstance(goto, Send | str)
        writes += targets.writes((goto,) if single else goto, source=node)
    return writes


def _dict_keys(result: Any) -> Iterable[str]:
    if isinstance(result, dict):
        return cast("dict[str, Any]", result)
    if isinstance(result, Command):
        command = cast("Command[Any]", result)
        shown = command.graph != Command.PARENT and isinstance(command.update, dict | list | tuple)
        return [key for key, _ in command_pairs(command)] if shown else ()
    if _has_command(result):
        return [key for part in result for key in _dict_keys(part)]
    return ()
