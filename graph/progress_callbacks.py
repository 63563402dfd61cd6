"""A LangChain callback handler to which every event is a sign of life. langchain-core is imported when one is made."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ..projections.types import RunnableConfig

_EVENTS = (
    *("on_llm_start", "on_chat_model_start", "on_llm_new_token", "on_llm_end", "on_llm_error"),
    *("on_chain_start", "on_chain_end", "on_chain_error", "on_tool_start", "on_tool_end", "on_tool_error"),
    *("on_retriever_start", "on_retriever_end", "on_retriever_error"),
    *("on_agent_action", "on_agent_finish", "on_text", "on_retry", "on_custom_event"),
)


def with_progress(config: RunnableConfig, progress: Callable[[], None]) -> RunnableConfig:
    """Return the config with one more handler, which calls `progress` at each event of what runs under it."""
    from langchain_core.runnables.config import merge_configs

    given: Any = config
    merged: Any = merge_configs(given, {"callbacks": [_handler_class()(progress)]})
    return merged


@cache
def _handler_class() -> Any:
    from langchain_core.callbacks import BaseCallbackHandler

    def event(handler: Any, *_given: Any, **_parts: Any) -> None:
        handler.progress()

    def begin(handler: Any, progress: Callable[[], None]) -> None:
        handler.progress = progress

    # In line: on a thread of its own an event could come after the one that follows it.
    parts = {"run_inline": True, "__init__": begin, **dict.fromkeys(_EVENTS, event)}
    return type("ProgressHandler", (BaseCallbackHandler,), parts)
