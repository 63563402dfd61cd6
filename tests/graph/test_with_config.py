"""`with_config`: a graph that begins every call from a config of its own."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import GraphRecursionError, MissingThreadId, get_config

from .chains import chain, stamp


def _tell(state: Any) -> Any:
    config = get_config()
    return {"log": [[config.get("tags"), config["metadata"].get("who"), config["configurable"].get("colour")]]}


def _bound(log: EventLog, **parts: Any) -> tuple[Any, Any]:
    graph = chain(tell=_tell).compile(checkpointer=log)
    config = {
        "configurable": {"thread_id": "1", "colour": "red"},
        "metadata": {"who": "ada", "desk": 3},
        "tags": ["bound"],
    }
    return graph, graph.with_config(config, **parts)


def test_every_call_begins_from_the_config() -> None:
    """Runs, streams, reads, history and edits need no config of their own: thread, metadata and tags are there."""
    log = EventLog.in_memory()
    graph, bound = _bound(log)
    told = [["bound"], "ada", "red"]
    assert bound.invoke({"n": 1})["log"] == [told]
    assert list(bound.stream({"n": 2}, stream_mode="updates")) == [{"tell": {"log": [told]}}]
    bound.update_state({}, {"log": ["edited"]})
    state = bound.get_state({})
    assert state.values == {"n": 2, "log": [told, told, "edited"]}
    assert (state.metadata["who"], state.metadata["desk"]) == ("ada", 3)
    assert len(list(bound.get_state_history({}))) == 7
    assert graph.get_state({"configurable": {"thread_id": "1"}}).values == state.values


def test_what_a_call_says_wins() -> None:
    """A call's own config wins key by key, and its tags are added; the next call begins from the bound config again."""
    log = EventLog.in_memory()
    _, bound = _bound(log)
    other = {"configurable": {"thread_id": "2"}, "metadata": {"who": "bob"}, "tags": ["called"]}
    assert bound.invoke({"n": 1}, other)["log"] == [[["bound", "called"], "bob", "red"]]
    assert bound.get_state({"configurable": {"thread_id": "2"}}).metadata["desk"] == 3
    assert bound.get_state({}).values == {}
    assert bound.invoke({"n": 1})["log"] == [[["bound"], "ada", "red"]]


def test_configs_add_up_and_leave_the_graph_as_it_was() -> None:
    """`with_config` on a bound graph binds more; the graphs that it was called on know nothing of it."""
    log = EventLog.in_memory()
    graph, bound = _bound(log)
    more = bound.with_config(configurable={"colour": "blue"}, tags=["more"])
    assert more.invoke({"n": 1})["log"] == [[["bound", "more"], "ada", "blue"]]
    assert bound.invoke({"n": 1})["log"][-1] == [["bound"], "ada", "red"]
    with pytest.raises(MissingThreadId):
        graph.invoke({"n": 1})
    assert more.name == graph.name
    assert more.checkpointer is log


def test_a_recursion_limit_may_be_bound() -> None:
    """A limit given as a keyword holds for every call that names none."""
    graph = chain(a=stamp("a"), b=stamp("b")).compile(checkpointer=EventLog.in_memory())
    bound = graph.with_config(None, recursion_limit=1, configurable={"thread_id": "1"})
    with pytest.raises(GraphRecursionError):
        bound.invoke({"n": 1})
    assert bound.invoke({"n": 1}, {"recursion_limit": 3})["log"] == ["a", "a", "b"]
