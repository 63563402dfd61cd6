"""Who acts, and why: the actor and reason that every event stamped meanwhile carries."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from .texts import checked_text


class Actor(NamedTuple):
    """Who acts and why; `None` when nobody said."""

    name: str | None = None
    reason: str | None = None


NOBODY = Actor()
_CURRENT: ContextVar[Actor] = ContextVar("lithograph_actor", default=NOBODY)


def current_actor() -> Actor:
    """Return who acts in this context."""
    return _CURRENT.get()


def acting_for(given: Actor) -> Actor:
    """Return who acts when a call names an actor, or only a reason, of its own: who acts in this context goes first.

    One person's reason is never given to another.
    """
    acting = current_actor()
    if acting.name is None:
        return given
    if given.name not in (None, acting.name):
        return acting
    return Actor(acting.name, acting.reason or given.reason)


@contextmanager
def as_actor(name: str, *, reason: str | None = None) -> Generator[Actor]:
    """Act as somebody within the block, in this thread or asyncio task and those started from it.

    >>> with as_actor("alice", reason="second look"):
    ...     graph.update_state(config, {"approved": True})

    Raises `InvalidText` for a name or a reason that cannot be written as text, `TypeError` for what is no string.
    """
    actor = Actor(_checked(name, "the actor"), None if reason is None else _checked(reason, "the reason"))
    token = _CURRENT.set(actor)
    try:
        yield actor
    finally:
        _CURRENT.reset(token)


def _checked(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {type(value).__name__}: {value!r}")
    return checked_text(value, what)
