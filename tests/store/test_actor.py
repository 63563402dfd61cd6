"""`require_actor` and the memory store: nobody deletes an item without answering for it."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import ActorRequired
from lithograph.eventlog.events import ItemDeleted
from lithograph.graph import START, StateGraph, get_store
from lithograph.store import EventLogStore, PutOp
from typing_extensions import TypedDict

NOTES = ("notes",)

DELETIONS: dict[str, Callable[[EventLogStore], Any]] = {
    "delete": lambda store: store.delete(NOTES, "one"),
    "batch": lambda store: store.batch([PutOp(NOTES, "two", {"text": "new"}), PutOp(NOTES, "one", None)]),
    "what is not there": lambda store: store.delete(NOTES, "nothing"),
    "adelete": lambda store: asyncio.run(store.adelete(NOTES, "one")),
    "abatch": lambda store: asyncio.run(store.abatch([PutOp(NOTES, "one", None)])),
}


@pytest.fixture
def store() -> EventLogStore:
    """A store with one item, on a log that demands an actor."""
    store = EventLogStore(EventLog.in_memory(require_actor=True))
    store.put(NOTES, "one", {"text": "old"})
    return store


def _deletions(log: EventLog) -> list[tuple[str | None, str | None]]:
    records = [record for page in log.scan() for record in page if isinstance(record.event, ItemDeleted)]
    return [(record.body.actor, record.body.reason) for record in records]


@pytest.mark.parametrize("act", DELETIONS)
def test_a_deletion_needs_an_actor(store: EventLogStore, act: str) -> None:
    """However it is asked for: `ActorRequired` and nothing is written, not even the batch's puts."""
    before = store.log.log_head().position
    with pytest.raises(ActorRequired, match="deletion of an item"):
        DELETIONS[act](store)
    assert store.log.log_head().position == before


@pytest.mark.parametrize("act", ["delete", "batch", "adelete", "abatch"])
def test_with_one_it_is_done_and_says_who(store: EventLogStore, act: str) -> None:
    """Within `as_actor` the item goes, and the event has name and reason; puts and reads never needed one."""
    assert store.get(NOTES, "one") is not None
    with store.log.as_actor("ada", reason="she asked for it"):
        DELETIONS[act](store)
    assert store.get(NOTES, "one") is None
    assert _deletions(store.log) == [("ada", "she asked for it")]


class State(TypedDict):
    """Nothing of interest."""

    n: int


@pytest.mark.parametrize("inside", [True, False])
def test_a_node_acts_as_who_runs_the_graph(store: EventLogStore, inside: bool) -> None:
    """The actor of a run's config answers for its nodes' deletions; an `as_actor` around the run comes first."""

    def forget(_state: State) -> None:
        get_store().delete(NOTES, "one")

    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("forget", forget).add_node("sibling", lambda state: None)
    builder.add_edge(START, "forget").add_edge(START, "sibling")
    graph = builder.compile(checkpointer=store.log, store=store)
    config: Any = {"configurable": {"thread_id": "1"}}
    with pytest.raises(ActorRequired):
        graph.invoke({"n": 1}, config)
    named = config | {"metadata": {"actor": "bob", "reason": "by config"}}
    if inside:
        with store.log.as_actor("ada"):
            graph.invoke({"n": 1}, named)
    else:
        graph.invoke({"n": 1}, named)
    # Bob's reason is not given to Ada, here as on the run's own events.
    assert _deletions(store.log) == [("ada", None) if inside else ("bob", "by config")]
