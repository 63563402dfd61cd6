"""Conversations as graph state: `MessagesState`, the reducer that merges messages by id, the messages' classes.

`push_message` writes a message, and shows it, while a node is still running.

The classes are langchain-core's when it is installed, else our own with the same fields; which of the two is found
out when one is first asked for, so importing this module imports nothing of anybody's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from ..eventlog.messages import coerce_message, message_classes
from ..projections.add_messages import REMOVE_ALL_MESSAGES, add_messages
from .config import running_scope
from .found_messages import is_message

if TYPE_CHECKING:
    from ..eventlog.own_messages import (
        AIMessage,
        ChatMessage,
        FunctionMessage,
        HumanMessage,
        RemoveMessage,
        SystemMessage,
        ToolMessage,
    )

__all__ = [
    "REMOVE_ALL_MESSAGES",
    "AIMessage",
    "ChatMessage",
    "FunctionMessage",
    "HumanMessage",
    "MessagesState",
    "RemoveMessage",
    "SystemMessage",
    "ToolMessage",
    "add_messages",
    "push_message",
]


class MessagesState(TypedDict):
    """A state whose one key `messages` is a conversation; subclass it to add keys.

    class State(MessagesState):
        topic: str
    """

    messages: Annotated[list[Any], add_messages]


def push_message(message: Any, *, state_key: str | None = "messages") -> Any:
    """Show a message in the `messages` stream now, write it to `state_key`, and return it as a message object.

    Called from a node. It is written with the node's own result, before that; with `state_key=None` it is only shown.
    Raises `ValueError` for a message without an id, `RuntimeError` outside of a node.

        push_message(AIMessage("looking it up …", id="note-1"))
    """
    scope = running_scope("push_message")
    pushed = message if is_message(message) else coerce_message(message)
    if pushed.id is None:
        raise ValueError("Message ID is required")
    # Whoever sees it may change what it gets.
    scope.show_message(pushed.model_copy())
    if state_key:
        scope.send(state_key, pushed)
    return pushed


def __getattr__(name: str) -> Any:
    """Return a message class of this installation by its name."""
    for cls in message_classes().values() if name in __all__ else ():
        if cls.__name__ == name:
            return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
