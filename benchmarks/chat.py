"""A chat of 500 turns, 2 KB a turn: bytes, last turns against first, history, `get_state` by a fresh reader.

Against LangGraph with SqliteSaver and plain lists, and with its beta `DeltaChannel`. Everything lies in a folder in
memory where there is one: flushes would hide what the length of the thread costs. `raw` says so.
"""

from __future__ import annotations

import operator
import statistics
import time
import tracemalloc
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

from typing_extensions import TypedDict

from . import machine, peers, report

TURNS = 500
COLD_TURNS = (437, 500, 511, 513)
ONE = peers.config("1")

Opener = Callable[[Path], AbstractContextManager[Any]]


def main() -> None:
    """Measure, print and keep."""
    asked = report.options(__doc__)
    turns = 30 if asked.quick else TURNS
    rows: dict[str, Any] = {}
    with machine.folder(in_memory=True) as path:
        raw = machine.raw_rates(path, seconds=0.05 if asked.quick else 1)
        for name, (open_saver, builder) in _rivals().items():
            home = path / name.replace(" ", "-")
            home.mkdir()
            rows |= {f"{name}: {row}": v for row, v in _chat(home / "store", open_saver, builder, turns).items()}
        rows |= _growth(path, rows, turns)
        rows |= _cold(path, (7, 30) if asked.quick else COLD_TURNS)
        rows |= _memory(path, turns)
    report.keep("chat", rows, raw=raw, asked=asked)


def _rivals() -> dict[str, tuple[Opener, Callable[[], Any]]]:
    rivals: dict[str, tuple[Opener, Callable[[], Any]]] = {
        "lithograph": (peers.log, _our_list),
        "lithograph add_messages": (peers.log, _our_messages),
    }
    if peers.PEERS:
        rivals["DeltaChannel"] = (peers.sqlite_saver, _their_delta)
        rivals["SqliteSaver"] = (peers.sqlite_saver, _their_list)
    return rivals


def _our_list() -> Any:
    return peers.chat(peers.ours(), peers.talker(1))


def _our_messages() -> Any:
    module, text = peers.ours(), peers.talker(1)
    schema = TypedDict("Messages", {"messages": Annotated[list[Any], module.add_messages]})  # noqa: UP013 - a class would name local types
    return peers.chat(module, lambda: ("ai", text()), schema)


def _their_list() -> Any:
    return peers.chat(peers.theirs(), peers.talker(1))


def _their_delta() -> Any:
    from langgraph.channels import DeltaChannel

    def extend(state: list[str], writes: Any) -> list[str]:
        return [*state, *(item for write in writes for item in write)]

    schema = TypedDict("Delta", {"messages": Annotated[list[str], DeltaChannel(extend)]})  # noqa: UP013 - a class would name local types
    return peers.chat(peers.theirs(), peers.talker(1), schema)


def _talk(graph: Any, turns: int, text: Callable[[], str]) -> list[float]:
    """Hold a conversation; return what each turn took."""
    took: list[float] = []
    for _ in range(turns):
        given = {"messages": [text()]}
        began = time.perf_counter()
        graph.invoke(given, ONE)
        took.append(time.perf_counter() - began)
    return took


def _chat(store: Path, open_saver: Opener, builder: Callable[[], Any], turns: int) -> dict[str, Any]:
    """Return one rival's rows."""
    with open_saver(store) as saver:
        took = _talk(builder().compile(checkpointer=saver), turns, peers.talker(2))
    part = max(turns // 10, 3)
    with open_saver(store) as saver:
        graph = builder().compile(checkpointer=saver)
        began = time.perf_counter()
        values = graph.get_state(ONE).values["messages"]
        state_s = time.perf_counter() - began
        began = time.perf_counter()
        lengths = [len(s.values.get("messages", ())) for s in graph.get_state_history(ONE)]
        history_s = time.perf_counter() - began
    assert len(values) == 2 * turns
    assert len(lengths) == 3 * turns, "three checkpoints a turn"
    size = sum(machine.folder_bytes(p) if p.is_dir() else p.stat().st_size for p in store.parent.glob("store*"))
    return {
        "bytes of the whole folder after close": size,
        "a turn, ms (median)": round(statistics.median(took) * 1e3, 3),
        "last turns / first turns": round(statistics.median(took[-part:]) / statistics.median(took[:part]), 2),
        f"history of {len(lengths)} snapshots, values touched, s": round(history_s, 4),
        "get_state, fresh reader, ms": round(state_s * 1e3, 2),
    }


def _growth(path: Path, rows: dict[str, Any], turns: int) -> dict[str, Any]:
    """Return size(2N) / size(N), and last against first turns at ten times the length, for ours."""
    home = path / "twice"
    home.mkdir()
    twice = _chat(home / "store", peers.log, _our_list, 2 * turns)
    key = "bytes of the whole folder after close"
    found: dict[str, Any] = {"lithograph: size(2N) / size(N)": round(twice[key] / rows[f"lithograph: {key}"], 3)}
    for name, builder in (("operator.add", _our_list), ("add_messages", _our_messages)):
        with peers.log(path / f"long-{name}") as log:
            took = _talk(builder().compile(checkpointer=log), 10 * turns, peers.talker(3))
        part = max(turns // 10, 3)
        ratio = statistics.median(took[-part:]) / statistics.median(took[part : 2 * part])
        found[f"lithograph: last / first turns at {10 * turns} turns, {name}"] = round(ratio, 2)
    return found


def _cold(path: Path, turns: tuple[int, ...]) -> dict[str, Any]:
    """Return `get_state` by a fresh log at lengths that fall badly between snapshots, beside decoding the state."""
    from lithograph.eventlog.serde import BASE, Serializer

    found: dict[str, Any] = {}
    for count in turns:
        store = path / f"cold-{count}"
        with peers.log(store) as log:
            _talk(_our_list().compile(checkpointer=log), count, peers.talker(2))
        took: list[float] = []
        for _ in range(5):
            with peers.log(store) as log:
                graph = _our_list().compile(checkpointer=log)
                began = time.perf_counter()
                values = graph.get_state(ONE).values
                took.append(time.perf_counter() - began)
        serializer = Serializer(BASE)
        data = serializer.encode(values)
        began = time.perf_counter()
        serializer.decode(data)
        decode_ms = (time.perf_counter() - began) * 1e3
        found[f"lithograph: get_state cold at {count} turns, ms"] = round(statistics.median(took) * 1e3, 2)
        found[f"lithograph: ... 2 x decoding + 2 ms at {count}, ms"] = round(2 * decode_ms + 2, 2)
    return found


def _memory(path: Path, turns: int) -> dict[str, Any]:
    """Return the most memory that walking the history of a thread of 20 times the length takes, over one state."""
    with peers.log(path / "long-operator.add") as log:
        graph = _our_list().compile(checkpointer=log)
        _talk(graph, 10 * turns, peers.talker(4))
        one = sum(map(len, graph.get_state(ONE).values["messages"]))
    with peers.log(path / "long-operator.add") as log:
        graph = _our_list().compile(checkpointer=log)
        tracemalloc.start()
        count = sum(1 for s in graph.get_state_history(ONE) if operator.length_hint(s.values.get("messages", ())) >= 0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert count == 60 * turns
    return {f"lithograph: peak memory of history / one state, {20 * turns} turns": round(peak / one, 2)}


if __name__ == "__main__":
    main()
