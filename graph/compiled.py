"""`CompiledStateGraph`: what `StateGraph.compile` returns. What it can do is in `pregel`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..projections.types import RunnableConfig
from .pregel import Pregel
from .spec import GraphSpec

if TYPE_CHECKING:
    from .builder import StateGraph


class CompiledStateGraph(Pregel):
    """A compiled graph. Holds no state of runs: one object serves any number of threads.

    graph = builder.compile(checkpointer=EventLog("audit.lithograph"))
    graph.invoke({"messages": []}, {"configurable": {"thread_id": "1"}})
    """

    stream_mode: str | Sequence[str] = "updates"

    def __init__(
        self,
        spec: GraphSpec,
        *,
        builder: StateGraph[Any],
        checkpointer: Any = None,
        cache: Any = None,
        store: Any = None,
        debug: bool = False,
        config: RunnableConfig | None = None,
    ) -> None:
        super().__init__(spec, checkpointer=checkpointer, cache=cache, store=store, debug=debug, config=config)
        self.builder = builder
