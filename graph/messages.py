"""Conversations as graph state: `MessagesState`, the reducer that merges messages by id, the messages' classes.

The classes are langchain-core's when it is installed, else our own with the same fields; which of the two is found
out when one is first asked for, so importing this module imports nothing of anybody's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from ..eventlog.messages import message_classes
from ..projections.add_messages import REMOVE_ALL_MESSAGES, add_messages

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
]


class MessagesState(TypedDict):
    """A state whose one key `messages` is a conversation; subclass it to add keys.

    class State(MessagesState):
        topic: str
    """

    messages: Annotated[list[Any], add_messages]


def __getattr__(name: str) -> Any:
    """Return a message class of this installation by its name."""
    for cls in message_classes().values() if name in __all__ else ():
        if cls.__name__ == name:
            return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
