"""`Pregel`: a graph ready to run, with everything that can be done with it, under LangGraph's method names.

`Running` runs it, `ThreadState` reads and edits its threads, `CachedGraph` clears its cache, `DrawnGraph` shows its
shape; `ReadyGraph` is what they share.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

from ..projections.types import RunnableConfig
from .cached_graph import CachedGraph
from .config import merge_configs
from .drawn import DrawnGraph
from .errors import MethodNotYet
from .running import Running
from .thread_state import ThreadState

_LATER = frozenset(
    {
        *("get_input_schema", "get_output_schema", "get_input_jsonschema", "get_output_jsonschema"),
        "get_context_jsonschema",
    }
)


class Pregel(Running, ThreadState, CachedGraph, DrawnGraph):
    """A graph ready to run. `CompiledStateGraph`, which `StateGraph.compile` gives, is one."""

    def with_config(self, config: RunnableConfig | Mapping[str, Any] | None = None, **parts: Any) -> Self:
        """Return the same graph with a config that every call begins from; `parts` are further keys of it.

        What a call's own config says wins, key by key in `configurable` and `metadata`; tags add up. This graph stays
        as it is.

        >>> desk = graph.with_config({"configurable": {"thread_id": "case-7"}}, tags=["desk"])
        >>> desk.invoke({"amount": 1}), desk.get_state({})
        """
        other = copy.copy(self)
        other.config = merge_configs(self.config, config, parts)
        return other

    def get_name(self) -> str:
        """Return the graph's name."""
        return self.name

    def __getattr__(self, name: str) -> Any:
        """Say of LangGraph's methods that are to come that they are; of anything else what Python says."""
        if name in _LATER:
            raise MethodNotYet(f"{name}() of a compiled graph comes in a later release")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
