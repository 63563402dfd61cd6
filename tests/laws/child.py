"""The process that law L5 kills: runs threads one after another, says what is done, leaves effects in a file.

    python -m tests.laws.child FOLDER DURABILITY FIRST

Each node writes one line to the file `effects`, the witness, before it returns: thread, checkpoint, task, node. A
thread is named on standard output only after `invoke` returned: then it is acknowledged.
"""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from lithograph.eventlog import EventLog
from lithograph.graph import END, START, Runtime, Send, StateGraph
from typing_extensions import TypedDict

STEPS = 4


class State(TypedDict):
    """What the killed graph holds."""

    n: int
    seen: Annotated[list[str], operator.add]
    tally: Annotated[dict[str, int], lambda left, right: {**left, **right}]


def expected(number: int) -> dict[str, Any]:
    """Return what thread `number` amounts to when it ran to its end."""
    steps = [f"step {place}" for place in range(STEPS)]
    parts = [f"part {place}" for place in range(number % 3 + 1)]
    return {
        "n": number + STEPS,
        "seen": [*steps, "left", "right", *parts],
        "tally": {"left": number + STEPS, "right": number + STEPS},
    }


def graph(folder: Path, log: EventLog) -> Any:
    """Return the graph: a chain, then two side by side, then as many sends as the thread's number says."""
    effects = os.open(folder / "effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def leave(runtime: Runtime[Any], node: str) -> None:
        info = runtime.execution_info
        assert info is not None
        os.write(effects, f"{info.thread_id} {info.checkpoint_id} {info.task_id} {node}\n".encode())

    def step(place: int) -> Callable[..., Any]:
        def node(state: State, runtime: Runtime[Any]) -> Any:
            leave(runtime, f"step{place}")
            return {"n": state["n"] + 1, "seen": [f"step {place}"]}

        return node

    def side(name: str) -> Callable[..., Any]:
        def node(state: State, runtime: Runtime[Any]) -> Any:
            leave(runtime, name)
            return {"seen": [name], "tally": {name: state["n"]}}

        return node

    def part(packet: Any, runtime: Runtime[Any]) -> Any:
        leave(runtime, f"part{packet['place']}")
        return {"seen": [f"part {packet['place']}"]}

    def scatter(state: State) -> list[Send]:
        return [Send("part", {"place": place}) for place in range((state["n"] - STEPS) % 3 + 1)]

    builder: StateGraph[Any] = StateGraph(State)
    for place in range(STEPS):
        builder.add_node(f"step{place}", step(place))
        builder.add_edge(f"step{place - 1}" if place else START, f"step{place}")
    for name in ("left", "right"):
        builder.add_node(name, side(name))
        builder.add_edge(f"step{STEPS - 1}", name)
    builder.add_node("part", part)
    builder.add_conditional_edges("left", scatter)
    builder.add_edge("part", END)
    return builder.compile(checkpointer=log)


def main(folder: Path, durability: str, first: int) -> None:
    """Run threads for ever."""
    with EventLog(folder / "log") as log:
        compiled = graph(folder, log)
        number = first
        while True:
            config = {"configurable": {"thread_id": f"t{number}"}}
            compiled.invoke({"n": number}, config, durability=durability)
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()
            number += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
