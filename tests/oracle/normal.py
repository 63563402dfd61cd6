"""Normal form of what a runtime returned: plain data in which only accidents are gone.

Accidents are: the text of ids (checkpoint, task, interrupt, generated message ids become ordinals by first
appearance, consistently over the whole trace), wall-clock times, and the completion order of parallel
tasks. Everything else stays: order of keys is ignored as `==` ignores it, list and tuple differ, bool and
int differ.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}")
_PARTS = re.compile(f"({_UUID.pattern})")
_RUNTIME_ERROR = re.compile(r"^(InvalidUpdateError|GraphRecursionError|EmptyInputError)\(.*\)$", re.DOTALL)
_SNAPSHOT = ("values", "next", "config", "metadata", "parent_config", "tasks", "interrupts")
_INTERRUPT = repr("__interrupt__")
_TASK = ("name", "path", "error", "interrupts", "state", "result")


class Id(str):
    """An id whose text differs from run to run."""

    __slots__ = ()


class Named(str):
    """The text of a key in which there is an id, such as a namespace."""

    __slots__ = ()


def plain(value: Any) -> Any:
    """`value` as nested dicts and lists of text; ids are `Id`s, to be numbered by `number`."""
    special = _BY_NAME.get(type(value).__name__)
    if special is not None:
        return special(value)
    if isinstance(value, BaseException):
        return {"error": repr(value)}
    if isinstance(value, Mapping):
        return {_key(key): _asked(item) if key == "__interrupt__" else plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *(plain(item) for item in value)]
    if isinstance(value, (set, frozenset)):
        return [type(value).__name__, *sorted((plain(item) for item in value), key=repr)]
    return _leaf(value)


def _leaf(value: Any) -> Any:
    if isinstance(value, str):
        return Id(value) if _UUID.fullmatch(value) else _text(value)
    if hasattr(value, "model_dump"):
        return {"class": type(value).__name__, **plain(value.model_dump())}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {item.name: plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
        return {"class": type(value).__name__, **fields}
    return repr(value)


def _text(value: str) -> Any:
    """A text; ids within it (of a task in a namespace, of a model's call in a message's id) are ids too."""
    if _UUID.search(value) is None:
        return repr(value)
    return ["text", *(Id(part) if _UUID.fullmatch(part) else repr(part) for part in _PARTS.split(value))]


def _asked(interrupts: Any) -> Any:
    """Interrupts of one step come in the order in which their tasks asked: an accident."""
    rendered = plain(interrupts)
    return (
        [rendered[0], *sorted(rendered[1:], key=lambda item: repr(item.get("value")))]
        if isinstance(rendered, list)
        else rendered
    )


def _key(key: Any) -> str:
    if isinstance(key, str) and _UUID.search(key):
        return Id(key) if _UUID.fullmatch(key) else Named(key)
    return repr(key)


def _snapshot(value: Any) -> dict[str, Any]:
    fields = {name: plain(getattr(value, name)) for name in _SNAPSHOT}
    if isinstance(value.metadata, Mapping):
        fields["metadata"] = plain(_metadata(value.metadata))
    # What is not there yet shows the config that was asked with, the runtime's own keys included.
    fields["config"] = plain(_chunk_config(value.config))
    fields["created_at"] = "a time" if isinstance(value.created_at, str) else plain(value.created_at)
    return {"class": "StateSnapshot", **fields}


def _metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata without LangGraph's count of writes that it has to replay: our log has none."""
    return {key: part for key, part in metadata.items() if key != "counters_since_delta_snapshot"}


def _error(error: Any) -> str | None:
    """The text of an error; of the runtime's own errors only the class, as each runtime explains itself."""
    if error is None:
        return None
    text = repr(error) if isinstance(error, BaseException) else str(error)
    return _RUNTIME_ERROR.sub(r"\1(...)", text)


def _task(value: Any) -> dict[str, Any]:
    fields = {name: plain(getattr(value, name)) for name in _TASK}
    # An error is the exception itself while its run is live, and text once it was stored: compare the text.
    error = value.error
    fields["error"] = _error(error)
    return {"class": "PregelTask", "id": Id(value.id), **fields}


def _interrupt(value: Any) -> dict[str, Any]:
    return {"class": "Interrupt", "id": Id(value.id), "value": plain(value.value)}


def _by_fields(*names: str) -> Callable[[Any], dict[str, Any]]:
    def render(value: Any) -> dict[str, Any]:
        return {"class": type(value).__name__, **{name: plain(getattr(value, name)) for name in names}}

    return render


_BY_NAME: dict[str, Callable[[Any], Any]] = {
    "StateSnapshot": _snapshot,
    "PregelTask": _task,
    "Interrupt": _interrupt,
    "Send": _by_fields("node", "arg"),
    "Command": _by_fields("graph", "update", "resume", "goto"),
    "Overwrite": _by_fields("value"),
}


def chunk(mode: str, payload: Any) -> dict[str, Any]:
    """One stream chunk; the times of debug chunks and the private parts of a chunk's config are dropped."""
    if mode == "debug":
        inner = chunk(_DEBUG_MODES[payload["type"]], payload["payload"])
        return {"mode": mode, "type": payload["type"], "step": payload["step"], "payload": inner}
    if mode == "checkpoints":
        payload = {
            **payload,
            "metadata": _metadata(payload["metadata"]),
            "config": _chunk_config(payload["config"]),
            "parent_config": _chunk_config(payload.get("parent_config")),
        }
    if mode == "tasks" and payload.get("error") is not None:
        payload = {**payload, "error": _error(payload["error"])}
    return {"mode": mode, "payload": plain(payload)}


_DEBUG_MODES = {"checkpoint": "checkpoints", "task": "tasks", "task_result": "tasks"}


def _chunk_config(config: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if config is None:
        return None
    public = {key: item for key, item in config["configurable"].items() if not key.startswith("__")}
    return {"configurable": public}


def unordered(item: Mapping[str, Any]) -> bool:
    """True for a chunk that is emitted when a task finishes, asks or writes, so in completion order."""
    if item["mode"] == "debug":
        return item["type"] == "task_result"
    if item["mode"] == "tasks":
        return "'triggers'" not in item["payload"]
    if item["mode"] == "values":
        return _INTERRUPT in item["payload"]
    return item["mode"] in ("updates", "custom", "messages", "tools")


class Chunks(list[Any]):
    """The chunks of one stream; runs of unordered ones are sorted when ids are numbered."""

    __slots__ = ()


def number(value: Any) -> Any:
    """`value` with every id replaced by an ordinal of its first appearance, and unordered chunks settled."""
    return _Numbering().walk(value)


class _Numbering:
    """The ordinals given so far; a run of chunks is sorted by what is already numbered in it."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def walk(self, value: Any) -> Any:
        if isinstance(value, Id):
            return self._seen.setdefault(value, f"#{len(self._seen) + 1}")
        if isinstance(value, Named):
            return _UUID.sub(lambda found: self.walk(Id(found[0])), value)
        if isinstance(value, dict):
            ordered = sorted(value.items(), key=lambda pair: self._peek([pair]))
            return {self.walk(key): self.walk(item) for key, item in ordered}
        if isinstance(value, Chunks):
            return [self.walk(item) for item in self._settle(value)]
        if isinstance(value, list):
            return [self.walk(item) for item in value]
        return value

    def _settle(self, chunks: Chunks) -> Iterator[Any]:
        """Give the chunks in order; a run that one task emitted keeps its order, others are sorted."""
        run: list[Any] = []
        for item in chunks:
            if isinstance(item, dict) and unordered(item):
                run.append(item)
                continue
            yield from self._settle_run(run)
            yield item
            run = []
        yield from self._settle_run(run)

    def _settle_run(self, run: list[Any]) -> list[Any]:
        if run and all(item["mode"] == "messages" for item in run):
            # Tokens of several nodes interleave; those of each are in order.
            return sorted(run, key=lambda item: self._peek(item["payload"][2]))
        alone = all(sum(item["mode"] == mode for item in run) <= 1 for mode in ("updates", "tasks", "debug", "values"))
        if run and all(item["mode"] == "custom" for item in run):
            # Nothing says which task wrote what: parallel ones write as their threads are scheduled.
            alone = False
        return run if alone else sorted(run, key=self._peek)

    def _peek(self, value: Any) -> str:
        """The text of `value` with known ids numbered and unknown ones blank; numbers nothing."""
        if isinstance(value, Id):
            return self._seen.get(value, "#")
        if isinstance(value, Named):
            return _UUID.sub(lambda found: self._peek(Id(found[0])), value)
        if isinstance(value, dict):
            return "{" + ",".join(sorted(self._peek(pair) for pair in value.items())) + "}"
        if isinstance(value, (list, tuple)):
            return "[" + ",".join(self._peek(item) for item in value) + "]"
        return str(value)
