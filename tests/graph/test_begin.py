"""What is left behind when a run fails between its claim on the thread and its first step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from lithograph.eventlog import EventLog
from lithograph.graph import Command
from lithograph.graph.loop import Loop
from lithograph.graph.run_writer import Flusher, RunWriter

from .chains import ONE, ask, chain, stamp

GIVEN: dict[str, Callable[[], Any]] = {"go on": lambda: None, "answer": lambda: Command(resume="yes")}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("given", GIVEN)
def test_nobody_looks_after_a_run_that_never_began(
    given: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The background flusher lets go of its writer, the error comes out, and the thread can be gone on with."""
    log = EventLog.in_memory()
    graph = chain(ask=ask(), after=stamp("after")).compile(checkpointer=log, interrupt_before=["ask"])
    graph.invoke({"n": 1}, ONE)
    if given == "answer":
        graph.invoke(None, ONE)
    watched: list[RunWriter] = []
    released: list[RunWriter] = []
    watch, forget = Flusher.watch, Flusher.forget

    def fail(_loop: Loop) -> Any:
        raise error("while the values are shown")

    monkeypatch.setattr(Flusher, "watch", lambda self, writer: (watched.append(writer), watch(self, writer))[1])
    monkeypatch.setattr(Flusher, "forget", lambda self, writer: (released.append(writer), forget(self, writer))[1])
    with monkeypatch.context() as broken:
        broken.setattr(Loop, "output_values", fail)
        with pytest.raises(error, match="while the values are shown"):
            list(graph.stream(GIVEN[given](), ONE, stream_mode="values"))
    assert watched, "the run had claimed the thread"
    assert released == watched
    if given == "go on":
        graph.invoke(None, ONE)
    assert graph.invoke(Command(resume="yes"), ONE)["log"] == ["yes", "after"]
