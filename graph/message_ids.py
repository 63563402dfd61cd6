"""Messages get their id before they are stored, so that the stream, the log and the state show the same one."""

from __future__ import annotations

from typing import Any

from ..projections.channels import BinaryOperatorAggregate, Channel
from ..projections.delta import DeltaChannel
from ..projections.given_ids import with_ids, with_ids_for_delta
from ..projections.reducers import is_add_messages


def with_message_ids(channel: Channel | None, value: Any, origin: tuple[Any, ...]) -> Any:
    """Return what a task wrote to a messages channel with ids on its message objects; anything else as it is.

    Objects of the caller are not changed.
    """
    if isinstance(channel, BinaryOperatorAggregate) and is_add_messages(channel.operator):
        return with_ids(value, origin)
    if isinstance(channel, DeltaChannel):
        return with_ids_for_delta(value, origin)
    return value
