"""Values that stand for others: `Opaque` for a type nobody registered, `StoredError` for an exception.

Both are data: equal by content, hashable by it, and encoded back to the bytes they came from.
"""

from __future__ import annotations

from collections import deque
from typing import Any, cast


class Opaque:
    """A stored value whose type the reader's registry does not know.

    `name` is the stored type's name, `fields` what it holds (a dict by field name where the stored form has
    names, else a list), `raw` its exact bytes. Two are equal when their bytes are; encoding gives `raw` back.
    To get the real value, register its class and read again.
    """

    __slots__ = ("fields", "name", "raw")

    def __init__(self, name: str, fields: Any, raw: bytes) -> None:
        self.name = name
        self.fields = fields
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        return self.raw == other.raw if isinstance(other, Opaque) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return f"Opaque({self.name!r}, {self.fields!r})"


class StoredError:
    """An exception as data: its type's name, its text, its repr, and its arguments when they can be stored.

    `args` is `None` when an argument has no stored form. Equal when all four are.
    """

    __slots__ = ("args", "repr", "text", "type_name")

    def __init__(self, type_name: str, text: str, repr: str, args: tuple[Any, ...] | None) -> None:
        self.type_name = type_name
        self.text = text
        self.repr = repr
        self.args = args

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StoredError):
            return NotImplemented
        return self._key() == other._key() and self.args == other.args

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"StoredError({self.repr})"

    def _key(self) -> tuple[str, str, str]:
        return self.type_name, self.text, self.repr


def describe_error(error: BaseException) -> tuple[str, str, str]:
    """Return an exception's type name, str and repr; never raises, whatever the exception's methods do."""
    return type_name(type(error)), _text(str, error), _text(repr, error)


def type_name(cls: type) -> str:
    """Return the name under which a class is stored: module and qualified name, builtins without module."""
    module = cls.__module__
    return cls.__qualname__ if module == "builtins" else f"{module}:{cls.__qualname__}"


def _text(render: Any, error: BaseException) -> str:
    try:
        text = render(error)
    except Exception as failure:  # noqa: BLE001  user code; its failure becomes the text
        return f"<{type(error).__qualname__}: {render.__name__}() raised {type(failure).__qualname__}>"
    return str.__str__(text)  # a str of exactly that type, also when __str__ gave a subclass


def opaque_in(value: Any) -> Opaque | None:
    """Return an `Opaque` within a value, looking through built-in containers, or `None`."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, Opaque):
            return item
        if isinstance(item, dict):
            table = cast("dict[Any, Any]", item)
            todo += [*table, *table.values()]
        elif isinstance(item, list | tuple | set | frozenset | deque):
            todo += cast("list[Any]", item)
    return None
