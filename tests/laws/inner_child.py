"""The process that law L5 kills while graphs run inside nodes and tasks call tasks.

    python -m tests.laws.inner_child FOLDER KIND FIRST

KIND is a durability and, behind a colon, `loop` for runs on an event loop. Effects and acknowledgements are as in
`child`.
"""

from __future__ import annotations

import asyncio
import operator
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from lithograph.eventlog import EventLog
from lithograph.graph import START, Runtime, StateGraph, get_runtime, task
from typing_extensions import TypedDict


class Outer(TypedDict):
    """What the outer graph holds."""

    n: int
    seen: Annotated[list[str], operator.add]


class Inner(TypedDict):
    """What the graphs inside hold."""

    n: int
    steps: Annotated[list[str], operator.add]


def expected(number: int) -> dict[str, Any]:
    """Return what thread `number` amounts to when it ran to its end."""
    steps = [f"{name} {place}" for name in ("brief", "kept") for place in range(3)]
    return {"n": number, "seen": ["before", *steps, "call 0", "call 1", "after"]}


def graph(folder: Path, log: EventLog) -> Any:
    """Return a graph that runs a graph of each kind inside a node, and whose last node calls tasks."""
    effects = os.open(folder / "effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def leave(runtime: Runtime[Any], node: str) -> None:
        info = runtime.execution_info
        assert info is not None
        os.write(effects, f"{info.thread_id} {info.checkpoint_id} {info.task_id} {node}\n".encode())

    def step(name: str) -> Callable[..., Any]:
        def node(state: Inner, runtime: Runtime[Any]) -> Any:
            leave(runtime, name.replace(" ", "-"))
            return {"steps": [name]}

        return node

    def inner(name: str, keeps: bool | None) -> Any:
        builder: StateGraph[Any] = StateGraph(Inner)
        for place in range(3):
            builder.add_node(f"step{place}", step(f"{name} {place}"))
            builder.add_edge(f"step{place - 1}" if place else START, f"step{place}")
        return builder.compile(checkpointer=keeps)

    def runs(name: str, keeps: bool | None) -> Callable[..., Any]:
        inside = inner(name, keeps)

        def node(state: Outer) -> Any:
            return {"seen": inside.invoke({"n": state["n"]})["steps"]}

        return node

    @task
    def call(place: int) -> str:
        leave(get_runtime(), f"call-{place}")
        return f"call {place}"

    def calls(_state: Outer) -> Any:
        return {"seen": [future.result() for future in [call(0), call(1)]]}

    def plain(name: str) -> Callable[..., Any]:
        def node(_state: Outer, runtime: Runtime[Any]) -> Any:
            leave(runtime, name)
            return {"seen": [name]}

        return node

    nodes = {
        "before": plain("before"),
        "brief": runs("brief", None),
        "kept": runs("kept", True),
        "calls": calls,
        "after": plain("after"),
    }
    outer: StateGraph[Any] = StateGraph(Outer)
    for before, (name, node) in zip((START, *nodes), nodes.items(), strict=False):
        outer.add_node(name, node)
        outer.add_edge(before, name)
    return outer.compile(checkpointer=log)


def main(folder: Path, kind: str, first: int) -> None:
    """Run threads for ever."""
    durability, _, driver = kind.partition(":")
    with EventLog(folder / "log") as log:
        compiled = graph(folder, log)
        number = first
        while True:
            config = {"configurable": {"thread_id": f"t{number}"}}
            if driver:
                asyncio.run(compiled.ainvoke({"n": number}, config, durability=durability))
            else:
                compiled.invoke({"n": number}, config, durability=durability)
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()
            number += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
