"""`Runtime`: what surrounds a node, complete and under LangGraph's names."""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.clock import ManualClock
from lithograph.graph import (
    START,
    BaseUser,
    ExecutionInfo,
    RetryPolicy,
    RunControl,
    Runtime,
    ServerInfo,
    StateGraph,
    get_runtime,
)
from lithograph.store import InMemoryStore
from typing_extensions import TypedDict


def _both(left: list[Any] | None, right: list[Any]) -> list[Any]:
    return [*(left or []), *right]


class Seen(TypedDict, total=False):
    """What ran."""

    seen: Annotated[list[Any], _both]


def runtime_of(log: EventLog | None = None, *, config: Any = None, **options: Any) -> Runtime[Any]:
    """Run a graph of one node and return the runtime that the node got."""
    got: list[Runtime[Any]] = []

    def node(state: Seen, runtime: Runtime[Any]) -> Any:
        got.append(runtime)
        assert get_runtime() == runtime

    graph = StateGraph(Seen).add_node(node).add_edge(START, "node").compile(checkpointer=log)
    graph.invoke({"seen": []}, config or {"configurable": {"thread_id": "1"}}, **options)
    return got[0]


class User(dict[str, Any]):
    """A user as a server gives it."""

    identity = "u-7"
    display_name = "Ada"
    is_authenticated = True
    permissions = ("read",)


def test_it_says_where_the_task_runs() -> None:
    """Checkpoint, namespace, task, thread and run are those of the log; the time is the log's clock's."""
    log = EventLog.in_memory(clock=ManualClock())
    runtime = runtime_of(log)
    info = runtime.execution_info
    assert info is not None
    assert info.thread_id == "1"
    assert info.checkpoint_ns == f"node:{info.task_id}"
    assert info.node_attempt == 1
    assert info.node_first_attempt_time == pytest.approx(1_700_000_000, abs=1)
    assert len(info.checkpoint_id) == len(info.task_id) == len(info.run_id or "") == 36
    assert runtime_of(None).execution_info.thread_id is None  # pyright: ignore[reportOptionalMemberAccess]


def test_the_first_attempt_keeps_its_time() -> None:
    """Each attempt has a number; when the first one began is the same in all."""
    infos: list[ExecutionInfo] = []

    def fails(state: Seen, runtime: Runtime) -> Any:
        assert runtime.execution_info is not None
        infos.append(runtime.execution_info)
        if len(infos) < 3:
            raise ConnectionError

    policy = RetryPolicy(initial_interval=0.01, jitter=False)
    builder = StateGraph(Seen).add_node(fails, retry_policy=policy).add_edge(START, "fails")
    builder.compile().invoke({"seen": []})
    assert [info.node_attempt for info in infos] == [1, 2, 3]
    assert len({info.node_first_attempt_time for info in infos}) == 1
    assert len({info.task_id for info in infos}) == 1


def test_what_a_server_says_is_in_it() -> None:
    """Assistant, graph and user come from the config, where a server of LangGraph's puts them."""
    place: Any = {"thread_id": "1", "assistant_id": 7, "langgraph_auth_user": User(org="desk")}
    info = runtime_of(EventLog.in_memory(), config={"configurable": place}).server_info
    assert info is not None
    assert (info.assistant_id, info.graph_id) == ("7", "")
    assert isinstance(info.user, BaseUser)
    assert (info.user.identity, info.user["org"], "org" in info.user) == ("u-7", "desk", True)
    assert runtime_of(EventLog.in_memory()).server_info is None
    nobody = {"configurable": {"thread_id": "1", "langgraph_auth_user": {"name": "no user"}}}
    assert runtime_of(EventLog.in_memory(), config=nobody).server_info is None


def test_fields_may_be_replaced_in_a_copy() -> None:
    """`override`, `patch` and `patch_execution_info` change a copy; what is not there cannot be patched."""
    info = ExecutionInfo("c", "ns", "t")
    runtime: Runtime[Any] = Runtime(context="old", execution_info=info)
    assert runtime.override(context="new").context == "new"
    patched = runtime.patch_execution_info(node_attempt=2).execution_info
    assert patched == info.patch(node_attempt=2) != info
    assert (runtime.context, runtime.execution_info) == ("old", info)
    with pytest.raises(RuntimeError, match="Cannot patch execution_info before it has been set"):
        Runtime().patch_execution_info(node_attempt=2)


def test_two_may_be_merged() -> None:
    """What the other was given wins; where it was given nothing, one's own stays."""
    control, store = RunControl(), InMemoryStore()
    info, server = ExecutionInfo("c", "ns", "t"), ServerInfo("a", "g")
    chunks: list[Any] = []
    beats: list[int] = []
    own: Runtime[Any] = Runtime(
        context="own",
        store=store,
        stream_writer=chunks.append,
        heartbeat=lambda: beats.append(1),
        previous=7,
        execution_info=info,
        server_info=server,
        control=control,
    )
    nothing: Runtime[Any] = Runtime()
    assert own.merge(nothing) == nothing.merge(own) == own
    assert own.merge(Runtime(context="other", previous=0)) == own.override(context="other", previous=0)


def test_a_request_to_stop_is_seen_in_it() -> None:
    """A node that takes long may look and give up early; without a control nobody asks."""
    control = RunControl()
    runtime: Runtime[Any] = Runtime(control=control)
    assert (runtime.drain_requested, runtime.drain_reason) == (False, None)
    control.request_drain("deploy")
    assert (runtime.drain_requested, runtime.drain_reason) == (True, "deploy")
    assert (Runtime().drain_requested, Runtime().drain_reason) == (False, None)


def test_the_context_is_made_of_its_schema() -> None:
    """A dict becomes the schema's class; an object of it stays as it is."""

    @dataclass
    class Context:
        user: str
        limit: int = 3

    got: list[Any] = []

    def node(state: Seen, runtime: Runtime[Context]) -> Any:
        got.append(get_runtime(Context).context)

    builder = StateGraph(Seen, context_schema=Context).add_node("node", node).add_edge(START, "node")
    given = Context("b", 9)
    for context in ({"user": "a"}, given, None):
        builder.compile().invoke({"seen": []}, context=context)
    assert got == [Context("a"), given, None]
    assert got[1] is given


def test_the_same_on_an_event_loop() -> None:
    """A coroutine gets the same parts."""
    got: list[Runtime[Any]] = []

    async def node(state: Seen, runtime: Runtime[Any]) -> Any:
        got.append(runtime)

    graph = StateGraph(Seen).add_node(node).add_edge(START, "node").compile(store=InMemoryStore())
    control = RunControl()
    asyncio.run(graph.ainvoke({"seen": []}, context=5, control=control))
    assert (got[0].context, got[0].control, got[0].store is graph.store) == (5, control, True)
    assert got[0].execution_info is not None


@pytest.mark.oracle
def test_fields_and_defaults_are_langgraphs() -> None:
    """Names, order and defaults of every field are the same, so that what is made by place is right."""
    theirs = pytest.importorskip("langgraph.runtime")
    for ours in (Runtime, ExecutionInfo, ServerInfo):
        fields = {field.name: field.kw_only for field in dataclasses.fields(ours)}
        assert fields == {f.name: f.kw_only for f in dataclasses.fields(getattr(theirs, ours.__name__))}
    public = {name for name in dir(theirs.Runtime) if not name.startswith("_")}
    assert public <= set(dir(Runtime))
    assert {name for name in dir(theirs.RunControl) if not name.startswith("_")} <= set(dir(RunControl))
