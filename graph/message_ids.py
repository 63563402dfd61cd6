"""Messages get their id before they are stored, so that the stream, the log and the state show the same one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ..projections.add_messages import add_messages
from ..projections.channels import BinaryOperatorAggregate, Channel
from ..projections.ids import minted_ids


def with_message_ids(channel: Channel | None, value: Any, origin: tuple[Any, ...]) -> Any:
    """Return what a task wrote to a messages channel with ids on its message objects; anything else as it is.

    Objects of the caller are not changed: one without an id is copied. The ids are those that the reducer would mint.
    """
    if not isinstance(channel, BinaryOperatorAggregate) or channel.operator is not add_messages:
        return value
    mint = minted_ids(origin)
    if isinstance(value, list):
        return [_with_id(part, mint) for part in cast("list[Any]", value)]
    return _with_id(value, mint)


def _with_id(value: Any, mint: Callable[[], str]) -> Any:
    copy = getattr(value, "model_copy", None)
    if copy is None or getattr(value, "id", "") is not None or not hasattr(value, "content"):
        return value
    return copy(update={"id": mint()})
