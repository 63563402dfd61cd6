"""Graphs inside nodes, and their past: edits, forks and time travel at depth."""

from typing import Any

from ..api import Api
from ..harness import Script, scenario
from .nested import Log, ask, line, stamp


def _desk(api: Api, keeps: Any = None) -> Any:
    """An outer graph around one that runs a node, asks, and runs another."""
    inner = line(api, ("x", stamp("x")), ("asks", ask(api, "asks")), ("y", stamp("y"))).compile(checkpointer=keeps)
    return line(api, ("before", stamp("before")), ("inner", inner), ("after", stamp("after")))


def _inside(t: Script, *path: str, thread: Any = "1") -> Any:
    """The snapshot of the graph inside the waiting node, at the end of a path of nodes."""
    snapshot = t.state(subgraphs=True, thread=thread)
    for _ in path:
        snapshot = snapshot.tasks[0].state
    return snapshot


@scenario("subgraph", "update_state inside", "interrupt", exit=False)
def nested_edit(api: Api, t: Script) -> None:
    """The state of an inner graph that waits is edited; it goes on with the edit."""
    t.compile(_desk(api))
    t.go({"n": 1, "log": []})
    inner = _inside(t, "inner")
    t.update({"log": ["edited"]}, at=inner.config)
    t.go(api.Command(resume="yes"))


@scenario("subgraph", "update_state inside", "as_node", "skip a node", exit=False)
def nested_edit_as_node(api: Api, t: Script) -> None:
    """An edit as the node that waits stands for its answer."""
    t.compile(_desk(api))
    t.go({"n": 1, "log": []})
    inner = _inside(t, "inner")
    t.update({"log": ["by hand"]}, at=inner.config, as_node="asks")
    t.go(None, subgraphs=True)


@scenario("subgraph", "update_state inside", "checkpointer=True", exit=False)
def nested_edit_kept(api: Api, t: Script) -> None:
    """The state of a graph that keeps it is edited between two turns."""
    t.compile(_desk(api, True))
    t.go({"n": 1, "log": []})
    t.update({"log": ["edited"]}, at=_inside(t, "inner").config, as_node="asks")
    t.go(None)
    t.go({"n": 2, "log": ["two"]})
    t.go(api.Command(resume="b"))


@scenario("subgraph", "time travel", "root")
def nested_replay_root(api: Api, t: Script) -> None:
    """The outer graph runs again from before the inner one: that begins anew and asks anew."""
    t.compile(_desk(api))
    t.go({"n": 1, "log": []})
    t.go(api.Command(resume="first"))
    past = [each for each in t.history() if each.next == ("inner",)]
    t.go(None, at=past[-1].config, subgraphs=True)
    t.go(api.Command(resume="again"))


@scenario("subgraph", "time travel", "root", "checkpointer=True")
def nested_replay_root_kept(api: Api, t: Script) -> None:
    """An inner graph that keeps its state begins where it stood before the checkpoint that is run again."""
    t.compile(_desk(api, True))
    t.go({"n": 1, "log": ["one"]})
    t.go(api.Command(resume="first"))
    t.go({"n": 2, "log": ["two"]})
    t.go(api.Command(resume="second"))
    past = [each for each in t.history() if each.next == ("inner",)]
    t.go(None, at=past[0].config, subgraphs=True)
    t.go(api.Command(resume="again"))


@scenario("subgraph", "time travel", "inside", exit=False)
def nested_replay_inside(api: Api, t: Script) -> None:
    """A config from inside a graph that keeps nothing beyond its task: it begins at its start."""
    t.compile(_desk(api))
    t.go({"n": 1, "log": []})
    inner = _inside(t, "inner")
    past = list(t.history(at={"configurable": {"checkpoint_ns": inner.config["configurable"]["checkpoint_ns"]}}))
    t.go(None, at=past[1].config, subgraphs=True)
    t.go(api.Command(resume="again"))


@scenario("subgraph", "time travel", "inside", "checkpointer=True", exit=False)
def nested_replay_inside_kept(api: Api, t: Script) -> None:
    """A config from inside a graph that keeps its state: the root is forked, then it, and it goes on from there."""
    t.compile(_desk(api, True))
    t.go({"n": 1, "log": []})
    inner = _inside(t, "inner")
    past = list(t.history(at={"configurable": {"checkpoint_ns": inner.config["configurable"]["checkpoint_ns"]}}))
    t.go(None, at=past[1].config, subgraphs=True)
    t.go(api.Command(resume="again"))


@scenario("subgraph", "time travel", "inside", "fork by edit", "checkpointer=True", exit=False)
def nested_fork_inside_kept(api: Api, t: Script) -> None:
    """An older checkpoint inside a graph is edited, and the fork that this makes is run."""
    t.compile(_desk(api, True))
    t.go({"n": 1, "log": []})
    inner = _inside(t, "inner")
    past = list(t.history(at={"configurable": {"checkpoint_ns": inner.config["configurable"]["checkpoint_ns"]}}))
    fork = t.update({"log": ["other"]}, at=past[0].config)
    t.go(None, at=fork, subgraphs=True)
    t.go(api.Command(resume="again"))


@scenario("subgraph", "update_state", "root", "checkpointer=True", exit=False)
def nested_edit_root_kept(api: Api, t: Script) -> None:
    """The root is edited as the node before; the inner graph that had ended gives what it had."""
    inner = line(api, ("x", stamp("x"))).compile(checkpointer=True)
    t.compile(line(api, ("before", stamp("before")), ("inner", inner), ("after", stamp("after"))))
    t.go({"n": 1, "log": ["in"]})
    t.update({"log": ["edit"]}, as_node="before")
    t.go(None, subgraphs=True)


@scenario("subgraph", "update_state", "root", exit=False)
def nested_edit_root(api: Api, t: Script) -> None:
    """The root is edited while an inner graph waits; the node runs anew."""
    t.compile(_desk(api))
    t.go({"n": 1, "log": []})
    t.update({"log": ["edit"]}, as_node="before")
    t.go(None)
    t.go(api.Command(resume="yes"))


@scenario("subgraph", "time travel", "answer anew", exit=False)
def nested_answer_anew(api: Api, t: Script) -> None:
    """The thread is gone back to where the inner question waited, by running that step again; another answer."""
    t.compile(_desk(api))
    t.go({"n": 1, "log": []})
    t.go(api.Command(resume="first"))
    past = [each for each in t.history() if each.next == ("before",)]
    t.go(None, at=past[-1].config)
    t.go(api.Command(resume="other"))


@scenario("subgraph", "called", "interrupt", "time travel")
def nested_called_replay(api: Api, t: Script) -> None:
    """A graph that a function calls, run again from before."""
    inner = line(api, ("x", stamp("x")), ("asks", ask(api, "asks"))).compile()

    def calls(state: Log) -> dict[str, Any]:
        return {"log": inner.invoke({"n": 1, "log": []})["log"]}

    t.compile(line(api, ("before", stamp("before")), ("calls", calls)))
    t.go({"n": 1, "log": []})
    t.go(api.Command(resume="first"))
    past = [each for each in t.history() if each.next == ("calls",)]
    t.go(None, at=past[-1].config)
    t.go(api.Command(resume="second"))


@scenario("subgraph", "two levels", "update_state inside", exit=False)
def nested_edit_deep(api: Api, t: Script) -> None:
    """The state of a graph two levels down is edited."""
    deepest = line(api, ("d1", stamp("d1")), ("d2", ask(api, "d2"))).compile()
    middle = line(api, ("m1", stamp("m1")), ("deepest", deepest)).compile()
    t.compile(line(api, ("middle", middle)))
    t.go({"n": 1, "log": []})
    deep = _inside(t, "middle", "deepest")
    t.update({"log": ["deep edit"]}, at=deep.config)
    t.go(api.Command(resume="yes"))


@scenario("subgraph", "two levels", "checkpointer=True", "time travel", exit=False)
def nested_replay_deep_kept(api: Api, t: Script) -> None:
    """Two graphs that keep their state, one in the other; time travel into the inner one."""
    deepest = line(api, ("d1", stamp("d1")), ("d2", ask(api, "d2"))).compile(checkpointer=True)
    middle = line(api, ("m1", stamp("m1")), ("deepest", deepest)).compile(checkpointer=True)
    t.compile(line(api, ("middle", middle)))
    t.go({"n": 1, "log": []})
    deep = _inside(t, "middle", "deepest")
    past = list(t.history(at={"configurable": {"checkpoint_ns": deep.config["configurable"]["checkpoint_ns"]}}))
    t.go(None, at=past[0].config)
    t.go(api.Command(resume="again"))


@scenario("subgraph", "history inside", "filter", "limit")
def nested_history(api: Api, t: Script) -> None:
    """The history of a namespace, with the options that the root's takes."""
    t.compile(_desk(api, True))
    t.go({"n": 1, "log": []})
    t.go(api.Command(resume="a"))
    inside = {"configurable": {"checkpoint_ns": "inner"}}
    t.history(at=inside)
    t.history(at=inside, limit=2)
    t.history(at=inside, filter={"source": "input"})
    t.state(at=inside)
    t.state(at={"configurable": {"checkpoint_ns": "nothing:here"}})


@scenario("subgraph", "unknown namespace", "update_state", exit=False)
def nested_edit_unknown(api: Api, t: Script) -> None:
    """An edit in a namespace that no node leads to is refused."""
    t.compile(_desk(api))
    t.go({"n": 1, "log": []})
    t.update({"log": ["x"]}, at={"configurable": {"checkpoint_ns": "nobody:1"}}, error="ValueError")


@scenario("subgraph", "durability per call", "interrupt")
def nested_exit_then_sync(api: Api, t: Script) -> None:
    """A run at `exit` stops inside; the next goes on at `sync`."""
    t.compile(_desk(api))
    t.invoke({"n": 1, "log": []}, durability="exit")
    t.state(subgraphs=True)
    t.invoke(api.Command(resume="yes"), durability="sync")


@scenario("subgraph", "static breakpoint outside", "checkpointer=True")
def nested_outer_breakpoint(api: Api, t: Script) -> None:
    """The outer graph stops before the node that runs the inner one."""
    t.compile(_desk(api, True), interrupt_before=["inner"])
    t.go({"n": 1, "log": []})
    t.go(None)
    t.go(api.Command(resume="yes"))
