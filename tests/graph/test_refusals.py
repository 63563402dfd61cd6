"""A step that was refused stays refused, whatever its reducer would say if it were asked again."""

# No postponed annotations: the builder reads local schemas from the annotations of nodes.

from typing import Annotated, Any

import pytest
from lithograph.eventlog import EventLog
from typing_extensions import TypedDict

from .chains import ONE, chain


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_reducer_that_fails_once_leaves_a_thread_that_can_be_read(durability: str) -> None:
    """The step is void, state and tasks show it, and the thread goes on; nothing that is void is folded."""
    calls: list[int] = []

    def flaky(left: list[Any], right: list[Any]) -> list[Any]:
        calls.append(1)
        if len(calls) == 2:
            raise ValueError("not now")
        return left + right

    class State(TypedDict):
        parts: Annotated[list[Any], flaky]

    log = EventLog.in_memory()
    graph = chain(State, a=lambda state: {"parts": ["a"]}, b=lambda state: {"parts": ["b"]}).compile(checkpointer=log)
    with pytest.raises(ValueError, match="not now"):
        graph.invoke({"parts": ["input"]}, ONE, durability=durability)
    for reader in (log, EventLog.over(log.engine)):
        state = graph.builder.compile(checkpointer=reader).get_state(ONE)
        assert state.values == {"parts": ["input"]}
        assert "not now" in str(state.tasks[0].error)
    assert graph.invoke(None, ONE, durability=durability) == {"parts": ["input", "a", "b"]}
