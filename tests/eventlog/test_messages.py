"""Messages: langchain-core's classes and our own are one type with one stored form."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

import pytest
from lithograph.eventlog import own_messages
from lithograph.eventlog.errors import InvalidMessage, UnsupportedTypeError
from lithograph.eventlog.messages import coerce_message, message_classes
from lithograph.eventlog.own_messages import convert
from lithograph.eventlog.serde import BASE, Serializer, TypeRegistry

langchain = pytest.importorskip("langchain_core.messages")

CALL = {"name": "f", "args": {"a": [1]}, "id": "c1"}
RAW = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
BROKEN = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": '}}

GIVEN: list[Any] = [
    "hi",
    "",
    ("human", "hi"),
    ["ai", "hi"],
    ("user", ["text", {"type": "text", "text": "more"}]),
    ("developer", "hi"),
    {"role": "user", "content": "hi"},
    {"role": "user", "content": None},
    {"type": "human", "content": "hi", "id": "1", "name": "ann"},
    {"type": "human", "content": "hi", "id": 7},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "assistant", "content": "", "tool_calls": [RAW]},
    {"role": "assistant", "content": "", "tool_calls": []},
    {"role": "assistant", "content": "x", "additional_kwargs": {"tool_calls": [RAW]}},
    {"role": "assistant", "content": "x", "additional_kwargs": {"tool_calls": [BROKEN]}},
    {"role": "assistant", "content": "x", "refusal": None, "response_metadata": {"model": "m"}},
    {"role": "system", "content": "rules", "additional_kwargs": {"a": 1}, "b": 2},
    {"role": "developer", "content": "rules"},
    {"role": "tool", "content": "42", "tool_call_id": "c1"},
    {"role": "tool", "content": ("a", {"type": "text", "text": "b"}, 3), "tool_call_id": "c1"},
    {"role": "tool", "content": 42, "tool_call_id": 5, "status": "error", "artifact": {"x": (1,)}},
    {"role": "function", "content": "42", "name": "f"},
    {"type": "remove", "content": "", "id": "1"},
    {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "AIMessage"],
        "kwargs": {"content": "hi", "id": "1"},
    },
]

WRONG: list[Any] = [
    7,
    None,
    ("human",),
    ("human", "a", "b"),
    ("nobody", "hi"),
    {"role": "user"},
    {"content": "hi"},
    {"role": "nobody", "content": "hi"},
    {"role": "tool", "content": "no id"},
    {"role": "function", "content": "no name"},
    {"role": "tool", "content": "x", "tool_call_id": "1", "status": "odd"},
    {"role": "assistant", "content": "", "tool_calls": [{"name": 1, "args": {}, "id": "1"}]},
    {"role": "user", "content": 7},
]


def langchain_fields(message: Any) -> dict[str, Any]:
    """Return all that a message of langchain-core holds."""
    return message.__dict__ | (message.__pydantic_extra__ or {})


@pytest.mark.parametrize("given", GIVEN, ids=lambda given: str(given)[:50])
def test_our_classes_take_what_langchain_takes(given: Any) -> None:
    """Ours and langchain-core's conversion give the same fields, and the same stored bytes."""
    theirs = langchain.convert_to_messages([given])[0]
    ours = convert(given)
    assert type(ours).__name__ == type(theirs).__name__
    assert ours.__dict__ == langchain_fields(theirs)
    assert Serializer().encode(ours) == Serializer().encode(theirs)
    assert ours.text == str(theirs.text)


@pytest.mark.parametrize("given", WRONG, ids=lambda given: str(given)[:50])
def test_our_classes_refuse_what_langchain_refuses(given: Any) -> None:
    """What langchain-core's conversion refuses, ours refuses too."""
    for take in (lambda: langchain.convert_to_messages([given]), lambda: convert(given)):
        with pytest.raises((ValueError, NotImplementedError, TypeError, KeyError)):
            take()


@pytest.mark.parametrize("given", WRONG, ids=lambda given: str(given)[:50])
@pytest.mark.parametrize("installed", [True, False])
def test_what_is_no_message_is_refused_by_name(given: Any, installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With langchain-core and without it is one error of ours, and still what code for langchain-core catches."""
    if not installed:
        monkeypatch.setitem(sys.modules, "langchain_core.messages", None)
    with pytest.raises(InvalidMessage) as refused:
        coerce_message(given)
    assert isinstance(refused.value, ValueError)
    assert isinstance(refused.value, NotImplementedError)


def every_kind(classes: dict[str, Any]) -> list[Any]:
    """Return a message of each kind, with every field of the kind in use."""
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "input_token_details": {"audio": 1}}
    invalid = {"name": "f", "args": "{", "id": "c2", "error": "no JSON", "type": "invalid_tool_call"}
    return [
        classes["human"](content=["a", {"type": "image", "data": "x"}], id="1", name="ann", mood="good"),
        classes["ai"](
            content="x",
            tool_calls=[CALL],
            invalid_tool_calls=[invalid],
            usage_metadata=usage,
            response_metadata={"model": "m"},
            additional_kwargs={"k": (1, {2})},
        ),
        classes["system"](content="x"),
        classes["tool"](content="x", tool_call_id="c1", artifact=[(1,), {2: b"x"}], status="error"),
        classes["function"](content="x", name="f"),
        classes["chat"](content="x", role="judge"),
        classes["remove"](id="1"),
    ]


def test_messages_come_back_equal() -> None:
    """Every kind of message comes back equal, of the installed class, with all fields and the same bytes."""
    codec = Serializer()
    for message in every_kind(message_classes()):
        data = codec.encode({"m": message})
        back = codec.decode(data)["m"]
        assert type(back) is type(message)
        assert back == message
        assert langchain_fields(back) == langchain_fields(message)
        assert back.model_dump() == message.model_dump()
        assert repr(back) == repr(message)
        assert codec.encode({"m": back}) == data


def test_our_messages_have_the_same_bytes() -> None:
    """Each kind of message has the same bytes whichever of the two classes it is of."""
    codec = Serializer()
    for ours, theirs in zip(every_kind(own_messages.CLASSES), every_kind(message_classes()), strict=True):
        assert type(ours) is not type(theirs)
        assert codec.encode(ours) == codec.encode(theirs)
        assert codec.decode(codec.encode(ours)) == theirs


def test_equal_messages_have_equal_bytes() -> None:
    """Which fields were passed and which were left to their defaults makes no difference."""
    one, two = langchain.HumanMessage("x"), langchain.HumanMessage("x", id=None, name=None, type="human")
    assert one == two
    assert Serializer().encode(one) == Serializer().encode(two)


def test_chunks_are_exact_or_refused() -> None:
    """A chunk does not become a message: it is refused, or comes back as a chunk when registered."""
    chunk = langchain.AIMessageChunk(content="x", id="1")
    with pytest.raises(UnsupportedTypeError, match="AIMessageChunk"):
        Serializer().encode(chunk)
    registry = TypeRegistry()
    registry.collect(langchain.AnyMessage)
    back = Serializer(registry).decode(Serializer(registry).encode(chunk))
    assert type(back) is langchain.AIMessageChunk
    assert back == chunk


def test_subclasses_are_exact_or_refused() -> None:
    """An instance of a user's subclass does not come back as its base."""

    class Letter(langchain.HumanMessage):
        stamp: int = 0

    letter = Letter(content="x", stamp=3)
    with pytest.raises(UnsupportedTypeError, match="Letter"):
        Serializer().encode(letter)
    codec = Serializer(BASE.extended([Letter]))
    assert codec.decode(codec.encode(letter)) == letter


def test_a_message_with_another_type_is_refused() -> None:
    """A message whose `type` was overwritten would come back as what it was: refused, with the path."""
    message = langchain.HumanMessage("x")
    message.type = "ai"
    with pytest.raises(UnsupportedTypeError, match="its type was changed") as caught:
        Serializer().encode([message])
    assert caught.value.path == "$[0]"


def test_the_path_leads_into_a_message() -> None:
    """A part without stored form within a message is named by the message's field."""
    with pytest.raises(UnsupportedTypeError) as caught:
        Serializer().encode([langchain.AIMessage("x", additional_kwargs={"k": object()})])
    assert caught.value.path == "$[0].additional_kwargs.k"


def test_coercing_takes_what_add_messages_takes() -> None:
    """A message stays the object it is, a chunk becomes a message, anything else is converted."""
    message = langchain.HumanMessage("x")
    assert coerce_message(message) is message
    assert type(coerce_message(langchain.AIMessageChunk(content="x"))) is langchain.AIMessage
    assert coerce_message(("user", "x")) == message
    ours = convert("x")
    assert coerce_message(ours) is ours


def test_our_messages_behave() -> None:
    """Ours copy, compare, dump and show themselves as langchain-core's do."""
    message = own_messages.AIMessage("x", tool_calls=[CALL], id="1")
    copy = message.model_copy(update={"id": "2"})
    assert (copy.id, message.id, copy.tool_calls is message.tool_calls) == ("2", "1", True)
    assert message.model_copy(deep=True).tool_calls is not message.tool_calls
    assert message.model_copy() == message != copy
    assert message != own_messages.HumanMessage("x", id="1")
    assert message.model_dump() == langchain.AIMessage("x", tool_calls=[CALL], id="1").model_dump()
    assert repr(message).startswith("AIMessage(content='x', id='1', tool_calls=")
    with pytest.raises(TypeError):
        hash(message)
    with pytest.raises(ValueError, match="content"):
        own_messages.RemoveMessage("1", content="x")
    with pytest.raises(ValueError, match="type"):
        own_messages.HumanMessage("x", type="ai")


WITHOUT = """
    import sys

    class Absent:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] == "langchain_core":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Absent())
"""


def run(code: str, *arguments: str) -> str:
    """Run code in a fresh process and return what it prints."""
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_a_log_opens_with_and_without_langchain() -> None:
    """What was stored with langchain-core reads as our classes without it, and comes back the same."""
    messages = every_kind(message_classes())
    data = Serializer().encode(messages)
    back = run(
        textwrap.dedent(WITHOUT)
        + textwrap.dedent("""
        from lithograph.eventlog.messages import coerce_message, message_classes
        from lithograph.eventlog.own_messages import HumanMessage
        from lithograph.eventlog.serde import Serializer
        codec = Serializer()
        read = codec.decode(bytes.fromhex(sys.argv[1]))
        assert [type(m).__module__ for m in read] == ["lithograph.eventlog.own_messages"] * 7
        assert [type(m) for m in read] == list(map(message_classes().get, [m.type for m in read]))
        assert read[0].mood == "good" and read[1].tool_calls[0]["name"] == "f"
        assert type(coerce_message("hi")) is HumanMessage
        copies = [m.model_copy(update={"id": "new"}) for m in read]
        print(codec.encode([read, copies]).hex())
        """),
        data.hex(),
    )
    read, copies = Serializer().decode(bytes.fromhex(back))
    assert read == messages
    assert copies == [message.model_copy(update={"id": "new"}) for message in messages]


def test_langchain_is_imported_when_the_first_message_is_met() -> None:
    """Neither importing the serializer nor storing and reading other values imports langchain-core."""
    data = Serializer().encode({"m": langchain.HumanMessage("x")}).hex()
    run(
        """
        import sys
        from lithograph.eventlog import messages
        from lithograph.eventlog.serde import Serializer
        codec = Serializer()
        codec.decode(codec.encode({"a": (1, {2}), "e": ValueError("x")}))
        assert "langchain_core" not in sys.modules
        assert "pydantic" not in sys.modules
        message = codec.decode(bytes.fromhex(sys.argv[1]))["m"]
        assert type(message).__module__ == "langchain_core.messages.human"
        """,
        data,
    )
