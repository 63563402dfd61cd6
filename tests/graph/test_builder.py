"""Tests of the builder: what it refuses, and what the spec it makes says and does."""

from __future__ import annotations

import operator
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import pytest
from lithograph.graph import types as graph_types
from lithograph.graph.builder import StateGraph
from lithograph.graph.errors import (
    InvalidUpdateError,
    NodeNotFound,
    ParentCommand,
)
from lithograph.graph.managed import RemainingSteps
from lithograph.graph.messages import MessagesState
from lithograph.graph.spec import GraphSpec
from lithograph.graph.types import END, START, Command, Runtime, Send
from lithograph.projections.channels import NamedBarrierValue, Topic
from pydantic import BaseModel

from .scopes import FixedScope

SCOPE = FixedScope({}, Runtime())


class State(TypedDict):
    foo: str
    bar: Annotated[list[str], operator.add]


class Narrow(TypedDict):
    foo: str


class Private(TypedDict):
    secret: str


class Model(BaseModel):
    a: int
    b: int | None = None


@dataclass
class Record:
    a: int


def node_a(state: State) -> dict[str, Any]:
    """Return an update of both keys."""
    return {"foo": "a", "bar": ["a"]}


def node_b(state: State) -> dict[str, Any]:
    """Return an update of both keys."""
    return {"foo": "b", "bar": ["b"]}


def seed_spec(**options: Any) -> GraphSpec:
    """Return the spec of two nodes in a row."""
    builder = StateGraph(State).add_sequence([node_a, node_b])
    return builder.set_entry_point("node_a").set_finish_point("node_b").spec(**options)


def writes_of(schema: Any, result: Any) -> list[tuple[str, Any]]:
    """Return what `result` writes, returned by node `x` of a graph with nodes `x` and `y`."""
    builder = StateGraph(schema).add_node("x", lambda state: None).add_node("y", lambda state: None)
    return builder.add_edge(START, "x").spec().nodes["x"].writes(result)


def test_the_seed_graph_as_a_spec() -> None:
    """Nodes, triggers, channels and edges of the first example are what the loop expects."""
    spec = seed_spec()
    assert list(spec.nodes) == [START, "node_a", "node_b"]
    assert list(spec.channels) == [
        "foo",
        "bar",
        START,
        "branch:to:node_a",
        "branch:to:node_b",
        "__pregel_tasks",
    ]
    assert all(channel.key == name for name, channel in spec.channels.items())
    assert spec.nodes["node_a"].triggers == ("branch:to:node_a",)
    assert spec.nodes["node_a"].edges == (("branch:to:node_b", None),)
    assert spec.nodes["node_b"].edges == ()
    assert spec.nodes[START].edges == (("branch:to:node_a", None),)
    assert (spec.name, seed_spec(name="mine").name) == ("LangGraph", "mine")
    assert spec.trigger_to_nodes["branch:to:node_b"] == ("node_b",)
    assert (spec.input_channels, spec.output_channels, spec.stream_channels) == (
        START,
        ("foo", "bar"),
        ("foo", "bar"),
    )
    node = spec.nodes["node_a"]
    state = node.read({"foo": "", "bar": [], "branch:to:node_a": None})
    assert state == {"foo": "", "bar": []}
    assert node.writes(node.call(state, SCOPE)) == [("foo", "a"), ("bar", ["a"])]


def test_start_writes_the_keys_of_the_input_schema() -> None:
    """Input keys outside the input schema are dropped in silence; the input is read from `__start__`."""
    builder = StateGraph(State, input_schema=Narrow).add_node(node_a).add_edge(START, "node_a")
    start = builder.spec().nodes[START]
    given = start.read({START: {"foo": "x", "bar": ["y"], "unknown": 1}})
    assert start.writes(start.call(given, SCOPE)) == [("foo", "x")]
    assert start.unknown_keys(given) == ()
    assert start.hidden


def test_a_join_waits_for_all_its_starts() -> None:
    """Several starts make one barrier that triggers the end and that each start writes its name to."""
    builder = StateGraph(State)
    for name in ("b", "a", "c"):
        builder.add_node(name, node_a)
    spec = builder.add_edge(START, "b").add_edge(START, "a").add_edge(["b", "a"], "c").spec()
    barrier = spec.channels["join:b+a:c"]
    assert isinstance(barrier, NamedBarrierValue)
    assert barrier.names == {"a", "b"}
    assert spec.nodes["c"].triggers == ("branch:to:c", "join:b+a:c")
    assert spec.nodes["a"].edges == (("join:b+a:c", "a"),)
    assert spec.trigger_to_nodes["join:b+a:c"] == ("c",)


def test_unknown_keys_are_named_and_not_written() -> None:
    """A key that no channel has is reported by name once, and no write is made of it."""
    node = seed_spec().nodes["node_a"]
    result = [Command(update={"foo": "x", "odd": 1}), {"odd": 2, "bar": ["y"]}]
    assert node.writes(result) == [("foo", "x"), ("bar", ["y"])]
    assert node.unknown_keys(result) == ("odd",)
    assert node.unknown_keys({"foo": "x"}) == ()
    assert node.unknown_keys({"foo": "x", "odd": 1}) == ("odd",)


RESULTS: list[Callable[[Any], Any]] = [
    lambda t: None,
    lambda t: {"foo": 1, "odd": 2},
    lambda t: {"bar": ["z"], "foo": 1},
    lambda t: t.Send("y", 1),
    lambda t: t.Command(),
    lambda t: t.Command(update={"foo": 1}, goto="y"),
    lambda t: t.Command(goto=["y", "__end__", t.Send("y", {"q": 1})]),
    lambda t: t.Command(update=[("foo", 1), ("foo", 2)]),
    lambda t: t.Command(update=5),
    lambda t: t.Command(update=Model(a=1)),
    lambda t: [t.Command(update={"foo": 1}), {"bar": ["x"]}, None],
    lambda t: (t.Command(goto="y"), t.Command(update={"foo": 2})),
    lambda t: Model(a=1),
    lambda t: Record(4),
    lambda t: [],
    lambda t: "text",
    lambda t: [{"foo": 1}],
    lambda t: [t.Command(update={"foo": 1}), 5],
]


@pytest.mark.oracle
@pytest.mark.parametrize("schema", [State, Model, list, Annotated[list, operator.add]], ids=str)
@pytest.mark.parametrize("make", RESULTS)
def test_results_mean_what_they_mean_in_langgraph(schema: Any, make: Callable[[Any], Any]) -> None:
    """The writes of every kind of result, in order, are LangGraph's, and so is what is refused."""
    their_graph = pytest.importorskip("langgraph.graph")
    their_types = pytest.importorskip("langgraph.types")
    builder = their_graph.StateGraph(schema).add_node("x", lambda s: None).add_node("y", lambda s: None)
    entries = builder.add_edge(START, "x").compile().nodes["x"].writers[0].writes
    theirs = _outcome(lambda: [p for entry in entries for p in entry.mapper(make(their_types)) or ()])
    ours = _outcome(lambda: writes_of(schema, make(graph_types)))
    assert ours == theirs


def _outcome(act: Callable[[], Any]) -> str:
    """Return what `act` gives as text, or the name and first line of what it raises."""
    try:
        return repr(act())
    except Exception as refused:  # noqa: BLE001 - what is raised is what is compared
        return f"{type(refused).__name__}: {str(refused).splitlines()[0]}"


def test_a_command_for_the_parent_leaves_as_a_signal() -> None:
    """`Command(graph=Command.PARENT)` writes nothing here and carries the command out."""
    command: Command[str] = Command(graph=Command.PARENT, goto="x")
    with pytest.raises(ParentCommand) as caught:
        writes_of(State, command)
    assert caught.value.command is command


def test_routing_to_no_node_is_refused_and_an_alias_resolves_it() -> None:
    """`goto`, `Send` and routers to an unknown node raise `NodeNotFound` naming both; an alias maps it."""
    builder = StateGraph(State).add_node("x", node_a).add_node("y", node_b).add_edge(START, "x")
    builder.add_conditional_edges("x", lambda state: "old")
    node = builder.spec().nodes["x"]
    for result in (Command(goto="old"), Send("old", 1), [Command(goto=[Send("old", 1)])]):
        with pytest.raises(NodeNotFound, match="Node 'x' sends to 'old'"):
            node.writes(result)
    with pytest.raises(NodeNotFound, match="Node 'x' sends to 'old'"):
        node.branches[0].route({}, None, SCOPE)
    aliased = builder.spec(aliases={"old": "y"}).nodes["x"]
    assert aliased.writes(Command(goto=["old", Send("old", 1)])) == [
        ("branch:to:y", None),
        ("__pregel_tasks", Send("y", 1)),
    ]
    assert aliased.branches[0].route({}, None, SCOPE) == [("branch:to:y", None)]
    with pytest.raises(ValueError, match="Alias 'old' means unknown node 'z'"):
        builder.spec(aliases={"old": "z"})


def route(router: Any, output: Any, path_map: Any = None, *, values: Any = None) -> list[tuple[str, Any]]:
    """Return what a router on node `x` writes for the state `values` and the node's `output`."""
    builder = StateGraph(State).add_node("x", node_a).add_node("y", node_b).add_edge(START, "x")
    branch = builder.add_conditional_edges("x", router, path_map).spec().nodes["x"].branches[0]
    return branch.route(values or {"foo": "fresh", "bar": []}, output, SCOPE)


def test_a_router_sees_fresh_state_and_extra_keys_of_the_output() -> None:
    """State wins over the output; extra keys pass, unless the router declares a schema of its own."""
    seen: list[Any] = []

    def typed(state: Narrow) -> str:
        seen.append(state)
        return END

    def bare(state):  # type: ignore[no-untyped-def]
        seen.append(state)
        return END

    assert route(bare, {"foo": "stale", "extra": 1}) == []
    assert route(typed, {"foo": "stale", "extra": 1}) == []
    assert seen == [{"foo": "fresh", "extra": 1, "bar": []}, {"foo": "fresh"}]


def test_answers_of_a_router() -> None:
    """Names, lists, `Send`s and mapped answers become writes; END writes nothing."""

    def literal(state: Any) -> Literal["y", "x"]:
        return "y"

    assert route(lambda s: "y", None) == [("branch:to:y", None)]
    assert route(literal, None) == [("branch:to:y", None)]
    assert route(lambda s: ["y", END, Send("y", 1)], None) == [
        ("branch:to:y", None),
        ("__pregel_tasks", Send("y", 1)),
    ]
    assert route(lambda s: True, None, {True: "y", False: END}) == [("branch:to:y", None)]
    assert route(lambda s: False, None, {True: "y", False: END}) == []
    assert route(lambda s: "y", None, ["y"]) == [("branch:to:y", None)]


@pytest.mark.parametrize("answer", [None, START, ["y", None]])
def test_an_answer_that_is_no_destination_is_refused(answer: Any) -> None:
    """`None` and START are LangGraph's `ValueError`."""
    with pytest.raises(ValueError, match="Branch did not return a valid destination"):
        route(lambda s: answer, None)


def test_end_takes_no_packet_and_a_map_takes_no_stranger() -> None:
    """`Send(END, …)` and an answer outside the declared map are refused."""
    with pytest.raises(InvalidUpdateError, match="Cannot send a packet to the END node"):
        route(lambda s: Send(END, 1), None)
    with pytest.raises(KeyError):
        route(lambda s: "other", None, {"a": "y"})


MISTAKES: list[Callable[[Any], Any]] = [
    lambda g: g.add_node("a", node_a).add_node("a", node_a),
    lambda g: g.add_node(START, node_a),
    lambda g: g.add_node(END, node_a),
    lambda g: g.add_node("a|b", node_a),
    lambda g: g.add_node("a:b", node_a),
    lambda g: g.add_edge(END, "a"),
    lambda g: g.add_edge("a", START),
    lambda g: g.add_edge(["a"], "b"),
    lambda g: g.add_node("a", node_a).add_edge(["a"], "b"),
    lambda g: g.add_node("a", node_a).add_edge(["a", END], "a"),
    lambda g: g.add_node("a", node_a).add_edge(["a"], START),
    lambda g: g.add_sequence([]),
    lambda g: g.add_sequence([node_a, node_a]),
    lambda g: g.add_node("a", node_a).compile(),
    lambda g: g.add_node("a", node_a).add_edge(START, "a").add_edge("z", "a").compile(),
    lambda g: g.add_node("a", node_a).add_edge(START, "z").compile(),
    lambda g: g.add_node("a", node_a).add_edge(START, "a").compile(interrupt_before=["z"]),
    lambda g: g.add_node("a", node_a, destinations=("z",)).add_edge(START, "a").compile(),
    lambda g: g.add_conditional_edges(START, lambda s: "a").add_conditional_edges(START, lambda s: "b"),
    lambda g: g.add_node("a", node_a).add_conditional_edges(START, node_b, {"x": "z"}).compile(),
]


@pytest.mark.oracle
@pytest.mark.parametrize("mistake", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_get_the_words_of_langgraph(mistake: Callable[[Any], Any]) -> None:
    """Each mistake in a graph is the same `ValueError` with the same message."""
    theirs = pytest.importorskip("langgraph.graph")
    with pytest.raises(ValueError) as expected:
        mistake(theirs.StateGraph(State))
    ours = StateGraph(State)
    ours.compile = ours.spec  # type: ignore[method-assign] # the runtime takes no part in this
    with pytest.raises(ValueError) as caught:
        mistake(ours)
    assert str(caught.value) == str(expected.value)


def test_a_key_keeps_one_channel() -> None:
    """A second schema may name a key plainly, but not with another reducer."""

    class Other(TypedDict):
        bar: Annotated[list[str], operator.or_]

    class Plain(TypedDict):
        bar: list[str]

    StateGraph(State, input_schema=Plain)
    with pytest.raises(ValueError, match="Channel 'bar' already exists with a different type"):
        StateGraph(State, input_schema=Other)


def test_a_private_schema_adds_its_channels() -> None:
    """What annotates a node's first parameter is its input, and its keys join the graph's channels."""

    def reader(state: Private) -> dict[str, Any]:
        return {"foo": state["secret"]}

    builder = StateGraph(State).add_node(node_a).add_node(reader).add_edge(START, "node_a")
    spec = builder.spec()
    assert spec.nodes["reader"].read({"foo": "x", "secret": "s"}) == {"secret": "s"}
    assert spec.nodes["node_a"].writes({"secret": "s"}) == [("secret", "s")]
    assert spec.stream_channels == ("foo", "bar", "secret")
    assert spec.output_channels == ("foo", "bar")
    assert Private in spec.types


def test_a_literal_command_annotation_is_validated() -> None:
    """`-> Command[Literal[…]]`, alone or in a union, declares targets that must exist."""

    def there(state: State) -> Command[Literal["node_b"]] | None: ...
    def lost(state: State) -> Command[Literal["nowhere"]]: ...

    builder = StateGraph(State).add_node(there).add_node(node_b).add_edge(START, "there")
    assert builder.spec().nodes["there"].ends == {"node_b": None}
    with pytest.raises(ValueError, match="Found edge ending at unknown node `nowhere`"):
        StateGraph(State).add_node(lost).add_edge(START, "lost").spec()


def test_changing_a_compiled_builder_warns() -> None:
    """A compiled graph does not see later additions, and the builder says so."""
    builder = StateGraph(State).add_node(node_a).add_edge(START, "node_a")
    builder.spec()
    with pytest.warns(UserWarning, match="Adding a node to a graph that has already been compiled"):
        builder.add_node(node_b)
    with pytest.warns(UserWarning, match="Adding an edge to a graph"):
        builder.add_edge("node_a", "node_b")


def test_interrupts_are_names_or_all() -> None:
    """Static interrupts are kept as given; `*` is not looked up as a node."""
    spec = seed_spec(interrupt_before=["node_b"], interrupt_after="*")
    assert (spec.interrupt_before, spec.interrupt_after) == (("node_b",), "*")
    with pytest.raises(ValueError, match="Interrupt node `z` not found"):
        seed_spec(interrupt_after=["z"])


def test_a_conversation_is_a_state() -> None:
    """`MessagesState` has one channel with the pinned messages reducer; subclasses add keys."""

    class Chat(MessagesState):
        topic: str

    spec = StateGraph(Chat).add_node("x", node_a).add_edge(START, "x").spec()
    assert spec.channels["messages"].describe()["reducer"] == "add_messages/1"
    assert spec.output_channels == ("messages", "topic")
    assert isinstance(spec.channels["__pregel_tasks"], Topic)


DIGEST = """
    import operator
    from typing import Annotated, TypedDict
    from lithograph.graph.builder import StateGraph

    class S(TypedDict):
        a: Annotated[list, operator.add]
        b: Annotated[int, lambda x, y: x * y]

    g = StateGraph(S).add_node("n", lambda s: None).add_node("m", lambda s: None).add_node("o", len)
    g.add_edge("__start__", "n").add_edge(["n", "m"], "o").add_conditional_edges("n", len, {1: "m", 2: "o"})
    print(g.spec().digest().hex())
"""


def test_the_digest_says_which_graph_it_is(tmp_path: Any) -> None:
    """Equal graphs have equal digests in any process; another reducer or edge makes another digest."""
    script = tmp_path / "graph_of_a_user.py"
    script.write_text(textwrap.dedent(DIGEST))
    digests = {
        subprocess.run(
            [sys.executable, str(script)],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    script.write_text(textwrap.dedent(DIGEST).replace("x * y", "x + y"))
    changed = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout
    assert changed not in digests
    assert seed_spec().digest() == seed_spec().digest()
    more = StateGraph(State).add_sequence([node_a, node_b]).set_entry_point("node_a")
    assert more.add_edge("node_b", "node_a").spec().digest() != seed_spec().digest()


@pytest.mark.parametrize("which", ["input_schema", "output_schema"])
def test_managed_values_are_nobodys_input_and_nobodys_output(which: str) -> None:
    """What the runtime fills in is refused in either schema, as in LangGraph."""
    state = TypedDict("state", {"n": int})  # noqa: UP013
    managed = TypedDict("managed", {"n": int, "left": RemainingSteps})  # noqa: UP013
    with pytest.raises(ValueError, match="Invalid managed channels detected in managed: left"):
        StateGraph(state, **{which: managed})
