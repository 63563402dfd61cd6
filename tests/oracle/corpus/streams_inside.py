"""What streams show of graphs that run inside nodes: with `subgraphs` all of it, without it what their node returns."""

from typing import Any

from ..api import Api
from ..harness import Script, scenario

MODES = ["messages", "custom", "updates", "values"]


def _inner(api: Api, *texts: str) -> Any:
    """A graph whose one node writes a custom chunk and asks a model."""
    from .streams import asks, model

    asked = asks(model(*texts))

    def deep(state: Any) -> Any:
        api.get_stream_writer()("inner")
        return asked(state)

    builder = api.StateGraph(api.MessagesState)
    builder.add_node("deep", deep)
    builder.add_edge(api.START, "deep")
    return builder.compile()


def _outer(api: Api, **nodes: Any) -> Any:
    builder = api.StateGraph(api.MessagesState)
    builder.add_sequence(list(nodes.items()))
    builder.add_edge(api.START, next(iter(nodes)))
    return builder


@scenario("subgraphs=True", "subgraph", "stream: messages", "custom stream")
def stream_of_a_graph_as_a_node(api: Api, t: Script) -> None:
    """A graph as a node: its tokens and custom chunks with `subgraphs`, its message as the node's without."""
    t.compile(_outer(api, sub=_inner(api, "one two", "three four", "five", "six", "seven")))
    t.stream({"messages": "hi"}, MODES)
    t.stream({"messages": "hi"}, MODES, thread="2", subgraphs=True)
    t.stream({"messages": "hi"}, "messages", thread="3", subgraphs=True)
    t.stream({"messages": "hi"}, "updates", thread="4", subgraphs=True)
    t.parts({"messages": "hi"}, MODES, thread="5", subgraphs=True)


@scenario("subgraphs=True", "subgraph", "called", "stream: messages", "custom stream")
def stream_of_graphs_that_nodes_call(api: Api, t: Script) -> None:
    """A graph that a node invokes, one that it streams itself, and one that it runs on a thread of its own."""
    inner = _inner(api, *(f"in {index}" for index in range(6)))
    alone = _inner(api, "alone one", "alone two")

    def calls(state: Any) -> Any:
        return {"messages": inner.invoke({"messages": state["messages"]})["messages"][-1:]}

    def streams(state: Any) -> Any:
        chunks = inner.stream({"messages": state["messages"]}, stream_mode="messages")
        t.note("streamed", [message.content for message, _metadata in chunks])
        return {}

    def apart(state: Any) -> Any:
        alone.invoke({"messages": "hi"}, {"configurable": {"thread_id": "other"}})
        return {}

    t.compile(_outer(api, calls=calls, streams=streams, apart=apart))
    t.stream({"messages": "hi"}, ["messages", "custom"])
    t.stream({"messages": "hi"}, ["messages", "custom"], thread="2", subgraphs=True)


@scenario("subgraphs=True", "subgraph", "depth 3", "stream: messages", "custom stream")
def stream_at_two_levels(api: Api, t: Script) -> None:
    """A graph in a graph in a graph: each chunk comes with its place."""
    between = _outer(api, between=_inner(api, "one two", "three")).compile()
    t.compile(_outer(api, outer=between))
    t.stream({"messages": "hi"}, ["messages", "custom", "updates"], subgraphs=True)
    t.stream({"messages": "hi"}, ["messages", "custom", "updates"], thread="2")
