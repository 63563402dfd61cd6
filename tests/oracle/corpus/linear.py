"""Graphs without a fork in the road: the seed's first example and its nearest relatives."""

import functools
import operator
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


class Foo(TypedDict):
    """The state of the seed's first example."""

    foo: str
    bar: Annotated[list[str], operator.add]


class Count(TypedDict):
    """One counter without a reducer."""

    n: int


@scenario("linear", "reducer: operator.add", "history", "get_state by id")
def seed_example(api: Api, t: Script) -> None:
    """The first example of the seed document: two nodes in a row, four checkpoints."""

    def node_a(state: Foo) -> Any:
        return {"foo": "a", "bar": ["a"]}

    def node_b(state: Foo) -> Any:
        return {"foo": "b", "bar": ["b"]}

    builder = api.StateGraph(Foo)
    builder.add_node(node_a)
    builder.add_node(node_b)
    builder.add_edge(api.START, "node_a")
    builder.add_edge("node_a", "node_b")
    builder.add_edge("node_b", api.END)
    t.compile(builder)
    t.go({"foo": ""})
    history = t.history()
    t.state(at=history[-1].config)


@scenario("linear", "add_sequence", "entry and finish point", "node kinds", "node returns None")
def sequence_of_callables(api: Api, t: Script) -> None:
    """A function, a lambda, a partial, a method and a callable object in one sequence."""

    class Adder:
        def __init__(self, by: int) -> None:
            self.by = by

        def __call__(self, state: Count) -> Any:
            return {"n": state["n"] + self.by}

        def method(self, state: Count) -> Any:
            return {"n": state["n"] * self.by}

    def scaled(factor: int, state: Count) -> Any:
        return {"n": state["n"] * factor}

    def silent(state: Count) -> None:
        t.note("silent", state)

    builder = api.StateGraph(Count)
    builder.add_sequence(
        [
            ("lambda", lambda state: {"n": state["n"] + 1}),
            ("partial", functools.partial(scaled, 10)),
            silent,
            ("object", Adder(7)),
            ("method", Adder(3).method),
        ]
    )
    builder.set_entry_point("lambda")
    builder.set_finish_point("method")
    t.compile(builder)
    t.go({"n": 1})


@scenario("linear", "no checkpointer", "stream: custom", "values by reference")
def without_checkpointer(api: Api, t: Script) -> None:
    """No persistence at all: values pass as they are, also such as no serializer takes."""

    def first(state: Foo, writer: api.StreamWriter) -> Any:
        writer({"seen": state["foo"]})
        return {"foo": state["foo"] + "!", "bar": ["first"]}

    def second(state: Foo) -> Any:
        return {"bar": [lambda: None]} if state["foo"] == "odd!" else {"bar": ["second"]}

    builder = api.StateGraph(Foo)
    builder.add_node(first)
    builder.add_node(second)
    builder.add_edge(api.START, "first")
    builder.add_edge("first", "second")
    t.compile(builder, persist=False)
    t.go({"foo": "even", "bar": ["x"]}, thread=None)
    result = t.graph.invoke({"foo": "odd"})
    t.note(callable(result["bar"][-1]))
    t.invoke({"foo": "last"}, thread=None)


@scenario("linear", "root state", "reducer: operator.add", "multi-turn")
def root_list(api: Api, t: Script) -> None:
    """A state that is no mapping: one channel, `__root__`, with a reducer."""
    builder = api.StateGraph(Annotated[list, operator.add])
    builder.add_node("one", lambda state: [len(state)])
    builder.add_node("two", lambda state: [state[-1] * 2, "x"])
    builder.add_edge(api.START, "one")
    builder.add_edge("one", "two")
    t.compile(builder)
    t.go([5])
    t.go([6, 7])


@scenario("linear", "root state", "value: scalar", "update_state")
def root_scalar(api: Api, t: Script) -> None:
    """A state that is one plain value, last writer wins, edited by hand."""
    builder = api.StateGraph(int)
    builder.add_node("inc", lambda state: state + 1)
    builder.add_node("twice", lambda state: state * 2)
    builder.add_edge(api.START, "inc")
    builder.add_edge("inc", "twice")
    t.compile(builder)
    t.go(1)
    t.update(100, as_node="inc")
    t.go(None)


@scenario("linear", "multi-turn", "history: limit", "history: before", "falsy values")
def turns_and_falsy_values(api: Api, t: Script) -> None:
    """Three turns on one thread; None, zero, empty text and False are values like any other."""

    class Falsy(TypedDict, total=False):
        a: Any
        b: Any
        c: list[Any]

    builder = api.StateGraph(Falsy)
    builder.add_node("shift", lambda state: {"a": state.get("b"), "b": None, "c": []})
    builder.add_node("look", lambda state: t.note(sorted(state.items())))
    builder.add_edge(api.START, "shift")
    builder.add_edge("shift", "look")
    t.compile(builder)
    t.go({"a": 0, "b": ""})
    t.go({"b": False})
    t.go({"c": [None, 0, False, {}]})
    history = t.history()
    t.history(limit=3)
    t.history(before=history[2].config if len(history) > 2 else history[-1].config)
    t.history(before=history[1].config, limit=1)
    t.history(limit=0)


@scenario("linear", "empty input", "unknown input key", "invoke(None) on a finished thread", "exact values")
def odd_inputs(api: Api, t: Script) -> None:
    """`{}` starts a run, a key that no channel knows is ignored, None on a finished thread runs nothing."""

    class Loose(TypedDict, total=False):
        n: int
        deep: dict[str, Any]

    def count(state: Loose) -> Any:
        return {
            "n": state.get("n", 0) + 1,
            "deep": {"list": [1, 2.5, None, True, b"\x00\xff"], "": {"k": "é"}},
        }

    builder = api.StateGraph(Loose)
    builder.add_node(count)
    builder.add_edge(api.START, "count")
    t.compile(builder)
    t.go({})
    t.go({"unknown": 1})
    t.go(None)
    t.go({"n": -(2**40)})
