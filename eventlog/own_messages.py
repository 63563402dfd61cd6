"""Message classes for an installation without langchain-core: the same names, fields and conversions.

They hold what langchain-core's hold and are stored as those are (`messages` says how), so a log written with
either opens with the other. They check the little that keeps a log readable there: content is text or a list,
ids are text, tool calls have a name, arguments and an id.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, cast

COMMON = ("content", "additional_kwargs", "response_metadata", "type", "name", "id")
"""The fields of every message, in the order in which langchain-core has them."""


class BaseMessage:
    """A message of a conversation: `content`, `type`, `id`, `name` and the fields of its class.

    Further keyword arguments become attributes, as in langchain-core. Messages are equal when class and all
    fields are.
    """

    FIELDS: ClassVar[tuple[str, ...]] = ()
    """The fields that the class has beyond `COMMON`."""

    content: str | list[Any]
    additional_kwargs: dict[str, Any]
    response_metadata: dict[str, Any]
    type: str = ""
    name: str | None
    id: str | None

    def __init__(self, content: Any = None, **fields: Any) -> None:
        own = self.__dict__
        own["content"] = _content(content)
        own["additional_kwargs"] = dict(fields.pop("additional_kwargs", {}))
        own["response_metadata"] = dict(fields.pop("response_metadata", {}))
        own["type"] = type(self).type
        own["name"] = _text_or_none("name", fields.pop("name", None))
        own["id"] = _id(fields.pop("id", None))
        if fields.pop("type", own["type"]) != own["type"]:
            raise ValueError(f"the type of a {type(self).__name__} is {own['type']!r}")
        self._fill(fields)
        own.update(fields)

    def _fill(self, fields: dict[str, Any]) -> None:
        """Take the fields of the class out of `fields`."""

    @property
    def text(self) -> str:
        """The text of the content; of a list of blocks, the text blocks joined."""
        if isinstance(self.content, str):
            return self.content
        return "".join(_block_text(block) for block in self.content)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields replaced, unchecked; `deep` copies what the fields hold too."""
        copy = object.__new__(type(self))
        copy.__dict__.update(_deep_copy(self.__dict__) if deep else self.__dict__)
        copy.__dict__.update(update or {})
        return copy

    def model_dump(self) -> dict[str, Any]:
        """Return all fields as a dict that shares nothing with the message."""
        return _deep_copy(self.__dict__)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BaseMessage):
            return NotImplemented
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # messages change in place, as langchain-core's do

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in self.__dict__.items() if name != "type" and value)
        return f"{type(self).__name__}({', '.join(shown)})"


class HumanMessage(BaseMessage):
    """What a person said."""

    type = "human"


class SystemMessage(BaseMessage):
    """What the application told the model."""

    type = "system"


class AIMessage(BaseMessage):
    """What a model said, and the tools that it wants called."""

    FIELDS = ("tool_calls", "invalid_tool_calls", "usage_metadata")
    type = "ai"

    tool_calls: list[dict[str, Any]]
    invalid_tool_calls: list[dict[str, Any]]
    usage_metadata: dict[str, Any] | None

    def _fill(self, fields: dict[str, Any]) -> None:
        calls: list[Any] = fields.pop("tool_calls", None) or []
        invalid: list[Any] = fields.pop("invalid_tool_calls", None) or []
        raw = self.additional_kwargs.get("tool_calls")
        if raw and not calls and not invalid:
            calls, invalid = _parsed_calls(raw)
        own = self.__dict__
        own["tool_calls"] = [_tool_call(call) for call in calls]
        own["invalid_tool_calls"] = [_invalid_call(call) for call in invalid]
        own["usage_metadata"] = fields.pop("usage_metadata", None)


class ToolMessage(BaseMessage):
    """What a tool returned for the call `tool_call_id`; `artifact` is not meant for the model."""

    FIELDS = ("tool_call_id", "artifact", "status")
    type = "tool"

    tool_call_id: str
    artifact: Any
    status: str

    def __init__(self, content: Any = None, **fields: Any) -> None:
        super().__init__(_tool_content(content), **fields)

    def _fill(self, fields: dict[str, Any]) -> None:
        if "tool_call_id" not in fields:
            raise ValueError("a ToolMessage needs tool_call_id, the id of the call that it answers")
        own = self.__dict__
        own["tool_call_id"] = str(fields.pop("tool_call_id"))
        own["artifact"] = fields.pop("artifact", None)
        own["status"] = fields.pop("status", "success")
        if own["status"] not in ("success", "error"):
            raise ValueError(f"the status of a ToolMessage is 'success' or 'error', not {own['status']!r}")


class FunctionMessage(BaseMessage):
    """What a function returned: the older form of `ToolMessage`; `name` is required."""

    type = "function"

    def _fill(self, fields: dict[str, Any]) -> None:
        if self.name is None:
            raise ValueError("a FunctionMessage needs name, the function that it comes from")


class ChatMessage(BaseMessage):
    """What anybody said, under a free `role`."""

    FIELDS = ("role",)
    type = "chat"

    role: str

    def _fill(self, fields: dict[str, Any]) -> None:
        if not isinstance(fields.get("role"), str):
            raise ValueError("a ChatMessage needs role")
        self.__dict__["role"] = fields.pop("role")


class RemoveMessage(BaseMessage):
    """The wish to remove the message `id` from a conversation."""

    type = "remove"

    def __init__(self, id: Any, **fields: Any) -> None:
        if fields.pop("content", None):
            raise ValueError("RemoveMessage does not support 'content' field.")
        super().__init__("", id=id, **fields)


CLASSES: dict[str, type[BaseMessage]] = {
    cls.type: cls
    for cls in (
        HumanMessage,
        AIMessage,
        SystemMessage,
        ToolMessage,
        FunctionMessage,
        ChatMessage,
        RemoveMessage,
    )
}
"""Our classes by the `type` of their messages."""

_ROLES = {"user": "human", "assistant": "ai", "developer": "system"}
_MADE_FROM_ROLES = ("human", "ai", "system", "function", "tool", "remove")


def convert(value: Any) -> BaseMessage:
    """Return the message that a value stands for, by the rules of langchain-core.

    A message as it is, a str is a human's, a (role, content) pair, a dict with `role` or `type` and
    `content`. Raises ValueError for anything else.
    """
    if isinstance(value, BaseMessage):
        return value
    if isinstance(value, str):
        return HumanMessage(value)
    if isinstance(value, Mapping):
        return _from_dict(dict(cast("Mapping[str, Any]", value)))
    if isinstance(value, Sequence):
        parts = cast("Sequence[Any]", value)
        if len(parts) != 2:
            raise ValueError("Message as a sequence must be (role string, template)")
        return _from_role(parts[0], parts[1], {})
    raise ValueError(f"Unsupported message type: {type(value)}")


def _from_dict(fields: dict[str, Any]) -> BaseMessage:
    name = _constructor_name(fields)
    for cls in CLASSES.values() if name else ():
        if cls.__name__ == name:
            fields = {"type": cls.type, **fields["kwargs"]}
    role = fields.pop("role", None)
    role = fields.pop("type", None) if role is None else role
    if role is None or "content" not in fields:
        raise ValueError(f"Message dict must contain 'role' and 'content' keys, got {fields}")
    return _from_role(role, fields.pop("content") or "", fields)


def _constructor_name(fields: dict[str, Any]) -> str | None:
    """Return the class that langchain-core's own serialized form names, if `fields` is that form."""
    if fields.get("lc") != 1 or fields.get("type") != "constructor" or not isinstance(fields.get("kwargs"), dict):
        return None
    path = fields.get("id")
    return cast("list[str]", path)[-1] if isinstance(path, list) and path else None


def _from_role(role: Any, content: Any, given: dict[str, Any]) -> BaseMessage:
    kind = _ROLES.get(role, role)
    if kind not in _MADE_FROM_ROLES:
        raise ValueError(
            f"Unexpected message type: '{role}'. Use one of 'human', 'user', 'ai', 'assistant', 'function', "
            f"'tool', 'system', or 'developer'."
        )
    known = ("name", "tool_call_id", "id")
    fields = {key: given.pop(key) for key in known if given.get(key) is not None}
    calls = given.pop("tool_calls", None)
    if calls is not None:
        fields["tool_calls"] = [_from_openai(call) for call in calls]
    if metadata := given.pop("response_metadata", None):
        fields["response_metadata"] = metadata
    if kind == "tool":
        fields |= {key: given.pop(key) for key in ("artifact", "status") if given.get(key) is not None}
    others = {key: item for key, item in given.items() if key not in (*known, "additional_kwargs")}
    fields["additional_kwargs"] = others | (given.get("additional_kwargs") or {})
    if role == "developer":
        fields["additional_kwargs"]["__openai_role__"] = "developer"
    make: Callable[..., BaseMessage] = CLASSES[kind]
    return make(**fields) if kind == "remove" else make(content=content, **fields)


def _from_openai(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    if function is None:
        return call
    args = function["arguments"]
    args = json.loads(args, strict=False) if isinstance(args, str) else args
    return {"name": function["name"], "args": args, "id": call["id"], "type": "tool_call"}


def _parsed_calls(raw: Sequence[Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the calls of a provider's raw form, and those whose arguments are no JSON object."""
    calls: list[dict[str, Any]] = []
    invalid: list[dict[str, Any]] = []
    for call in raw:
        if "function" not in call:
            continue
        name, text = call["function"]["name"], call["function"]["arguments"]
        try:
            args = json.loads(text)
        except json.JSONDecodeError:
            invalid.append({"name": name, "args": text, "id": call.get("id"), "error": None})
        else:
            calls.append({"name": name or "", "args": args or {}, "id": call.get("id")})
    return calls, invalid


def _tool_call(call: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(call.get("name"), str) or not isinstance(call.get("args"), dict):
        raise ValueError(f"a tool call needs name and args, got {call}")
    return {"name": call["name"], "args": call["args"], "id": call.get("id"), "type": "tool_call"}


def _invalid_call(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "invalid_tool_call"} | {name: call.get(name) for name in ("id", "name", "args", "error")}


def _content(content: Any) -> str | list[Any]:
    if isinstance(content, str):
        return content
    blocks = cast("list[Any]", content) if isinstance(content, list) else [None]
    if all(isinstance(block, (str, dict)) for block in blocks):
        return blocks
    raise ValueError(f"content is a str or a list of str and dict, not {content!r}")


def _tool_content(content: Any) -> str | list[Any]:
    """Return what a tool returned as content: not a str, list or tuple becomes its text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        return str(content)
    blocks = cast("Sequence[Any]", content)
    return [block if isinstance(block, (str, dict)) else str(block) for block in blocks]


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    text = block.get("text") if block.get("type") == "text" else None
    return text if isinstance(text, str) else ""


def _text_or_none(field: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{field} is a str, not {type(value).__qualname__}")
    return value


def _id(value: Any) -> str | None:
    return str(value) if isinstance(value, (int, float)) else _text_or_none("id", value)


def _deep_copy(fields: dict[str, Any]) -> dict[str, Any]:
    from copy import deepcopy

    return deepcopy(fields)
