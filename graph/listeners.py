"""What langchain-core's models and tools tell while nodes call them: tokens and tool calls, for the streams that ask.

The listeners go into the config that nodes run with, and reach a model with it, or through `ambient`. Each belongs to
one outlet and passes on what happens in its own graph, and with `subgraphs` in graphs inside of that. langchain-core is
imported when the first listener is made: then they become callback handlers of its kind.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, Final, TypeVar, cast
from uuid import UUID

from ..projections.types import RunnableConfig
from .errors import GraphInterrupt
from .found_messages import with_id
from .outlet import Namespace, Outlet
from .rules import PUSH

TAG_NOSTREAM: Final = "nostream"
"""A model or tool with this tag is not shown."""

T = TypeVar("T")


def with_listeners(config: RunnableConfig, outlets: Iterable[Outlet], *, inside: bool) -> RunnableConfig:
    """Return a run's config with listeners for those who see the run, and without those that must not hear it.

    A listener that is there already, as the graph runs inside of the call that it belongs to, stays the one of its
    outlet. When the graph begins a root of its own (not `inside`), its places look like those of the call around it:
    then a listener whose call did not ask for graphs inside of nodes goes. The caller's callbacks are not changed.
    Raises `ImportError` when a listener is needed without langchain-core.
    """
    outlets = tuple(outlets)
    given: Any = config.get("callbacks")
    manager = None if given is None or isinstance(given, list) else given.copy()
    present = list(cast("list[Any]", manager.handlers if manager is not None else given or ()))
    kept = [handler for handler in present if inside or _stays(handler, outlets)]
    heard = {(handler.outlet, handler.mode) for handler in kept if isinstance(handler, _Listener)}
    new = [
        _handler_class(mode)(outlet)
        for outlet in outlets
        for mode in _LISTENERS
        if mode in outlet.modes and (outlet, mode) not in heard
    ]
    if manager is None:
        return config if kept == present and not new else {**config, "callbacks": [*kept, *new]}
    for handler in present:
        if handler not in kept:
            manager.remove_handler(handler)
    for listener in new:
        manager.add_handler(listener, inherit=True)
    return {**config, "callbacks": manager}


def _stays(handler: Any, outlets: tuple[Outlet, ...]) -> bool:
    return not isinstance(handler, _Listener) or handler.outlet.subgraphs or handler.outlet in outlets


@cache
def _handler_class(mode: str) -> Any:
    """Return the listener of a mode as a callback handler."""
    from langchain_core.callbacks import BaseCallbackHandler

    listener = _LISTENERS[mode]
    return type(listener.__name__, (listener, BaseCallbackHandler), {})


def graph_namespace(metadata: Mapping[str, Any]) -> Namespace:
    """Return the namespace of the graph whose task has this metadata: the task's without what the graph calls.

    A call of a function from within a task has a place below its caller's, but runs in its caller's graph.
    """
    namespace = tuple(str(metadata["langgraph_checkpoint_ns"]).split("|"))
    path: Any = metadata.get("langgraph_path", ())
    own = 1
    while len(path) == 4 and path[0] == PUSH and path[3] is True:
        own, path = own + 1, path[1]
    return namespace[:-own]


class _Listener:
    """Passes on to one outlet. Has the two `tap_…` methods, by which models know that somebody wants their tokens."""

    mode: ClassVar[str]
    run_inline = True
    """On the thread of whoever tells: what one task tells keeps its order."""

    def __init__(self, outlet: Outlet) -> None:
        self.outlet = outlet

    def tap_output_aiter(self, run_id: UUID, output: AsyncIterator[T]) -> AsyncIterator[T]:
        """Return what streams as it is."""
        return output

    def tap_output_iter(self, run_id: UUID, output: Iterator[T]) -> Iterator[T]:
        """Return what streams as it is."""
        return output

    def place(self, metadata: Mapping[str, Any] | None, tags: list[str] | None) -> Namespace | None:
        """Return the namespace in which something starts, `None` when it is not to be shown."""
        if not metadata or "langgraph_checkpoint_ns" not in metadata or TAG_NOSTREAM in (tags or ()):
            return None
        namespace = graph_namespace(metadata)
        heard = self.outlet.subgraphs or not namespace or namespace == self.outlet.namespace
        return namespace if heard else None


class MessageListener(_Listener):
    """Shows the tokens of chat models, or their whole message when they do not stream."""

    mode = "messages"

    def __init__(self, outlet: Outlet) -> None:
        super().__init__(outlet)
        self._running: dict[UUID, tuple[Namespace, dict[str, Any]]] = {}
        """The calls of models that are to be shown: where, and with which metadata."""

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[Any]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Remember where a model is called."""
        namespace = self.place(metadata, tags)
        if namespace is None:
            return
        shown = [tag for tag in tags or () if not tag.startswith("seq:step")]
        self._running[run_id] = (namespace, {**(metadata or {}), **({"tags": shown} if shown else {})})

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: UUID, **kwargs: Any) -> None:
        """Show a token."""
        running = self._running.get(run_id)
        # Only a chat model's chunk has a message.
        if running is not None and (message := getattr(chunk, "message", None)) is not None:
            self.outlet.put_message(running[0], with_id(message), running[1])

    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Show the message of a model that did not stream it."""
        running = self._running.pop(run_id, None)
        if running is None or not response.generations or not response.generations[0]:
            return
        if (message := getattr(response.generations[0][0], "message", None)) is not None:
            self.outlet.put_message(running[0], with_id(message), running[1], once=True)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget the call."""
        self._running.pop(run_id, None)


class ToolListener(_Listener):
    """Shows when tools start, finish and fail."""

    mode = "tools"

    def __init__(self, outlet: Outlet) -> None:
        super().__init__(outlet)
        self._running: dict[UUID, tuple[Namespace, str]] = {}
        """The calls of tools that are to be shown: where, and the id of the call."""

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Show that a tool starts."""
        namespace = self.place(metadata, tags)
        if namespace is None:
            return
        call = cast("str", kwargs.get("tool_call_id") or str(run_id))
        self._running[run_id] = (namespace, call)
        name = (cast("dict[str, Any] | None", serialized) or {}).get("name") or kwargs.get("name") or ""
        started = {"event": "tool-started", "tool_call_id": call, "tool_name": name}
        self._show(namespace, started if inputs is None else {**started, "input": inputs})

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Show what a tool returned."""
        if (running := self._running.pop(run_id, None)) is not None:
            self._show(running[0], {"event": "tool-finished", "tool_call_id": running[1], "output": output})

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Show that a tool failed; one that asks a question has not: it runs again with the answer."""
        running = self._running.pop(run_id, None)
        if running is not None and not isinstance(error, GraphInterrupt):
            self._show(running[0], {"event": "tool-error", "tool_call_id": running[1], "message": str(error)})

    def _show(self, namespace: Namespace, payload: dict[str, Any]) -> None:
        self.outlet.put_live((namespace, "tools", payload))


_LISTENERS: Final[dict[str, type[_Listener]]] = {
    listener.mode: listener for listener in (MessageListener, ToolListener)
}
