"""`ThreadState`: the methods of a graph that read and edit the state of a thread.

Reading is `reading`; editing is `editing`. A config with a namespace means a graph inside a node.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from ..eventlog.beside import beside
from ..projections.types import RunnableConfig, StateSnapshot, StateUpdate
from .config import configurable, merge_configs
from .editing import edit
from .reading import Reading, graph_at, namespace_in
from .ready_graph import ReadyGraph


class ThreadState(ReadyGraph):
    """What reads and edits a thread: `get_state`, `get_state_history`, `update_state` and their async twins."""

    def get_state(
        self,
        config: RunnableConfig | Mapping[str, Any],
        *,
        subgraphs: bool = False,
        fold: str = "recorded",
    ) -> StateSnapshot:
        """Return a thread's state: as it stands now, or as a record of the checkpoint that `config` names.

        `fold="reducers"` runs this graph's own reducers over the recorded writes instead of reading what was recorded,
        and raises `ReducerDrift` where the two differ. Raises `CheckpointNotFound`, `MissingThreadId`.
        """
        if fold not in ("recorded", "reducers"):
            raise ValueError(f'fold is "recorded" or "reducers", not {fold!r}')
        config = merge_configs(self.config, config)
        reading = self._reading("get_state", config, subgraphs=subgraphs)
        if fold == "recorded":
            return reading.snapshot(config)
        from .refold import refolded_state

        return refolded_state(reading, config)

    def get_state_history(
        self,
        config: RunnableConfig | Mapping[str, Any],
        *,
        filter: Mapping[str, Any] | None = None,
        before: RunnableConfig | Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> Iterator[StateSnapshot]:
        """Yield a thread's checkpoints, newest first by their place in the log; lazily.

        `filter`: metadata that must be equal. `before`: only what was committed before that checkpoint.
        """
        config = merge_configs(self.config, config)
        return self._reading("get_state_history", config).history(config, filter=filter, before=before, limit=limit)

    def update_state(
        self,
        config: RunnableConfig | Mapping[str, Any],
        values: Any,
        as_node: str | None = None,
        task_id: str | None = None,
    ) -> RunnableConfig:
        """Write to a thread's state as if a node had, and return the config of the checkpoint that this makes.

        Without `as_node` it is the node that wrote last. Raises `InvalidUpdateError`, `ConflictError`.
        """
        return self.bulk_update_state(config, [[StateUpdate(values, as_node, task_id)]])

    def bulk_update_state(
        self,
        config: RunnableConfig | Mapping[str, Any],
        supersteps: Sequence[Sequence[StateUpdate]],
    ) -> RunnableConfig:
        """Make several supersteps of updates, each a checkpoint; several updates in one need `as_node`."""
        persistence = self._needed("update_state")
        config = merge_configs(self.config, config)
        graph = graph_at(self.rules, configurable(config).get("checkpoint_ns") or "")
        return edit(persistence, self.rules, graph, self._ids, config, supersteps, store=self.store)

    async def aget_state(
        self,
        config: RunnableConfig | Mapping[str, Any],
        *,
        subgraphs: bool = False,
        fold: str = "recorded",
    ) -> StateSnapshot:
        """Do what `get_state` does beside the event loop."""
        return await beside(self.get_state, config, subgraphs=subgraphs, fold=fold)

    async def aget_state_history(
        self,
        config: RunnableConfig | Mapping[str, Any],
        *,
        filter: Mapping[str, Any] | None = None,
        before: RunnableConfig | Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StateSnapshot]:
        """Do what `get_state_history` does beside the event loop; lazily."""
        history = self.get_state_history(config, filter=filter, before=before, limit=limit)
        while (entry := await beside(next, history, None)) is not None:
            yield entry

    async def aupdate_state(
        self,
        config: RunnableConfig | Mapping[str, Any],
        values: Any,
        as_node: str | None = None,
        task_id: str | None = None,
    ) -> RunnableConfig:
        """Do what `update_state` does beside the event loop."""
        return await beside(self.update_state, config, values, as_node, task_id)

    async def abulk_update_state(
        self,
        config: RunnableConfig | Mapping[str, Any],
        supersteps: Sequence[Sequence[StateUpdate]],
    ) -> RunnableConfig:
        """Do what `bulk_update_state` does beside the event loop."""
        return await beside(self.bulk_update_state, config, supersteps)

    def _reading(self, what: str, config: Mapping[str, Any], *, subgraphs: bool = False) -> Reading:
        """Return the look at a thread of the graph that a config's namespace leads to, this one if none is seen."""
        thread = self._needed(what).open(config)
        found: ReadyGraph | None = graph_at(self.rules, configurable(config).get("checkpoint_ns") or "")
        rules = self.rules if found is None else found.rules
        return Reading(thread, rules, namespace=namespace_in(config, found), subgraphs=subgraphs)
