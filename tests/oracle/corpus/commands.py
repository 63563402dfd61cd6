"""`Command`: as what a node returns, and as what a caller puts in."""

import operator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


class Log(TypedDict):
    """A number and the names of the nodes that ran."""

    n: int
    log: Annotated[list[str], operator.add]


def _stamp(name: str) -> Any:
    return lambda state: {"log": [name]}


@scenario("Command: goto", "Command: update", "loop", "destinations annotated")
def command_loop(api: Api, t: Script) -> None:
    """Nodes that update and route in one return value, without any edge between them."""

    def ping(state: Log) -> api.Command[Literal["pong", "__end__"]]:
        target = "pong" if state["n"] < 3 else api.END
        return api.Command(update={"n": state["n"] + 1, "log": ["ping"]}, goto=target)

    def pong(state: Log) -> api.Command[Literal["ping"]]:
        return api.Command(update={"log": ["pong"]}, goto="ping")

    builder = api.StateGraph(Log)
    builder.add_node(ping)
    builder.add_node(pong)
    builder.add_edge(api.START, "ping")
    t.compile(builder)
    t.go({"n": 1})


@scenario("Command: goto", "goto a list", "plain edge beside goto", "parallel", "destinations given")
def command_goto_many(api: Api, t: Script) -> None:
    """A goto with several targets beside a plain edge: all of them run in the next step."""
    builder = api.StateGraph(Log)
    builder.add_node(
        "src",
        lambda state: api.Command(update={"log": ["src"]}, goto=["right", "left"]),
        destinations=("left", "right"),
    )
    for name in ("right", "edge", "left"):
        builder.add_node(name, _stamp(name))
    builder.add_edge(api.START, "src")
    builder.add_edge("src", "edge")
    t.compile(builder)
    t.go({"n": 0})


@scenario("Command: update", "list of Commands and dicts", "channel written twice by one task", "$writes in result")
def command_list(api: Api, t: Script) -> None:
    """A node that returns a list of dicts and Commands writes a channel more than once."""
    builder = api.StateGraph(Log)
    builder.add_node(
        "many",
        lambda state: [
            {"log": ["a"]},
            api.Command(update={"log": ["b"], "n": 5}, goto="next"),
            {"log": ["c"]},
        ],
        destinations=("next",),
    )
    builder.add_node("next", _stamp("next"))
    builder.add_edge(api.START, "many")
    t.compile(builder)
    t.go({"n": 0})


@scenario("Command: update", "update as pairs", "Command with update only", "conditional edges")
def command_pairs(api: Api, t: Script) -> None:
    """An update given as (channel, value) pairs, and a Command without goto on a node with a router."""
    builder = api.StateGraph(Log)
    builder.add_node("pairs", lambda state: api.Command(update=[("log", ["x"]), ("n", 4), ("log", ["y"])]))
    builder.add_node("four", _stamp("four"))
    builder.add_node("other", _stamp("other"))
    builder.add_edge(api.START, "pairs")
    builder.add_conditional_edges("pairs", lambda s: "four" if s["n"] == 4 else "other", ["four", "other"])
    t.compile(builder)
    t.go({"n": 0})


@scenario("Command input: goto", "static interrupt: before", "parallel")
def command_input_goto(api: Api, t: Script) -> None:
    """A goto put in at a breakpoint runs its target together with the paused node."""
    builder = api.StateGraph(Log)
    for name in ("one", "two", "side", "three"):
        builder.add_node(name, _stamp(name))
    builder.add_edge(api.START, "one")
    builder.add_edge("one", "two")
    builder.add_edge("two", "three")
    t.compile(builder, interrupt_before=["two"])
    t.go({"n": 0})
    t.go(api.Command(goto="side"))
    t.go(None)


@scenario("Command input: update", "Command input: resume", "dynamic interrupt", "linear", past=False)
def command_input_resume_and_update(api: Api, t: Script) -> None:
    """An answer and an edit in one: the node that runs again sees the edit."""

    def ask(state: Log) -> Any:
        t.note("ask sees", state["n"], state["log"])
        return {"log": [f"answer {api.interrupt('?')}"]}

    builder = api.StateGraph(Log)
    builder.add_node("ask", ask)
    builder.add_node("end", _stamp("end"))
    builder.add_edge(api.START, "ask")
    builder.add_edge("ask", "end")
    t.compile(builder)
    t.go({"n": 0})
    t.go(api.Command(resume="yes", update={"n": 9, "log": ["edited"]}))


@scenario("Command input: goto", "Send", "fresh thread")
def command_input_on_fresh_thread(api: Api, t: Script) -> None:
    """A thread that begins with a Command: its goto is the first step, beside what START leads to."""
    builder = api.StateGraph(Log)
    builder.add_node("first", _stamp("first"))
    builder.add_node("other", lambda state: {"log": [f"other {state.get('n')}"]})
    builder.add_edge(api.START, "first")
    t.compile(builder)
    t.go(api.Command(goto="other"))
    t.go(api.Command(goto=[api.Send("other", {"n": 8}), "first"]), thread="2")


@scenario("Command: goto", "Send", "Command in a list", "mixed push and pull", "join")
def command_goto_mixed(api: Api, t: Script) -> None:
    """A goto list of names and Sends, whose targets meet in a join."""
    builder = api.StateGraph(Log)
    builder.add_node("src", lambda state: [api.Command(goto=["b", api.Send("a", {"n": 7})]), {"n": 2}])
    builder.add_node("a", lambda state: {"log": [f"a{state['n']}"]})
    builder.add_node("b", lambda state: {"log": [f"b{state['n']}"]})
    builder.add_node("end", _stamp("end"))
    builder.add_edge(api.START, "src")
    builder.add_edge(["a", "b"], "end")
    t.compile(builder)
    t.go({"n": 1})


@scenario("Command input: goto", "static interrupt: before", "order of next", "Send")
def command_input_goto_earlier(api: Api, t: Script) -> None:
    """A goto put in at a breakpoint, to nodes added before and after the paused one: the step shows them all."""
    builder = api.StateGraph(Log)
    for name in ("early", "one", "two", "late"):
        builder.add_node(name, _stamp(name))
    builder.add_edge(api.START, "one")
    builder.add_edge("one", "two")
    t.compile(builder, interrupt_before=["two"])
    t.go({"n": 0})
    t.go(api.Command(goto=["late", "early"]))
    t.go(None)


@dataclass
class Part:
    """An update as an object: some of the state's keys."""

    n: int
    log: list[str]


@scenario("Command: update", "update as an object", "linear")
def command_with_an_object(api: Api, t: Script) -> None:
    """The update of a Command may be an object with some of the state's keys."""
    builder = api.StateGraph(Log)
    builder.add_node("one", lambda state: api.Command(update=Part(state["n"] + 1, ["one"]), goto="two"))
    builder.add_node("two", _stamp("two"))
    builder.add_edge(api.START, "one")
    t.compile(builder)
    t.go({"n": 1, "log": ["in"]})
