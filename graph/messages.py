"""Conversations as graph state: `MessagesState` and the reducer that merges messages by id."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from ..projections.add_messages import REMOVE_ALL_MESSAGES, add_messages

__all__ = ["REMOVE_ALL_MESSAGES", "MessagesState", "add_messages"]


class MessagesState(TypedDict):
    """A state whose one key `messages` is a conversation; subclass it to add keys.

    class State(MessagesState):
        topic: str
    """

    messages: Annotated[list[Any], add_messages]
