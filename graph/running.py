"""`Running`: the methods of a graph that run it. Each call is a `Run`; what happens comes out of a `Stream`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from functools import partial
from typing import Any

from ..projections.types import RunnableConfig
from .batches import abatch, batch
from .ready_graph import ReadyGraph
from .runtime import RunControl
from .types import All, Durability


class Running(ReadyGraph):
    """What runs a graph: `invoke`, `stream`, `batch` and their async twins."""

    def invoke(
        self,
        input: Any,
        config: RunnableConfig | Mapping[str, Any] | None = None,
        *,
        context: Any = None,
        stream_mode: str | Sequence[str] = "values",
        print_mode: str | Sequence[str] = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: All | Sequence[str] | None = None,
        interrupt_after: All | Sequence[str] | None = None,
        durability: Durability | None = None,
        subgraphs: bool = False,
        debug: bool | None = None,
        control: RunControl | None = None,
        version: str = "v1",
        on_conflict: str = "raise",
    ) -> Any:
        """Run the graph and return its last values; with pending questions, under `__interrupt__` too.

        `input` is the graph's input, a `Command`, or `None` to go on with what is pending. With `version="v2"` the
        values and the questions come apart, as a `GraphOutput`. In any other `stream_mode` it is the list of what
        `stream` yields; `print_mode` and `debug` print what it would.

        `durability` says what a crash can cost. In each of them the run's claim on the thread, with its input, is on
        disk before any node runs, and what was recorded when this returns or raises.

        - `"async"` (the default): recorded behind the run. A crash loses at most the last moments of it.
        - `"sync"`: each superstep is on disk before the next one begins. A crash loses the steps that were not done.
        - `"exit"`: one checkpoint, the last, written at the end, and with it what a `Command` answers or writes. A
          crash leaves the thread as it was before the run.

        `on_conflict` says what becomes of this run when another call continues its thread meanwhile: `"raise"` (the
        default) stops it with `ConflictError`, what it had committed stays; `"fork"` goes on in a new thread, named
        after this one and the run, from the last checkpoint that the run committed here, and returns what comes of it
        there. What a node itself raises is never taken for such a conflict.

        `control`: whoever holds it may ask the run to stop before its next superstep (`GraphDrained`);
        `invoke(None)` goes on.

        Raises what a node raised, `ConflictError`, `CheckpointNotFound`, `EmptyInputError`, `NothingToResume`,
        `GraphRecursionError`; whatever was recorded before stays. `ValueError` for any other word in the options.
        """
        if stream_mode != "values":
            return list(
                self.stream(
                    input,
                    config,
                    context=context,
                    stream_mode=stream_mode,
                    print_mode=print_mode,
                    output_keys=self.spec.output_channels if output_keys is None else output_keys,
                    interrupt_before=interrupt_before,
                    interrupt_after=interrupt_after,
                    durability=durability,
                    subgraphs=subgraphs,
                    debug=debug,
                    control=control,
                    version=version,
                    on_conflict=on_conflict,
                )
            )
        options = self._options(config, context, interrupt_before, interrupt_after, durability, control)
        asked, last = self._invoked(options, print_mode, output_keys, debug, subgraphs, version)
        for _ in self._run(options, last, on_conflict).steps(input):
            if asked.printed:
                asked.print_out(last.taken())
        asked.print_out(last.taken())
        return asked.result(last)

    def stream(
        self,
        input: Any,
        config: RunnableConfig | Mapping[str, Any] | None = None,
        *,
        context: Any = None,
        stream_mode: str | Sequence[str] | None = None,
        print_mode: str | Sequence[str] = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: All | Sequence[str] | None = None,
        interrupt_after: All | Sequence[str] | None = None,
        durability: Durability | None = None,
        subgraphs: bool = False,
        debug: bool | None = None,
        control: RunControl | None = None,
        version: str = "v1",
        on_conflict: str = "raise",
    ) -> Iterator[Any]:
        """Run the graph and yield what happens: payloads in one mode, `(mode, payload)` in a list of modes.

        Modes: `values`, `updates` (the default), `checkpoints`, `tasks`, `debug`, `custom`, `messages`, `tools`. With
        `version="v2"` each chunk is a dictionary, a `StreamPart`. `print_mode`: modes that are printed, too or only;
        `debug` prints `updates` and `values`. `output_keys`: which keys `values` and `updates` show.

        Closing the iterator early stops the run: a step of which all was shown is closed, tasks that run at that moment
        are waited for and kept (but at `"exit"`), and the run can be gone on with.

        `durability` and `on_conflict` promise what they do for `invoke`, where "returns" is the iterator's end: with
        `"async"` and `"exit"` a chunk may be seen before what it shows is on disk. With `on_conflict="fork"` the chunks
        go on with those of the fork; the ones of steps that were not committed here come again. Raises what
        `invoke` raises, from the iterator.
        """
        asked, stream, run = self._streamed(
            config,
            context=context,
            stream_mode=stream_mode,
            print_mode=print_mode,
            output_keys=output_keys,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            durability=durability,
            subgraphs=subgraphs,
            debug=debug,
            control=control,
            version=version,
            on_conflict=on_conflict,
        )
        with closing(run.steps(input)) as steps:
            for _ in steps:
                yield from asked.shaped(stream.taken())
        yield from asked.shaped(stream.taken())

    async def ainvoke(
        self,
        input: Any,
        config: RunnableConfig | Mapping[str, Any] | None = None,
        *,
        context: Any = None,
        stream_mode: str | Sequence[str] = "values",
        print_mode: str | Sequence[str] = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: All | Sequence[str] | None = None,
        interrupt_after: All | Sequence[str] | None = None,
        durability: Durability | None = None,
        subgraphs: bool = False,
        debug: bool | None = None,
        control: RunControl | None = None,
        version: str = "v1",
        on_conflict: str = "raise",
    ) -> Any:
        """Do what `invoke` does on the event loop, which goes on meanwhile: nodes that are coroutines run on it.

        A plain function as a node runs on a worker thread. After a failure the step's other tasks are cancelled. When
        the calling task is cancelled, what finished is recorded, and the run can be gone on with.
        """
        if stream_mode != "values":
            steps = self.astream(
                input,
                config,
                context=context,
                stream_mode=stream_mode,
                print_mode=print_mode,
                output_keys=self.spec.output_channels if output_keys is None else output_keys,
                interrupt_before=interrupt_before,
                interrupt_after=interrupt_after,
                durability=durability,
                subgraphs=subgraphs,
                debug=debug,
                control=control,
                version=version,
                on_conflict=on_conflict,
            )
            return [chunk async for chunk in steps]
        options = self._options(config, context, interrupt_before, interrupt_after, durability, control)
        asked, last = self._invoked(options, print_mode, output_keys, debug, subgraphs, version)
        async with aclosing(self._run(options, last, on_conflict).asteps(input)) as steps:
            async for _ in steps:
                if asked.printed:
                    asked.print_out(last.taken())
        asked.print_out(last.taken())
        return asked.result(last)

    def batch(
        self,
        inputs: Sequence[Any],
        config: RunnableConfig | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        *,
        return_exceptions: bool = False,
        **options: Any,
    ) -> list[Any]:
        """Invoke the graph on several inputs side by side and return the results in their order.

        `config`: one for all, or one for each; its `max_concurrency` says how many run at a time, each input a run with
        its own thread id where there is a log. With `return_exceptions` what a run raises is its result.
        """
        return batch(partial(self.invoke, **options), inputs, config, return_exceptions=return_exceptions)

    async def abatch(
        self,
        inputs: Sequence[Any],
        config: RunnableConfig | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        *,
        return_exceptions: bool = False,
        **options: Any,
    ) -> list[Any]:
        """Do what `batch` does on the event loop."""
        return await abatch(partial(self.ainvoke, **options), inputs, config, return_exceptions=return_exceptions)

    async def astream(
        self,
        input: Any,
        config: RunnableConfig | Mapping[str, Any] | None = None,
        *,
        context: Any = None,
        stream_mode: str | Sequence[str] | None = None,
        print_mode: str | Sequence[str] = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: All | Sequence[str] | None = None,
        interrupt_after: All | Sequence[str] | None = None,
        durability: Durability | None = None,
        subgraphs: bool = False,
        debug: bool | None = None,
        control: RunControl | None = None,
        version: str = "v1",
        on_conflict: str = "raise",
    ) -> AsyncIterator[Any]:
        """Do what `stream` does on the event loop; see `ainvoke`. Custom chunks come while their nodes run."""
        asked, stream, run = self._streamed(
            config,
            context=context,
            stream_mode=stream_mode,
            print_mode=print_mode,
            output_keys=output_keys,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            durability=durability,
            subgraphs=subgraphs,
            debug=debug,
            control=control,
            version=version,
            on_conflict=on_conflict,
        )
        async with aclosing(run.asteps(input)) as steps:
            async for _ in steps:
                for chunk in asked.shaped(stream.taken()):
                    yield chunk
        for chunk in asked.shaped(stream.taken()):
            yield chunk
