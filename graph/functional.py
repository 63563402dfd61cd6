"""The functional API: `@entrypoint` makes a graph of one function, `@task` makes functions that it calls as tasks.

    @task
    def assess(application: dict) -> float: ...

    @entrypoint(checkpointer=log)
    def desk(applications: list[dict]) -> list[float]:
        return [future.result() for future in [assess(each) for each in applications]]

A call begins at once, beside its caller, and gives a future. What finished is recorded: when the function runs again,
after an answer or a failure, it gets the same results without a second call, as long as it calls in the same order.
Read `calls` for how calls run.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, ParamSpec, TypeVar, cast, get_args, get_origin, overload

from ..projections.channels import EphemeralValue, LastValue
from ..projections.timeouts import TimeoutPolicy
from ..projections.types import END, PREVIOUS, RETURN, START
from .assembly import spec_of
from .cache import CachePolicy
from .calls import Call, CallFuture
from .config import current_scope
from .errors import GeneratorRefused, SyncTimeout
from .injection import callee, exploded, is_async
from .inner_graphs import referred
from .pregel import Pregel
from .retry import RetryPolicy, policies_of
from .schema import coerce_context, visible_hints
from .spec import MISSING, GraphSpec, NodeSpec
from .tasks import TaskScope
from .writes import no_unknown_keys

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., Any])


class TaskFunction(Generic[P, R]):
    """A function whose calls are tasks: made by `task`. Calling it gives a future of what it returns."""

    def __init__(self, func: Callable[P, Any], node: NodeSpec) -> None:
        self.func = func
        self.node = node
        functools.update_wrapper(self, func)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> CallFuture:
        """Start a call beside the caller; raises `RuntimeError` outside of an entrypoint or a node."""
        scope = current_scope.get()
        calls = scope.task.run.calls if isinstance(scope, TaskScope) else None
        if not isinstance(scope, TaskScope) or calls is None:
            raise RuntimeError(
                f"Called get_config outside of a runnable context: the task {self.node.name!r} can be called only "
                "while an entrypoint, a node or another task runs."
            )
        return calls.start(scope.task, Call(self.node, args, kwargs))

    def __get__(self, instance: Any, _owner: Any = None) -> Any:
        """Bind a task that is a method."""
        return self if instance is None else functools.partial(self, instance)


@overload
def task(func: Callable[P, R], /) -> TaskFunction[P, R]: ...


@overload
def task(
    func: None = None,
    /,
    *,
    name: str | None = None,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: CachePolicy[Any] | None = None,
    timeout: float | timedelta | TimeoutPolicy | None = None,
) -> Callable[[Callable[P, R]], TaskFunction[P, R]]: ...


def task(
    func: Any = None,
    /,
    *,
    name: str | None = None,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: CachePolicy[Any] | None = None,
    timeout: float | timedelta | TimeoutPolicy | None = None,
) -> Any:
    """Make a function whose calls are tasks: recorded, tried again as `retry_policy` says, and side by side.

    `cache_policy`: a call is skipped when the cache of the graph holds what one with the same arguments returned.
    `timeout`: for each attempt, in seconds; only for asynchronous functions (`ValueError` for others).
    """
    limits = TimeoutPolicy.coerce(timeout)

    def decorate(func: Callable[..., Any]) -> TaskFunction[Any, Any]:
        called = name or _name_of(func)
        if limits is not None and not is_async(func):
            raise SyncTimeout(called, kind="Task")
        given = exploded(func, name=called)
        node = NodeSpec(
            name=called,
            triggers=(),
            reads=(),
            read=lambda _values: None,
            call=given.call,
            acall=given.acall,
            is_async=given.is_async,
            writes=lambda result: [(RETURN, result)],
            unknown_keys=no_unknown_keys,
            fn=func,
            retry=policies_of(retry_policy),
            cache=cache_policy,
            timeout=limits,
        )
        return TaskFunction(func, node)

    return decorate if func is None else decorate(func)


class entrypoint:
    """Make a graph of one function: `invoke(input, config)` calls it; `previous` is what it last returned there.

    The function takes the input first, and by name what a node may ask for: `previous`, `config`, `runtime`, `store`,
    `writer`. It may call tasks, ask with `interrupt`, and return `entrypoint.final(value=…, save=…)` to save something
    else than it returns.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class final(Generic[R, S]):
        """What an entrypoint returns to its caller, and what it saves for its next run."""

        value: R
        save: S

    def __init__(
        self,
        checkpointer: Any = None,
        store: Any = None,
        cache: Any = None,
        context_schema: type[Any] | None = None,
        cache_policy: CachePolicy[Any] | None = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
    ) -> None:
        self.checkpointer = checkpointer
        self.store = store
        self.cache = cache
        self.context_schema = context_schema
        self.cache_policy = cache_policy
        self.retry_policy = policies_of(retry_policy)
        self.timeout = TimeoutPolicy.coerce(timeout)

    def __call__(self, func: Callable[..., Any]) -> Pregel:
        """Return the graph. Raises `NotImplementedError` for a generator, `ValueError` without a parameter."""
        if inspect.isgeneratorfunction(func) or inspect.isasyncgenfunction(func):
            raise GeneratorRefused("Generators are not supported in the Functional API.")
        graph = Pregel(
            self._spec(func),
            checkpointer=self.checkpointer,
            store=self.store,
            cache=self.cache,
        )
        graph.stream_mode = "updates"
        functools.update_wrapper(cast("Any", graph), func, assigned=("__doc__",), updated=())
        return graph

    def _spec(self, func: Callable[..., Any]) -> GraphSpec:
        given, saved, returned = _annotations(func)
        name = _name_of(func)
        if self.timeout is not None and not is_async(func):
            raise SyncTimeout(name)
        called = callee(func, name=name)
        node = NodeSpec(
            name=name,
            triggers=(START,),
            reads=(START,),
            read=lambda values: values.get(START, MISSING),
            call=called.call,
            acall=called.acall,
            is_async=called.is_async,
            writes=_results,
            unknown_keys=no_unknown_keys,
            input_schema=given,
            fn=func,
            retry=self.retry_policy,
            cache=self.cache_policy,
            timeout=self.timeout,
        )
        return spec_of(
            {name: node},
            {START: EphemeralValue(given), END: LastValue(returned), PREVIOUS: LastValue(saved)},
            output=END,
            context_schema=self.context_schema,
            coerce_context=functools.partial(coerce_context, self.context_schema),
            types=(given, saved, returned, self.context_schema, *_task_types(func)),
        )


def _results(result: Any) -> list[tuple[str, Any]]:
    """Return what an entrypoint's result writes: the value for its caller, and the one for its next run."""
    if isinstance(result, entrypoint.final):
        final = cast("entrypoint.final[Any, Any]", result)
        return [(END, final.value), (PREVIOUS, final.save)]
    return [(END, result), (PREVIOUS, result)]


def _annotations(func: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """Return the types of an entrypoint's input, of what it saves, and of what it returns."""
    parameters = inspect.signature(func).parameters
    if not parameters:
        raise ValueError("Entrypoint function must have at least one parameter")
    hints = visible_hints(func)
    given = hints.get(next(iter(parameters)), Any)
    result = hints.get("return", Any)
    if result is entrypoint.final:
        return given, Any, Any
    if get_origin(result) is entrypoint.final:
        returned, saved = get_args(result)
        return given, saved, returned
    return given, result, result


def _task_types(func: Callable[..., Any]) -> tuple[Any, ...]:
    """Return what annotates the tasks that a function refers to: their values are in its threads."""
    functions: list[Any] = [each for each in referred(func) if isinstance(each, TaskFunction)]
    return tuple(hint for each in functions for hint in visible_hints(each.func).values())


def _name_of(func: Any) -> str:
    name = getattr(func, "__name__", None) or getattr(getattr(func, "func", None), "__name__", None)
    return name or type(func).__name__
