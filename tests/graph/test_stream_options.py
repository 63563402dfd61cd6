"""What a call asks to be told: printed modes, keys, the second version, and words that mean nothing."""

from __future__ import annotations

import asyncio
import typing
from dataclasses import dataclass
from typing import Any

import langgraph.types as theirs
import pytest
from lithograph import graph as ours
from lithograph.eventlog import EventLog
from lithograph.graph import GraphOutput, Interrupt, InvalidStreamOption, StateGraph, interrupt

from .chains import ONE, Log, chain, stamp, twin

DRIVERS = pytest.mark.parametrize("driver", ["threads", "event loop"])
A, VALUES = {"a": {"log": ["a"]}}, {"n": 1, "log": ["a"]}
PAYLOADS = ("Task", "TaskResult", "Checkpoint")
PARTS = ("Values", "Updates", "Messages", "Custom", "Checkpoint", "Tasks", "Debug")


def _graph(**options: Any) -> Any:
    return chain(a=stamp("a")).compile(**options)


def _bold(mode: str, payload: Any) -> str:
    return f"\033[1m[{mode}]\033[0m {payload!r}\n"


@DRIVERS
def test_print_mode_prints_chunks_and_changes_no_result(driver: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`invoke(print_mode=…)` prints each chunk of the modes, its mode in bold, and returns what it always does."""
    assert twin("invoke", driver)(_graph(), {"n": 1}, print_mode="updates") == VALUES
    assert capsys.readouterr().out == _bold("updates", A)
    twin("invoke", driver)(_graph(), {"n": 1}, print_mode=["values", "updates"], output_keys=["n"])
    assert capsys.readouterr().out == _bold("values", {"n": 1}) + _bold("updates", {"a": None})


@DRIVERS
def test_print_mode_of_a_stream_is_apart_from_its_mode(driver: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A printed mode is not yielded unless it was asked for; one that is both comes in both ways."""

    def streamed(**options: Any) -> list[Any]:
        if driver == "threads":
            return list(_graph().stream({"n": 1}, **options))

        async def read() -> list[Any]:
            return [chunk async for chunk in _graph().astream({"n": 1}, **options)]

        return asyncio.run(read())

    assert streamed(stream_mode="updates", print_mode="custom") == [A]
    assert capsys.readouterr().out == ""
    assert streamed(stream_mode="updates", print_mode=("updates", "values")) == [A]
    assert capsys.readouterr().out == _bold("values", {"n": 1, "log": []}) + _bold("updates", A) + _bold(
        "values", VALUES
    )


@pytest.mark.parametrize("given", ["at compile", "at the call"])
def test_debug_prints_updates_and_values(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`debug` prints, and leaves the mode of the stream as it is."""
    graph = _graph(debug=given == "at compile")
    options = {} if given == "at compile" else {"debug": True}
    printed = _bold("values", {"n": 1, "log": []}) + _bold("updates", A) + _bold("values", VALUES)
    assert graph.invoke({"n": 1}, **options) == VALUES
    assert capsys.readouterr().out == printed
    assert list(graph.stream({"n": 1}, **options)) == [A]
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stream_mode": "all"}, "stream_mode is one of values, updates"),
        ({"stream_mode": ["values", "all"]}, "stream_mode is one of values, updates"),
        ({"print_mode": "all"}, "print_mode is one of values, updates"),
        ({"version": "v3"}, 'version is "v1" or "v2"'),
        ({"output_keys": "other"}, "Key other not in channels"),
        ({"output_keys": ["n", "other"]}, "Key other not in channels"),
    ],
)
@pytest.mark.parametrize("method", ["invoke", "stream"])
def test_words_that_mean_nothing_are_refused_before_anything_runs(method: str, options: Any, message: str) -> None:
    """A mode, version or key that there is not is an error that says which there are, and no node runs."""
    ran: list[str] = []
    graph = chain(a=lambda state: ran.append("a")).compile(checkpointer=EventLog.in_memory())

    def call() -> None:
        list(getattr(graph, method)({"n": 1}, ONE, **options))

    with pytest.raises(InvalidStreamOption, match=message) as raised:
        call()
    assert isinstance(raised.value, ValueError)
    assert ran == []
    assert graph.get_state(ONE).values == {}


def test_output_of_version_two_can_be_asked_like_a_dictionary_with_a_warning() -> None:
    """`result[key]` and `key in result` work on values and questions, and say what to write instead."""

    @dataclass
    class Record:
        n: int = 1

    asked = Interrupt("?", "id")
    for value in ({"n": 1}, Record()):
        output: GraphOutput[Any] = GraphOutput(value, (asked,))
        with pytest.warns(DeprecationWarning, match=r"result\.value"):
            assert output["n"] == 1
        with pytest.warns(DeprecationWarning, match=r"result\.interrupts"):
            assert output["__interrupt__"] == (asked,)
        with pytest.warns(DeprecationWarning, match="key in result"):
            assert ("n" in output, "__interrupt__" in output, "other" in output) == (True, True, False)
        with pytest.warns(DeprecationWarning, match="result"), pytest.raises(KeyError):
            output["other"]
    assert GraphOutput(1) == GraphOutput(1, ())


def test_version_two_shows_the_value_of_one_key_at_a_question_too() -> None:
    """With one output key the value is there when the run pauses; LangGraph has an empty dictionary in its place."""
    graph = chain(a=lambda state: {"n": 2}, ask=lambda state: {"n": interrupt("?")}).compile(
        checkpointer=EventLog.in_memory()
    )
    output = graph.invoke({"n": 1}, ONE, version="v2", output_keys="n")
    assert (output.value, [question.value for question in output.interrupts]) == (2, ["?"])


def test_a_tuple_of_modes_is_a_list_of_modes() -> None:
    """Modes in a tuple give pairs as a list does; LangGraph yields bare payloads that nobody can tell apart."""
    assert list(_graph().stream({"n": 1}, stream_mode=("updates",))) == [("updates", A)]


def test_an_output_schema_that_is_an_object_gets_its_own_keys() -> None:
    """`stream(version="v2")` makes the output object of its fields alone, where the state has more."""

    @dataclass
    class Out:
        log: list[str]

    builder: StateGraph[Any] = StateGraph(Log, output_schema=Out)
    builder.add_node("a", stamp("a"))
    builder.set_entry_point("a")
    graph = builder.compile()
    assert [part["data"] for part in graph.stream({"n": 1}, stream_mode="values", version="v2")][-1] == Out(["a"])
    assert graph.invoke({"n": 1}, version="v2") == GraphOutput(Out(["a"]))


@pytest.mark.parametrize(
    "name",
    [
        *(f"{kind}StreamPart" for kind in PARTS),
        "TaskPayload",
        "TaskResultPayload",
        "CheckpointTask",
        "CheckpointPayload",
    ],
)
def test_types_have_the_fields_of_langgraph(name: str) -> None:
    """Each type of a chunk has LangGraph's fields, in its order, and which of them may be missing."""
    mine, other = getattr(ours, name), getattr(theirs, name)
    assert list(mine.__annotations__) == list(other.__annotations__)
    assert mine.__required_keys__ == other.__required_keys__


def test_unions_of_parts_take_the_schemas() -> None:
    """`StreamPart[State, Output]` and `DebugPayload[State]` are types, of the same parts as LangGraph's."""
    parts = {typing.get_origin(part) or part for part in typing.get_args(ours.StreamPart[int, str])}
    assert {part.__name__ for part in parts} == {f"{kind}StreamPart" for kind in PARTS}
    assert ours.ValuesStreamPart[str] in typing.get_args(ours.StreamPart[int, str])
    assert len(typing.get_args(ours.DebugPayload[int])) == 3
