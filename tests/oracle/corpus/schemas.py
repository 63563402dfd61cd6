"""Schemas: TypedDict, dataclass, pydantic; input, output and private ones."""

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired

import pydantic
from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


@dataclass
class Address:
    """A dataclass inside a state."""

    street: str
    number: int = 1


class Person(pydantic.BaseModel):
    """A pydantic model inside a state."""

    name: str
    age: int = 0
    address: dict[str, Any] | None = None


@scenario("schema: input", "schema: output", "schema: private", "linear", "output keys only in values")
def three_schemas(api: Api, t: Script) -> None:
    """Input, output and a private schema between two nodes: each sees its own keys."""

    class Inner(TypedDict):
        question: str
        answer: str
        log: Annotated[list[str], operator.add]

    class In(TypedDict):
        question: str

    class Out(TypedDict):
        answer: str

    class Private(TypedDict):
        secret: str

    def think(state: In) -> Private:
        t.note("think", state)
        return {"secret": state["question"] * 2}

    def use(state: Private) -> Any:
        t.note("use", state)
        return {"answer": state["secret"] + "!", "log": ["used"]}

    def look(state: Inner) -> Any:
        t.note("look", state)
        return None

    builder = api.StateGraph(Inner, input_schema=In, output_schema=Out)
    builder.add_node(think)
    builder.add_node(use)
    builder.add_node(look)
    builder.add_edge(api.START, "think")
    builder.add_edge("think", "use")
    builder.add_edge("use", "look")
    t.compile(builder)
    t.go({"question": "q", "answer": "given, but no input"})


@scenario("schema: dataclass", "node returns an instance", "linear", "defaults")
def dataclass_state(api: Api, t: Script) -> None:
    """A dataclass as state: nodes get instances and may return them."""

    @dataclass
    class State:
        n: int
        log: Annotated[list[str], operator.add] = field(default_factory=list)
        note: str = "default"

    def first(state: State) -> Any:
        t.note("first", type(state).__name__, state.n, state.note)
        return {"n": state.n + 1, "log": ["first"]}

    def second(state: State) -> Any:
        return State(n=state.n * 10, log=["second"], note="set")

    builder = api.StateGraph(State)
    builder.add_node(first)
    builder.add_node(second)
    builder.add_edge(api.START, "first")
    builder.add_edge("first", "second")
    t.compile(builder)
    t.go({"n": 1})
    t.go(State(n=5, log=["instance"]))


@scenario("schema: pydantic", "coerced input", "linear", "defaults")
def pydantic_state(api: Api, t: Script) -> None:
    """A pydantic state: input is checked and coerced, and a node's own input is checked again."""

    class State(pydantic.BaseModel):
        n: int
        log: Annotated[list[str], operator.add] = []

    def first(state: State) -> Any:
        t.note("first", type(state).__name__, state.n)
        return {"n": state.n + 1, "log": ["first"]}

    def middle(state: State) -> Any:
        return {"log": [str(state.n)]}

    def last(state: State) -> Any:
        return {"n": "unchecked at the end"}

    builder = api.StateGraph(State)
    for node in (first, middle, last):
        builder.add_node(node)
    builder.add_edge(api.START, "first")
    builder.add_edge("first", "middle")
    builder.add_edge("middle", "last")
    t.compile(builder)
    t.go({"n": "1"})
    t.go({"n": 1, "log": ["again"]})


@scenario("schema: pydantic", "error: ValidationError", "no checkpointer", "linear")
def pydantic_refusals(api: Api, t: Script) -> None:
    """A bad input is refused at the first node, a bad write at the node that reads it."""

    class State(pydantic.BaseModel):
        n: int
        name: str = pydantic.Field(default="x", max_length=3)

    builder = api.StateGraph(State)
    builder.add_node("write", lambda state: {"name": "x" * state.n})
    builder.add_node("read", lambda state: t.note("read", state.name))
    builder.add_edge(api.START, "write")
    builder.add_edge("write", "read")
    t.compile(builder, persist=False)
    t.go({"n": 2}, thread=None)
    t.go({"n": "two"}, thread=None, error="ValidationError")
    t.go({"n": 9}, thread=None, error="ValidationError")


@scenario("value: dataclass", "value: pydantic", "update_state", "linear", "types of a schema are stored")
def objects_in_state(api: Api, t: Script) -> None:
    """Dataclass and pydantic instances as values of a TypedDict state come back as what they were."""

    class State(TypedDict):
        where: Address
        who: Person
        both: list[Address | Person]

    def move(state: State) -> Any:
        t.note("move", type(state["where"]).__name__, type(state["who"]).__name__)
        where = Address(state["where"].street + " road", state["where"].number + 1)
        return {"where": where, "both": [where, state["who"]]}

    def age(state: State) -> Any:
        who = state["who"].model_copy(update={"age": state["who"].age + 1})
        return {"who": who, "both": [*state["both"], who]}

    builder = api.StateGraph(State)
    builder.add_sequence([move, age])
    builder.add_edge(api.START, "move")
    t.compile(builder, interrupt_before=["age"])
    t.go({"where": Address("long"), "who": Person(name="Ada"), "both": []})
    t.update({"who": Person(name="Bob", age=40)}, as_node="move")
    t.go(None)


@scenario("schema: node input", "NotRequired keys", "missing keys", "conditional edges")
def node_inputs(api: Api, t: Script) -> None:
    """Nodes with input schemas of their own see only what exists; missing keys are missing."""

    class State(TypedDict):
        a: int
        b: NotRequired[int]
        c: NotRequired[int]

    class OnlyB(TypedDict, total=False):
        b: int

    def sees_all(state: State) -> Any:
        t.note("all", sorted(state.items()))
        return {"b": 2} if state["a"] else None

    def sees_b(state: OnlyB) -> Any:
        t.note("b", sorted(state.items()))
        return {"c": 3}

    builder = api.StateGraph(State)
    builder.add_node(sees_all)
    builder.add_node(sees_b)
    builder.add_node("explicit", lambda state: t.note("explicit", sorted(state.items())), input_schema=OnlyB)
    builder.add_edge(api.START, "sees_all")
    builder.add_conditional_edges("sees_all", lambda s: ["sees_b", "explicit"] if "b" in s else api.END)
    t.compile(builder)
    t.go({"a": 1})
    t.go({"a": 0}, thread="2")


@scenario("schema: pydantic", "schema: input", "schema: output", "Send", "nested models")
def pydantic_schemas(api: Api, t: Script) -> None:
    """Pydantic input and output schemas around a TypedDict state, and a Send of a model."""

    class In(pydantic.BaseModel):
        names: list[str]

    class Out(pydantic.BaseModel):
        people: list[Person]

    class State(TypedDict):
        names: list[str]
        people: Annotated[list[Person], operator.add]

    def make(state: Person) -> Any:
        t.note("make", type(state).__name__, state.name)
        return {"people": [state]}

    builder = api.StateGraph(State, input_schema=In, output_schema=Out)
    builder.add_node("make", make, input_schema=Person)
    builder.add_node("start", lambda state: None)
    builder.add_edge(api.START, "start")
    builder.add_conditional_edges("start", lambda s: [api.Send("make", Person(name=n)) for n in s["names"]], ["make"])
    t.compile(builder)
    t.go({"names": ["x", "y"]})


@scenario("schema: dataclass", "schema: pydantic", "mixed schemas", "conditional edges", "multi-turn")
def mixed_schemas(api: Api, t: Script) -> None:
    """One graph whose nodes read its TypedDict state as a dataclass, a model and a dict."""

    class State(TypedDict):
        name: str
        age: int

    @dataclass
    class AsData:
        name: str

    def data(state: AsData) -> Any:
        t.note(type(state).__name__, state.name)
        return {"name": state.name.upper()}

    def model(state: Person) -> Any:
        t.note(type(state).__name__, state.name, state.age)
        return {"age": state.age + 1}

    builder = api.StateGraph(State)
    builder.add_node(data)
    builder.add_node(model)
    builder.add_edge(api.START, "data")
    builder.add_edge("data", "model")
    builder.add_conditional_edges("model", lambda s: "data" if s.age < 3 else api.END)
    t.compile(builder)
    t.go({"name": "ada", "age": 1})
    t.go({"name": "bob"})
