"""Any stored value as plain JSON data and as one short line: for people to look at, not to load again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

_TEXT_MAX = 100
_MESSAGES_MAX = 20
_MESSAGE_WIDTH = 400


def plain(value: Any) -> Any:
    """Return `value` as JSON data; a type that JSON lacks becomes an object or a text that names it.

    Works on whatever a log gives, including values whose class is not known here, and calls no user code but
    `repr`.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {key if isinstance(key, str) else repr(key): plain(part) for key, part in items}
    as_dict = getattr(value, "_asdict", None)
    if isinstance(value, tuple) and callable(as_dict):
        return plain(as_dict())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in cast("Iterable[Any]", value)]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name, None)) for field in fields(value)}
    return _named(value)


def short(value: Any, *, width: int = _TEXT_MAX) -> str:
    """Return `value` as one line of at most `width` characters."""
    text = value if isinstance(value, str) else dumps(value)
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def told(value: Any, *, width: int = _TEXT_MAX) -> str:
    """Return `value` for a table: as `short` does, but a conversation as a script, one message a line."""
    messages = cast("list[Any]", value) if isinstance(value, list) else []
    if not messages or not all(_is_message(each) for each in messages):
        return short(value, width=width)
    lines = [_line(each) for each in messages[-_MESSAGES_MAX:]]
    left_out = len(messages) - len(lines)
    return "\n".join([f"… {left_out:,} before", *lines] if left_out else lines)


def dumps(value: Any) -> str:
    """Return `value` as one line of JSON."""
    return json.dumps(plain(value), ensure_ascii=False)


def _named(value: Any) -> Any:
    """Return an object that is none of the plain ones: its fields beside its type's name, or its text."""
    from ..eventlog.serde import Opaque

    if isinstance(value, Opaque):
        return {"type": value.name, "fields": plain(value.fields)}
    dump = getattr(value, "model_dump", None)
    return {"type": type(value).__name__, "fields": plain(dump())} if callable(dump) else str(value)


def _is_message(value: Any) -> bool:
    from ..eventlog.messages import is_message_class

    return is_message_class(cast("type[Any]", type(value)))


def _line(message: Any) -> str:
    """Return a message as a line: who speaks, what, and which tools are called."""
    calls = [call["name"] for call in getattr(message, "tool_calls", None) or ()]
    parts = [short(message.content, width=_MESSAGE_WIDTH), f"[calls {', '.join(calls)}]" if calls else ""]
    return " ".join([f"{message.name or message.type}:", *filter(None, parts)])
