"""The table of the README's section "Figures", made from the results: `python -m benchmarks.figures`.

Every row says what was measured, what it came to, and what it was meant to come to; nothing is typed in by hand.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from .report import RESULTS

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- figures: made by `python -m benchmarks.figures` -->", "<!-- end of figures -->"


def main() -> None:
    """Put the table into the README."""
    text = README.read_text()
    README.write_text(replaced(text, table(RESULTS)))


def replaced(text: str, figures: str) -> str:
    """Return the README's text with the table between its marks."""
    pattern = re.compile(re.escape(BEGIN) + ".*" + re.escape(END), re.DOTALL)
    return pattern.sub(lambda _match: f"{BEGIN}\n{figures}\n{END}", text)


def table(results: Path) -> str:
    """Return the table for the results in a folder."""
    parts = {path.stem: json.loads(path.read_text()) for path in results.glob("*.json")}
    chain, chat, fold = (parts[name]["rows"] for name in ("chain", "chat", "fold"))
    appenders, forks = parts["appenders"]["rows"], parts["forks"]["rows"]
    rows = [*_chain(chain), *_chat(chat), *_others(fold, appenders, forks)]
    lines = ["| what | measured | goal |", "|---|---|---|"]
    lines += [f"| {what} | {measured} | {goal} |" for what, measured, goal in rows]
    return "\n".join([*lines, "", _machine(parts)])


def _chain(rows: dict[str, Any]) -> list[tuple[str, str, str]]:
    def place(name: str, folder: str) -> str:
        ours = rows[f"{name}: lithograph, async, supersteps/s"]
        bare = rows[f"{name}: async / LangGraph without checkpointer"]
        sqlite = rows[f"{name}: async / SqliteSaver async"]
        return (
            f"{folder}: {_number(ours)} supersteps/s, {_times(sqlite)} SqliteSaver, "
            f"{_times(bare)} LangGraph without any persistence"
        )

    over, paced = "sync: mean superstep - mean raw commit, µs", "sync: mean superstep - that, µs"
    return [
        ("chain of 10 nodes, default durability", place("disk", "on disk"), "≥ 10 ×, > 1 ×"),
        ("the same", place("memory", "in a memory file system"), ""),
        (
            'the same, `durability="sync"`: a superstep over a raw commit of the same bytes',
            f"{_number(rows[f'disk: {over}'])} µs on disk ({_number(rows[f'disk: {paced}'])} µs when as much is worked "
            f"between two raw commits), {_number(rows[f'memory: {over}'])} µs in memory",
            "≤ 150 µs",
        ),
    ]


def _chat(rows: dict[str, Any]) -> list[tuple[str, str, str]]:
    size = "bytes of the whole folder after close"
    slower = "last / first turns at 5000 turns"
    cold = max(value for row, value in rows.items() if "get_state cold at" in row)
    allowed = min(value for row, value in rows.items() if "2 x decoding + 2 ms" in row)
    return [
        (
            "chat of 500 turns, 2 KB a turn: bytes on disk",
            f"{_megabytes(rows[f'lithograph: {size}'])} (SqliteSaver {_megabytes(rows[f'SqliteSaver: {size}'])}, "
            f"DeltaChannel {_megabytes(rows[f'DeltaChannel: {size}'])}); twice the turns: "
            f"{_times(rows['lithograph: size(2N) / size(N)'])}",
            "≤ 5 MB; ≤ 2.1 ×",
        ),
        (
            "last turns against first, 5,000 turns",
            f"{_times(rows[f'lithograph: {slower}, operator.add'])} (`operator.add`), "
            f"{_times(rows[f'lithograph: {slower}, add_messages'])} (`add_messages`)",
            "≤ 1.3 ×",
        ),
        (
            "history of 1,500 snapshots, values touched",
            f"{rows['lithograph: history of 1500 snapshots, values touched, s']:.2f} s (SqliteSaver "
            f"{rows['SqliteSaver: history of 1500 snapshots, values touched, s']:.1f} s, DeltaChannel "
            f"{rows['DeltaChannel: history of 1500 snapshots, values touched, s']:.1f} s)",
            "≤ 0.1 s",
        ),
        (
            "its peak memory against one state, 10,000 turns",
            _times(rows["lithograph: peak memory of history / one state, 10000 turns"]),
            "≤ 3 ×",
        ),
        ("`get_state` by a fresh reader, worst of four lengths", f"{cold:.1f} ms", f"≤ {allowed:.1f} ms"),
    ]


def _others(fold: dict[str, Any], appenders: dict[str, Any], forks: dict[str, Any]) -> list[tuple[str, str, str]]:
    thread = "thread of 1000 turns"
    record, growth = (
        forks[f"{thread}: bytes of a fork's record"],
        forks[f"{thread}: folder growth by 1000 forks, bytes"],
    )
    return [
        (
            "32 appenders, 5 events of 200 B each, durable and chained",
            f"{_number(appenders['durable chained events/s'])}/s, {_times(appenders['events over raw commits'])} the "
            "raw one-record commits between its rounds",
            "≥ 10 ×",
        ),
        (
            "fold of 1 M events over 100 threads, cold, all checks on",
            f"{_number(fold['folding every thread to its head, events/s'])} events/s of "
            f"{fold['bytes an event, as stored']} B as stored, "
            f"{_times(fold['lithograph / eventsourcing, by processor time'])} eventsourcing",
            "≥ 250,000 of 200 B",
        ),
        ("a fork", f"{record} B; 1,000 of them grow the folder by {_number(growth / 1000)} KB", "≤ 400 B; ≤ 600 KB"),
    ]


def _machine(parts: dict[str, Any]) -> str:
    facts, raw = parts["chain"]["machine"], parts["chain"]["raw"]["disk"]
    versions = facts["versions"]
    commits = _number(raw["lmdb_commits_per_s"])
    return (
        f"{facts['cpu']}, {facts['cores']} cores, Python {facts['python']}, {raw['file_system']}; LangGraph "
        f"{versions['langgraph']}, SqliteSaver {versions['langgraph-checkpoint-sqlite']}. Every append is synced: "
        f"LMDB, two flushes a commit; {commits} raw one-record commits/s in the chain's run. The chat and the forks "
        "ran in a memory file system, where flushes do not hide what length costs."
    )


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _times(value: float) -> str:
    return f"{value:.2g} ×" if value < 10 else f"{value:.0f} ×"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:.1f} MB" if value < 1e8 else f"{value / 1e6:.0f} MB"


if __name__ == "__main__":
    main()
