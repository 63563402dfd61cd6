"""What nodes are given beside the state: config, store, writer, runtime."""

import operator
from dataclasses import dataclass
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


class Log(TypedDict):
    """The names of the nodes that ran."""

    log: Annotated[list[str], operator.add]


def _single(api: Api, node: Any, **options: Any) -> Any:
    builder = api.StateGraph(Log, **options)
    builder.add_node("node", node)
    builder.add_edge(api.START, "node")
    return builder


@scenario("config injected", "metadata in config", "history: filter", "multi-turn")
def config_and_metadata(api: Api, t: Script) -> None:
    """A node reads the config; its metadata is on every checkpoint and can be filtered by."""

    def node(state: Log, config: api.RunnableConfig) -> Any:
        inner, metadata = config["configurable"], config["metadata"]
        t.note(inner["thread_id"], inner.get("user"), metadata.get("trace"), config.get("tags"))
        t.note(inner["checkpoint_ns"].split(":")[0], metadata["langgraph_node"], metadata["langgraph_step"])
        t.note(metadata["langgraph_path"], metadata["langgraph_triggers"])
        return {"log": [str(inner.get("user"))]}

    t.compile(_single(api, node))
    t.go({"log": []}, config={"configurable": {"user": "ann"}, "metadata": {"trace": 1, "deep": {"x": 1}}})
    t.go({"log": []}, config={"configurable": {"user": "bob"}, "metadata": {"trace": 2}, "tags": ["t"]})
    t.history(filter={"trace": 1})
    t.history(filter={"user": "bob", "source": "loop"})
    t.history(filter={"step": 0})
    t.history(filter={"source": "loop"}, limit=1)


@scenario("store injected", "several threads", "linear", "config injected")
def store_across_threads(api: Api, t: Script) -> None:
    """A memory that one thread writes and another reads: put, get, search, delete."""
    store = api.InMemoryStore()

    def remember(state: Log, config: api.RunnableConfig, *, store: api.BaseStore) -> Any:
        space = (config["configurable"]["user"], "notes")
        before = [item.value["text"] for item in store.search(space)]
        t.note("knows", before)
        store.put(space, f"k{len(before)}", {"text": state["log"][-1]})
        if len(before) == 2:
            store.delete(space, "k0")
        found = store.get(space, "k1")
        return {"log": [f"{len(before)} {found.value if found else None} {found.key if found else None}"]}

    t.compile(_single(api, remember), store=store)
    for thread, user in (("1", "ann"), ("2", "ann"), ("3", "bob"), ("4", "ann"), ("5", "ann")):
        t.go({"log": [f"note of {thread}"]}, thread=thread, config={"configurable": {"user": user}})
    t.note(sorted(store.list_namespaces()), [item.key for item in store.search(("ann",))])


@scenario("writer injected", "stream: custom", "parallel", "Send")
def custom_chunks(api: Api, t: Script) -> None:
    """Nodes write chunks of their own, from parallel tasks too, in order within a task."""

    def chatty(name: str) -> Any:
        def node(state: Any, writer: api.StreamWriter) -> Any:
            writer({"from": name, "n": state.get("n")})
            return {"log": [name]}

        return node

    def twice(state: Log, *, writer: api.StreamWriter) -> Any:
        writer("one")
        writer(["two", 2])
        return {"log": ["twice"]}

    builder = _single(api, twice)
    builder.add_node("b", chatty("b"))
    builder.add_node("a", chatty("a"))
    builder.add_edge("node", "b")
    builder.add_edge("node", "a")
    builder.add_conditional_edges("node", lambda _: [api.Send("a", {"n": i}) for i in (1, 2)], ["a"])
    t.compile(builder)
    t.go({"log": []})
    t.stream({"log": []}, "custom", thread="2")


@scenario("runtime injected", "context schema", "store injected", "writer injected", "no checkpointer")
def runtime_and_context(api: Api, t: Script) -> None:
    """A run's context, store and writer through the runtime object."""

    @dataclass
    class Context:
        user: str
        level: int = 1

    def node(state: Log, runtime: api.Runtime[Context]) -> Any:
        runtime.stream_writer({"hello": runtime.context.user})
        runtime.store.put(("r",), runtime.context.user, {"level": runtime.context.level})
        t.note(type(runtime.context).__name__, [item.key for item in runtime.store.search(("r",))])
        return {"log": [f"{runtime.context.user} {runtime.context.level}"]}

    builder = _single(api, node, context_schema=Context)
    t.compile(builder, persist=False, store=api.InMemoryStore())
    t.go({"log": []}, thread=None, context=Context("ann"))
    t.go({"log": []}, thread=None, context={"user": "bob", "level": 2})


@scenario("runtime injected", "context schema", "config injected", "dynamic interrupt", "Command input: resume")
def context_differs_on_resume(api: Api, t: Script) -> None:
    """Context belongs to a call, not to the thread: the answer may come with another one."""

    class Context(TypedDict):
        user: str

    def node(state: Log, config: api.RunnableConfig, runtime: api.Runtime[Context]) -> Any:
        user = runtime.context["user"]
        t.note(user, config["configurable"]["thread_id"])
        return {"log": [f"{user}: {api.interrupt(f'{user} asks')}"]}

    t.compile(_single(api, node, context_schema=Context))
    t.go({"log": []}, context={"user": "ann"})
    t.go(api.Command(resume="fine"), context={"user": "bob"})
