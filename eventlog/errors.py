"""Every error that Lithograph raises: one tree, stable codes, fields beside the message.

Each class has a `code` that never changes and derives, where LangGraph users would catch something there,
from the class that LangGraph raises. Messages say what happened, where, and what to do next.
"""

from __future__ import annotations


class LithographError(Exception):
    """The root of all errors raised by Lithograph."""

    code = "LG000"


class LogError(LithographError):
    """Something about the log itself."""

    code = "LG100"


class NotALog(LogError, FileNotFoundError):
    """The path does not hold a Lithograph log."""

    code = "LG101"


class NewerFormat(LogError):
    """The log, or one of its records, was written by a newer Lithograph than this one."""

    code = "LG102"


class LogLocked(LogError):
    """The log cannot be opened now, because somebody else holds it or the file may not be written."""

    code = "LG103"


class CorruptionError(LogError):
    """Stored bytes are not what was appended."""

    code = "LG104"


class IntegrityError(CorruptionError):
    """A digest, a chain link or the tree does not match the bytes beside it."""

    code = "LG105"


class LogGap(CorruptionError):
    """A position or version that must exist is missing."""

    code = "LG106"


class ForkedError(LogError):
    """The process forked after the log was opened; open it again in the child."""

    code = "LG108"


class ReadOnlyLog(LogError):
    """An append was asked of a log that was opened read-only."""

    code = "LG109"


class LogClosed(LogError, ValueError):
    """The log was used after `close`."""

    code = "LG110"


class StreamCollision(LogError):
    """Two stream names have the same keyed id; nothing was written."""

    code = "LG111"


class ActorRequired(LogError, PermissionError):
    """A log with `require_actor=True` was asked for a manual act without an actor."""

    code = "LG112"


class NetworkFileSystem(LogError):
    """The log lies on a network file system, where locks and memory maps cannot be relied on."""

    code = "LG113"


class ScopeErased(LogError):
    """The scope key that the act needs was destroyed: what it covered is erased."""

    code = "LG114"


class ViewDamaged(IntegrityError):
    """A row of a view is not what was computed from the log; readers fold the log instead, and it is made anew."""

    code = "LG115"


class AppendError(LithographError):
    """An append did not happen, or its outcome is not known."""

    code = "LG200"


class ConflictError(AppendError):
    """Another continuation of the stream was accepted first; this one ran nothing and left nothing.

    `expected` and `actual` are stream versions, `stream` is the name as the user wrote it when known.
    """

    code = "LG201"

    def __init__(self, message: str, *, stream: str | bytes = "", expected: int = 0, actual: int = 0) -> None:
        super().__init__(message)
        self.stream = stream
        self.expected = expected
        self.actual = actual


class LimitExceeded(AppendError, ValueError):
    """The append is larger than the log allows; nothing was written."""

    code = "LG202"


class Unavailable(AppendError):
    """Nothing was written; try again."""

    code = "LG203"


class OutcomeUnknown(AppendError):
    """The append may or may not have been written; the log itself retries it with the same append id."""

    code = "LG204"


class ValueEncodingError(LithographError):
    """A value cannot be stored or read exactly."""

    code = "LG300"


class UnsupportedTypeError(ValueEncodingError, TypeError):
    """A value would not come back equal and of the same type; `path` names the offending part."""

    code = "LG301"

    def __init__(self, message: str, *, path: str = "$", type_name: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.type_name = type_name

    def lies_below(self, place: str) -> None:
        """Say that the refused value is part of a larger one: `[3].meta` below `messages` is `messages[3].meta`."""
        inner = self.path
        self.path = place + inner[1:] if inner.startswith("$") else f"{place}.{inner}"
        self.args = (str(self.args[0]).replace(f"cannot store {inner},", f"cannot store {self.path},", 1),)


class UnregisteredType(ValueEncodingError, TypeError):
    """Code was about to run on a value whose type nobody registered; the message says what to register."""

    code = "LG302"


class MalformedValue(ValueEncodingError, ValueError):
    """Bytes that are no encoding of any value."""

    code = "LG303"


class InvalidText(ValueEncodingError, ValueError):
    """A name, an id, an actor or a reason cannot be written as text; nothing was stored."""

    code = "LG304"


class InvalidMessage(LithographError, ValueError, NotImplementedError):
    """What was given as a message stands for none; nothing was stored. Also what langchain-core raises for the same."""

    code = "LG305"


class ReadError(LithographError):
    """What was asked for cannot be read."""

    code = "LG510"


class MissingThreadId(ReadError, ValueError, KeyError):
    """A config without `configurable.thread_id`."""

    code = "LG511"

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class CheckpointNotFound(ReadError, ValueError):
    """The thread has no checkpoint of that id."""

    code = "LG512"


class MissingExtra(LithographError, ImportError):
    """An optional package is needed; the message names the extra to install."""

    code = "LG900"
