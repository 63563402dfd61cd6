"""Where we differ from LangGraph on purpose: a test for each row of the design's table in this release's scope.

Rows that belong to the memory store are tested in `tests/store/`; all else is compared in `tests/oracle/`.
"""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

import enum
import operator
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import ConflictError, UnsupportedTypeError
from lithograph.graph import (
    END,
    START,
    CheckpointNotFound,
    Command,
    EmptyInputError,
    GraphRecursionError,
    InvalidUpdateError,
    NodeNotFound,
    NothingToResume,
    Overwrite,
    Send,
    StateGraph,
    UnknownInterruptError,
    UnknownKeyWarning,
    interrupt,
)
from lithograph.projections import EventLogSaver
from typing_extensions import TypedDict

ONE: Any = {"configurable": {"thread_id": "1"}}


class Log(TypedDict):
    """A number without a reducer and a list with one."""

    n: int
    log: Annotated[list[Any], operator.add]


@pytest.fixture
def log() -> Iterator[EventLog]:
    """A log in memory."""
    with EventLog.in_memory() as opened:
        yield opened


def _chain(schema: Any = Log, **nodes: Callable[..., Any]) -> StateGraph[Any]:
    builder: StateGraph[Any] = StateGraph(schema)
    for before, name in zip((START, *nodes), nodes, strict=False):
        builder.add_node(name, nodes[name])
        builder.add_edge(before, name)
    return builder


def _stamp(name: str) -> Callable[[Any], Any]:
    return lambda state: {"log": [name]}


def _ask(question: Any = "?") -> Callable[[Any], Any]:
    return lambda state: {"log": [interrupt(question)]}


def _events(log: EventLog) -> int:
    return log.log_head().position


# Two runs on one thread


class _Rival:
    """A node that, on its first visit, waits until another run of the same thread has finished."""

    def __init__(self) -> None:
        self.entered, self.go_on = threading.Event(), threading.Event()

    def __call__(self, state: Log) -> Any:
        if state["n"] == 1:
            self.entered.set()
            assert self.go_on.wait(10)
        return {"log": [f"run {state['n']}"]}


def _overtake(log: EventLog, **options: Any) -> tuple[Any, list[Any]]:
    """Start run 1, let run 2 take its thread over, and return the graph and what became of run 1."""
    rival, outcome = _Rival(), list[Any]()
    graph = _chain(slow=rival, after=_stamp("after")).compile(checkpointer=log)

    def first() -> None:
        try:
            outcome.append(graph.invoke({"n": 1, "log": []}, ONE, durability="sync", **options))
        except ConflictError as error:
            outcome.append(error)

    thread = threading.Thread(target=first)
    thread.start()
    assert rival.entered.wait(10)
    graph.invoke({"n": 2, "log": []}, ONE)
    rival.go_on.set()
    thread.join(10)
    return graph, outcome


def test_of_two_runs_the_overtaken_one_gets_a_conflict(log: EventLog) -> None:
    """The run that lost its thread raises `ConflictError` with both versions; the other's state stands."""
    graph, [error] = _overtake(log)
    assert isinstance(error, ConflictError)
    assert error.actual > error.expected
    assert graph.get_state(ONE).values["log"] == ["run 2", "after"]


def test_the_overtaken_run_may_go_on_in_a_fork(log: EventLog) -> None:
    """With `on_conflict="fork"` both runs end, the loser on a thread of its own."""
    graph, [result] = _overtake(log, on_conflict="fork")
    assert result["log"] == ["run 1", "after"]
    assert graph.get_state(ONE).values["log"] == ["run 2", "after"]


# Unknown checkpoints


def test_an_unknown_checkpoint_id_is_refused(log: EventLog) -> None:
    """Every way to name a checkpoint that is not there raises `CheckpointNotFound` and appends nothing."""
    graph = _chain(a=_stamp("a")).compile(checkpointer=log)
    graph.invoke({"n": 1}, ONE)
    missing: Any = {"configurable": {"thread_id": "1", "checkpoint_id": str(uuid.UUID(int=0))}}
    before = _events(log)
    acts: list[Callable[[], Any]] = [
        lambda: graph.invoke({"n": 2}, missing),
        lambda: graph.invoke(None, missing),
        lambda: list(graph.stream({"n": 2}, missing)),
        lambda: graph.update_state(missing, {"n": 3}),
        lambda: graph.get_state(missing),
        lambda: list(graph.get_state_history(missing)),
    ]
    for act in acts:
        with pytest.raises(CheckpointNotFound):
            act()
    assert _events(log) == before


def test_a_saver_finds_nothing_at_an_unknown_checkpoint_id(log: EventLog) -> None:
    """The saver's own interface says `None` and nothing instead of raising."""
    _chain(a=_stamp("a")).compile(checkpointer=log).invoke({"n": 1}, ONE)
    missing: Any = {
        "configurable": {"thread_id": "1", "checkpoint_ns": "", "checkpoint_id": str(uuid.UUID(int=0))}
    }
    saver = EventLogSaver(log)
    assert saver.get_tuple(missing) is None
    assert list(saver.list(missing)) == []


def test_an_unknown_thread_is_empty_also_with_an_id(log: EventLog) -> None:
    """A thread nobody wrote to reads as empty, whatever checkpoint of it is named."""
    graph = _chain(a=_stamp("a")).compile(checkpointer=log)
    nowhere: Any = {"configurable": {"thread_id": "new", "checkpoint_id": str(uuid.UUID(int=0))}}
    assert graph.get_state(nowhere).values == {}
    assert list(graph.get_state_history(nowhere)) == []


# Answers


def _answered(log: EventLog) -> tuple[Any, Any]:
    graph = _chain(ask=_ask(), after=_stamp("after")).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    asked = graph.get_state(ONE).config
    graph.invoke(Command(resume="old"), ONE)
    return graph, asked


def test_an_answer_to_an_answered_question_makes_a_branch(log: EventLog) -> None:
    """The new answer counts, on a fork; the old branch stays as it was."""
    graph, asked = _answered(log)
    old_head = graph.get_state(ONE)
    result = graph.invoke(Command(resume="new"), asked)
    assert result["log"] == ["new", "after"]
    assert graph.get_state(ONE).values["log"] == ["new", "after"]
    assert graph.get_state(old_head.config).values == old_head.values
    fork = next(s for s in graph.get_state_history(ONE) if s.metadata["source"] == "fork")
    assert fork.values == graph.get_state(asked).values
    assert fork.parent_config == asked


def test_a_map_of_answers_at_an_answered_checkpoint_is_carried_over(log: EventLog) -> None:
    """Ids of the addressed checkpoint answer the same questions on the fork, and finished siblings rerun."""
    runs: list[str] = []
    builder: StateGraph[Any] = StateGraph(Log)
    for name in ("a", "b"):
        builder.add_node(name, _ask(name))
        builder.add_edge(START, name)
    builder.add_node("quiet", lambda state: runs.append("quiet"))
    builder.add_edge(START, "quiet")
    graph = builder.compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    paused = graph.get_state(ONE)
    ids = {item.value: item.id for item in paused.interrupts}
    graph.invoke(Command(resume={ids["a"]: "a1", ids["b"]: "b1"}), ONE)
    result = graph.invoke(Command(resume={ids["a"]: "a2", ids["b"]: "b2"}), paused.config)
    assert result["log"] == ["a2", "b2"]
    assert runs == ["quiet", "quiet"]


def test_an_answer_with_nothing_pending_is_refused(log: EventLog) -> None:
    """On a finished, and on an empty thread, an answer raises `NothingToResume` and appends nothing."""
    graph, _asked = _answered(log)
    before = _events(log)
    for config in (ONE, {"configurable": {"thread_id": "empty"}}):
        with pytest.raises(NothingToResume):
            graph.invoke(Command(resume="too late"), config)
    assert _events(log) == before


def test_an_answer_goes_on_from_a_breakpoint_and_from_a_failure(log: EventLog) -> None:
    """Where tasks wait without a question an answer is as good as None."""
    broken = [True]

    def shaky(state: Log) -> Any:
        if broken[0]:
            raise ValueError("broken")
        return {"log": ["shaky"]}

    graph = _chain(a=_stamp("a"), shaky=shaky).compile(checkpointer=log, interrupt_before=["shaky"])
    graph.invoke({"n": 1, "log": []}, ONE)
    with pytest.raises(ValueError, match="broken"):
        graph.invoke(Command(resume="go on"), ONE)
    broken[0] = False
    assert graph.invoke(Command(resume="again"), ONE)["log"] == ["a", "shaky"]


@pytest.mark.parametrize("answer", [None, {}, {"key": 1}, {"a" * 32: 1}, [], 0, ""])
def test_any_answer_is_a_value(log: EventLog, answer: Any) -> None:
    """None, an empty dict, a dict with keys that look like ids: what is answered is what the node gets."""
    graph = _chain(ask=_ask()).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    assert graph.invoke(Command(resume=answer), ONE)["log"] == [answer]


def test_a_map_with_an_id_that_is_not_pending_is_refused(log: EventLog) -> None:
    """A map of ids this thread raised, one of them answered already: refused, nothing applied."""
    graph = _chain(ask=_ask("one"), more=_ask("two")).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    [first] = graph.get_state(ONE).interrupts
    graph.invoke(Command(resume="1"), ONE)
    [second] = graph.get_state(ONE).interrupts
    before = _events(log)
    with pytest.raises(UnknownInterruptError):
        graph.invoke(Command(resume={first.id: "again", second.id: "2"}), ONE)
    assert _events(log) == before
    assert graph.invoke(Command(resume={second.id: "2"}), ONE)["log"] == ["1", "2"]


def test_a_bare_answer_to_several_questions_names_them(log: EventLog) -> None:
    """The refusal names the ids of all questions that wait, and nothing was applied."""
    builder: StateGraph[Any] = StateGraph(Log)
    for name in ("a", "b"):
        builder.add_node(name, _ask(name))
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    ids = [item.id for item in graph.get_state(ONE).interrupts]
    before = _events(log)
    with pytest.raises(RuntimeError) as caught:
        graph.invoke(Command(resume="for whom?"), ONE)
    assert all(id in str(caught.value) for id in ids)
    assert _events(log) == before


# Commands as input


def test_an_update_on_a_finished_thread_is_a_checkpoint_of_its_own(log: EventLog) -> None:
    """The head is not rewritten: the update is a new checkpoint, and the old one reads as before."""
    graph = _chain(a=_stamp("a")).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    head = graph.get_state(ONE)
    graph.invoke(Command(update={"n": 5, "log": ["edited"]}), ONE)
    new = graph.get_state(ONE)
    assert (new.values, new.metadata["source"]) == ({"n": 5, "log": ["a", "edited"]}, "update")
    assert new.parent_config == head.config
    assert graph.get_state(head.config).values == head.values


def test_an_empty_command_is_empty_input(log: EventLog) -> None:
    """`Command()` as input raises `EmptyInputError`."""
    graph = _chain(a=_stamp("a")).compile(checkpointer=log)
    with pytest.raises(EmptyInputError):
        graph.invoke(Command(), ONE)
    graph.invoke({"n": 1}, ONE)
    with pytest.raises(EmptyInputError):
        graph.invoke(Command(), ONE)


# Steps that are refused


def test_a_conflict_on_a_channel_leaves_the_thread_usable(log: EventLog) -> None:
    """Two writers on a last-value channel: refused, shown on the tasks, and run again once repaired."""
    values, runs = {"a": 1, "b": 2}, list[str]()

    def writer(name: str) -> Callable[[Any], Any]:
        def node(state: Log) -> Any:
            runs.append(name)
            return {"n": values[name]} if name in values else {"log": [name]}

        return node

    builder: StateGraph[Any] = StateGraph(Log)
    for name in ("a", "b", "c"):
        builder.add_node(name, writer(name))
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=log)
    with pytest.raises(InvalidUpdateError):
        graph.invoke({"n": 0, "log": []}, ONE)
    paused = graph.get_state(ONE)
    assert paused.values == {"n": 0, "log": ["c"]}
    assert {task.name for task in paused.tasks if task.error} == {"a", "b"}
    del values["b"]
    runs.clear()
    assert graph.invoke(None, ONE) == {"n": 1, "log": ["b", "c"]}
    assert sorted(runs) == ["a", "b"]


def test_a_reducer_that_raises_leaves_the_thread_usable(log: EventLog) -> None:
    """A reducer's own error refuses the step; the thread goes on once the reducer works."""
    broken = [True]

    def picky(left: list[Any], right: list[Any]) -> list[Any]:
        if broken[0] and "a" in right:
            raise ValueError("cannot add that")
        return left + right

    class State(TypedDict):
        log: Annotated[list[Any], picky]

    graph = _chain(State, a=_stamp("a"), b=_stamp("b")).compile(checkpointer=log)
    with pytest.raises(ValueError, match="cannot add that"):
        graph.invoke({"log": ["in"]}, ONE)
    assert graph.get_state(ONE).values == {"log": ["in"]}
    broken[0] = False
    assert graph.invoke(None, ONE) == {"log": ["in", "a", "b"]}


def test_a_router_that_raises_is_run_again(log: EventLog) -> None:
    """Routing is part of the step: after its failure the node and its router run again."""
    broken = [True]

    def route(state: Log) -> str:
        if broken[0]:
            raise ValueError("which way?")
        return "b"

    builder = _chain(a=_stamp("a"))
    builder.add_node("b", _stamp("b"))
    builder.add_conditional_edges("a", route, ["b"])
    graph = builder.compile(checkpointer=log)
    with pytest.raises(ValueError, match="which way"):
        graph.invoke({"n": 1, "log": []}, ONE)
    assert graph.get_state(ONE).next == ("a",)
    broken[0] = False
    assert graph.invoke(None, ONE)["log"] == ["a", "b"]


# Nodes that are not there


def test_pending_work_of_a_renamed_node_is_found_or_refused(log: EventLog) -> None:
    """A graph without the pending node raises `NodeNotFound`, but reads; with an alias it goes on."""
    _chain(a=_stamp("a"), old=_stamp("old")).compile(checkpointer=log, interrupt_before=["old"]).invoke(
        {"n": 1, "log": []}, ONE
    )
    renamed = _chain(a=_stamp("a"), new=_stamp("new"))
    graph = renamed.compile(checkpointer=log)
    assert graph.get_state(ONE).next == ("old",)
    before = _events(log)
    with pytest.raises(NodeNotFound, match="old"):
        graph.invoke(None, ONE)
    assert _events(log) == before
    assert renamed.compile(checkpointer=log, aliases={"old": "new"}).invoke(None, ONE)["log"] == ["a", "new"]


@pytest.mark.parametrize("target", ["nobody", Send("nobody", {})])
def test_a_goto_to_an_unknown_node_is_refused(log: EventLog, target: Any) -> None:
    """A `goto` or a `Send` to a node that is not there raises instead of ending in silence."""
    graph = _chain(a=lambda state: Command(goto=target)).compile(checkpointer=log)
    with pytest.raises(NodeNotFound, match="nobody"):
        graph.invoke({"n": 1, "log": []}, ONE)


# Input and keys


def test_new_input_with_the_same_run_id_is_applied(log: EventLog) -> None:
    """The run id in the config does not turn new input into a resume."""
    graph = _chain(a=_stamp("a")).compile(checkpointer=log)
    config: Any = {**ONE, "metadata": {"run_id": "r1"}}
    graph.invoke({"n": 1, "log": ["one"]}, config)
    assert graph.invoke({"n": 2, "log": ["two"]}, config)["log"] == ["one", "a", "two", "a"]


def test_an_unknown_key_warns_and_reaches_the_router(log: EventLog) -> None:
    """A key that no channel has is not stored, is seen by routers, and names itself in a warning."""
    seen: list[Any] = []
    builder: StateGraph[Any] = StateGraph(Log)
    builder.add_node("a", lambda state: {"log": ["a"], "tpyo": 1})
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", lambda state: seen.append(state.get("tpyo")) or END)
    graph = builder.compile(checkpointer=log)
    with pytest.warns(UnknownKeyWarning, match=r"tpyo"):
        assert graph.invoke({"n": 1, "log": []}, ONE) == {"n": 1, "log": ["a"]}
    assert seen == [1]


def test_an_unknown_key_is_refused_when_strict_and_silent_as_input(log: EventLog) -> None:
    """`strict=True` makes an unknown key of a node an error; in the input it is ignored without a word."""
    graph = _chain(a=lambda state: {"tpyo": 1}).compile(checkpointer=log, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidUpdateError, match="tpyo"):
            graph.invoke({"n": 1, "unknown": 2}, ONE)


def test_an_overwrite_of_an_empty_channel_is_unwrapped(log: EventLog) -> None:
    """The first value of a reducer's channel may be an `Overwrite`: its value is stored, not the object."""

    class State(TypedDict):
        best: Annotated[Any, lambda left, right: max(left, right)]

    graph = _chain(State, a=lambda state: {"best": Overwrite(3)}, b=lambda state: {"best": 2}).compile(
        checkpointer=log
    )
    assert graph.invoke({}, ONE) == {"best": 3}


def test_the_recursion_limit_is_exact_on_resume(log: EventLog) -> None:
    """A limit of N allows N steps on a fresh thread and on one that goes on."""
    builder = _chain(tick=lambda state: {"n": state["n"] + 1})
    builder.add_conditional_edges("tick", lambda state: "tick")
    graph = builder.compile(checkpointer=log)
    for expected in (3, 5):
        with pytest.raises(GraphRecursionError):
            graph.invoke(
                {"n": 0} if expected == 3 else None, {**ONE, "recursion_limit": 3 if expected == 3 else 2}
            )
        assert graph.get_state(ONE).values["n"] == expected


@pytest.mark.parametrize("thread_id", [None, 1.5, b"1", ("1",), True, object()])
def test_only_text_int_and_uuid_name_a_thread(log: EventLog, thread_id: Any) -> None:
    """Anything else as thread id is refused instead of turned into text."""
    graph = _chain(a=_stamp("a")).compile(checkpointer=log)
    with pytest.raises((TypeError, ValueError)):
        graph.invoke({"n": 1}, {"configurable": {"thread_id": thread_id}})
    assert _events(log) == 0


def test_a_history_query_that_makes_no_sense_is_refused(log: EventLog) -> None:
    """A negative limit and a filter that is no mapping of names raise `ValueError`."""
    graph = _chain(a=_stamp("a")).compile(checkpointer=log)
    graph.invoke({"n": 1}, ONE)
    with pytest.raises(ValueError, match="limit"):
        list(graph.get_state_history(ONE, limit=-1))
    with pytest.raises(ValueError):
        list(graph.get_state_history(ONE, filter={"step": {"$near": 1}}))


# Values


class Colour(enum.Enum):
    """An enum of the user's, known to the graph through the schema."""

    RED = "r"


EXACT = [
    (1, (2, [3])),
    {1, 2},
    frozenset({"a"}),
    2**100,
    Decimal("1.10"),
    ZoneInfo("Europe/Berlin"),
    {(1, 2): "tuple key", 1: "int key"},
    bytearray(b"x"),
    Colour.RED,
]


@pytest.mark.parametrize("value", EXACT, ids=lambda value: type(value).__name__)
def test_values_come_back_as_they_were(log: EventLog, value: Any) -> None:
    """What LangGraph changes in silence comes back equal and of the same type, in the run and after."""

    class State(TypedDict):
        value: Any
        colour: Colour
        seen: Any

    graph = _chain(
        State, a=lambda state: {"value": value}, b=lambda state: {"seen": type(state["value"]).__name__}
    ).compile(checkpointer=log)
    graph.invoke({}, ONE)
    stored = graph.get_state(ONE).values
    assert (stored["value"], type(stored["value"])) == (value, type(value))
    assert stored["seen"] == type(value).__name__


def test_a_value_that_would_not_survive_is_refused_at_once(log: EventLog) -> None:
    """An unregistered object is refused inside the run, with its path; later nodes do not run."""

    class Stranger:
        pass

    later: list[str] = []
    graph = _chain(
        a=lambda state: {"log": [1, {"k": Stranger()}]}, b=lambda state: later.append("b")
    ).compile(checkpointer=log)
    with pytest.raises(UnsupportedTypeError, match="Stranger") as caught:
        graph.invoke({"n": 1, "log": []}, ONE)
    assert "[1]['k']" in str(caught.value)
    assert later == []
    assert graph.get_state(ONE).values == {"n": 1, "log": []}


def test_reading_runs_no_user_code(log: EventLog) -> None:
    """State and history of a paused parallel step are read without calling reducers, nodes or routers."""
    calls: list[str] = []

    def merge(left: list[Any], right: list[Any]) -> list[Any]:
        calls.append("reducer")
        return left + right

    class State(TypedDict):
        log: Annotated[list[Any], merge]

    builder: StateGraph[Any] = StateGraph(State)
    for name, node in (("ask", _ask()), ("quiet", _stamp("quiet"))):
        builder.add_node(name, node)
        builder.add_edge(START, name)
    builder.add_conditional_edges("quiet", lambda state: calls.append("router") or END)
    graph = builder.compile(checkpointer=log)
    graph.invoke({"log": ["in"]}, ONE)
    calls.clear()
    assert graph.get_state(ONE).values == {"log": ["in", "quiet"]}
    assert next(graph.get_state_history(ONE)).values == {"log": ["in"]}
    assert calls == []


# Who and why


def test_a_manual_edit_says_who_and_why(log: EventLog) -> None:
    """Actor and reason are on the events of an edit, whether or not its metadata asks for it."""
    graph = _chain(a=_stamp("a")).compile(checkpointer=log)
    graph.invoke({"n": 1, "log": []}, ONE)
    before = _events(log)
    with log.as_actor("alice", reason="typing error"):
        graph.update_state(ONE, {"n": 2})
    bodies = [record.body for record in log.read(before, 100)]
    assert bodies
    assert {(body.actor, body.reason) for body in bodies} == {("alice", "typing error")}
