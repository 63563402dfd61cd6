"""What a channel holds at one checkpoint, and what a task wrote to it: values with their stored bytes.

A `Cell` never changes once made, so checkpoints share cells. A `ListCell` is a prefix of a list that may go on
growing behind it, which makes an append cost the tail only, while older checkpoints keep their shorter view.
`Values` is how a fold encodes and decodes: through a serializer for a logged run, not at all without a log.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from operator import methodcaller
from typing import Any, Final, Protocol, TypeAlias, cast

from .held import Held
from .types import OVERWRITE, Overwrite

Data: TypeAlias = Any
"""A stored value: encoded `bytes`, or a blob reference's array; in a run without a log the value itself."""


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final[Any] = _Missing()


class Values(Protocol):
    """How a fold turns values into what is stored, and back."""

    plain: bool
    """True without a log: values pass as they are."""

    @property
    def unknown(self) -> AbstractSet[str]:
        """Names of types that were met in stored values and that nobody registered."""
        ...

    types: Any
    """Which types decoding knows: what was decoded with others must not be shared."""

    def encode(self, value: Any) -> Data:
        """Return what is stored for `value`; raises `UnsupportedTypeError` when it would not come back exactly."""
        ...

    def fit(self, parts: list[Data]) -> list[Data]:
        """Return the data that one record is to hold, moved elsewhere where all of it would be too much for one."""
        ...

    def decode(self, data: Data) -> Any:
        """Return the value of stored data."""
        ...

    def raw(self, value: Any) -> bytes:
        """Return the encoding of `value`, however large: what digests cover."""
        ...

    def store(self, data: bytes) -> Data:
        """Return what is stored for a value that `raw` encoded."""
        ...

    def encode_elements(self, value: list[Any]) -> list[bytes]:
        """Return the encoding of each element on its own."""
        ...


class Plain:
    """`Values` of a run without a log: nothing is encoded."""

    plain = True
    unknown: AbstractSet[str] = frozenset()
    types = None

    def encode(self, value: Any) -> Data:
        """Return the value."""
        return value

    def fit(self, parts: list[Data]) -> list[Data]:
        """Return the values."""
        return parts

    def decode(self, data: Data) -> Any:
        """Return the value."""
        return data

    def raw(self, value: Any) -> bytes:
        """Refuse: only a logged fold has digests."""
        raise TypeError("a run without a log encodes nothing")

    def store(self, data: bytes) -> Data:
        """Refuse: only a logged fold has encodings."""
        raise TypeError("a run without a log encodes nothing")

    def encode_elements(self, value: list[Any]) -> list[bytes]:
        """Refuse: only a logged fold compares encoded elements."""
        raise TypeError("a run without a log encodes nothing")


_COPIES: dict[Any, Callable[[Any], Any]] = dict.fromkeys((list, dict, set), methodcaller("copy"))
_COPIES[Held] = lambda held: own(held.shown)


PLAIN = Plain()


def own(value: Any) -> Any:
    """Return `value`, or a shallow copy when it is a built-in container, so that nobody holds one of state's.

    Of what a channel `Held` it is the part that is shown.
    """
    copy = _COPIES.get(cast("Any", type(value)))
    return value if copy is None else copy(value)


def own_input(value: Any) -> Any:
    """Return `value` as a node may have it that is called with it: its containers, and those right within a dict."""
    if type(value) is dict:
        return {key: own(part) for key, part in cast("dict[Any, Any]", value).items()}
    return own(value)


class Cell:
    """A value that a channel holds. `value` is shared and must not be changed; what `get()` gives may be.

    `digest` is the recorded running digest; empty until its commit is recorded, and for control channels.
    """

    __slots__ = ("digest", "value")
    digest: bytes
    readable = True
    """Whether a reader sees the value; False while a channel waits for something."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.digest = b""

    def get(self) -> Any:
        """Return the value, containers copied."""
        return own(self.value)


class LazyCell(Cell):
    """A value that is decoded when first looked at, so that history does not pay for what nobody reads."""

    __slots__ = ("_decode", "data")

    def __init__(self, data: Data, decode: Callable[[Data], Any]) -> None:
        self.data = data
        self._decode = decode
        self.digest = b""

    def __getattr__(self, name: str) -> Any:
        # `value` is an empty slot until now; any other name is a mistake.
        if name != "value":
            raise AttributeError(name)
        self.value = value = unwrap(self._decode(self.data))
        return value


class Shapes:
    """What is known of a growing list's elements, so that lending them asks only about new ones."""

    __slots__ = ("deep", "flat", "known", "lent")

    def __init__(self) -> None:
        self.known = 0
        """How many were looked at, from the start."""
        self.flat = False
        """Whether some are containers of what nobody can change: lent as shallow copies."""
        self.deep = False
        """Whether some can be changed further down: lent as copies of all that is in them."""
        self.lent: list[Any] | None = None
        """The elements with messages copied, once for all receivers; `None` while there are no messages."""

    def of_first(self, length: int) -> Shapes:
        """Return what is known of the list that the first elements are; what was true of the rest may be in it."""
        shapes = Shapes()
        shapes.known, shapes.flat, shapes.deep = min(self.known, length), self.flat, self.deep
        shapes.lent = None if self.lent is None else self.lent[:length]
        return shapes


class Backing:
    """A list that only its end may grow, and the lock under which it does. `load` makes it when first looked at."""

    __slots__ = ("_load", "items", "lock", "running", "shapes")
    items: list[Any]
    running: Any
    """What has been hashed of the list, for its digest; `None` when nothing was."""

    def __init__(self, items: list[Any] | None = None, *, load: Callable[[], list[Any]] | None = None) -> None:
        self._load = load
        self.lock = threading.RLock()
        self.running = None
        self.shapes = Shapes()
        if items is not None:
            self.items = items

    def __getattr__(self, name: str) -> Any:
        if name != "items":
            raise AttributeError(name)
        load = self._load
        if load is not None:
            # Not under the lock, which would stay taken in the child of a process that forks meanwhile.
            items = load()
            with self.lock:
                # Another thread may have been first, and its list may have grown already.
                if self._load is not None:
                    self.items = items
                    self._load = None
        return self.items

    def branch(self, length: int) -> Backing:
        """Return a list of its own that begins with the first elements, and what is known and hashed of those."""
        branch = Backing(self.items[:length])
        branch.shapes = self.shapes.of_first(length)
        if self.running is not None and self.running.length <= length:
            branch.running = self.running.copy()
        return branch


class ListCell(Cell):
    """The first `length` elements of a shared, growing list. Appending costs the tail."""

    __slots__ = ("backing", "length")

    def __init__(self, items: list[Any], length: int | None = None, backing: Backing | None = None) -> None:
        self.backing = backing or Backing(items)
        self.length = len(items) if length is None else length
        self.digest = b""

    def __getattr__(self, name: str) -> Any:
        if name != "value":
            raise AttributeError(name)
        return self.backing.items[: self.length]

    def get(self) -> list[Any]:
        """Return the elements as a list of the caller's own."""
        return self.backing.items[: self.length]

    def since(self, start: int) -> list[Any]:
        """Return the elements from `start` on."""
        return self.backing.items[start : self.length]

    def extended(self, tail: Sequence[Any]) -> ListCell:
        """Return a cell with `tail` appended; this one is unchanged."""
        backing = self.backing
        with backing.lock:
            if len(backing.items) != self.length:
                # Somebody went on from here before: a step that paused, a fork.
                backing = backing.branch(self.length)
            backing.items.extend(tail)
            return ListCell(backing.items, self.length + len(tail), backing)

    def extends(self, older: Cell | None) -> bool:
        """Tell whether this cell is `older` with elements appended, by construction and not by comparison."""
        return isinstance(older, ListCell) and older.backing is self.backing and older.length <= self.length


def cell_of(value: Any) -> Cell:
    """Return a cell that holds `value`, of the kind that suits it."""
    return ListCell(cast("list[Any]", value)) if type(value) is list else Cell(value)


class Written:
    """One value that a task wrote to a channel: stored once, decoded once.

    `origin` names the write for ever: (checkpoint id, task path, channel, ordinal). Ids that a reducer mints are
    drawn from it, so a refold mints the same ones.
    """

    __slots__ = ("data", "decode", "is_decoded", "origin", "value")

    def __init__(
        self, data: Data, origin: tuple[Any, ...], decode: Callable[[Data], Any], value: Any = MISSING
    ) -> None:
        self.data = data
        self.origin = origin
        self.decode = decode
        if value is MISSING:
            self.is_decoded = False
        else:
            self.value = value
            self.is_decoded = True

    def __getattr__(self, name: str) -> Any:
        if name != "value":
            raise AttributeError(name)
        return self.read()

    def read(self) -> Any:
        """Return the value, as `value` does; the first time without the cost of an attribute that is not there yet."""
        if not self.is_decoded:
            self.value = self.decode(self.data)
            self.is_decoded = True
        return self.value

    def cell(self) -> Cell:
        """Return a cell that holds what was written, decoded when looked at."""
        return Cell(unwrap(self.value)) if self.is_decoded else LazyCell(self.data, self.decode)


def overwrite_of(value: Any) -> tuple[bool, Any]:
    """Tell whether a written value replaces the channel's, in any of LangGraph's three spellings, and by what."""
    if isinstance(value, Overwrite):
        return True, value.value
    if type(value) is dict:
        table = cast("dict[Any, Any]", value)
        if len(table) == 1 and OVERWRITE in table:
            return True, table[OVERWRITE]
        if table.get("type") == OVERWRITE and "value" in table:
            return True, table["value"]
    return False, cast("Any", value)


def unwrap(value: Any) -> Any:
    """Return what a last-value channel holds after `value` was written: an `Overwrite` object is never stored."""
    return value.value if isinstance(value, Overwrite) else value
