"""Which parts of a node's input and result are messages: what `stream_mode="messages"` shows beside tokens.

Messages are looked for where a state has them: the value of a field, or directly in a sequence there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast
from uuid import uuid4

from ..eventlog.own_messages import BaseMessage


def is_message(value: Any) -> bool:
    """Return whether `value` is a message, or a piece of one: ours or langchain-core's, which is not imported here."""
    if isinstance(value, BaseMessage):
        return True
    theirs = sys.modules.get("langchain_core.messages.base")
    return theirs is not None and isinstance(value, theirs.BaseMessage)


def messages_in(value: Any) -> Iterator[Any]:
    """Yield `value` when it is a message, and the messages directly in it when it is a sequence."""
    if is_message(value):
        yield value
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        yield from filter(is_message, cast("Sequence[Any]", value))


def with_id(message: Any) -> Any:
    """Give a model's message an id when it has none, for the node to return the same message; return it."""
    if message.id is None:
        message.id = str(uuid4())
    return message


def known_ids(state: Any) -> set[str]:
    """Return the ids of the messages in the fields of a state: a dictionary, a dataclass or a pydantic model."""
    return {
        message.id for field in _field_values(state) for message in messages_in(field) if isinstance(message.id, str)
    }


def _field_values(state: Any) -> list[Any]:
    if isinstance(state, Mapping):
        return list(cast("Mapping[str, Any]", state).values())
    kind = cast("Any", type(state))
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else getattr(kind, "model_fields", ())
    return [] if is_message(state) else [getattr(state, name) for name in names]
