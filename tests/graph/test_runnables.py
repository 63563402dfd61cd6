"""LangChain Runnables as nodes and routers: called with the task's config, on threads and on an event loop."""

from __future__ import annotations

import asyncio
import operator
import sys
from typing import Annotated, Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import START, MessagesState, RunnableConfig, StateGraph
from typing_extensions import TypedDict

core = pytest.importorskip("langchain_core.runnables")

CONFIG: Any = {"configurable": {"thread_id": "1"}}


class Log(TypedDict, total=False):
    """A number and what was found."""

    n: int
    log: Annotated[list[Any], operator.add]


FACES = [
    pytest.param(lambda graph, given, config: graph.invoke(given, config), id="invoke"),
    pytest.param(lambda graph, given, config: asyncio.run(graph.ainvoke(given, config)), id="ainvoke"),
]


def graph_of(node: Any, **options: Any) -> Any:
    """Return a graph of one node."""
    builder: StateGraph[Any] = StateGraph(Log)
    builder.add_node("node", node, **options)
    builder.add_edge(START, "node")
    return builder.compile(checkpointer=EventLog.in_memory())


def double(state: Any) -> Any:
    """Double the number."""
    return {**state, "n": state["n"] * 2}


async def adouble(state: Any) -> Any:
    """Double the number, on the loop; add one to tell."""
    return {**state, "n": state["n"] * 2 + 1}


def write(state: Any) -> Any:
    """Write the number down."""
    return {"log": [state["n"]]}


@pytest.mark.parametrize("run", FACES)
@pytest.mark.parametrize(
    ("node", "logged"),
    [
        pytest.param(core.RunnableLambda(write), [3], id="lambda"),
        pytest.param(core.RunnableLambda(double) | double | write, [12], id="sequence"),
        pytest.param({"log": lambda state: [state["n"]], "n": lambda state: 0}, [3], id="dict"),
        pytest.param(core.RunnablePassthrough.assign(n=lambda state: 7) | write, [7], id="assign"),
        pytest.param(core.RunnableLambda(write).with_config(tags=["t"]), [3], id="bound"),
        pytest.param(lambda state: core.RunnableLambda(write), [3], id="returned by a function"),
        pytest.param(
            core.RunnableBranch((lambda state: state["n"] > 5, double), lambda state: {"log": ["small"]}),
            ["small"],
            id="branch",
        ),
    ],
)
def test_a_runnable_is_a_node(run: Any, node: Any, logged: list[Any]) -> None:
    """Whatever has `invoke` is called with the state, and what it returns is the update."""
    assert run(graph_of(node), {"n": 3, "log": []}, CONFIG)["log"] == logged


def test_each_driver_calls_its_own_side() -> None:
    """On an event loop `ainvoke` is awaited, on threads `invoke` is called."""
    graph = graph_of(core.RunnableLambda(double, afunc=adouble) | write)
    assert graph.invoke({"n": 3, "log": []}, CONFIG)["log"] == [6]
    given: Any = {"n": 3, "log": []}
    assert asyncio.run(graph.ainvoke(given, {"configurable": {"thread_id": "2"}}))["log"] == [7]


def test_a_coroutine_may_return_one() -> None:
    """It is awaited with the same input."""

    async def choose(state: Log) -> Any:
        return core.RunnableLambda(adouble) | write

    assert asyncio.run(graph_of(choose).ainvoke({"n": 3, "log": []}, CONFIG))["log"] == [7]


@pytest.mark.parametrize("run", FACES)
def test_a_function_that_yields_is_a_node(run: Any) -> None:
    """langchain-core makes one result of its parts: of plain dicts it is the last."""

    def parts(state: Log) -> Any:
        yield {"log": ["in between"]}
        yield {"log": ["at last"]}

    assert run(graph_of(parts), {"n": 3, "log": []}, CONFIG)["log"] == ["at last"]


@pytest.mark.parametrize("run", FACES)
def test_the_config_reaches_it(run: Any) -> None:
    """Callbacks, tags, metadata and what is configurable come from the call; metadata says where the task runs."""
    from langchain_core.callbacks import BaseCallbackHandler

    class Seen(BaseCallbackHandler):
        """Keeps what chains are started with."""

        def on_chain_start(self, *given: Any, **parts: Any) -> None:
            starts.append((parts.get("tags"), parts["metadata"]))

    starts: list[Any] = []
    configs: list[Any] = []

    def look(state: Log, config: RunnableConfig) -> Any:
        configs.append(config)
        return {"log": ["looked"]}

    config: Any = {
        "callbacks": [Seen()],
        "tags": ["desk"],
        "metadata": {"case": 7},
        "configurable": {"thread_id": "1", "officer": "ann"},
    }
    run(graph_of(core.RunnableLambda(look)), {"n": 1, "log": []}, config)
    ((tags, metadata),) = starts
    assert "desk" in tags
    assert (metadata["case"], metadata["langgraph_node"], metadata["langgraph_step"]) == (7, "node", 1)
    assert configs[0]["configurable"]["officer"] == "ann"
    assert configs[0]["configurable"]["checkpoint_ns"].startswith("node:")


@pytest.mark.parametrize("run", FACES)
def test_a_runnable_is_a_router(run: Any) -> None:
    """A router may be a Runnable, also one with a name, and at the entry."""
    builder: StateGraph[Any] = StateGraph(Log)
    for name in ("low", "high"):
        builder.add_node(name, lambda state, name=name: {"log": [name]})
    route = core.RunnableLambda(lambda state: "high" if state["n"] > 5 else "low", name="by_size")
    again = core.RunnableLambda(lambda state: state["n"]) | (lambda n: "more" if n > 5 else "end")
    builder.add_conditional_edges(START, route)
    builder.add_conditional_edges("high", again, {"more": "low", "end": "__end__"})
    builder.add_edge("low", "__end__")
    graph = builder.compile(checkpointer=EventLog.in_memory())
    assert builder.spec().nodes[START].branches[0].name == "by_size"
    assert run(graph, {"n": 3, "log": []}, CONFIG)["log"] == ["low"]
    assert run(graph, {"n": 9, "log": []}, {"configurable": {"thread_id": "2"}})["log"] == ["high", "low"]


@pytest.mark.parametrize("run", FACES)
def test_a_prompt_and_a_model_are_a_node(run: Any) -> None:
    """`prompt | model` answers into a channel of messages; a sequence around it makes the update."""
    from langchain_core.language_models.fake_chat_models import FakeListChatModel
    from langchain_core.prompts import ChatPromptTemplate

    prompt = ChatPromptTemplate.from_messages([("system", "be brief"), ("placeholder", "{messages}")])
    model = FakeListChatModel(responses=["the stone", "still the stone"])
    builder: StateGraph[Any] = StateGraph(MessagesState)
    builder.add_node("answer", prompt | model | (lambda message: {"messages": [message]}))
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=EventLog.in_memory())
    run(graph, {"messages": [("user", "what stands?")]}, CONFIG)
    messages = run(graph, {"messages": [("user", "and now?")]}, CONFIG)["messages"]
    assert [message.content for message in messages] == ["what stands?", "the stone", "and now?", "still the stone"]


def test_a_runnable_names_its_node() -> None:
    """`add_node(runnable)` takes its name, as LangGraph does."""
    builder: StateGraph[Any] = StateGraph(Log)
    builder.add_node(core.RunnableLambda(write, name="writer")).add_edge(START, "writer")
    assert builder.compile().invoke({"n": 3, "log": []})["log"] == [3]


@pytest.mark.parametrize(
    ("node", "fits"),
    [
        pytest.param(core.RunnableLambda(adouble) | core.RunnableLambda(double, afunc=adouble), True, id="all async"),
        pytest.param(core.RunnableLambda(adouble).with_config(tags=["t"]), True, id="bound"),
        pytest.param(core.RunnableLambda(adouble) | double, False, id="one plain"),
        pytest.param({"n": core.RunnableLambda(write)}, False, id="a plain branch"),
        pytest.param(core.RunnableLambda(write), False, id="plain"),
    ],
)
def test_a_limit_of_time_is_for_what_is_asynchronous_throughout(node: Any, fits: bool) -> None:
    """A sequence of which one part runs on a thread cannot be stopped there: it is refused like a function."""
    if fits:
        assert graph_of(node, timeout=1).spec.nodes["node"].timeout is not None
        return
    with pytest.raises(ValueError, match="Node 'node' is sync"):
        graph_of(node, timeout=1)


def test_what_is_none_is_refused() -> None:
    """Anything else is refused when it is added."""
    with pytest.raises(TypeError, match="Expected a Runnable, callable or dict"):
        StateGraph(Log).add_node("node", 7)


def test_without_langchain_core_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dict needs langchain-core: the error says so when the node is added."""
    monkeypatch.setitem(sys.modules, "langchain_core.runnables", None)
    with pytest.raises(ImportError, match="langchain-core, which is not installed"):
        StateGraph(Log).add_node("node", {"log": write})
