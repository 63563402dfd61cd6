"""Dynamic interrupts: questions that a node asks while it runs."""

import operator
import threading
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, fail_after, scenario


class Log(TypedDict):
    """The names of the nodes that ran and the answers they got."""

    log: Annotated[list[str], operator.add]


def _asker(api: Api, t: Script, name: str, *questions: Any) -> Any:
    def node(state: Log) -> Any:
        t.note(name, "runs with", state["log"])
        answers = [api.interrupt(question) for question in questions]
        return {"log": [f"{name}: {answer}" for answer in answers]}

    return node


def _parallel(api: Api, nodes: dict[str, Any]) -> Any:
    builder = api.StateGraph(Log)
    builder.add_node("end", lambda state: {"log": ["end"]})
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(api.START, name)
        builder.add_edge(name, "end")
    return builder


@scenario("dynamic interrupt", "Command input: resume", "linear", "stream: updates of an interrupt")
def ask_once(api: Api, t: Script) -> None:
    """One question, one answer; the node runs again from its top."""
    builder = api.StateGraph(Log)
    builder.add_node("before", lambda state: {"log": ["before"]})
    builder.add_node("ask", _asker(api, t, "ask", {"question": "name?", "choices": ["a", "b"]}))
    builder.add_node("after", lambda state: {"log": ["after"]})
    builder.add_edge(api.START, "before")
    builder.add_edge("before", "ask")
    builder.add_edge("ask", "after")
    t.compile(builder)
    t.go({"log": ["in"]})
    t.stream(api.Command(resume={"name": "Ada"}), "updates")
    t.history()


@scenario("dynamic interrupt", "several interrupts in one node", "linear", "falsy values")
def ask_thrice(api: Api, t: Script) -> None:
    """Three questions in one node: answers are matched by order, falsy ones too."""
    builder = api.StateGraph(Log)
    builder.add_node("ask", _asker(api, t, "ask", "first?", "second?", "third?"))
    builder.add_edge(api.START, "ask")
    t.compile(builder)
    t.go({"log": []})
    for answer in (0, "", [False]):
        t.go(api.Command(resume=answer))


@scenario("dynamic interrupt", "parallel interrupts", "resume: map", "parallel")
def ask_in_parallel_map(api: Api, t: Script) -> None:
    """Two nodes ask at once; one map answers both."""
    t.compile(_parallel(api, {"b": _asker(api, t, "b", "b?"), "a": _asker(api, t, "a", "a?")}))
    t.go({"log": []})
    t.go(api.Command(resume={item.id: f"for {item.value}" for item in t.state().interrupts}))


@scenario(
    "dynamic interrupt",
    "parallel interrupts",
    "resume: map",
    "several interrupts in one node",
    "answers one by one",
)
def ask_in_parallel_partially(api: Api, t: Script) -> None:
    """Two nodes ask two questions each; every call answers one of them."""
    t.compile(_parallel(api, {"b": _asker(api, t, "b", "b1", "b2"), "a": _asker(api, t, "a", "a1", "a2")}))
    t.go({"log": []})
    for wanted in ("b1", "a1", "a2", "b2"):
        pending = {item.value: item.id for item in t.state().interrupts}
        t.go(api.Command(resume={pending[wanted]: f"ok {wanted}"}))


@scenario("dynamic interrupt", "finished siblings kept", "parallel", "order of next")
def ask_beside_finished(api: Api, t: Script) -> None:
    """A node asks while its siblings finish: they do not run again."""

    def quiet(name: str) -> Any:
        def node(state: Log) -> Any:
            t.note(name, "runs")
            return {"log": [name]}

        return node

    t.compile(_parallel(api, {"z": quiet("z"), "ask": _asker(api, t, "ask", "?"), "b": quiet("b")}))
    t.go({"log": ["in"]})
    t.history()
    t.go(api.Command(resume="fine"))


@scenario("dynamic interrupt", "loop", "Command: goto", "same node asks again")
def ask_until_valid(api: Api, t: Script) -> None:
    """A node asks, goes to itself with a bad answer, and asks again in the next step."""

    def ask(state: Log) -> Any:
        answer = api.interrupt(f"try {len(state['log'])}")
        return api.Command(update={"log": [answer]}, goto=api.END if answer == "good" else "ask")

    builder = api.StateGraph(Log)
    builder.add_node("ask", ask)
    builder.add_edge(api.START, "ask")
    t.compile(builder)
    t.go({"log": []})
    for answer in ("bad", "worse", "good"):
        t.go(api.Command(resume=answer))


@scenario("dynamic interrupt", "questions in a loop of one run", "same node asks again", "linear")
def ask_in_a_while(api: Api, t: Script) -> None:
    """A node that asks in a `while` until the answer will do: a growing list of answers."""

    def ask(state: Log) -> Any:
        asked = 0
        answer = api.interrupt({"round": asked})
        while not answer["done"]:
            asked += 1
            answer = api.interrupt({"round": asked})
        return {"log": [f"{asked} {answer}"]}

    builder = api.StateGraph(Log)
    builder.add_node("ask", ask)
    builder.add_edge(api.START, "ask")
    t.compile(builder)
    t.go({"log": []})
    t.go(api.Command(resume={"done": False}))
    t.go(api.Command(resume={"done": False, "note": "n"}))
    t.go(api.Command(resume={"done": True}))


@scenario("dynamic interrupt", "parallel interrupts", "error: several pending, one answer", "parallel")
def ask_ambiguously(api: Api, t: Script) -> None:
    """One bare answer to two questions is refused and changes nothing."""
    t.compile(_parallel(api, {"a": _asker(api, t, "a", "a?"), "b": _asker(api, t, "b", "b?")}))
    t.go({"log": []})
    t.invoke(api.Command(resume="which?"), error="RuntimeError")
    t.go(api.Command(resume={item.id: "now clear" for item in t.state().interrupts}))


@scenario("dynamic interrupt", "no checkpointer", "linear")
def ask_without_checkpointer(api: Api, t: Script) -> None:
    """Without persistence a question ends the run and is in its result."""
    builder = api.StateGraph(Log)
    builder.add_node("ask", _asker(api, t, "ask", "?"))
    builder.add_edge(api.START, "ask")
    t.compile(builder, persist=False)
    t.go({"log": ["in"]}, thread=None)


@scenario("dynamic interrupt", "node catches and reraises", "finally runs twice", "stream: custom")
def ask_with_cleanup(api: Api, t: Script) -> None:
    """A node with `finally` around its question: the clean-up runs at the pause and at the answer."""

    def ask(state: Log, writer: api.StreamWriter) -> Any:
        writer("before")
        try:
            answer = api.interrupt("?")
            writer(f"answered {answer}")
        finally:
            t.note("clean-up")
        return {"log": [answer]}

    builder = api.StateGraph(Log)
    builder.add_node("ask", ask)
    builder.add_edge(api.START, "ask")
    t.compile(builder)
    t.go({"log": []})
    t.go(api.Command(resume="x"))


@scenario("dynamic interrupt", "invoke(None) on a pending interrupt", "linear", "asks again")
def ask_and_go_on_without_answer(api: Api, t: Script) -> None:
    """None on a thread that waits for an answer runs the node again, which asks again."""
    builder = api.StateGraph(Log)
    builder.add_node("ask", _asker(api, t, "ask", "one", "two"))
    builder.add_edge(api.START, "ask")
    t.compile(builder)
    t.go({"log": []})
    t.go(None)
    t.go(None)
    t.go(api.Command(resume="1"))
    t.go(api.Command(resume="2"))


@scenario("dynamic interrupt", "failure", "parallel", "finished siblings kept", "invoke(None) after a failure")
def ask_beside_a_failure(api: Api, t: Script) -> None:
    """One node asks, its sibling fails, a third finishes; repaired, the thread still waits for its answer."""
    broken, finished = [True], threading.Semaphore(0)
    ask = _asker(api, t, "ask", "?")

    def asks(state: Log) -> Any:
        finished.release()
        return ask(state)

    def fails(state: Log) -> Any:
        if broken[0]:
            fail_after(finished, 2, ValueError("not today"))
        return {"log": ["repaired"]}

    def works(state: Log) -> Any:
        finished.release()
        return {"log": ["ok"]}

    t.compile(_parallel(api, {"f": fails, "ask": asks, "ok": works}))
    t.go({"log": []}, error="ValueError")
    broken[0] = False
    t.go(None)
    t.go(api.Command(resume="done"))


@scenario("dynamic interrupt", "failure", "linear", "fails before it asks again")
def ask_and_fail_before_asking_again(api: Api, t: Script) -> None:
    """Answered, the node fails before it asks again: the answer was not taken; repaired, it is asked for once more."""
    broken = [False]
    ask = _asker(api, t, "ask", "?")

    def asks(state: Log) -> Any:
        if broken[0]:
            raise ValueError("not today")
        return ask(state)

    builder = api.StateGraph(Log)
    builder.add_node("ask", asks)
    builder.add_edge(api.START, "ask")
    t.compile(builder)
    t.go({"log": []})
    broken[0] = True
    t.go(api.Command(resume="first"), error="ValueError")
    broken[0] = False
    t.go(None)
