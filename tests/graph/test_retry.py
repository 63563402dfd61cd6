"""`RetryPolicy`: which failures are tried again, how often, and what an attempt begins with."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.events import ChannelWritten
from lithograph.graph import (
    START,
    Command,
    RetryPolicy,
    Runtime,
    Send,
    StateGraph,
    default_retry_on,
    interrupt,
)
from lithograph.graph.retry import pause_before_retry

from .chains import ONE, Log, twin

AT_ONCE = {"initial_interval": 0.0, "jitter": False}
FRESH = {"n": 0, "log": []}
Run = Callable[..., Any]


class Flaky(Exception):
    """What may pass."""


@pytest.fixture
def log() -> Iterator[EventLog]:
    """A log in memory."""
    with EventLog.in_memory() as opened:
        yield opened


@pytest.fixture(params=["threads", "event loop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run a graph on either driver."""

    return twin("invoke", request.param)


def graph_of(log: EventLog, node: Any, policy: Any) -> Any:
    """Return a graph of one node with a policy, and one behind it."""
    builder: StateGraph[Any] = StateGraph(Log)
    builder.add_node("node", node, retry_policy=policy)
    builder.add_node("last", lambda state: {"log": ["last"]})
    builder.add_edge(START, "node")
    builder.add_edge("node", "last")
    return builder.compile(checkpointer=log)


def failing(times: int, error: Exception, seen: list[Any]) -> Any:
    """Return a node that fails so many times, and keeps what it was called with."""

    def node(state: Log, runtime: Runtime[Any]) -> Any:
        seen.append((runtime.execution_info.node_attempt, list(state["log"])))  # type: ignore[union-attr]
        state["log"].append("edited in place")
        if len(seen) <= times:
            raise error
        return {"log": [f"attempt {len(seen)}"]}

    return node


def test_a_failure_that_passes_is_no_failure(log: EventLog, run: Run) -> None:
    """Each attempt begins with the values as they were; the log has the last attempt, and no error."""
    seen: list[Any] = []
    graph = graph_of(log, failing(2, Flaky("not yet"), seen), RetryPolicy(**AT_ONCE))
    assert run(graph, FRESH, ONE)["log"] == ["attempt 3", "last"]
    assert seen == [(1, []), (2, []), (3, [])]
    written = [r.event for page in log.scan() for r in page if isinstance(r.event, ChannelWritten)]
    assert [event.node for event in written if event.node in ("node", "last")] == ["node", "last"]
    assert all(task.error is None for entry in graph.get_state_history(ONE) for task in entry.tasks)


def test_attempts_end(log: EventLog, run: Run) -> None:
    """After the last attempt the error is raised and recorded, and the next call begins to count anew."""
    seen: list[Any] = []
    graph = graph_of(log, failing(5, Flaky("not yet"), seen), RetryPolicy(max_attempts=3, **AT_ONCE))
    with pytest.raises(Flaky, match="not yet"):
        run(graph, FRESH, ONE)
    assert [attempt for attempt, _ in seen] == [1, 2, 3]
    assert "not yet" in str(graph.get_state(ONE).tasks[0].error)
    assert run(graph, None, ONE)["log"] == ["attempt 6", "last"]
    assert [attempt for attempt, _ in seen] == [1, 2, 3, 1, 2, 3]


@pytest.mark.parametrize(
    ("policy", "attempts"),
    [
        (RetryPolicy(retry_on=KeyError, **AT_ONCE), 1),
        (RetryPolicy(retry_on=Flaky, **AT_ONCE), 3),
        (RetryPolicy(retry_on=(KeyError, Flaky), **AT_ONCE), 3),
        (RetryPolicy(retry_on=lambda error: "no" in str(error), **AT_ONCE), 3),
        (RetryPolicy(retry_on=lambda error: "yes" in str(error), **AT_ONCE), 1),
        ([RetryPolicy(retry_on=KeyError, max_attempts=9, **AT_ONCE), RetryPolicy(max_attempts=2, **AT_ONCE)], 2),
        ([RetryPolicy(max_attempts=4, **AT_ONCE), RetryPolicy(max_attempts=2, **AT_ONCE)], 4),
        ([], 1),
    ],
)
def test_the_first_policy_that_matches_says(log: EventLog, policy: Any, attempts: int) -> None:
    """By class, by several, by a function; of several policies the first one that matches."""
    seen: list[Any] = []
    with pytest.raises(Flaky):
        graph_of(log, failing(99, Flaky("no"), seen), policy).invoke(FRESH, ONE)
    assert len(seen) == attempts


def test_a_question_is_no_failure(log: EventLog, run: Run) -> None:
    """An interrupt pauses at once, and an answer that was given is there in every attempt behind it."""
    calls: list[Any] = []

    def node(state: Log) -> Any:
        answer = interrupt("?")
        calls.append(answer)
        if len(calls) == 1:
            raise Flaky("after the answer")
        return {"log": [answer]}

    graph = graph_of(log, node, RetryPolicy(**AT_ONCE))
    assert run(graph, FRESH, ONE)["__interrupt__"][0].value == "?"
    assert run(graph, Command(resume="yes"), ONE)["log"] == ["yes", "last"]
    assert calls == ["yes", "yes"]


def test_a_router_that_fails_is_tried_again_with_its_node(log: EventLog, run: Run) -> None:
    """Routing is part of the step."""
    calls: list[str] = []

    def node(state: Log) -> Any:
        calls.append("node")
        return {"log": ["node"]}

    def route(state: Log) -> Any:
        calls.append("route")
        if len(calls) == 2:
            raise Flaky("lost")
        return [Send("last", state)]

    builder: StateGraph[Any] = StateGraph(Log)
    builder.add_node("node", node, retry_policy=RetryPolicy(**AT_ONCE))
    builder.add_node("last", lambda state: {"log": ["last"]})
    builder.add_edge(START, "node")
    builder.add_conditional_edges("node", route, ["last"])
    assert run(builder.compile(checkpointer=log), FRESH, ONE)["log"] == ["node", "last"]
    assert calls == ["node", "route", "node", "route"]


def test_intervals_grow_up_to_their_limit() -> None:
    """Seconds before each attempt: a factor more each time, never over the limit, up to one more with jitter."""
    policy = RetryPolicy(initial_interval=1, backoff_factor=3, max_interval=10, max_attempts=9, jitter=False)
    pauses = [pause_before_retry((policy,), Flaky(), attempts) for attempts in range(1, 10)]
    assert pauses == [1, 3, 9, 10, 10, 10, 10, 10, None]
    jittered = [pause_before_retry((policy._replace(jitter=True),), Flaky(), 2) for _ in range(50)]
    assert all(pause is not None and 3 <= pause <= 4 for pause in jittered)
    assert len(set(jittered)) > 1


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ConnectionResetError(), True),
        (Flaky(), True),
        (ValueError(), False),
        (KeyError(), False),
        (TimeoutError(), False),
        (RuntimeError(), False),
    ],
)
def test_what_is_tried_again_where_nobody_says(error: Exception, expected: bool) -> None:
    """Lost connections and what is of no known kind; not what the same call would raise again."""
    langgraph = pytest.importorskip("langgraph.types")
    assert default_retry_on(error) is expected
    assert langgraph.default_retry_on(error) is expected


@pytest.mark.parametrize(("status", "expected"), [(500, True), (503, True), (404, False), (429, False)])
def test_a_servers_own_failure_is_tried_again(status: int, expected: bool) -> None:
    """An HTTP status of 5xx, without importing whatever library it is of."""
    httpx = pytest.importorskip("httpx")
    request = httpx.Request("GET", "http://server.invalid")
    error = httpx.HTTPStatusError("no", request=request, response=httpx.Response(status, request=request))
    assert default_retry_on(error) is expected


def test_defaults_are_for_nodes_that_were_told_nothing(log: EventLog) -> None:
    """The graph's policy holds where a node has none of its own, whichever was said first."""
    calls: list[str] = []

    def failing_as(name: str) -> Any:
        def node(state: Log) -> Any:
            calls.append(name)
            if calls.count(name) < 3:
                raise Flaky(name)
            return {"log": [name]}

        return node

    builder: StateGraph[Any] = StateGraph(Log)
    builder.add_node("before", failing_as("before"))
    builder.set_node_defaults(retry_policy=RetryPolicy(max_attempts=3, **AT_ONCE))
    builder.add_node("own", failing_as("own"), retry_policy=RetryPolicy(max_attempts=2, **AT_ONCE))
    builder.add_node("none", failing_as("none"), retry_policy=[])
    for name in ("before", "own", "none"):
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=log)
    with pytest.raises(Flaky):
        graph.invoke(FRESH, ONE)
    assert [calls.count(name) for name in ("before", "own", "none")] == [3, 2, 1]


def test_what_is_no_policy_is_refused() -> None:
    """At `add_node`, before anything runs."""
    with pytest.raises(TypeError, match="RetryPolicy"):
        StateGraph(Log).add_node("node", lambda state: None, retry_policy=[3])
