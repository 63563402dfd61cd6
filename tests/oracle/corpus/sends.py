"""`Send`: tasks made at run time, their order, and what they are given."""

import operator
import threading
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, fail_after, scenario


class Jobs(TypedDict):
    """Subjects to work on, and the results in the order in which they were applied."""

    subjects: list[str]
    done: Annotated[list[str], operator.add]


@scenario("Send", "map-reduce", "conditional edges", "private Send input")
def map_reduce(api: Api, t: Script) -> None:
    """One task for each subject, their results reduced in the order of the Sends."""

    def work(state: Any) -> Any:
        t.note("worked on", state)
        return {"done": [state["subject"].upper()]}

    builder = api.StateGraph(Jobs)
    builder.add_node("list", lambda state: {"subjects": state["subjects"][::-1]})
    builder.add_node("work", work)
    builder.add_node("sum", lambda state: {"done": ["+".join(state["done"])]})
    builder.add_edge(api.START, "list")
    builder.add_conditional_edges("list", lambda s: [api.Send("work", {"subject": x}) for x in s["subjects"]], ["work"])
    builder.add_edge("work", "sum")
    t.compile(builder)
    t.go({"subjects": ["c", "a", "b"]})
    t.go({"subjects": ["z"]})


@scenario("Send", "plain edge beside routers", "mixed push and pull", "order of next", "parallel")
def sends_before_edges(api: Api, t: Script) -> None:
    """A step of Sends and edges: PUSH tasks are listed first, applied last."""

    def fan(state: Jobs) -> Any:
        return [
            api.Send("zz", {"subject": "1"}),
            "edge",
            api.Send("aa", {"subject": "2"}),
            api.Send("zz", {"subject": "3"}),
        ]

    builder = api.StateGraph(Jobs)
    builder.add_node("src", lambda state: {"done": ["src"]})
    builder.add_node("zz", lambda state: {"done": [f"zz{state['subject']}"]})
    builder.add_node("edge", lambda state: {"done": ["edge"]})
    builder.add_node("bb", lambda state: {"done": ["bb"]})
    builder.add_node("aa", lambda state: {"done": [f"aa{state['subject']}"]})
    builder.add_edge(api.START, "src")
    builder.add_edge("src", "bb")
    builder.add_conditional_edges("src", fan, ["zz", "edge", "aa"])
    t.compile(builder)
    t.go({"subjects": []})
    t.history()


@scenario("Send", "Command: goto", "Send from Send", "loop", "duplicate Sends")
def sends_beget_sends(api: Api, t: Script) -> None:
    """Tasks that send further tasks through `Command.goto`, generation after generation."""

    def split(state: Any) -> Any:
        depth, name = state["depth"], state["name"]
        more = [api.Send("split", {"depth": depth - 1, "name": name + c}) for c in "xy"] if depth else []
        return api.Command(update={"done": [name]}, goto=more)

    builder = api.StateGraph(Jobs)
    builder.add_node("split", split)
    builder.add_node("twins", lambda state: api.Command(goto=[api.Send("split", {"depth": 2, "name": "r"})] * 2))
    builder.add_edge(api.START, "twins")
    t.compile(builder)
    t.go({"subjects": []})


@scenario("Send", "conditional entry point", "Send from START", "input schema of Send target")
def sends_from_start(api: Api, t: Script) -> None:
    """The input's own router sends tasks; the target has a schema of its own."""

    class One(TypedDict):
        subject: str

    def work(state: One) -> Any:
        return {"done": [f"{sorted(state)} {state['subject']}"]}

    builder = api.StateGraph(Jobs)
    builder.add_node("work", work, input_schema=One)
    builder.add_conditional_edges(
        api.START, lambda s: [api.Send("work", {"subject": x, "more": 1}) for x in s["subjects"]], ["work"]
    )
    t.compile(builder)
    t.go({"subjects": ["p", "q"]})


@scenario("Send", "static interrupt: before", "pending Sends stored", "invoke(None)")
def sends_at_a_breakpoint(api: Api, t: Script) -> None:
    """A thread rests with Sends pending; they are in `next` and run when it goes on."""
    builder = api.StateGraph(Jobs)
    builder.add_node("src", lambda state: {"done": ["src"]})
    builder.add_node("work", lambda state: {"done": [state["subject"]]})
    builder.add_edge(api.START, "src")
    builder.add_conditional_edges("src", lambda s: [api.Send("work", {"subject": x}) for x in s["subjects"]], ["work"])
    t.compile(builder, interrupt_before=["work"])
    t.go({"subjects": ["a", "b"]})
    t.go(None)


@scenario("Send", "dynamic interrupt", "parallel interrupts", "resume: map", "finished siblings kept")
def sends_that_ask(api: Api, t: Script) -> None:
    """Of three sent tasks two ask; answers come one by one through a map of ids."""

    def work(state: Any) -> Any:
        t.note("ran", state["subject"])
        if state["subject"] == "easy":
            return {"done": ["easy"]}
        return {"done": [f"{state['subject']}: {api.interrupt({'ask': state['subject']})}"]}

    builder = api.StateGraph(Jobs)
    builder.add_node("src", lambda state: None)
    builder.add_node("work", work)
    builder.add_edge(api.START, "src")
    builder.add_conditional_edges("src", lambda s: [api.Send("work", {"subject": x}) for x in s["subjects"]], ["work"])
    t.compile(builder)
    t.go({"subjects": ["hard", "easy", "odd"]})
    ids = {item.value["ask"]: item.id for item in t.state().interrupts}
    t.go(api.Command(resume={ids["odd"]: "second"}))
    t.go(api.Command(resume={ids["hard"]: "first"}))


@scenario("Send", "failure", "invoke(None) after a failure", "finished siblings kept")
def one_send_fails(api: Api, t: Script) -> None:
    """One of several sent tasks fails after the others finished; only it runs again."""
    broken, finished = [True], threading.Semaphore(0)

    def work(state: Any) -> Any:
        t.note("ran", state["subject"])
        if state["subject"] == "y" and broken[0]:
            fail_after(finished, 2, ValueError("no luck with y"))
        finished.release()
        return {"done": [state["subject"]]}

    builder = api.StateGraph(Jobs)
    builder.add_node("work", work)
    builder.add_node("end", lambda state: {"done": ["end"]})
    builder.add_conditional_edges(
        api.START, lambda s: [api.Send("work", {"subject": x}) for x in s["subjects"]], ["work"]
    )
    builder.add_edge("work", "end")
    t.compile(builder)
    t.go({"subjects": ["x", "y", "z"]}, error="ValueError")
    broken[0] = False
    t.go(None)
