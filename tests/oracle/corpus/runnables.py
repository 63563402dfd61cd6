"""LangChain Runnables where a function is expected: nodes, routers, and what a function returns."""

import operator
from typing import Annotated, Any

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


class Log(TypedDict, total=False):
    """A number and the names of the nodes that ran."""

    n: int
    log: Annotated[list[Any], operator.add]


def _write(state: Any) -> Any:
    return {"log": [f"n is {state['n']}"]}


@scenario("Runnable as node", "linear", "multi-turn", "config injected")
def runnable_nodes(api: Api, t: Script) -> None:
    """A lambda, a sequence, a dict and a bound one are nodes; config and metadata reach them."""

    def look(state: Log, config: api.RunnableConfig) -> Any:
        metadata = config["metadata"]
        t.note(metadata["langgraph_node"], metadata["langgraph_step"], metadata.get("case"))
        t.note(config["configurable"]["thread_id"], config["configurable"].get("user"))
        return {"log": ["looked"]}

    builder = api.StateGraph(Log)
    builder.add_node(RunnableLambda(look, name="look"))
    builder.add_node("steps", RunnablePassthrough.assign(n=lambda state: state["n"] + 1) | _write)
    builder.add_node("parts", {"log": lambda state: ["parts"], "n": lambda state: state["n"] * 2})
    builder.add_node("bound", RunnableLambda(_write).with_config(tags=["bound"]))
    builder.add_edge(api.START, "look")
    builder.add_edge("look", "steps")
    builder.add_edge("steps", "parts")
    builder.add_edge("parts", "bound")
    t.compile(builder)
    t.go({"n": 1, "log": []}, config={"metadata": {"case": 7}, "configurable": {"user": "ann"}})
    t.go({"n": 5, "log": ["again"]})


@scenario("Runnable as router", "conditional edges", "loop", "conditional entry point")
def runnable_routers(api: Api, t: Script) -> None:
    """Runnables route at the entry and in a loop; one of them is a sequence with a map of ends."""
    builder = api.StateGraph(Log)
    builder.add_node("count", lambda state: {"n": state["n"] + 1, "log": [f"count {state['n']}"]})
    builder.add_node("small", lambda state: {"log": ["small"]})
    builder.set_conditional_entry_point(
        RunnableLambda(lambda state: "count" if state["n"] > 1 else "small", name="by_size"), ["count", "small"]
    )
    builder.add_conditional_edges(
        "count", RunnableLambda(lambda state: state["n"]) | (lambda n: n < 5), {True: "count", False: api.END}
    )
    t.compile(builder)
    t.go({"n": 1, "log": []})
    t.go({"n": 2, "log": ["again"]})


@scenario("Runnable as node", "Runnable as router", "returned by a function", "dynamic interrupt", "failure")
def runnables_returned(api: Api, t: Script) -> None:
    """A function returns a Runnable that asks, fails once and answers: it gets the function's own input."""
    failed: list[int] = []

    def ask(state: Log) -> Any:
        return {"log": [api.interrupt(f"what of {state['n']}?")]}

    def fail_once(state: Log) -> Any:
        failed.append(1)
        if len(failed) == 1:
            raise ValueError("not yet")
        return {"log": ["worked"]}

    builder = api.StateGraph(Log)
    builder.add_node("ask", lambda state: RunnableLambda(ask))
    builder.add_node("fail", lambda state: RunnableLambda(fail_once))
    builder.add_edge(api.START, "ask")
    builder.add_conditional_edges("ask", lambda state: RunnableLambda(lambda state: "fail"), ["fail"])
    t.compile(builder)
    t.go({"n": 1, "log": []})
    t.go(api.Command(resume="all"), error="ValueError")
    t.go(None)


@scenario("Runnable as node", "messages", "multi-turn", "prompt and model")
def prompt_and_model(api: Api, t: Script) -> None:
    """A prompt, a chat model and a function in a row answer two turns of a conversation."""
    prompt = ChatPromptTemplate.from_messages([("system", "be brief"), ("placeholder", "{messages}")])
    model = FakeListChatModel(responses=["the stone", "still the stone"])
    builder = api.StateGraph(api.MessagesState)
    builder.add_node(
        "answer", prompt | model | (lambda message: {"messages": [{"role": "ai", "content": message.content}]})
    )
    builder.add_edge(api.START, "answer")
    t.compile(builder)
    t.go({"messages": [{"role": "user", "content": "what stands?"}]})
    t.go({"messages": [{"role": "user", "content": "and now?"}]})
