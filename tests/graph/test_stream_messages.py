"""`stream_mode="messages"`: tokens of models that nodes call, and the messages that nodes return."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler, CallbackManager
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.tools import tool
from lithograph.eventlog import EventLog
from lithograph.graph import START, MessagesState, RunnableConfig, StateGraph, add_messages
from lithograph.graph.stream import Stream

from .chains import ONE, chain, parallel

DRIVERS = pytest.mark.parametrize("driver", ["threads", "event loop"])


def _model(*texts: str) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter([AIMessage(text) for text in texts]))


def _streamed(graph: Any, driver: str, given: Any, config: Any = None, **options: Any) -> list[Any]:
    options = {"stream_mode": "messages", **options}
    if driver == "threads":
        return list(graph.stream(given, config, **options))

    async def read() -> list[Any]:
        return [chunk async for chunk in graph.astream(given, config, **options)]

    return asyncio.run(read())


def _texts(chunks: list[Any]) -> list[Any]:
    return [message.content for message, _metadata in chunks]


HELLO = {"messages": [HumanMessage("hello", id="q")]}


@DRIVERS
@pytest.mark.parametrize("passes_config", [True, False], ids=["with config", "without config"])
def test_tokens_of_a_model_come_with_where_it_was_called(driver: str, passes_config: bool) -> None:
    """Each token is a chunk with the node's place and the model's names, whether the node passes the config or not."""
    model = _model("one two")

    def on_thread(state: Any, config: RunnableConfig | None = None) -> Any:
        return {"messages": [model.invoke(state["messages"], *((config,) if passes_config else ()))]}

    async def on_loop(state: Any, config: RunnableConfig | None = None) -> Any:
        return {"messages": [await model.ainvoke(state["messages"], *((config,) if passes_config else ()))]}

    graph = chain(MessagesState, bot=on_thread if driver == "threads" else on_loop).compile(
        checkpointer=EventLog.in_memory()
    )
    config = {**ONE, "tags": ["mine"], "metadata": {"case": 7}}
    chunks = _streamed(graph, driver, HELLO, config)
    assert _texts(chunks) == ["one", " ", "two"]
    message, metadata = chunks[0]
    assert isinstance(message, AIMessageChunk)
    assert {key: value for key, value in metadata.items() if not key.endswith("checkpoint_ns")} == {
        "case": 7,
        "thread_id": "1",
        "langgraph_step": 1,
        "langgraph_node": "bot",
        "langgraph_triggers": ("branch:to:bot",),
        "langgraph_path": ("__pregel_pull", "bot"),
        "ls_provider": "genericfakechatmodel",
        "ls_model_type": "chat",
        "ls_integration": "langchain_chat_model",
        "lc_versions": metadata["lc_versions"],
        "tags": ["mine"],
    }
    assert metadata["langgraph_checkpoint_ns"] == metadata["checkpoint_ns"]
    assert metadata["checkpoint_ns"].startswith("bot:")
    assert message.id == graph.get_state(ONE).values["messages"][-1].id


@DRIVERS
def test_a_message_that_was_not_streamed_is_shown_when_its_node_returns_it(driver: str) -> None:
    """What a node returns is shown once, with the id that the state keeps; what it was given is not shown again."""
    graph = chain(
        MessagesState,
        bot=lambda state: {"messages": [*state["messages"], AIMessage("made"), AIMessage("here", id="h")]},
    ).compile(checkpointer=EventLog.in_memory())
    chunks = _streamed(graph, driver, HELLO, ONE)
    assert _texts(chunks) == ["made", "here"]
    assert [message.id for message, _ in chunks] == [m.id for m in graph.get_state(ONE).values["messages"][1:]]
    assert chunks[0][1]["ls_integration"] == "langgraph"


@DRIVERS
def test_without_a_log_too_a_message_is_shown_with_the_id_of_the_state(driver: str) -> None:
    """A graph without a checkpointer gives a returned message the id under which it is shown."""
    graph = chain(MessagesState, bot=lambda state: {"messages": AIMessage("made")}).compile()
    (mode, (message, _)), *_rest, (_, values) = _streamed(graph, driver, HELLO, stream_mode=["messages", "values"])[1:]
    assert (mode, message.id) == ("messages", values["messages"][-1].id)
    assert message.id is not None


def test_a_streamed_message_is_not_shown_again_by_whoever_returns_it() -> None:
    """The second node returns the message that the first one's model streamed: it was seen."""
    model = _model("one two")
    kept: list[Any] = []

    def ask(state: Any) -> Any:
        kept.append(model.invoke(state["messages"]))
        return {}

    graph = chain(MessagesState, ask=ask, tell=lambda state: {"messages": kept}).compile()
    assert _texts(_streamed(graph, "threads", HELLO)) == ["one", " ", "two"]


@DRIVERS
def test_a_model_tagged_nostream_is_not_shown_but_what_its_node_returns_is(driver: str) -> None:
    """`nostream` keeps tokens out; the message is one like any other when its node returns it."""
    quiet = _model("one two", "three").with_config(tags=["nostream"])

    def bot(state: Any) -> Any:
        quiet.invoke("aside")
        return {"messages": [quiet.invoke(state["messages"])]}

    graph = chain(MessagesState, bot=bot).compile()
    chunks = _streamed(graph, driver, HELLO)
    assert _texts(chunks) == ["three"]
    assert not isinstance(chunks[0][0], AIMessageChunk)


def test_tokens_come_while_their_node_runs() -> None:
    """The first token is read before the model has made the second one."""
    read: list[str] = []
    seen: list[list[str]] = []
    was_read = threading.Event()

    class Patient(FakeListChatModel):
        def _stream(self, *given: Any, **options: Any) -> Any:
            for chunk in super()._stream(*given, **options):
                yield chunk
                was_read.wait(5)
                seen.append(list(read))

    model = Patient(responses=["ab"])
    graph = chain(MessagesState, bot=lambda state: {"messages": [model.invoke(state["messages"])]}).compile()
    for message, _metadata in graph.stream(HELLO, stream_mode="messages"):
        read.append(message.content)
        was_read.set()
    assert read == ["a", "b"]
    assert seen[0] == ["a"]


@DRIVERS
def test_who_leaves_within_a_message_can_go_on(driver: str) -> None:
    """Closing the iterator behind the first token loses nothing on threads; the run goes on from where it is."""
    model = _model("one two")
    graph = chain(
        MessagesState, bot=lambda state: {"messages": [model.invoke(state["messages"])]}, end=lambda state: {}
    ).compile(checkpointer=EventLog.in_memory())

    async def leave() -> Any:
        chunks = graph.astream(HELLO, ONE, stream_mode="messages")
        first = await anext(chunks)
        await chunks.aclose()
        return first

    if driver == "threads":
        chunks = graph.stream(HELLO, ONE, stream_mode="messages")
        first = next(chunks)
        chunks.close()
    else:
        first = asyncio.run(leave())
    assert first[0].content == "one"
    model.messages = iter([AIMessage("again")])
    texts = [message.content for message in graph.invoke(None, ONE)["messages"]]
    # On an event loop a node that was cancelled runs again.
    assert texts in ([["hello", "one two"]] if driver == "threads" else [["hello", "one two"], ["hello", "again"]])
    assert graph.get_state(ONE).next == ()


def test_parallel_models_keep_the_order_of_their_own_tokens() -> None:
    """Tokens of nodes side by side interleave; each node's come in order."""

    def node(name: str) -> Any:
        model = _model(" ".join(f"{name}{index}" for index in range(40)))
        return lambda state: {"messages": [model.invoke(state["messages"])]}

    graph = parallel(MessagesState, a=node("a"), b=node("b")).compile()
    chunks = _streamed(graph, "threads", HELLO)
    for name in "ab":
        tokens = [message.content for message, metadata in chunks if metadata["langgraph_node"] == name]
        assert "".join(tokens) == " ".join(f"{name}{index}" for index in range(40))


def test_messages_in_fields_of_records_and_other_channels_are_shown() -> None:
    """A message in a plain channel is shown with an id of its own, and stays in the state as it is."""

    @dataclass
    class State:
        note: Any = None
        messages: Annotated[list[Any], add_messages] = field(default_factory=list[Any])

    graph = chain(
        State, bot=lambda state: State(note=AIMessage("aside"), messages=[AIMessage("said", id="s")])
    ).compile(checkpointer=EventLog.in_memory())
    chunks = _streamed(graph, "threads", {"messages": [HumanMessage("q", id="q")]}, ONE)
    assert sorted(_texts(chunks)) == ["aside", "said"]
    assert all(message.id for message, _ in chunks)
    assert graph.get_state(ONE).values["note"].id is None


def test_the_callers_callbacks_hear_models_too_and_stay_as_they_were() -> None:
    """Callbacks given as a list or as a manager reach the model, and no listener is left in them."""

    class Heard(BaseCallbackHandler):
        tokens = 0

        def on_llm_new_token(self, *given: Any, **options: Any) -> None:
            self.tokens += 1

    for wrapped in (False, True):
        model, heard = _model("one two"), Heard()
        graph = chain(MessagesState, bot=lambda state, model=model: {"messages": [model.invoke(state["messages"])]})
        given: Any = CallbackManager([], [heard]) if wrapped else [heard]
        if wrapped:
            given.add_handler(heard)
        chunks = _streamed(graph.compile(), "threads", HELLO, {"callbacks": given})
        assert _texts(chunks) == ["one", " ", "two"]
        assert heard.tokens == 3
        assert (given.handlers if wrapped else given) == [heard]


def test_a_model_runs_with_the_callers_tags_and_metadata_in_other_modes_too() -> None:
    """A model that is called without a config has the tags, metadata and callbacks of its node's."""
    told: list[tuple[Any, Any]] = []

    class Heard(BaseCallbackHandler):
        def on_chat_model_start(self, *given: Any, tags: Any = None, metadata: Any = None, **options: Any) -> None:
            told.append((tags, metadata["langgraph_node"]))

    model = _model("one")
    graph = chain(MessagesState, bot=lambda state: {"messages": [model.invoke(state["messages"])]}).compile()
    graph.invoke(HELLO, {"callbacks": [Heard()], "tags": ["mine"]})
    assert told == [(["mine"], "bot")]


@DRIVERS
def test_tools_show_when_they_start_finish_and_fail(driver: str) -> None:
    """The `tools` mode has a chunk for the start of each tool call and one for its end."""

    @tool
    def halve(n: int) -> int:
        """Halve a number."""
        if n % 2:
            raise ValueError("odd")
        return n // 2

    def node(state: Any) -> Any:
        assert halve.invoke({"n": 4}) == 2
        with pytest.raises(ValueError, match="odd"):
            halve.invoke({"n": 3})

    chunks = _streamed(chain(node=node).compile(), driver, {"n": 1}, stream_mode="tools")
    ids = [chunk.pop("tool_call_id") for chunk in chunks]
    assert ids[0] == ids[1] != ids[2] == ids[3]
    assert chunks == [
        {"event": "tool-started", "tool_name": "halve", "input": {"n": 4}},
        {"event": "tool-finished", "output": 2},
        {"event": "tool-started", "tool_name": "halve", "input": {"n": 3}},
        {"event": "tool-error", "message": "odd"},
    ]


def test_a_failed_node_shows_no_messages() -> None:
    """What a node would have returned is not shown when its router raises."""

    def route(state: Any) -> Any:
        raise ValueError("no way")

    builder: StateGraph[Any] = StateGraph(MessagesState)
    builder.add_node("bot", lambda state: {"messages": [AIMessage("made")]})
    builder.add_edge(START, "bot")
    builder.add_conditional_edges("bot", route, ["bot"])
    shown: list[BaseMessage] = []

    def read() -> None:
        for message, _metadata in builder.compile().stream(HELLO, stream_mode="messages"):
            shown.append(message)

    with pytest.raises(ValueError, match="no way"):
        read()
    assert shown == []


_WITHOUT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "langchain_core":
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
from lithograph.graph import START, MessagesState, StateGraph
from lithograph.graph.messages import AIMessage
builder = StateGraph(MessagesState)
builder.add_node("bot", lambda state: {"messages": [AIMessage("made", id="m")]})
builder.add_edge(START, "bot")
for message, metadata in builder.compile().stream({"messages": "hello"}, stream_mode="messages"):
    print(type(message).__module__, message.content, metadata["langgraph_node"])
"""

_NOT_IMPORTED = """
import sys
import lithograph.graph
builder = lithograph.graph.StateGraph(dict)
builder.add_node("a", lambda state: {})
builder.add_edge("__start__", "a")
list(builder.compile().stream({}, stream_mode=["values", "custom"]))
print([name for name in sys.modules if name.startswith("langchain")])
"""


@pytest.mark.parametrize(
    ("program", "printed"), [(_WITHOUT, "lithograph.eventlog.own_messages made bot"), (_NOT_IMPORTED, "[]")]
)
def test_langchain_core_is_neither_needed_nor_imported_in_vain(program: str, printed: str) -> None:
    """Without langchain-core, messages that nodes return are shown; with it, it is imported for this mode alone."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == printed


@pytest.mark.parametrize("subgraphs", [False, True])
def test_a_listener_goes_with_the_config_into_graphs_inside(subgraphs: bool) -> None:
    """A graph inside of the run keeps it; one that begins a root of its own drops it, unless it was to hear all."""

    def stream(*modes: str, **options: Any) -> Stream:
        return Stream(modes, output=(), shown=(), now_us=lambda: 0, **options)

    root = stream("messages", subgraphs=subgraphs)
    heard = root.heard({})
    listener = heard.get("callbacks")
    assert len(listener or ()) == 1
    assert root.within(("a:1",), output=(), shown=()).heard(heard).get("callbacks") == listener
    assert len(stream("messages", outer=root, namespace=("a:1",)).heard(heard).get("callbacks") or ()) == 2
    assert stream().heard(heard).get("callbacks") == (listener if subgraphs else [])
