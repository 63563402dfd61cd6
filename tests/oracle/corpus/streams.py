"""What streams show: tokens and messages, tools, keys that are shown, parts of the second version, custom chunks."""

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import MODES, Script, scenario


class Two(TypedDict):
    """A number and a list that grows."""

    n: int
    log: Annotated[list[str], operator.add]


class Less(TypedDict):
    """What comes out of `Two`."""

    log: Annotated[list[str], operator.add]


def model(*texts: str, **options: Any) -> Any:
    """A chat model that streams these texts, one a call, word by word."""
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    return GenericFakeChatModel(messages=iter([AIMessage(text) for text in texts]), **options)


def _row(api: Api, schema: Any, **nodes: Any) -> Any:
    builder = api.StateGraph(schema)
    builder.add_sequence(list(nodes.items()))
    builder.add_edge(api.START, next(iter(nodes)))
    return builder


def asks(model: Any) -> Any:
    return lambda state: {"messages": [model.invoke(state["messages"])]}


@scenario("stream: messages", "messages", "metadata in config", "linear")
def tokens_of_a_model(api: Api, t: Script) -> None:
    """Tokens with the place of their node, alone and beside other modes; the next turn shows only its own."""
    talker = model("one two", "three", "four five six")
    t.compile(_row(api, api.MessagesState, bot=asks(talker)))
    t.stream({"messages": "hi"}, "messages", config={"tags": ["t"], "metadata": {"m": 1}})
    t.stream({"messages": "on"}, ["messages", "updates", "values"])
    t.stream({"messages": "more"}, ["messages"])


@scenario("stream: messages", "messages", "parallel branches")
def tokens_of_parallel_models(api: Api, t: Script) -> None:
    """Two nodes side by side, each with a model of its own."""
    builder = api.StateGraph(api.MessagesState)
    for name in ("left", "right"):
        builder.add_node(name, asks(model(f"{name} says something")))
        builder.add_edge(api.START, name)
    t.compile(builder)
    t.stream({"messages": "hi"}, "messages")


@scenario("stream: messages", "messages", "RemoveMessage", "generated message ids")
def messages_that_nodes_return(api: Api, t: Script) -> None:
    """A returned message is shown once: not when it was streamed, nor when the node was given it."""
    kept: list[Any] = []

    def streams(state: Any) -> Any:
        kept.append(model("a b").invoke("aside"))
        return {}

    def returns(state: Any) -> Any:
        new = [api.AIMessage("new", id="n"), api.SystemMessage("no id")]
        return {"messages": [*state["messages"], *kept, *new]}

    def removes(state: Any) -> Any:
        return {"messages": [api.RemoveMessage(id="n"), api.AIMessage("changed", id="q")]}

    t.compile(_row(api, api.MessagesState, streams=streams, returns=returns, removes=removes))
    t.stream({"messages": [api.HumanMessage("hi", id="q")]}, "messages")
    t.stream({"messages": [api.HumanMessage("hi", id="q")]}, "messages", thread="2")


@scenario("stream: messages", "messages", "no checkpointer")
def messages_without_a_thread(api: Api, t: Script) -> None:
    """Without persistence the same is shown."""
    nodes = {"bot": asks(model("a b")), "more": lambda state: {"messages": api.AIMessage("c")}}
    t.compile(_row(api, api.MessagesState, **nodes), persist=False)
    t.stream({"messages": "hi"}, ["messages", "values"], thread=None)


@scenario("stream: messages", "stream: nostream", "messages", "linear")
def models_that_are_not_shown(api: Api, t: Script) -> None:
    """The tag `nostream`; a model that does not stream; one that is called with a config of its own."""
    from langchain_core.language_models.fake_chat_models import FakeListChatModel, FakeMessagesListChatModel

    quiet = model("hidden", "returned").with_config(tags=["nostream"])
    whole = FakeMessagesListChatModel(responses=[api.AIMessage("whole message")])
    listed = FakeListChatModel(responses=["abc"])

    def hides(state: Any) -> Any:
        quiet.invoke("aside")
        return asks(quiet)(state)

    def configured(state: Any, config: api.RunnableConfig) -> Any:
        return {"messages": [listed.invoke("x", {**config, "metadata": {**config["metadata"], "own": 1}})]}

    t.compile(_row(api, api.MessagesState, hides=hides, whole=asks(whole), configured=configured))
    t.stream({"messages": "hi"}, "messages", config={"tags": ["t"]})


@scenario("stream: messages", "Command: update", "messages", "linear")
def messages_in_commands(api: Api, t: Script) -> None:
    """Messages that a command writes, alone and in a list with other results."""

    def one(state: Any) -> Any:
        return api.Command(update={"messages": [api.AIMessage("by command", id="1")]}, goto="several")

    def several(state: Any) -> Any:
        return [{"messages": [api.AIMessage("plain", id="2")]}, api.Command(update={"messages": api.AIMessage("3")})]

    builder = api.StateGraph(api.MessagesState)
    builder.add_node("one", one, destinations=("several",))
    builder.add_node("several", several)
    builder.add_edge(api.START, "one")
    t.compile(builder)
    t.stream({"messages": "hi"}, ["messages", "updates"])


@dataclass
class Record:
    """A state with a message beside the conversation."""

    note: Any = None
    texts: list[Any] = field(default_factory=list)


@scenario("stream: messages", "dataclass schema", "parallel branches")
def messages_in_other_fields(api: Api, t: Script) -> None:
    """A message as the value of a field, in a list, in a nested value (where it is not looked for)."""

    def node(state: Any) -> Any:
        return {"note": api.AIMessage("note", id="1"), "texts": [api.AIMessage("text", id="2"), "plain"]}

    def nested(state: Any) -> Any:
        return {"texts": [[api.AIMessage("deep", id="3")], {"a": api.AIMessage("deeper", id="4")}]}

    t.compile(_row(api, Record, node=node, nested=nested))
    t.stream({}, "messages")


@scenario("stream: tools", "linear", "custom stream")
def tools_that_nodes_call(api: Api, t: Script) -> None:
    """Tools started, finished and failed; one that is tagged `nostream` is not shown."""
    from langchain_core.tools import tool

    @tool
    def halve(n: int) -> int:
        """Halve a number."""
        if n % 2:
            raise ValueError("odd")
        return n // 2

    def node(state: Any) -> Any:
        halve.invoke({"n": 4})
        halve.with_config(tags=["nostream"]).invoke({"n": 6})
        called = halve.invoke({"type": "tool_call", "id": "c1", "name": "halve", "args": {"n": 8}})
        try:
            halve.invoke({"n": 3})
        except ValueError as error:
            return {"log": [str(error), called.content]}
        return {}

    t.compile(_row(api, Two, node=node))
    t.stream({"n": 0}, "tools")
    t.stream({"n": 0}, ["tools", "updates"])


def _paused(api: Api) -> Any:
    return _row(
        api,
        Two,
        a=lambda state: {"n": state["n"] + 1, "log": ["a"]},
        quiet=lambda state: {"log": ["q"]},
        ask=lambda state: {"n": len(api.interrupt("?"))},
    )


@scenario("output_keys", "stream: each mode alone", "dynamic interrupt")
def keys_in_each_mode(api: Api, t: Script) -> None:
    """One key, a list of one, and none, in every mode, at a pause and behind it."""
    t.compile(_paused(api))
    for number, keys in enumerate(("n", ["n"], ["log", "n"])):
        for mode in MODES:
            thread = f"{mode}{number}"
            t.stream({"n": 0}, mode, thread=thread, output_keys=keys)
            t.stream(api.Command(resume="x"), mode, thread=thread, output_keys=keys)
    t.invoke({"n": 0}, thread="key", output_keys="n")
    t.invoke({"n": 0}, thread="keys", output_keys=["n"])
    t.invoke({"n": 0}, thread="no key", output_keys="nope", error="ValueError")


@scenario("output schema", "invoke with a stream mode", "stream: updates of None")
def narrow_output_in_each_mode(api: Api, t: Script) -> None:
    """`invoke` shows the output schema's keys in every mode, `stream` all of the state's."""
    builder = api.StateGraph(Two, output_schema=Less)
    builder.add_node("a", lambda state: {"n": 1, "log": ["a"]})
    builder.add_node("b", lambda state: {"n": 2})
    builder.add_edge(api.START, "a")
    builder.add_edge("a", "b")
    t.compile(builder)
    for mode in ("values", "updates", "tasks", "checkpoints"):
        t.invoke({"n": 0}, thread=f"i{mode}", stream_mode=mode)
        t.stream({"n": 0}, mode, thread=f"s{mode}")
    t.invoke({"n": 0}, thread="list", stream_mode=["updates", "values"])


@scenario("stream: version 2", "stream: each mode alone", "dynamic interrupt", "static interrupt: before")
def parts_of_each_mode(api: Api, t: Script) -> None:
    """Each chunk as a part with its type and place; questions come beside the values."""
    t.compile(_paused(api))
    for mode in MODES:
        t.parts({"n": 0}, mode, thread=mode)
        t.parts(api.Command(resume="x"), mode, thread=mode)
    t.parts({"n": 0}, list(MODES), thread="list", interrupt_before=["quiet"])
    t.parts(None, ["values", "updates"], thread="list", output_keys=["n"])


@scenario("stream: version 2", "invoke with a stream mode", "dynamic interrupt", "static interrupt: before")
def output_of_version_two(api: Api, t: Script) -> None:
    """`invoke` returns values and questions apart; in other modes it returns parts."""
    t.compile(_paused(api))
    t.invoke({"n": 0}, version="v2")
    t.invoke(api.Command(resume="x"), version="v2")
    t.invoke({"n": 0}, version="v2", thread="2", interrupt_before=["quiet"])
    t.invoke(None, version="v2", thread="2", output_keys=["log"])
    t.invoke({"n": 0}, version="v2", thread="3", stream_mode="updates")
    t.invoke({"n": 0}, version="v2", thread="4", stream_mode=["updates", "values"])


@dataclass
class Desk:
    """A state that is an object."""

    n: int = 0
    log: Annotated[list[str], operator.add] = field(default_factory=list)


@scenario("stream: version 2", "dataclass schema", "dynamic interrupt")
def parts_of_a_record(api: Api, t: Script) -> None:
    """Values and checkpoints show instances of a dataclass, and so does what `invoke` returns."""
    builder = api.StateGraph(Desk)
    builder.add_sequence(
        [("a", lambda state: {"n": state.n + 1}), ("ask", lambda state: {"log": [api.interrupt("?")]})]
    )
    builder.add_edge(api.START, "a")
    t.compile(builder)
    t.parts({"n": 1}, ["values", "updates", "tasks", "checkpoints", "debug"])
    t.invoke({"n": 1}, version="v2", thread="2")
    t.invoke(api.Command(resume="x"), version="v2", thread="2")
    t.invoke({"n": 1}, thread="3")


@scenario("stream: version 2", "stream: messages", "messages", "custom stream")
def parts_of_messages(api: Api, t: Script) -> None:
    """Tokens and custom chunks as parts."""
    talker = model("one two")

    def bot(state: Any) -> Any:
        api.get_stream_writer()({"asking": len(state["messages"])})
        return asks(talker)(state)

    t.compile(_row(api, api.MessagesState, bot=bot))
    t.parts({"messages": "hi"}, ["messages", "custom", "updates"])


@scenario("custom stream", "parallel branches", "Send", "stream: lists of modes")
def custom_of_parallel_nodes(api: Api, t: Script) -> None:
    """Nodes side by side, and sends, each write what they like; a router writes too."""

    def node(name: str) -> Any:
        def writes(state: Any, writer: api.StreamWriter) -> Any:
            for index in range(3):
                writer((name, index))
            return {"log": [name]}

        return writes

    def route(state: Any) -> Any:
        api.get_stream_writer()("routed")
        return [api.Send("sent", {"n": index}) for index in range(2)]

    builder = api.StateGraph(Two)
    for name in ("a", "b"):
        builder.add_node(name, node(name))
        builder.add_edge(api.START, name)
    builder.add_node("sent", lambda state: api.get_stream_writer()({"sent": state["n"]}))
    builder.add_node("alone", node("alone"))
    builder.add_conditional_edges("a", route, ["sent"])
    builder.add_edge("sent", "alone")
    t.compile(builder)
    t.stream({"n": 0}, "custom")
    t.stream({"n": 0}, ["custom", "updates"], thread="2")


@scenario("stream: updates of None", "Command: update", "Command: goto", "Send")
def updates_of_commands(api: Api, t: Script) -> None:
    """What `updates` and `tasks` show of commands with and without an update, of sends, of lists."""
    builder = api.StateGraph(Two)
    ends = ("two", "three", "sent")
    builder.add_node("one", lambda state: api.Command(goto="two"), destinations=ends)
    builder.add_node(
        "two", lambda state: api.Command(update=[("n", 2), ("log", ["x"])], goto=["three"]), destinations=ends
    )
    sends = [api.Send("sent", {"n": 5}), api.Send("sent", {"n": 6})]
    builder.add_node("three", lambda state: [api.Command(goto=sends), {"log": ["y"]}], destinations=ends)
    builder.add_node("sent", lambda state: api.Command(update={"log": [str(state["n"])]}))
    builder.add_edge(api.START, "one")
    t.compile(builder)
    for mode in ("updates", "tasks", "values"):
        t.stream({"n": 0}, mode, thread=mode)
        t.parts({"n": 0}, mode, thread=f"{mode} again")
