"""Messages of conversations: which classes they are of, how they are stored, what counts as one.

langchain-core's classes and our own (`own_messages`) count as one type. Which one a reader gets is what is
installed; langchain-core is imported only when the first message is met, read or asked for. The stored form
is the same: [type, content, id, name, additional_kwargs, response_metadata, the fields of the type …], then a
dict of further fields when there are any. Equal messages have equal bytes: which fields were set explicitly
is not stored, a message that was read has set those that differ from their defaults.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from operator import itemgetter
from typing import Any, cast

from . import own_messages
from .errors import InvalidMessage
from .serde import format as f
from .serde.registry import Codec

_FIELDS: dict[str, tuple[str, ...]] = {kind: cls.FIELDS for kind, cls in own_messages.CLASSES.items()}
_KINDS: dict[str, str] = {cls.__name__: kind for kind, cls in own_messages.CLASSES.items()}
_STORED = ("content", "id", "name", "additional_kwargs", "response_metadata")
_EMPTY = (dict, list)
"""Types whose empty value is a default; no other is asked whether it is empty, reading runs no user code."""

_set: Callable[[Any, str, Any], None] = object.__setattr__

_builders: dict[str, Callable[[list[Any]], Any]] = {}
"""How messages are built, by type; filled when the first one is met."""


def message_classes() -> dict[str, type[Any]]:
    """Return the message classes of this installation by the `type` of their messages.

    langchain-core's when it is installed, else ours. Keys: human, ai, system, tool, function, chat, remove.
    """
    try:
        import langchain_core.messages as module
    except ImportError:
        return dict(own_messages.CLASSES)
    return {kind: getattr(module, name) for name, kind in _KINDS.items()}


def coerce_message(value: Any) -> Any:
    """Return the message object that a value stands for, as LangGraph's `add_messages` takes it.

    A message as it is (a chunk becomes a message), a str is a human's, a (role, content) pair, a dict with
    `role` or `type` and `content`. Raises `InvalidMessage`, which is the `ValueError` and the `NotImplementedError` too
    that langchain-core raises.
    """
    if type(value) in own_messages.CLASSES.values():
        return value
    try:
        return _converted(value)
    except (ValueError, NotImplementedError, TypeError, KeyError) as error:
        # Which of these it is depends on what is wrong with the value, and on the version of langchain-core.
        raise InvalidMessage(str(error)) from error


def _converted(value: Any) -> Any:
    try:
        from langchain_core.messages import convert_to_messages, message_chunk_to_message
    except ImportError:
        return own_messages.convert(value)
    return message_chunk_to_message(cast(Any, convert_to_messages([value])[0]))


def is_message_class(cls: type) -> bool:
    """Say whether `cls` is exactly one of the message classes that are stored as messages."""
    return message_codec(cls) is not None


def message_codec(cls: type) -> Codec | None:
    """Return how messages of exactly this class are stored, or `None` when it is no message class.

    Imports nothing: a message of langchain-core cannot exist unless that is imported.
    """
    kind = _KINDS.get(cls.__name__)
    if kind is None:
        return None
    if cls is own_messages.CLASSES[kind]:
        return Codec(cls, f.MESSAGE, _explode_own(kind), rebuild_message, label=_labels(kind))
    module = sys.modules.get("langchain_core.messages")
    if module is None or getattr(module, cls.__name__, None) is not cls:
        return None
    return Codec(cls, f.MESSAGE, _explode_langchain(kind), rebuild_message, label=_labels(kind))


def rebuild_message(parts: list[Any]) -> Any:
    """Return the message of a stored form's parts, of the class that is installed."""
    if type(parts) is not list or len(parts) <= len(_STORED):
        raise ValueError("a message has at least six parts")
    build = _builders.get(parts[0])
    if build is None:
        if parts[0] not in _FIELDS:
            raise ValueError(f"{parts[0]!r} is no type of message")
        build = _builders[parts[0]] = _builder(parts[0], message_classes()[parts[0]])
    return build(parts)


def _explode_own(kind: str) -> Callable[[Any], list[Any]]:
    get, known = _getter(kind)

    def explode(message: Any) -> list[Any]:
        own = message.__dict__
        parts = [kind, *get(own)]
        if own["type"] != kind:
            raise ValueError(f"its type was changed to {own['type']!r}")
        if len(own) > len(known):
            parts.append({name: own[name] for name in own if name not in known})
        return parts

    return explode


def _explode_langchain(kind: str) -> Callable[[Any], list[Any]]:
    _, known = _getter(kind)
    explode_own = _explode_own(kind)

    def explode(message: Any) -> list[Any]:
        extra: dict[str, Any] | None = message.__pydantic_extra__
        parts = explode_own(message)
        if extra:
            further: dict[str, Any] = parts.pop() if len(message.__dict__) > len(known) else {}
            parts.append(further | extra)
        return parts

    return explode


def _getter(kind: str) -> tuple[Callable[[dict[str, Any]], tuple[Any, ...]], frozenset[str]]:
    names = (*_STORED, *_FIELDS[kind])
    return itemgetter(*names), frozenset((*names, "type"))


def _builder(kind: str, cls: type[Any]) -> Callable[[list[Any]], Any]:
    names = (*own_messages.COMMON, *_FIELDS[kind])
    count = 1 + len(_STORED) + len(_FIELDS[kind])
    put = _put_own if issubclass(cls, own_messages.BaseMessage) else _put_langchain
    new: Callable[[type[Any]], Any] = object.__new__

    def build(parts: list[Any]) -> Any:
        extra: dict[str, Any] = parts.pop() if len(parts) == count + 1 else {}
        if len(parts) != count:
            raise ValueError(f"a message of type {kind} has {count} parts")
        _, content, id, name, additional, metadata, *specific = parts
        own = dict(zip(names, (content, additional, metadata, kind, name, id, *specific), strict=True))
        message = new(cls)
        put(message, own, extra)
        return message

    return build


def _put_own(message: Any, own: dict[str, Any], extra: dict[str, Any]) -> None:
    message.__dict__.update(own, **extra)


def _put_langchain(message: Any, own: dict[str, Any], extra: dict[str, Any]) -> None:
    """Give a bare pydantic object its fields, without running a validator."""
    was_set = {"content"}
    for name, value in own.items():
        if value is None or name == "type" or (type(value) in _EMPTY and not value):
            continue
        if name != "status" or value != "success":
            was_set.add(name)
    if extra:
        fields: dict[str, Any] = cast(Any, type(message)).model_fields
        own.update({name: value for name, value in extra.items() if name in fields})
        extra = {name: value for name, value in extra.items() if name not in fields}
        was_set.update(extra)
    _set(message, "__dict__", own)
    _set(message, "__pydantic_extra__", extra)
    _set(message, "__pydantic_fields_set__", was_set)
    _set(message, "__pydantic_private__", None)


def _labels(kind: str) -> Callable[[Any, int], str]:
    names = ("type", *_STORED, *_FIELDS[kind])
    return lambda value, index: f".{names[index]}" if index < len(names) else ""
