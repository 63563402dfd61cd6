"""The `add_messages` reducer: a list of messages, merged by message id.

A new id is appended, a known id is replaced in place, a `RemoveMessage` removes, `REMOVE_ALL_MESSAGES` starts
over. `merge_messages` is the fold's form: pure, ids drawn from the caller's source, O(what arrives) when all
of it is new, because the cell keeps an index by id. Objects that were passed in are never changed: a message
that lacks an id is copied.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, Literal, cast, overload

from ..eventlog.errors import MissingExtra
from ..eventlog.messages import coerce_message
from .cells import Cell, ListCell, Written
from .given_ids import NewId
from .ids import minted_ids

REMOVE_ALL_MESSAGES: Final = "__remove_all__"
"""The id with which a `RemoveMessage` removes everything before it."""

_plain_classes: set[type] = set()
"""Message classes whose instances need no conversion."""

_mint: ContextVar[Mint | None] = ContextVar("lithograph_mint", default=None)
Format = Literal["langchain-openai"]


class MessagesCell(ListCell):
    """A list of messages, each with an id, and where each id is.

    The index is shared by all cells over one growing list; an entry at or past a cell's `length` belongs to a
    later cell and does not count for this one.
    """

    __slots__ = ("_index",)

    def __init__(self, cell: ListCell, index: dict[str, int] | None = None) -> None:
        super().__init__([], cell.length, cell.backing)
        self._index = {m.id: place for place, m in enumerate(cell.get())} if index is None else index

    def find(self, id: str) -> int | None:
        """Return where the message `id` is, or `None`."""
        place = self._index.get(id)
        return place if place is not None and place < self.length else None

    def extended(self, tail: Sequence[Any]) -> MessagesCell:
        """Return a cell with new messages appended; this one is unchanged."""
        longer = super().extended(tail)
        if longer.backing is not self.backing:
            return MessagesCell(longer)
        self._index.update((message.id, self.length + place) for place, message in enumerate(tail))
        return MessagesCell(longer, self._index)


def merge_messages(cell: Cell | None, right: Any, *, new_id: NewId) -> MessagesCell:
    """Return the cell after the messages `right` (one, or a list, in any form) were merged into `cell`.

    Missing ids come from `new_id`, in order. The result `extends` the old cell when messages were only
    appended. Raises `ValueError` when an id is removed that is not there.
    """
    left = _messages_cell(cell, new_id)
    incoming = _messages(right, new_id)
    start = max((place for place, m in enumerate(incoming) if _removes_all(m)), default=-1)
    if start >= 0:
        return MessagesCell(ListCell(incoming[start + 1 :]))
    added, replaced, removed = _sorted_out(left, incoming)
    if not replaced and not removed:
        return left.extended(added)
    items = left.get()
    for place, message in replaced.items():
        items[place] = message
    return MessagesCell(ListCell([message for message in items + added if message.id not in removed]))


@overload
def add_messages(left: Any, right: Any, *, format: Format | None = None) -> list[Any]: ...
@overload
def add_messages(*, format: Format | None = None) -> Callable[[Any, Any], list[Any]]: ...
def add_messages(left: Any = None, right: Any = None, *, format: Any = None) -> Any:
    """Return `left` with the messages of `right` merged into it by id; neither is changed.

    Without arguments, or with `format` alone, returns a reducer. `format="langchain-openai"` needs
    langchain-core.

        class State(TypedDict):
            messages: Annotated[list, add_messages]
    """
    if left is None and right is None:
        return partial(add_messages, format=format)
    if left is None or right is None:
        given = "right" if left is None else "left"
        raise ValueError(f"Must specify non-null arguments for both 'left' and 'right'. Only received: '{given}'.")
    if format not in (None, "", "langchain-openai"):
        raise ValueError(f"Unrecognized {format=}. Expected one of 'langchain-openai', None.")
    mint = _mint.get()
    merged = merge_messages(Cell(left), right, new_id=_random_id if mint is None else mint.new_id).get()
    return _as_openai(merged) if format else merged


class Mint:
    """Where `add_messages` takes ids from while somebody's reducer calls it: the write that is being reduced."""

    __slots__ = ("new_id",)

    def __init__(self) -> None:
        self.new_id: NewId = _random_id

    def follow(self, written: Written) -> None:
        """Take ids from one write."""
        self.new_id = minted_ids(written.origin)

    def following(self, writes: Iterable[Written]) -> Iterator[Written]:
        """Yield the writes, each with ids of its own."""
        for written in writes:
            self.follow(written)
            yield written


@contextmanager
def minting() -> Generator[Mint]:
    """Within the block, what calls `add_messages` gets ids that are functions of the write: a refold mints the same."""
    mint = Mint()
    token = _mint.set(mint)
    try:
        yield mint
    finally:
        _mint.reset(token)


def _sorted_out(left: MessagesCell, incoming: list[Any]) -> tuple[list[Any], dict[int, Any], set[str]]:
    """Return what arrives as (appended, replaced by place, removed ids)."""
    added: list[Any] = []
    places: dict[str, int] = {}
    replaced: dict[int, Any] = {}
    removed: set[str] = set()
    for message in incoming:
        place = places.get(message.id)
        place = left.find(message.id) if place is None else place
        if place is None:
            if message.type == "remove":
                raise ValueError(f"Attempting to delete a message with an ID that doesn't exist ('{message.id}')")
            places[message.id] = left.length + len(added)
            added.append(message)
        elif message.type == "remove":
            removed.add(message.id)
        else:
            removed.discard(message.id)
            if place < left.length:
                replaced[place] = message
            else:
                added[place - left.length] = message
    return added, replaced, removed


def _messages_cell(cell: Cell | None, new_id: NewId) -> MessagesCell:
    """Return the left side as a cell of messages; its list is kept when all of it are messages with ids."""
    if isinstance(cell, MessagesCell):
        return cell
    if cell is None:
        return MessagesCell(ListCell([]))
    value = cell.get()
    if isinstance(cell, ListCell) and all(type(m) in _plain_classes and m.id is not None for m in value):
        return MessagesCell(cell)
    messages = _messages(value, new_id)
    if isinstance(cell, ListCell) and all(a is b for a, b in zip(messages, value, strict=True)):
        return MessagesCell(cell)
    return MessagesCell(ListCell(messages))


def _messages(value: Any, new_id: NewId) -> list[Any]:
    """Return messages in any form as a new list of message objects, each with an id."""
    given = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [_with_id(part if type(part) in _plain_classes else _coerced(part), new_id) for part in given]


def _coerced(value: Any) -> Any:
    """Return the message that a value stands for; remember its class when it is one as it is."""
    message = coerce_message(value)
    if message is value:
        _plain_classes.add(cast("type[Any]", type(value)))
    return message


def _with_id(message: Any, new_id: NewId) -> Any:
    if message.id is not None:
        return message
    return message.model_copy(update={"id": new_id()})


def _removes_all(message: Any) -> bool:
    return message.id == REMOVE_ALL_MESSAGES and message.type == "remove"


def _random_id() -> str:
    return str(uuid.uuid4())


def _as_openai(messages: list[Any]) -> list[Any]:
    try:
        from langchain_core.messages import convert_to_messages, convert_to_openai_messages
    except ImportError:
        raise MissingExtra(
            "format='langchain-openai' needs langchain-core: pip install 'lithograph[langgraph]'"
        ) from None
    return list(convert_to_messages(convert_to_openai_messages(messages)))
