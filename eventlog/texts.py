"""Texts that are stored outside of values: names, actors, reasons. They are UTF-8, so they hold no lone surrogate."""

from __future__ import annotations

from .errors import InvalidText


def is_text(value: str) -> bool:
    """Return whether a string can be written as UTF-8: it holds no lone surrogate."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def checked_text(value: str, what: str) -> str:
    """Return a string that can be written as text; raises `InvalidText`, which says that it is `what` that cannot."""
    if is_text(value):
        return value
    raise InvalidText(
        f"{what} {value!r} holds a lone surrogate, which is half a character, so it cannot be written as text. Nothing "
        "was stored. Where it came from, bytes were probably decoded with errors='surrogateescape'."
    )


def written_text(value: str) -> str:
    """Return a text that may be stored, for one that is nobody's name: half characters are spelt out."""
    return value if is_text(value) else value.encode("utf-8", "backslashreplace").decode()
