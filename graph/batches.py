"""Several inputs side by side, on threads or on an event loop; results in the order of the inputs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from .config import max_concurrency_of

_MOST_WORKERS = 32


def batch(
    invoke: Callable[[Any, Any], Any], inputs: Sequence[Any], config: Any, *, return_exceptions: bool
) -> list[Any]:
    """Return what `invoke(input, config)` gives for each input; see `CompiledStateGraph.batch`."""
    configs = _configs(config, len(inputs))
    if not inputs:
        return []

    def one(given: tuple[Any, Any]) -> Any:
        try:
            return invoke(*given)
        except Exception as error:
            if not return_exceptions:
                raise
            return error

    workers = max_concurrency_of(configs[0] or {}) or min(len(inputs), _MOST_WORKERS)
    with ThreadPoolExecutor(workers, thread_name_prefix="lithograph-batch") as pool:
        jobs = [pool.submit(copy_context().run, one, given) for given in zip(inputs, configs, strict=True)]
        return [job.result() for job in jobs]


async def abatch(
    ainvoke: Callable[[Any, Any], Awaitable[Any]], inputs: Sequence[Any], config: Any, *, return_exceptions: bool
) -> list[Any]:
    """Return what `await ainvoke(input, config)` gives for each input; see `CompiledStateGraph.abatch`."""
    import asyncio  # only who awaits pays for it

    configs = _configs(config, len(inputs))
    if not inputs:
        return []
    limit = asyncio.Semaphore(max_concurrency_of(configs[0] or {}) or len(inputs))

    async def one(given: Any, config: Any) -> Any:
        async with limit:
            return await ainvoke(given, config)

    runs = [one(given, config) for given, config in zip(inputs, configs, strict=True)]
    return [*await asyncio.gather(*runs, return_exceptions=return_exceptions)]


def _configs(given: Any, count: int) -> list[Any]:
    """Return a config for each of several inputs; raises `ValueError` when there are more or fewer."""
    if given is None or isinstance(given, Mapping):
        return [given] * count
    configs = list(given)
    if len(configs) != count:
        raise ValueError(f"config must be one for all inputs, or one for each: there are {len(configs)} for {count}")
    return configs
