"""Messages in every form and through every reducer: wrapped, with options, pushed while a node runs, in parallel."""

from functools import partial
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


def _line(api: Api, schema: Any, **nodes: Any) -> Any:
    builder = api.StateGraph(schema)
    before = api.START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    return builder


def _schema(reducer: Any) -> Any:
    class State(TypedDict):
        messages: Annotated[list[Any], reducer]

    return State


@scenario("messages", "message forms: OpenAI", "tool calls", "message forms: str, pair, dict, object")
def messages_in_openai_shape(api: Api, t: Script) -> None:
    """Dicts as OpenAI sends them: roles, tool calls, tool results, parts of content, names."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
    shapes = [
        {"role": "system", "content": "be brief"},
        {"role": "developer", "content": "and kind"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "u"}}],
        },
        {"role": "assistant", "content": "", "tool_calls": [call], "id": "a"},
        {"role": "tool", "content": "seen", "tool_call_id": "c1", "name": "look"},
        {"type": "human", "content": "typed", "id": "t", "name": "ann"},
    ]
    t.compile(_line(api, api.MessagesState, bot=lambda state: {"messages": [{"role": "ai", "content": "done"}]}))
    t.go({"messages": shapes})
    t.go({"messages": {"role": "user", "content": "alone"}})


@scenario("messages", "add_messages: format", "message forms: OpenAI", "multi-turn")
def messages_formatted(api: Api, t: Script) -> None:
    """`add_messages(format="langchain-openai")` rewrites content as OpenAI has it."""

    def bot(state: Any) -> Any:
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "12"}}
        text = {"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}}
        return {"messages": [{"role": "user", "content": [text, image]}, api.AIMessage("plain", id="p")]}

    t.compile(_line(api, _schema(api.add_messages(format="langchain-openai")), bot=bot))
    t.go({"messages": []})
    t.go({"messages": [{"role": "user", "content": [{"type": "text", "text": "again"}]}]})


@scenario("messages", "add_messages: partial", "RemoveMessage", "multi-turn", "update_state")
def messages_through_a_partial(api: Api, t: Script) -> None:
    """`add_messages()` and a partial of it are `add_messages`."""

    class State(TypedDict):
        messages: Annotated[list[Any], api.add_messages()]
        notes: Annotated[list[Any], partial(api.add_messages)]

    t.compile(_line(api, State, bot=lambda state: {"messages": ["hi"], "notes": [["ai", "noted"]]}))
    t.go({"messages": "hello", "notes": [api.HumanMessage("n", id="n")]})
    t.update({"notes": [api.RemoveMessage(id="n")]})
    t.go({"messages": [api.AIMessage("changed", id="x")]})


@scenario("messages", "add_messages: wrapped", "reducer: user function", "multi-turn", "generated message ids")
def messages_through_a_function(api: Api, t: Script) -> None:
    """A user's reducer that calls `add_messages` and keeps the last three; messages get their ids in it."""

    def last_three(left: list[Any], right: Any) -> list[Any]:
        return api.add_messages(left, right)[-3:]

    t.compile(_line(api, _schema(last_three), a=lambda s: {"messages": "one"}, b=lambda s: {"messages": ["two", "3"]}))
    t.go({"messages": ["in"]})
    t.go({"messages": [{"role": "user", "content": "again"}, ["ai", "and again"]]})
    t.history()


@scenario("messages", "add_messages: wrapped", "reducer: lambda", "parallel", "RemoveMessage", "message updated by id")
def messages_through_a_lambda(api: Api, t: Script) -> None:
    """Two nodes write to one wrapped reducer: known ids replace, removals remove, in the order of names."""
    schema = _schema(lambda left, right: api.add_messages(left or [], right))
    builder = api.StateGraph(schema)
    builder.add_node("b", lambda state: {"messages": [api.RemoveMessage(id="1"), api.AIMessage("b", id="b")]})
    builder.add_node("a", lambda state: {"messages": [api.AIMessage("a", id="a"), api.HumanMessage("new", id="2")]})
    for name in ("b", "a"):
        builder.add_edge(api.START, name)
    t.compile(builder)
    t.go({"messages": [api.HumanMessage("1", id="1"), api.HumanMessage("2", id="2")]})
    t.go({"messages": [api.HumanMessage("1", id="1")]})


@scenario("messages", "add_messages: wrapped", "dynamic interrupt", "resume", "time travel", "reducer: user function")
def messages_wrapped_and_interrupted(api: Api, t: Script) -> None:
    """A wrapped reducer through a question, an answer and a branch."""

    def merged(left: list[Any], right: list[Any]) -> list[Any]:
        return api.add_messages(left, right)

    def ask(state: Any) -> Any:
        return {"messages": [["user", api.interrupt(state["messages"][-1].content)]]}

    t.compile(_line(api, _schema(merged), greet=lambda s: {"messages": ["who?"]}, ask=ask))
    t.go({"messages": [["user", "hello"]]})
    t.go(api.Command(resume="me"))
    past = t.history()
    t.go(None, at=past[1].config)
    t.go(api.Command(resume="you"))


@scenario("messages", "parallel", "message updated by id", "REMOVE_ALL_MESSAGES", "join")
def messages_from_many(api: Api, t: Script) -> None:
    """Parallel writers: single messages, lists, one that clears; applied by name."""
    builder = api.StateGraph(api.MessagesState)
    builder.add_node("c", lambda state: {"messages": api.AIMessage("c, by a", id="a")})
    builder.add_node("b", lambda state: {"messages": [api.RemoveMessage(id="__remove_all__"), ["ai", "b"]]})
    builder.add_node("a", lambda state: {"messages": [api.AIMessage("a", id="a"), "text"]})
    builder.add_node("end", lambda state: {"messages": [f"saw {len(state['messages'])}"]})
    for name in ("c", "b", "a"):
        builder.add_edge(api.START, name)
    builder.add_edge(["a", "b", "c"], "end")
    t.compile(builder)
    t.go({"messages": ["in"]})
    t.go({"messages": ["in"]})


@scenario("messages", "push_message", "multi-turn", "result and pushed")
def messages_pushed(api: Api, t: Script) -> None:
    """What a node pushes is written before what it returns, under the same id once."""

    def bot(state: Any) -> Any:
        shown = api.push_message(api.AIMessage("working", id=f"w{len(state['messages'])}"))
        t.note(shown.content, type(shown).__name__)
        api.push_message({"role": "ai", "content": "still", "id": "still"})
        return {"messages": [api.AIMessage("done", id=f"d{len(state['messages'])}")]}

    def quiet(state: Any) -> None:
        api.push_message(api.AIMessage("not written", id="n"), state_key=None)
        api.push_message(["ai", "no id"]) if len(state["messages"]) > 8 else None

    t.compile(_line(api, api.MessagesState, bot=bot, quiet=quiet))
    t.go({"messages": [api.HumanMessage("go", id="h")]})
    t.go({"messages": [api.HumanMessage("go", id="h2")]})
    t.go({"messages": [api.HumanMessage("go", id="h3")]}, error="ValueError")


@scenario("messages", "push_message", "conditional edges", "state extends MessagesState", "parallel")
def messages_pushed_to_other_keys(api: Api, t: Script) -> None:
    """Pushed messages go to the key that is named; routers see them, and parallel nodes do not mix theirs."""

    class State(api.MessagesState):
        aside: Annotated[list[Any], api.add_messages]

    def say(name: str) -> Any:
        def node(state: Any) -> None:
            api.push_message(api.AIMessage(f"{name} says", id=name))
            api.push_message(api.AIMessage("aside", id=f"{name}-aside"), state_key="aside")

        return node

    builder = api.StateGraph(State)
    for name in ("b", "a"):
        builder.add_node(name, say(name))
        builder.add_edge(api.START, name)
    builder.add_node("more", lambda state: {"messages": ["more"]})
    builder.add_conditional_edges("a", lambda state: "more" if state["messages"][-1].id == "a" else api.END)
    t.compile(builder)
    t.go({"messages": []})
    t.go({"messages": ["again"]})


@scenario(
    "messages", "MessagesState as a dataclass", "state extends MessagesState", "message forms: str, pair, dict, object"
)
def messages_in_other_schemas(api: Api, t: Script) -> None:
    """A root that is a conversation, and keys beside the messages."""
    builder = api.StateGraph(Annotated[list[Any], api.add_messages])
    builder.add_node("bot", lambda messages: [["ai", f"{len(messages)} so far"], api.AIMessage("x", id="x")])
    builder.add_edge(api.START, "bot")
    t.compile(builder)
    t.go("hello")
    t.go([["user", "again"], api.HumanMessage("same id", id="x")])


@scenario("messages", "error: ValueError", "add_messages: wrapped", "RemoveMessage", "refused step", exit=False)
def messages_removed_twice(api: Api, t: Script) -> None:
    """Removing what is not there is refused inside a wrapped reducer too; removing twice in one write is not."""

    def merged(left: list[Any], right: list[Any]) -> list[Any]:
        return api.add_messages(left, right)

    t.compile(_line(api, _schema(merged), bot=lambda s: {"messages": [api.AIMessage("ok", id="b")]}))
    t.go({"messages": [api.HumanMessage("1", id="1")]})
    t.update({"messages": [api.RemoveMessage(id="1"), api.RemoveMessage(id="1")]})
    t.update({"messages": [api.RemoveMessage(id="1")]}, error="ValueError")
    t.go({"messages": [api.HumanMessage("2", id="2"), api.RemoveMessage(id="2")]})
