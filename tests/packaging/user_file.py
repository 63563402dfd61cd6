"""A program as a user would write it: it imports Lithograph by its public names and is fully typed."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from lithograph.eventlog import EventLog
from lithograph.graph import END, START, Command, StateGraph, interrupt
from lithograph.projections import StateSnapshot
from lithograph.store import BaseStore, EventLogStore


class State(TypedDict):
    """What the graph passes on."""

    question: str
    notes: Annotated[list[str], operator.add]


def look_up(state: State, *, store: BaseStore) -> dict[str, Any]:
    """Remember the question in the memory store."""
    store.put(("questions",), "last", {"text": state["question"]})
    return {"notes": ["looked up"]}


def ask(state: State) -> dict[str, Any]:
    """Ask a person."""
    return {"notes": [str(interrupt(state["question"]))]}


def main() -> None:
    """Run a graph with an interrupt, resume it, and read back what the log knows."""
    log = EventLog.in_memory()
    store = EventLogStore(log)
    builder = StateGraph(State)
    builder.add_node("look_up", look_up)
    builder.add_node("ask", ask)
    builder.add_edge(START, "look_up")
    builder.add_edge("look_up", "ask")
    builder.add_edge("ask", END)
    graph = builder.compile(checkpointer=log, store=store)

    graph.invoke({"question": "why?", "notes": []}, {"configurable": {"thread_id": "1"}})
    result = graph.invoke(Command(resume="because"), {"configurable": {"thread_id": "1"}})
    snapshot: StateSnapshot = graph.get_state({"configurable": {"thread_id": "1"}})
    item = store.get(("questions",), "last")
    assert result["notes"] == snapshot.values["notes"] == ["looked up", "because"]
    assert item is not None
    assert item.value == {"text": "why?"}
    assert len(list(graph.get_state_history({"configurable": {"thread_id": "1"}}))) == 4
    assert log.verify().ok
    print("done")


if __name__ == "__main__":
    main()
