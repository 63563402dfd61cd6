"""Messages: `add_messages`, updates by id, removals, and a chat with tools and a human."""

from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


def _single(api: Api, schema: Any, node: Any) -> Any:
    builder = api.StateGraph(schema)
    builder.add_node("bot", node)
    builder.add_edge(api.START, "bot")
    return builder


@scenario("messages", "message forms: str, pair, dict, object", "multi-turn", "generated message ids")
def chat_turns(api: Api, t: Script) -> None:
    """Messages come in every form; all become objects with ids, and the chat grows turn by turn."""

    def bot(state: Any) -> Any:
        last = state["messages"][-1]
        t.note("bot heard", last.type, last.content)
        return {"messages": [["ai", f"you said {last.content}"]]}

    t.compile(_single(api, api.MessagesState, bot))
    t.go({"messages": "plain text"})
    t.go({"messages": [["user", "a pair"], {"role": "system", "content": "a dict"}]})
    t.go(
        {
            "messages": [
                api.HumanMessage("an object", name="ann", id="h"),
                {"type": "human", "content": "typed"},
            ]
        }
    )


@scenario("messages", "message forms: str, pair, dict, object", "no checkpointer", "generated message ids")
def chat_in_passing(api: Api, t: Script) -> None:
    """Without persistence messages may be tuples too."""
    t.compile(_single(api, api.MessagesState, lambda state: {"messages": ("ai", "tuple")}), persist=False)
    t.go({"messages": ("user", "alone")}, thread=None)
    t.go({"messages": [("user", "one"), ("ai", "two")]}, thread=None)


@scenario("messages", "message updated by id", "RemoveMessage", "linear", "update_state")
def chat_edits(api: Api, t: Script) -> None:
    """A message with a known id replaces it; a removal takes it out; order stays."""

    def edit(state: Any) -> Any:
        gone = [api.RemoveMessage(id="1")] if state["messages"][0].id == "1" else []
        return {"messages": [api.AIMessage("better", id="2"), *gone, api.AIMessage("new", id="4")]}

    t.compile(_single(api, api.MessagesState, edit))
    first = [api.HumanMessage("one", id="1"), api.AIMessage("two", id="2"), api.HumanMessage("three", id="3")]
    t.go({"messages": first})
    t.update({"messages": [api.RemoveMessage(id="3"), api.HumanMessage("by hand", id="5")]})
    t.go({"messages": [api.HumanMessage("twice", id="6"), api.HumanMessage("twice, again", id="6")]})


@scenario("messages", "REMOVE_ALL_MESSAGES", "linear", "Overwrite")
def chat_cleared(api: Api, t: Script) -> None:
    """A chat that is summed up: all messages go, a summary stays."""

    def sum_up(state: Any) -> Any:
        if len(state["messages"]) < 3:
            return {"messages": api.AIMessage("go on", id=f"a{len(state['messages'])}")}
        remove = api.RemoveMessage(id="__remove_all__")
        return {"messages": [api.HumanMessage("lost", id="x"), remove, api.AIMessage("the sum", id="s")]}

    t.compile(_single(api, api.MessagesState, sum_up))
    t.go({"messages": [api.HumanMessage("1", id="1")]})
    t.go({"messages": [api.HumanMessage("2", id="2")]})
    t.update({"messages": api.Overwrite([api.HumanMessage("start over", id="o")])}, as_node="bot")


@scenario("messages", "error: ValueError", "RemoveMessage", "refused step", exit=False)
def chat_bad_removal(api: Api, t: Script) -> None:
    """Removing a message that is not there is an error of the edit; nothing changes."""
    t.compile(_single(api, api.MessagesState, lambda state: {"messages": [api.AIMessage("ok", id="b")]}))
    t.go({"messages": [api.HumanMessage("1", id="1")]})
    t.update({"messages": [api.RemoveMessage(id="nobody")]}, error="ValueError")
    t.history()


@scenario("messages", "tool calls", "conditional edges", "dynamic interrupt", "state extends MessagesState", "loop")
def chat_with_tools(api: Api, t: Script) -> None:
    """An agent's loop: a tool call, approved by a human, its result, and a last word."""

    class State(api.MessagesState):
        steps: int

    def model(state: State) -> Any:
        if state["messages"][-1].type == "tool":
            return {"messages": [api.AIMessage("it is 4", id="end")], "steps": state["steps"] + 1}
        call = {"name": "add", "args": {"a": 2, "b": 2}, "id": "call1", "type": "tool_call"}
        return {"messages": [api.AIMessage("", id="m1", tool_calls=[call])], "steps": 1}

    def tools(state: State) -> Any:
        call = state["messages"][-1].tool_calls[0]
        if api.interrupt({"approve": call["name"]}) != "yes":
            return {"messages": [api.ToolMessage("refused", tool_call_id=call["id"], id="t1")]}
        return {"messages": [api.ToolMessage(str(sum(call["args"].values())), tool_call_id=call["id"], id="t1")]}

    builder = api.StateGraph(State)
    builder.add_node("model", model)
    builder.add_node("tools", tools)
    builder.add_edge(api.START, "model")
    builder.add_conditional_edges("model", lambda s: "tools" if s["messages"][-1].tool_calls else api.END)
    builder.add_edge("tools", "model")
    t.compile(builder)
    t.go({"messages": [api.HumanMessage("2 + 2?", id="h1")]})
    t.go(api.Command(resume="yes"))


@scenario("messages", "parallel", "Send", "add_messages on a key of one's own", "message content blocks")
def chat_in_parallel(api: Api, t: Script) -> None:
    """Several nodes add messages in one step, one of them to replace another's."""

    class State(TypedDict):
        talk: Annotated[list[Any], api.add_messages]

    def say(text: str, id: str) -> Any:
        return lambda state: {"talk": [api.AIMessage([{"type": "text", "text": text}], id=id)]}

    builder = api.StateGraph(State)
    builder.add_node("b", say("from b", "same"))
    builder.add_node("a", say("from a", "same"))
    builder.add_node("c", say("from c", "other"))
    builder.add_node("s", lambda state: {"talk": [{"role": "ai", "content": state["text"]}]})
    for name in ("b", "a", "c"):
        builder.add_edge(api.START, name)
    builder.add_conditional_edges(api.START, lambda _: [api.Send("s", {"text": x}) for x in "xy"], ["s"])
    t.compile(builder)
    t.go({"talk": {"role": "user", "content": "hello"}})
