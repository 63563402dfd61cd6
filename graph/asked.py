"""What a call asked to be told, and how: modes, shape, what is printed. `stream.py` makes what is shaped here.

Shapes of one chunk, by what was asked for:

| | one mode | a list of modes |
|---|---|---|
| | payload | (mode, payload) |
| `subgraphs=True` | (namespace, payload) | (namespace, mode, payload) |
| `version="v2"` | a part: `{"type": …, "ns": …, "data": …}` | the same |
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from ..projections.types import INTERRUPT, START
from .errors import InvalidStreamOption
from .last_stream import LastStream
from .outlet import Chunk
from .schema import is_record
from .spec import GraphSpec
from .stream_parts import GraphOutput

MODES: Final = ("values", "updates", "checkpoints", "tasks", "debug", "messages", "custom", "tools")
_DEBUG: Final = ("updates", "values")
"""What `debug=True` prints."""
_BOLD, _YELLOW, _PLAIN = "\033[1m", "\033[1;30;33m", "\033[0m"


@dataclass(frozen=True, slots=True)
class Asked:
    """What one call asked to be told. `printed`: modes that are shown on the standard output, in any shape."""

    spec: GraphSpec
    modes: tuple[str, ...]
    printed: tuple[str, ...]
    single: bool = False
    subgraphs: bool = False
    version: str = "v1"

    def shaped(self, chunks: Iterable[Chunk]) -> Iterator[Any]:
        """Yield chunks in the shape that was asked for, of the modes that were, and print what is to be printed."""
        for chunk in chunks:
            namespace, mode, payload = chunk
            if mode in self.printed:
                self._print(chunk)
            if mode not in self.modes:
                continue
            if self.version == "v2":
                yield self._part(chunk)
            elif self.subgraphs:
                yield (namespace, payload) if self.single else chunk
            else:
                yield payload if self.single else (mode, payload)

    def print_out(self, chunks: Iterable[Chunk]) -> None:
        """Print what is to be printed, for a call that returns no chunks."""
        for chunk in chunks:
            self._print(chunk)

    def result(self, last: LastStream) -> Any:
        """Return what `invoke` returns."""
        if self.version == "v1":
            return last.result()
        return GraphOutput(_record(last.latest(), self.spec.output_schema, self.spec), tuple(last.questions))

    def _print(self, chunk: Chunk) -> None:
        namespace, mode, payload = chunk
        place = f" {_YELLOW}[graph={namespace}]{_PLAIN}" if self.subgraphs and namespace else ""
        sys.stdout.write(f"{_BOLD}[{mode}]{_PLAIN}{place} {payload!r}\n")

    def _part(self, chunk: Chunk) -> dict[str, Any]:
        namespace, mode, data = chunk
        part: dict[str, Any] = {"type": mode, "ns": namespace, "data": data}
        # The schemas are this graph's: a graph inside has others.
        own = not namespace
        if mode == "values":
            values, questions = _apart(data)
            shown = _record(values, self.spec.output_schema, self.spec) if own else values
            return {**part, "data": shown, "interrupts": questions}
        if own and mode == "checkpoints":
            part["data"] = self._checkpoint(data)
        elif own and mode == "debug" and data["type"] == "checkpoint":
            part["data"] = {**data, "payload": self._checkpoint(data["payload"])}
        return part

    def _checkpoint(self, payload: dict[str, Any]) -> dict[str, Any]:
        if START in payload["next"]:
            # The input is not applied yet, so fields may be missing that the schema needs.
            return payload
        return {**payload, "values": _record(payload["values"], self.spec.state_schema, self.spec)}


def asked_for(
    spec: GraphSpec,
    stream_mode: str | Sequence[str],
    *,
    print_mode: str | Sequence[str] = (),
    debug: bool = False,
    subgraphs: bool = False,
    version: str = "v1",
) -> Asked:
    """Return what a call asks for; raises `InvalidStreamOption` for words that mean nothing."""
    if version not in ("v1", "v2"):
        raise InvalidStreamOption(f'version is "v1" or "v2", not {version!r}')
    printed = _DEBUG if debug else _modes("print_mode", print_mode)
    modes = _modes("stream_mode", stream_mode)
    return Asked(spec, modes, printed, isinstance(stream_mode, str), subgraphs, version)


def checked_keys(
    spec: GraphSpec, output_keys: str | Sequence[str] | None, default: tuple[str, ...] | str
) -> tuple[str, ...] | str:
    """Return the keys to show; raises `InvalidStreamOption` for one that is no channel of the graph."""
    if output_keys is None:
        return default
    keys = (output_keys,) if isinstance(output_keys, str) else tuple(output_keys)
    for key in keys:
        if key not in spec.channels:
            raise InvalidStreamOption(f"Key {key} not in channels: output_keys are keys of the graph's state")
    return output_keys if isinstance(output_keys, str) else keys


def _modes(option: str, given: str | Sequence[str]) -> tuple[str, ...]:
    modes = (given,) if isinstance(given, str) else tuple(given)
    for mode in modes:
        if mode not in MODES:
            raise InvalidStreamOption(f"{option} is one of {', '.join(MODES)}, or a list of them, not {mode!r}")
    return modes


def _apart(payload: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return values and questions of a `values` chunk."""
    if not isinstance(payload, dict) or INTERRUPT not in payload:
        return cast("Any", payload), ()
    values = dict(cast("dict[str, Any]", payload))
    return values, values.pop(INTERRUPT)


def _record(values: Any, schema: Any, spec: GraphSpec) -> Any:
    """Return values as an instance of their schema, where that is a dataclass or a pydantic model."""
    if not isinstance(values, Mapping) or not is_record(schema):
        return cast("Any", values)
    keys = spec.output_channels if schema is spec.output_schema else spec.stream_channels
    return schema(**{key: value for key, value in cast("Mapping[str, Any]", values).items() if key in keys})
