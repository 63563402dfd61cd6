"""Engines whose calls run elsewhere: on other threads, behind an event loop, in other processes. For the suite."""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lithograph.eventlog.engine import Engine

CALLS = (
    "identity",
    "commit",
    "log_head",
    "head",
    "read",
    "read_stream",
    "streams",
    "wait",
    "draw_keys",
    "key",
    "destroy_key",
    "rows",
    "lookup",
    "inspect",
)
Call = Callable[[str, tuple[Any, ...]], Any]


class Elsewhere:
    """An engine each of whose calls is made by `call(name, arguments)`, wherever that is."""

    def __init__(self, limits: Any, call: Call, leave: Callable[[], None]) -> None:
        self.limits = limits
        self.leave = leave
        """End the threads, the loop or the processes in which the calls are made."""
        self._call = call
        self._closed = False

    def close(self) -> None:
        """Close the engine where it is."""
        if not self._closed:
            self._closed = True
            self._call("close", ())


def _forward(name: str) -> Any:
    def call(self: Elsewhere, *arguments: Any) -> Any:
        return self._call(name, arguments)

    return call


for _name in CALLS:
    setattr(Elsewhere, _name, _forward(_name))


def on_threads(engine: Engine) -> Any:
    """Return an engine each of whose calls is made by another thread than the last one."""
    pools = [ThreadPoolExecutor(4), ThreadPoolExecutor(4)]
    turns = itertools.cycle(pools)

    def call(name: str, arguments: tuple[Any, ...]) -> Any:
        return next(turns).submit(getattr(engine, name), *arguments).result()

    def close() -> None:
        for pool in pools:
            pool.shutdown()

    return Elsewhere(engine.limits, call, close)


def behind_loop(engine: Engine) -> Any:
    """Return an engine whose reads run on an event loop and whose commits run beside it, as async callers do it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def made(name: str, arguments: tuple[Any, ...]) -> Any:
        work = getattr(engine, name)
        if name in ("commit", "wait", "draw_keys", "destroy_key", "close"):
            return await asyncio.to_thread(work, *arguments)
        return work(*arguments)

    def call(name: str, arguments: tuple[Any, ...]) -> Any:
        coroutine: Coroutine[Any, Any, Any] = made(name, arguments)
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

    def close() -> None:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    return Elsewhere(engine.limits, call, close)


def _serve(make: Callable[[], Engine], pipe: Any) -> None:
    engine: Any = make()
    while True:
        try:
            name, arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((True, getattr(engine, name)(*arguments)))
        except Exception as error:  # noqa: BLE001 (for whoever called)
            pipe.send((False, error))


class _Server:
    """A process that has the log open and makes one call at a time."""

    def __init__(self, make: Callable[[], Engine]) -> None:
        self.busy = threading.Lock()
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(target=_serve, args=(make, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def call(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Make a call; the server is taken by whoever calls."""
        try:
            self.pipe.send((name, arguments))
            worked, answer = self.pipe.recv()
        finally:
            self.busy.release()
        if not worked:
            raise answer
        return answer


def in_processes(make: Callable[[], Engine]) -> Any:
    """Return an engine whose calls are made by three processes in turn, each of which has opened the log itself."""
    limits = make_and_close(make)
    servers = [_Server(make) for _ in range(3)]
    turns = itertools.count()

    def call(name: str, arguments: tuple[Any, ...]) -> Any:
        if name == "close":
            for server in servers:
                server.busy.acquire()
                server.call(name, arguments)
            return None
        first = next(turns)
        free = (
            server for server in (servers[(first + at) % 3] for at in range(3)) if server.busy.acquire(blocking=False)
        )
        server = next(free, None)
        if server is None:
            server = servers[first % 3]
            server.busy.acquire()
        return server.call(name, arguments)

    def close() -> None:
        for server in servers:
            server.process.kill()
            server.process.join()
            server.pipe.close()

    return Elsewhere(limits, call, close)


def make_and_close(make: Callable[[], Engine]) -> Any:
    """Make sure that the log is there; return its limits."""
    engine = make()
    engine.close()
    return engine.limits
