"""Steps of several tasks: the order in which writes are applied, joins, barriers, limits."""

import operator
import threading
import time
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


class Log(TypedDict):
    """The names of the nodes that ran, in the order in which their writes were applied."""

    log: Annotated[list[str], operator.add]


def _stamp(name: str) -> Any:
    return lambda state: {"log": [name]}


@scenario("parallel", "reducer: operator.add", "apply order by name", "order of next")
def fan_out_orders(api: Api, t: Script) -> None:
    """Nodes added as z, m, a: applied by name, listed by `next` as added, whatever finishes first."""
    finished = threading.Event()

    def slow(state: Log) -> Any:
        finished.wait(5)
        return {"log": ["a"]}

    def quick(state: Log) -> Any:
        finished.set()
        return {"log": ["z"]}

    builder = api.StateGraph(Log)
    builder.add_node("z", quick)
    builder.add_node("m", _stamp("m"))
    builder.add_node("a", slow)
    builder.add_node("last", _stamp("last"))
    for name in ("m", "z", "a"):
        builder.add_edge(api.START, name)
        builder.add_edge(name, "last")
    t.compile(builder)
    t.go({"log": ["in"]})
    t.history()


@scenario("parallel", "join", "unequal path lengths", "barrier in values hidden")
def join_waits(api: Api, t: Script) -> None:
    """A join waits for both of its sources although one arrives a step earlier."""
    builder = api.StateGraph(Log)
    for name in ("short", "long1", "long2", "joined"):
        builder.add_node(name, _stamp(name))
    builder.add_edge(api.START, "short")
    builder.add_edge(api.START, "long1")
    builder.add_edge("long1", "long2")
    builder.add_edge(["short", "long2"], "joined")
    t.compile(builder)
    t.go({"log": []})


@scenario("parallel", "unequal path lengths", "node runs twice", "plain edges meet")
def diamond_without_join(api: Api, t: Script) -> None:
    """Without a join a node runs each time one of its predecessors does."""
    builder = api.StateGraph(Log)
    for name in ("short", "long1", "long2", "meet"):
        builder.add_node(name, _stamp(name))
    builder.add_edge(api.START, "short")
    builder.add_edge(api.START, "long1")
    builder.add_edge("long1", "long2")
    builder.add_edge("short", "meet")
    builder.add_edge("long2", "meet")
    t.compile(builder)
    t.go({"log": []})


@scenario("parallel", "max_concurrency", "many tasks", "join")
def limited_concurrency(api: Api, t: Script) -> None:
    """Six parallel nodes, two at a time: the limit holds and changes nothing that is stored."""
    lock, running, peak = threading.Lock(), [0], [0]

    def work(name: str) -> Any:
        def run(state: Log) -> Any:
            with lock:
                running[0] += 1
                peak[0] = max(peak[0], running[0])
            time.sleep(0.005)
            with lock:
                running[0] -= 1
            return {"log": [name]}

        return run

    def report(state: Log) -> Any:
        t.note("never more than two", peak[0] <= 2)
        return {"log": [f"saw {len(state['log'])}"]}

    names = [f"w{i}" for i in range(6)]
    builder = api.StateGraph(Log)
    for name in names:
        builder.add_node(name, work(name))
        builder.add_edge(api.START, name)
    builder.add_node("report", report)
    builder.add_edge(names, "report")
    t.compile(builder)
    t.go({"log": []}, config={"max_concurrency": 2})


@scenario("parallel", "join", "loop", "barrier resets", "conditional edges")
def join_in_a_loop(api: Api, t: Script) -> None:
    """A join inside a loop: the barrier is empty again after each pass, and across turns."""

    class Rounds(TypedDict):
        n: int
        log: Annotated[list[str], operator.add]

    builder = api.StateGraph(Rounds)
    builder.add_node("head", lambda state: {"n": state["n"] + 1, "log": [f"head{state['n']}"]})
    for name in ("right", "left", "both"):
        builder.add_node(name, _stamp(name))
    builder.add_edge(api.START, "head")
    builder.add_edge("head", "left")
    builder.add_edge("head", "right")
    builder.add_edge(["left", "right"], "both")
    builder.add_conditional_edges("both", lambda s: "head" if s["n"] < 2 else api.END)
    t.compile(builder)
    t.go({"n": 0, "log": []})
    t.go({"n": 1, "log": ["again"]})


@scenario("parallel", "join", "static interrupt: before", "half-full barrier stored", "update_state")
def join_half_full(api: Api, t: Script) -> None:
    """A thread rests while a barrier has seen one of two names; an edit as the other fills it."""
    builder = api.StateGraph(Log)
    for name in ("fast", "slow1", "slow2", "join"):
        builder.add_node(name, _stamp(name))
    builder.add_edge(api.START, "fast")
    builder.add_edge(api.START, "slow1")
    builder.add_edge("slow1", "slow2")
    builder.add_edge(["fast", "slow2"], "join")
    t.compile(builder, interrupt_before=["slow2"])
    t.go({"log": []})
    t.update({"log": ["by hand"]}, as_node="slow2")
    t.go(None)


@scenario("parallel", "two joins", "join chain", "END edge", "multi-turn")
def joins_share_a_source(api: Api, t: Script) -> None:
    """One node is a source of two joins of different width, one of which feeds the other."""
    builder = api.StateGraph(Log)
    for name in ("a", "b", "c", "ab", "abc"):
        builder.add_node(name, _stamp(name))
    for name in ("a", "b", "c"):
        builder.add_edge(api.START, name)
    builder.add_edge(["b", "a"], "ab")
    builder.add_edge(["a", "ab", "c"], "abc")
    builder.add_edge("abc", api.END)
    t.compile(builder)
    t.go({"log": []})
    t.go({"log": ["again"]})
