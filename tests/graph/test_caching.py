"""Graphs with a cache: a node that was called with the same before is skipped, and writes what it wrote then."""

from __future__ import annotations

import asyncio
import operator
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import ValueEncodingError
from lithograph.eventlog.events import CacheStored
from lithograph.graph import (
    START,
    BaseCache,
    CacheKeyError,
    CachePolicy,
    Command,
    EventLogCache,
    InMemoryCache,
    MessagesState,
    RetryPolicy,
    Send,
    StateGraph,
    UntrackedValue,
    interrupt,
)
from typing_extensions import TypedDict

from tests.graph.caches import Make, StillClock


class Case(TypedDict, total=False):
    """An amount and what was found out about it."""

    amount: int
    found: Annotated[list[Any], operator.add]


def config_of(thread: str) -> Any:
    """Return the config of a thread."""
    return {"configurable": {"thread_id": thread}}


@dataclass
class Rating:
    """What a case is worth."""

    grade: str


class Rated(TypedDict, total=False):
    """A case that has a rating of the user's own class."""

    rating: Rating
    calls: Annotated[list[int], operator.add]


class Desk:
    """A graph rate -> note, of which `rate` may be cached; it counts the calls of `rate`."""

    def __init__(self, cache: Any, *, log: EventLog | None = None, policy: Any = None, **options: Any) -> None:
        self.calls: list[Any] = []
        self.log = EventLog.in_memory() if log is None else log
        builder: StateGraph[Any] = StateGraph(Case)
        builder.add_node("rate", self.rate, cache_policy=policy or CachePolicy(), **options)
        builder.add_node("note", lambda state: {"found": ["noted"]})
        builder.add_edge(START, "rate").add_edge("rate", "note")
        self.graph = builder.compile(checkpointer=self.log, cache=cache)

    def rate(self, state: Case) -> Any:
        """Count the call, and rate the amount."""
        self.calls.append(state.get("amount"))
        return {"found": [("rate", state.get("amount"))]}

    def run(self, thread: str, amount: Any = 1) -> Any:
        """Run on a thread of its own."""
        return self.graph.invoke({"amount": amount, "found": []}, config_of(thread))


def test_a_node_is_skipped_in_another_thread(cache: BaseCache[Any]) -> None:
    """Called with the same it writes the same, without being called; called with another it is called."""
    desk = Desk(cache)
    results = [desk.run("1"), desk.run("2"), desk.run("3", 2), desk.run("4", 1)]
    assert desk.calls == [1, 2]
    assert [result["found"] for result in results] == [[("rate", n), "noted"] for n in (1, 1, 2, 1)]


def test_a_hit_is_recorded_like_any_outcome(cache: BaseCache[Any]) -> None:
    """History, tasks and results of a thread do not depend on who wrote; reducers fold them to the same."""
    desk = Desk(cache)
    desk.run("called")
    desk.run("found")

    def told(thread: str) -> list[Any]:
        return [
            (s.values, s.next, s.metadata["step"], [(task.name, task.result) for task in s.tasks], s.writes)
            for s in desk.graph.get_state_history(config_of(thread))
        ]

    assert desk.calls == [1]
    assert told("found") == told("called")
    for thread in ("called", "found"):
        for entry in desk.graph.get_state_history(config_of(thread)):
            assert desk.graph.get_state(entry.config, fold="reducers").values == entry.values
    assert desk.log.verify().findings == []


def test_a_hit_says_so_in_updates(cache: BaseCache[Any]) -> None:
    """The chunk of a skipped node has LangGraph's mark; a `tasks` stream shows its start alone."""
    desk = Desk(cache)
    desk.run("1")
    given: Any = {"amount": 1, "found": []}
    chunks = [*desk.graph.stream(given, config_of("2"), stream_mode=["updates", "tasks"])]
    assert chunks[1] == ("updates", {"rate": {"found": [("rate", 1)]}, "__metadata__": {"cached": True}})
    assert [(mode, "result" in payload) for mode, payload in chunks if mode == "tasks"] == [
        ("tasks", False),
        ("tasks", False),
        ("tasks", True),
    ]


def test_it_works_without_a_log(cache: BaseCache[Any]) -> None:
    """The graph's own classes come out of the cache as they went in."""

    calls: list[int] = []

    def rate(state: Rated) -> Any:
        calls.append(1)
        return {"rating": Rating("A"), "calls": [1]}

    builder = StateGraph(Rated).add_node(rate, cache_policy=CachePolicy()).add_edge(START, "rate")
    graph = builder.compile(cache=cache)
    first, second = graph.invoke({"calls": []}), graph.invoke({"calls": []})
    assert first == second == {"rating": Rating("A"), "calls": [1]}
    assert first["rating"] is not second["rating"]
    assert calls == [1]


def test_it_works_on_an_event_loop(cache: BaseCache[Any]) -> None:
    """A coroutine is skipped like a function; what the one kept the other finds."""
    desk = Desk(cache)
    asyncio.run(desk.graph.ainvoke({"amount": 1, "found": []}, config_of("1")))
    assert desk.run("2")["found"] == [("rate", 1), "noted"]
    assert desk.calls == [1]


def test_a_cache_is_cleared_by_node(cache: BaseCache[Any]) -> None:
    """`clear_cache` forgets some nodes or all; without a cache there is nothing to clear."""
    desk = Desk(cache)
    desk.run("1")
    desk.graph.clear_cache(["note", "unknown"])
    desk.run("2")
    assert desk.calls == [1]
    desk.graph.clear_cache(["rate"])
    desk.run("3")
    asyncio.run(desk.graph.aclear_cache())
    desk.run("4")
    assert desk.calls == [1, 1, 1]
    for clear in (Desk(None).graph.clear_cache, lambda: asyncio.run(Desk(None).graph.aclear_cache())):
        with pytest.raises(ValueError, match="No cache is set for this graph"):
            clear()


def test_what_is_kept_ends_with_the_policys_time(make_cache: Make, still_clock: StillClock) -> None:
    """`ttl` seconds after the node ran it runs again; a hit does not put that off."""
    desk = Desk(make_cache(still_clock), policy=CachePolicy(ttl=60))
    desk.run("1")
    still_clock.pass_seconds(59)
    desk.run("2")
    assert desk.calls == [1]
    still_clock.pass_seconds(1)
    desk.run("3")
    assert desk.calls == [1, 1]


def test_a_key_function_says_what_is_the_same(cache: BaseCache[Any]) -> None:
    """It gets the node's input; text and bytes are keys, and what it raises fails the run."""

    def by_size(state: Case) -> str:
        amount: Any = state.get("amount")
        return "large" if amount > 10 else "small\ud800"

    desk = Desk(cache, policy=CachePolicy(key_func=by_size))
    assert [desk.run(str(n), n)["found"][0] for n in (1, 2, 11, 12)] == [
        ("rate", 1),
        ("rate", 1),
        ("rate", 11),
        ("rate", 11),
    ]
    with pytest.raises(TypeError, match="not supported between"):
        desk.run("wrong", "many")
    assert desk.graph.get_state(config_of("wrong")).next == ("rate",)


def test_an_input_without_a_stored_form_has_no_key(cache: BaseCache[Any]) -> None:
    """It is refused, naming the node and what to do; a key function of one's own helps."""
    builder: StateGraph[Any] = StateGraph(Case)
    builder.add_node("node", lambda state: {"found": [1]}, cache_policy=CachePolicy())
    builder.add_edge(START, "node")
    graph = builder.compile(cache=cache)
    with pytest.raises(CacheKeyError, match=r"the input of the node 'node' has no stored form.*key_func"):
        graph.invoke({"amount": object()})


def test_a_write_without_a_stored_form_is_refused(cache: BaseCache[Any]) -> None:
    """What no cache could give back is an error that names the node, not a cache that never hits."""
    builder: StateGraph[Any] = StateGraph(Case)
    builder.add_node("node", lambda state: {"found": [object()]}, cache_policy=CachePolicy())
    builder.add_edge(START, "node")
    with pytest.raises(ValueEncodingError) as caught:
        builder.compile(cache=cache).invoke({"amount": 1, "found": []})
    assert any("'node'" in note and "cache" in note for note in caught.value.__notes__)


def test_the_order_of_keys_does_not_matter() -> None:
    """Packets that differ in the order of a dict's keys alone are the same, and several of the same all hit."""
    calls: list[Any] = []

    def take(packet: Any) -> Any:
        calls.append(packet)
        return {"found": [packet["a"]]}

    def send(state: Case) -> Any:
        one, other = {"a": 1, "b": [{"c": 1, "d": 2}]}, {"b": [{"d": 2, "c": 1}], "a": 1}
        return [Send("take", one)] if state.get("amount") == 1 else [Send("take", other), Send("take", one)]

    builder: StateGraph[Any] = StateGraph(Case).add_node(take, cache_policy=CachePolicy())
    builder.add_conditional_edges(START, send, ["take"])
    graph = builder.compile(cache=InMemoryCache())
    assert graph.invoke({"amount": 1, "found": []})["found"] == [1]
    assert graph.invoke({"amount": 2, "found": []})["found"] == [1, 1]
    assert len(calls) == 1


def test_errors_and_questions_are_not_kept(cache: BaseCache[Any]) -> None:
    """A node that failed is called again; one that asked is kept when it has its answer."""
    calls: list[str] = []

    def fails_once(state: Case) -> Any:
        calls.append("fails")
        if calls.count("fails") == 1:
            raise ValueError("not yet")
        return {"found": ["done"]}

    def asks(state: Case) -> Any:
        calls.append("asks")
        return {"found": [interrupt("how much?")]}

    builder: StateGraph[Any] = StateGraph(Case).set_node_defaults(cache_policy=CachePolicy())
    builder.add_node(fails_once).add_node(asks).add_edge(START, "fails_once").add_edge("fails_once", "asks")
    graph = builder.compile(checkpointer=EventLog.in_memory(), cache=cache)
    given: Any = {"amount": 1, "found": []}
    with pytest.raises(ValueError, match="not yet"):
        graph.invoke(given, config_of("1"))
    assert "__interrupt__" in graph.invoke(None, config_of("1"))
    assert "__interrupt__" in graph.invoke(given, config_of("2"))
    assert calls == ["fails", "fails", "asks", "asks"]
    assert graph.invoke(Command(resume="all"), config_of("1"))["found"] == ["done", "all"]
    assert graph.invoke(given, config_of("3"))["found"] == ["done", "all"]
    assert calls == ["fails", "fails", "asks", "asks", "asks"]


def test_an_answer_is_never_passed_over(cache: BaseCache[Any]) -> None:
    """Who was asked is heard, whatever another thread's answer put into the cache meanwhile; inside a graph too.

    LangGraph drops the answer and writes the other thread's.
    """

    def asks(state: Case) -> Any:
        return {"found": [interrupt("how much?")]}

    inner = StateGraph(Case).add_node(asks).add_edge(START, "asks").compile()
    for node in (asks, inner):
        builder: StateGraph[Any] = StateGraph(Case).add_node("node", node, cache_policy=CachePolicy())
        graph = builder.add_edge(START, "node").compile(checkpointer=EventLog.in_memory(), cache=cache)
        graph.clear_cache()
        for thread in ("1", "2"):
            graph.invoke({"amount": 1, "found": []}, config_of(thread))
        question = graph.get_state(config_of("1")).config
        for thread, answer in (("1", "all"), ("2", "nothing")):
            assert graph.invoke(Command(resume=answer), config_of(thread))["found"] == [answer]
        assert graph.invoke(Command(resume="half"), question)["found"] == ["half"]
        assert graph.invoke({"amount": 1, "found": []}, config_of("3"))["found"] == ["half"]


def test_the_attempt_that_worked_is_kept(cache: BaseCache[Any]) -> None:
    """Attempts that failed leave nothing."""
    attempts: list[int] = []

    class Flaky(Desk):
        def rate(self, state: Case) -> Any:
            attempts.append(1)
            if len(attempts) < 3:
                raise ConnectionError
            return super().rate(state)

    desk = Flaky(cache, retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
    assert desk.run("1") == desk.run("2")
    assert len(attempts) == 3


def test_a_finished_sibling_is_kept_when_the_step_fails() -> None:
    """What finished beside a failure is found by the next run on another thread."""
    calls: list[str] = []

    def good(state: Case) -> Any:
        calls.append("good")
        return {"found": ["good"]}

    def bad(state: Case) -> Any:
        if not broken:
            return {"found": ["bad"]}
        finished.wait(5)
        raise ValueError(broken.pop())

    broken, finished = ["broken"], threading.Event()
    builder: StateGraph[Any] = StateGraph(Case).add_node(good, cache_policy=CachePolicy()).add_node(bad)
    builder.add_edge(START, "good").add_edge(START, "bad")
    graph = builder.compile(checkpointer=EventLog.in_memory(), cache=InMemoryCache())
    timer = threading.Timer(0.2, finished.set)
    timer.start()
    with pytest.raises(ValueError, match="broken"):
        graph.invoke({"found": []}, config_of("1"))
    assert graph.invoke({"found": []}, config_of("2"))["found"] == ["bad", "good"]
    assert calls == ["good"]


def test_where_a_node_leads_is_part_of_what_is_kept(cache: BaseCache[Any]) -> None:
    """Commands, packets and routes come out of the cache; the same node with other edges is called."""
    calls: list[str] = []

    def rate(state: Case) -> Any:
        calls.append("rate")
        return Command(update={"found": ["rate"]}, goto=[Send("take", 1), "other"])

    def graph_with(edge: str | None) -> Any:
        builder: StateGraph[Any] = StateGraph(Case).add_node(rate, cache_policy=CachePolicy())
        builder.add_node("take", lambda packet: {"found": [packet]})
        builder.add_node("other", lambda state: {"found": ["other"]})
        builder.add_node("more", lambda state: {"found": ["more"]})
        builder.add_edge(START, "rate")
        if edge:
            builder.add_edge("rate", edge)
        return builder.compile(cache=cache)

    expected = ["rate", "other", 1]
    assert [graph_with(None).invoke({"found": []})["found"] for _ in range(2)] == [expected, expected]
    assert calls == ["rate"]
    assert "more" in graph_with("more").invoke({"found": []})["found"]
    assert calls == ["rate", "rate"]


def test_messages_keep_their_ids() -> None:
    """A message that got its id when it was first written has it again: `add_messages` sees the same one."""
    messages = pytest.importorskip("langchain_core.messages")

    def answer(state: MessagesState) -> Any:
        return {"messages": [messages.AIMessage("the stone")]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer, cache_policy=CachePolicy(key_func=lambda state: "any")).add_edge(START, "answer")
    graph = builder.compile(checkpointer=EventLog.in_memory(), cache=InMemoryCache())
    first = graph.invoke({"messages": [("user", "what stands?")]}, config_of("1"))["messages"]
    again = graph.invoke({"messages": [("user", "and now?")]}, config_of("1"))["messages"]
    assert [message.content for message in again] == ["what stands?", "the stone", "and now?"]
    assert again[1].id == first[1].id


def test_untracked_values_are_kept_too() -> None:
    """A skipped node's untracked writes reach the nodes behind it, as if it had run."""

    class State(TypedDict, total=False):
        secret: Annotated[str, UntrackedValue(str)]
        seen: Annotated[list[str], operator.add]

    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("open", lambda state: {"secret": "s"}, cache_policy=CachePolicy(key_func=lambda state: "any"))
    builder.add_node("look", lambda state: {"seen": [state["secret"]]})
    builder.add_edge(START, "open").add_edge("open", "look")
    graph = builder.compile(checkpointer=EventLog.in_memory(), cache=InMemoryCache())
    for thread in ("1", "2"):
        assert graph.invoke({"seen": []}, config_of(thread))["seen"] == ["s"]


def test_what_a_cache_holds_of_another_kind_is_a_miss() -> None:
    """Anything but writes that this graph can read is not served: the node is called."""

    class Odd(InMemoryCache[Any]):
        """Finds the same for every key."""

        def get(self, keys: Sequence[Any]) -> Any:
            return dict.fromkeys(keys, self.value)

        def set(self, pairs: Mapping[Any, Any]) -> None: ...

        value: Any = None

    cache = Odd()
    desk = Desk(cache)
    for value in (None, {"n": 1}, [["found", [1]]], [["found"]], "writes"):
        cache.value = value
        assert desk.run(repr(value))["found"] == [("rate", 1), "noted"]
    assert len(desk.calls) == 5


def test_a_log_serves_another_process(tmp_path: Path) -> None:
    """A graph that is built again over the log finds what its like had kept there."""
    given: Any = {"amount": 1, "found": []}
    for turn in range(2):
        with EventLog(tmp_path / "log") as log:
            desk = Desk(EventLogCache(log), log=log)
            assert desk.graph.invoke(given, config_of(str(turn)))["found"] == [("rate", 1), "noted"]
            assert len(desk.calls) == (1 if turn == 0 else 0)
            kept = [r for page in log.scan() for r in page if r.header.kind == CacheStored.kind]
            assert len(kept) == 1
            assert log.verify().findings == []


@pytest.mark.oracle
def test_langgraphs_caches_do_too() -> None:
    """Any object with LangGraph's methods is a cache."""
    theirs = pytest.importorskip("langgraph.cache.memory")
    desk = Desk(theirs.InMemoryCache())
    assert desk.run("1") == desk.run("2")
    found = asyncio.run(desk.graph.ainvoke({"amount": 1, "found": []}, config_of("3")))["found"]
    assert found == [("rate", 1), "noted"]
    assert desk.calls == [1]


@dataclass
class Grade:
    """A class that only a graph inside a node knows."""

    letter: str


class Graded(TypedDict, total=False):
    """What a graph inside a node keeps."""

    amount: int
    grade: Grade


def test_a_graph_inside_a_node_has_a_cache_of_its_own(cache: BaseCache[Any]) -> None:
    """Its nodes are skipped where it was compiled with one, with values of its own classes; else they run."""
    calls: list[int] = []

    def rate(state: Graded) -> Any:
        calls.append(1)
        return {"grade": Grade("A")}

    builder = StateGraph(Graded).add_node(rate, cache_policy=CachePolicy()).add_edge(START, "rate")
    inner = builder.compile(cache=cache)

    def ask(state: Case) -> Any:
        result = inner.invoke({"amount": state.get("amount", 0)})
        assert result["grade"] == Grade("A")
        return {"found": [result["grade"].letter]}

    graph = StateGraph(Case).add_node(ask).add_edge(START, "ask").compile()
    for _ in range(2):
        assert graph.invoke({"amount": 1, "found": []})["found"] == ["A"]
    assert calls == [1]
    inner = builder.compile()
    outside = StateGraph(Case).add_node(ask).add_edge(START, "ask").compile(cache=cache)
    for _ in range(2):
        assert outside.invoke({"amount": 1, "found": []})["found"] == ["A"]
    assert calls == [1, 1, 1]
