"""Managed values: what the runtime fills in, and no channel holds."""

import operator
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


@scenario("managed values", "loop", "conditional edges", "recursion limit")
def last_steps(api: Api, t: Script) -> None:
    """A node and a router see how many steps are left, and stop in time; the state holds nothing of it."""

    class State(TypedDict):
        log: Annotated[list[str], operator.add]
        last: api.IsLastStep
        left: api.RemainingSteps

    def work(state: State) -> Any:
        t.note(state["last"], state["left"])
        return {"log": [f"{state['left']} left"]}

    def route(state: State) -> str:
        t.note("router", state["last"], state["left"])
        return "work" if state["left"] > 2 else "end"

    builder = api.StateGraph(State)
    builder.add_node("work", work)
    builder.add_node("end", lambda state: {"log": ["the last" if state["last"] else "not the last"]})
    builder.add_edge(api.START, "work")
    builder.add_conditional_edges("work", route, ["work", "end"])
    t.compile(builder)
    t.go({"log": []}, config={"recursion_limit": 5})
    t.go({"log": ["again"]}, config={"recursion_limit": 4})


@scenario("managed values", "sends", "own input schema")
def managed_in_a_nodes_schema(api: Api, t: Script) -> None:
    """A node's own input schema asks for a managed value that the state's has not."""

    class State(TypedDict):
        log: Annotated[list[str], operator.add]

    class Wants(TypedDict):
        log: list[str]
        left: api.RemainingSteps

    def one(state: Wants) -> Any:
        return {"log": [f"{sorted(state)} {state['left']}"]}

    builder = api.StateGraph(State)
    builder.add_node("one", one, input_schema=Wants)
    builder.add_node("two", lambda state: {"log": [str(sorted(state))]})
    builder.add_edge(api.START, "one")
    builder.add_edge("one", "two")
    t.compile(builder)
    t.go({"log": ["in"]}, config={"recursion_limit": 7})
