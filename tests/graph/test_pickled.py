"""LangGraph's block about pickle: `JsonPlusSerializer(pickle_fallback=True)` on a saver, and who loads its pickles."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, TypedDict

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.errors import UnregisteredType, UnsupportedTypeError, ValueEncodingError
from lithograph.eventlog.serde import JsonPlusSerializer, Opaque
from lithograph.graph import START, StateGraph
from lithograph.projections import EventLogSaver, InMemorySaver

pandas = pytest.importorskip("pandas")
ONE: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    """A state with what pickle stores, within other things and alone."""

    frame: Any
    frames: list[Any]
    seen: list[str]


def frame() -> Any:
    """Return a data frame."""
    return pandas.DataFrame({"name": ["a", "b"], "amount": [1.5, float("nan")]})


def builder() -> StateGraph[Any]:
    """Return a graph whose first node writes frames and whose second reads them."""

    def load(state: State) -> Any:
        return {"frame": frame(), "frames": [frame(), (1, 2), {"inner": frame()}]}

    def count(state: State) -> Any:
        return {"seen": [str(len(state["frame"])), str(state["frame"]["amount"].sum())]}

    made: StateGraph[Any] = StateGraph(State)
    made.add_node("load", load)
    made.add_node("count", count)
    made.add_edge(START, "load")
    made.add_edge("load", "count")
    return made


def compiled(saver: Any, **options: Any) -> Any:
    """Return the graph on a saver."""
    return builder().compile(checkpointer=saver, **options)


def told(log: EventLog) -> EventLogSaver:
    """Return a saver that was told to accept pickles."""
    return EventLogSaver(log, serde=JsonPlusSerializer(pickle_fallback=True))


def test_the_block_of_the_manual_runs() -> None:
    """A graph on `InMemorySaver(serde=JsonPlusSerializer(pickle_fallback=True))` holds data frames."""
    graph = builder().compile(checkpointer=InMemorySaver(serde=JsonPlusSerializer(pickle_fallback=True)))
    result = graph.invoke({"seen": []}, ONE)
    assert result["frame"].equals(frame())
    values = graph.get_state(ONE).values
    assert values["frame"].equals(frame())
    assert values["frames"][0].equals(frame())
    assert values["frames"][1] == (1, 2)
    assert values["frames"][2]["inner"].equals(frame())
    assert values["seen"] == ["2", "1.5"]


def test_without_the_option_frames_are_refused_with_their_path() -> None:
    """By a log, a saver without serde and one whose serde may not pickle: nothing of the node's write is stored."""
    for saver in (EventLog.in_memory(), InMemorySaver(), InMemorySaver(serde=JsonPlusSerializer())):
        graph = compiled(saver)
        with pytest.raises(UnsupportedTypeError) as caught:
            graph.invoke({"seen": []}, ONE)
        assert caught.value.path == "frame"
        assert "frame" not in graph.get_state(ONE).values


_SECOND = """
    import sys
    from lithograph.eventlog import EventLog
    from lithograph.eventlog.serde import JsonPlusSerializer
    from lithograph.projections import EventLogSaver, snapshot
    from tests.graph.test_pickled import ONE, compiled, frame, told
    with EventLog(sys.argv[1]) as log:
        values = compiled(told(log)).get_state(ONE).values
        assert values["frame"].equals(frame()), values
        assert values["frames"][2]["inner"].equals(frame()), values
        assert compiled(told(log)).invoke(None, ONE)["seen"] == ["2", "1.5"]
        print("read and went on")
"""


def test_a_second_process_reads_them(tmp_path: Path) -> None:
    """Another process whose saver was told so, too, gets equal frames and goes on with them."""
    with EventLog(tmp_path / "log") as log:
        compiled(told(log), interrupt_before=["count"]).invoke({"seen": []}, ONE)
    command = [sys.executable, "-c", textwrap.dedent(_SECOND), str(tmp_path / "log")]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    assert done.stdout == "read and went on\n"


_STRANGER = """
    import sys
    from lithograph.eventlog import EventLog
    from lithograph.eventlog.serde import JsonPlusSerializer, Opaque
    from lithograph.projections import EventLogSaver, history, snapshot
    one = {"configurable": {"thread_id": "1"}}
    with EventLog(sys.argv[1], read_only=True) as log:
        seen = [snapshot(log, one).values, EventLogSaver(log).get(one)["channel_values"]]
        seen.append(EventLogSaver(log, serde=JsonPlusSerializer()).get(one)["channel_values"])
        seen.extend(each.values for each in list(history(log, one))[:1])
        for values in seen:
            assert type(values["frame"]) is Opaque, values
            assert values["frame"].fields["tag"] == "pickle"
            assert type(values["frames"]) is Opaque
    print("pandas" in sys.modules, "pickle" in sys.modules)
"""


def test_nobody_else_loads_them(tmp_path: Path) -> None:
    """A reader that was not told to gets `Opaque`, and has imported neither pandas nor pickle."""
    with EventLog(tmp_path / "log") as log:
        compiled(told(log)).invoke({"seen": []}, ONE)
    command = [sys.executable, "-c", textwrap.dedent(_STRANGER), str(tmp_path / "log")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_a_node_is_not_run_on_what_may_not_be_loaded() -> None:
    """A graph that was not told to shows `Opaque`, and its nodes are not run on it."""
    log = EventLog.in_memory()
    compiled(told(log), interrupt_before=["count"]).invoke({"seen": []}, ONE)
    stranger = compiled(log)
    assert type(stranger.get_state(ONE).values["frame"]) is Opaque
    with pytest.raises(UnregisteredType, match="pickle data"):
        stranger.invoke(None, ONE)
    assert compiled(told(log)).invoke(None, ONE)["seen"] == ["2", "1.5"]


class Gone:
    """A class that is not there any more when its pickle is read."""


def test_a_pickle_that_cannot_be_loaded_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the tag and what pickle said; who does not load it still sees the rest."""
    log = EventLog.in_memory()
    monkeypatch.setitem(sys.modules, Gone.__module__, sys.modules[__name__])
    saver = told(log)
    graph = compiled(saver, interrupt_before=["load"])
    graph.invoke({"seen": [], "frame": Gone()}, ONE)
    reader = EventLog.over(log.engine)
    monkeypatch.delattr(sys.modules[__name__], "Gone")
    with pytest.raises(ValueEncodingError, match="tagged 'pickle'"):
        told(reader).get(ONE)["channel_values"]["frame"]  # type: ignore[index]
    found = EventLogSaver(reader).get(ONE)
    assert found is not None
    assert found["channel_values"]["seen"] == []
