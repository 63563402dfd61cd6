"""Reducers of all kinds, and `Overwrite`, which goes round them."""

import operator
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


def _pair(api: Api, schema: Any, a: Any, b: Any) -> Any:
    """Two parallel nodes `a` and `b`, both followed by a node that changes nothing."""
    builder = api.StateGraph(schema)
    builder.add_node("b", b)
    builder.add_node("a", a)
    builder.add_node("end", lambda state: None)
    for name in ("b", "a"):
        builder.add_edge(api.START, name)
        builder.add_edge(name, "end")
    return builder


@scenario("reducer: user function", "parallel", "multi-turn", "reducer sees left and right")
def user_reducers(api: Api, t: Script) -> None:
    """Reducers written by the user: a capped list, a maximum, a merge that depends on order."""

    def last_three(left: list[int], right: list[int]) -> list[int]:
        return [*left, *right][-3:]

    def merge(left: dict[str, str], right: dict[str, str]) -> dict[str, str]:
        return {key: left.get(key, "") + right.get(key, "") for key in sorted({*left, *right})}

    def highest(left: int, right: int) -> int:
        return max(left, right)

    class State(TypedDict):
        recent: Annotated[list[int], last_three]
        top: Annotated[int, highest]
        words: Annotated[dict[str, str], merge]

    def node(n: int) -> Any:
        return lambda state: {"recent": [n, n + 1], "top": n, "words": {"w": str(n), f"k{n}": "x"}}

    t.compile(_pair(api, State, node(5), node(2)))
    t.go({"recent": [9], "top": 3, "words": {}})
    t.go({"top": 4})


@scenario("reducer: user function", "parallel", "reducer: lambda", "apply order by name")
def ordered_reducer(api: Api, t: Script) -> None:
    """A reducer whose result tells the order and the nesting in which it was applied."""

    class Ordered(TypedDict):
        text: Annotated[str, lambda left, right: f"({left}.{right})"]

    t.compile(_pair(api, Ordered, lambda state: {"text": "a"}, lambda state: {"text": "b"}))
    t.go({"text": "in"})


@scenario("reducer: operator.or_", "reducer: operator.add", "value: set", "value: scalar", "parallel")
def builtin_reducers(api: Api, t: Script) -> None:
    """Sums, joined text, united dicts and sets: the defaults of their types are where they begin."""

    class State(TypedDict):
        total: Annotated[int, operator.add]
        text: Annotated[str, operator.add]
        table: Annotated[dict[str, int], operator.or_]
        seen: Annotated[set[str], operator.or_]
        product: Annotated[float, operator.mul]

    def node(name: str, n: int) -> Any:
        return lambda state: {"total": n, "text": name, "table": {name: n, "last": n}, "seen": {name, "both"}}

    t.compile(_pair(api, State, node("a", 1), node("b", 20)))
    t.go({"total": 300, "product": 2.0})
    t.go({"text": "|", "seen": {"in"}, "product": 1.5})


@scenario("Overwrite", "reducer: operator.add", "linear", "update_state", "Overwrite as dict")
def overwrite_values(api: Api, t: Script) -> None:
    """A value that replaces what the reducer has gathered: as object, as dict, and by hand."""

    class State(TypedDict):
        log: Annotated[list[str], operator.add]

    builder = api.StateGraph(State)
    builder.add_node("gather", lambda state: {"log": ["gathered"]})
    builder.add_node("replace", lambda state: {"log": api.Overwrite(["replaced"])})
    builder.add_node("more", lambda state: {"log": ["more"]})
    builder.add_node("dict", lambda state: {"log": {"__overwrite__": [*state["log"], "by dict"]}})
    builder.add_edge(api.START, "gather")
    builder.add_edge("gather", "replace")
    builder.add_edge("replace", "more")
    builder.add_edge("more", "dict")
    t.compile(builder)
    t.go({"log": ["in"]})
    t.update({"log": api.Overwrite([])}, as_node="gather")
    t.go(None)


@scenario("reducer: operator.or_", "linear", "Overwrite as dict", "dict like an Overwrite")
def not_an_overwrite(api: Api, t: Script) -> None:
    """A dict with more keys than that of an Overwrite is a value; so is one that only speaks of a type."""

    class State(TypedDict):
        table: Annotated[dict[str, Any], operator.or_]

    builder = api.StateGraph(State)
    builder.add_node("more", lambda state: {"table": {"__overwrite__": {"a": 1}, "b": 2}})
    builder.add_node("typed", lambda state: {"table": {"type": "__overwrite__", "c": 3}})
    builder.add_node("both", lambda state: {"table": {"type": "__overwrite__", "value": {"only": "this"}}})
    builder.add_edge(api.START, "more")
    builder.add_edge("more", "typed")
    builder.add_edge("typed", "both")
    t.compile(builder)
    t.go({"table": {"in": 0}})


@scenario("Overwrite", "parallel", "writes beside an Overwrite", "reducer: operator.add")
def overwrite_beside_writes(api: Api, t: Script) -> None:
    """Beside an Overwrite of the same step earlier and later writes are lost, in apply order."""

    class State(TypedDict):
        log: Annotated[list[str], operator.add]

    builder = _pair(api, State, lambda state: {"log": ["a"]}, lambda state: {"log": api.Overwrite(["b wins"])})
    builder.add_node("c", lambda state: {"log": ["c"]})
    builder.add_edge(api.START, "c")
    t.compile(builder)
    t.go({"log": ["in"]})


@scenario("reducer: operator.add", "growing list", "loop", "value: nested")
def growing_states(api: Api, t: Script) -> None:
    """A list, a text and a dict that grow for a dozen steps: every prefix is in the history."""

    class State(TypedDict):
        items: Annotated[list[dict[str, Any]], operator.add]
        text: Annotated[str, operator.add]
        table: Annotated[dict[str, Any], operator.or_]
        last: dict[str, Any]

    def grow(state: State) -> Any:
        n = len(state["items"])
        item = {"n": n, "squares": [i * i for i in range(n % 5)]}
        return {"items": [item], "text": f"{n},", "table": {f"k{n % 7}": item}, "last": item}

    builder = api.StateGraph(State)
    builder.add_node("grow", grow)
    builder.add_edge(api.START, "grow")
    builder.add_conditional_edges("grow", lambda s: "grow" if len(s["items"]) < 12 else api.END)
    t.compile(builder)
    t.go({"text": ":"})


@scenario("reducer: user function", "reducer that shrinks", "reducer that reorders", "loop", "history: limit")
def shrinking_states(api: Api, t: Script) -> None:
    """Reducers whose results are no extension of what was: sorted, de-duplicated, emptied, rewritten."""

    def ordered(left: list[int], right: list[int]) -> list[int]:
        return sorted({*left, *right})

    def toggle(left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
        return {k: v for k, v in {**left, **right}.items() if (k in left) != (k in right)}

    def window(left: str, right: str) -> str:
        return (left + right)[-4:]

    class State(TypedDict):
        numbers: Annotated[list[int], ordered]
        flags: Annotated[dict[str, int], toggle]
        tail: Annotated[str, window]

    def step(state: State) -> Any:
        n = len(state["numbers"])
        return {"numbers": [n * 7 % 5, -n], "flags": {f"f{n % 2}": n, "x": n}, "tail": f"<{n}>"}

    builder = api.StateGraph(State)
    builder.add_node("step", step)
    builder.add_edge(api.START, "step")
    builder.add_conditional_edges("step", lambda s: "step" if len(s["numbers"]) < 7 else api.END)
    t.compile(builder)
    t.go({"numbers": [3]})
    t.history(limit=3)


@scenario("reducer: user function", "reducer that prepends", "reducer that inserts", "loop", "value: nested")
def prepending_states(api: Api, t: Script) -> None:
    """Reducers that put what is new before or between what was: a long end stays, a long start stays."""

    def before(left: Any, right: Any) -> Any:
        return right + left

    def between(left: list[str], right: list[str]) -> list[str]:
        return [*left[:1], *right, *left[1:]]

    class State(TypedDict):
        newest_first: Annotated[list[dict[str, str]], before]
        text: Annotated[str, before]
        middle: Annotated[list[str], between]

    def step(state: State) -> Any:
        n = len(state["newest_first"])
        return {"newest_first": [{"n": f"{n}" * 40}], "text": f"<{n}>" * 20, "middle": [f"m{n}" * 30]}

    builder = api.StateGraph(State)
    builder.add_node("step", step)
    builder.add_edge(api.START, "step")
    builder.add_conditional_edges("step", lambda s: "step" if len(s["newest_first"]) < 5 else api.END)
    t.compile(builder)
    t.go({"text": "start", "middle": ["first" * 20, "last" * 20]})
