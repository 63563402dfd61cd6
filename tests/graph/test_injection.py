"""Tests of calling user code: what is injected, by which name and annotation."""

from __future__ import annotations

import asyncio
import functools
import warnings
from typing import Any

import pytest
from lithograph.graph.config import current_scope, get_config, merge_configs, recursion_limit_of, thread_id_of
from lithograph.graph.errors import MissingThreadId, SyncNodeMissing
from lithograph.graph.injection import callee, default_name
from lithograph.graph.types import RunnableConfig, Runtime, StreamWriter

from .scopes import FixedScope

CHUNKS: list[Any] = []
SCOPE = FixedScope(
    {"tags": ["t"]},
    Runtime(context="ctx", store="the store", stream_writer=CHUNKS.append, previous=7),
    error="boom",
)


class BaseStore:
    """Any class of this name is what a `store` parameter may ask for."""


def call(fn: Any, value: Any = "state") -> Any:
    """Call `fn` as a node with the test's scope."""
    return callee(fn, name="node").call(value, SCOPE)


def test_each_parameter_is_injected_by_name_and_annotation() -> None:
    """All six parts of the scope arrive where they are asked for."""

    def node(
        state: str,
        config: RunnableConfig,
        *,
        store: BaseStore,
        writer: StreamWriter,
        previous: Any,
        runtime: Runtime[str],
    ) -> Any:
        writer("chunk")
        return state, config, store, previous, runtime.context

    CHUNKS.clear()
    assert call(node) == ("state", {"tags": ["t"]}, "the store", 7, "ctx")
    assert CHUNKS == ["chunk"]


def test_missing_annotations_and_optional_ones_count() -> None:
    """A bare name is enough; `X | None` and `Optional[X]` mean X."""

    def bare(state, config, store):  # type: ignore[no-untyped-def]
        return config, store

    def optional(state: Any, config: RunnableConfig | None = None, store: BaseStore | None = None) -> Any:
        return config, store

    assert call(bare) == call(optional) == ({"tags": ["t"]}, "the store")


def test_langchain_annotations_count() -> None:
    """langchain-core's `RunnableConfig` is recognised as ours."""
    theirs = pytest.importorskip("langchain_core.runnables").RunnableConfig

    def node(state: Any, config: Any) -> Any:
        return config

    node.__annotations__["config"] = theirs
    node.__annotations__["state"] = Any
    assert call(node) == {"tags": ["t"]}


def test_other_annotations_are_left_alone() -> None:
    """A parameter that only shares the name keeps its default; for `config` that is worth a warning."""

    def node(state: Any, store: dict[str, int] | None = None, error: str = "none") -> Any:
        return store, error

    def configured(state: Any, config: dict[str, Any] | None = None) -> Any:
        return config

    assert call(node) == (None, "none")
    with pytest.warns(UserWarning, match="should be typed as 'RunnableConfig'"):
        assert call(configured) is None


def test_the_first_parameter_is_the_state_whatever_its_name() -> None:
    """A first parameter called `config` gets the state."""

    def node(config):  # type: ignore[no-untyped-def]
        return config

    assert call(node) == "state"


class Counter:
    """A callable object with a method that can be a node too."""

    def __call__(self, state: Any, runtime: Any) -> Any:
        return state, runtime.context

    def method(self, state: Any, config: RunnableConfig) -> Any:
        return state, config


class Doubler:
    """What LangChain's Runnables look like."""

    name = "doubler"

    def invoke(self, value: Any, config: Any) -> Any:
        return value * 2, config


def test_every_kind_of_callable_works() -> None:
    """Objects, methods, partials, lambdas, built-ins, classes and Runnables can be nodes."""
    assert call(Counter()) == ("state", "ctx")
    assert call(Counter().method) == ("state", {"tags": ["t"]})
    assert call(functools.partial(lambda extra, state, config: (extra, config), 1)) == (1, {"tags": ["t"]})
    assert call(lambda state: state.upper()) == "STATE"
    assert call(len) == 5
    assert call(str, 5) == "5"
    assert call(Doubler()) == ("statestate", {"tags": ["t"]})
    with pytest.raises(TypeError, match="Expected a Runnable, callable or dict"):
        callee(5)


def test_names_come_from_the_function_or_object() -> None:
    """A function's name, an object's class, a Runnable's own name."""
    assert default_name(test_every_kind_of_callable_works) == "test_every_kind_of_callable_works"
    assert default_name(Counter()) == "Counter"
    assert default_name(Doubler()) == "doubler"


def test_an_async_node_needs_an_async_driver() -> None:
    """The sync call refuses with a typed `TypeError` naming the node; the async call awaits."""

    async def node(state: Any, runtime: Any) -> Any:
        return state, runtime.context

    ready = callee(node, name="slow")
    assert ready.is_async
    with pytest.raises(SyncNodeMissing, match='No synchronous function provided to "slow"'):
        ready.call("state", SCOPE)
    assert issubclass(SyncNodeMissing, TypeError)
    assert asyncio.run(_await(ready.acall("state", SCOPE))) == ("state", "ctx")


def test_a_sync_node_can_be_awaited() -> None:
    """The async form of a sync function gives the same result, off the event loop."""
    assert asyncio.run(_await(callee(Counter()).acall("state", SCOPE))) == ("state", "ctx")


async def _await(result: Any) -> Any:
    return await result


def test_user_code_reaches_its_surroundings_without_parameters() -> None:
    """`get_config` works inside a node and says so outside of one."""
    with pytest.raises(RuntimeError, match="outside of a runnable context"):
        get_config()
    token = current_scope.set(SCOPE)
    try:
        assert get_config() == {"tags": ["t"]}
    finally:
        current_scope.reset(token)


def test_configs_merge_key_by_key() -> None:
    """Later configs win; metadata and configurable merge; tags add up without doubles."""
    merged = merge_configs(
        {"tags": ["a"], "configurable": {"thread_id": "1"}, "recursion_limit": 5},
        None,
        {"tags": ["a", "b"], "configurable": {"user": "u"}, "recursion_limit": None},
    )
    assert merged == {
        "tags": ["a", "b"],
        "configurable": {"thread_id": "1", "user": "u"},
        "recursion_limit": 5,
    }


def test_thread_ids_are_text_int_or_uuid() -> None:
    """What LangGraph users write as thread ids works; anything else is refused with its type."""
    assert thread_id_of({"configurable": {"thread_id": 5}}) == "5"
    with pytest.raises(MissingThreadId, match="thread_id"):
        thread_id_of({})
    for odd in (True, 1.5, ["a"]):
        with pytest.raises(TypeError, match="must be a str, int or UUID"):
            thread_id_of({"configurable": {"thread_id": odd}})


def test_a_recursion_limit_is_at_least_one() -> None:
    """The default is LangGraph's; zero is refused."""
    assert recursion_limit_of(None) == 10007
    assert recursion_limit_of({"recursion_limit": 3}) == 3
    with pytest.raises(ValueError, match="at least 1"):
        recursion_limit_of({"recursion_limit": 0})


def test_nothing_warns_for_a_well_typed_node() -> None:
    """The config warning is for wrong annotations only."""

    def node(state: Any, config: RunnableConfig | None) -> Any:
        return config

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert call(node) == {"tags": ["t"]}
