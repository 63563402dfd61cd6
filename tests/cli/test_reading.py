"""The verbs that read: what they say of a log, as tables and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
from lithograph.cli import output
from lithograph.eventlog import EventLog
from lithograph.graph import START, MessagesState, StateGraph, interrupt

from .conftest import DECIDED, Lithograph


def test_threads_lists_every_thread_with_its_state(lithograph: Lithograph, shared_log: Path) -> None:
    """Each application is a thread; all are finished but the one that waits, which shows its question."""
    rows = lithograph("threads", shared_log, "--json").rows

    states = {row["thread_id"]: row["status"] for row in rows}
    assert len(states) == DECIDED + 2
    assert sorted(states.values()) == [*["finished"] * (DECIDED + 1), "interrupted"]
    waiting = next(row for row in rows if row["status"] == "interrupted")
    assert waiting["planned"] == ["officer"]
    assert waiting["interrupts"][0]["application_id"] == waiting["thread_id"]


def test_threads_waiting_lists_only_those(lithograph: Lithograph, shared_log: Path) -> None:
    """--waiting is the officers' queue."""
    assert [row["status"] for row in lithograph("threads", shared_log, "--waiting", "--json").rows] == ["interrupted"]


def test_threads_says_when_there_are_more(lithograph: Lithograph, shared_log: Path) -> None:
    """A limited table says that it is limited, and how to see all."""
    ran = lithograph("threads", shared_log, "--limit", 3)

    assert ran.code == 0
    assert sum("finished" in line for line in ran.out.splitlines()) == 3
    assert "only the first 3 shown; --limit 0 shows all" in ran.out


def test_history_is_newest_first_with_who_and_why(
    lithograph: Lithograph, shared_log: Path, officer_thread: str
) -> None:
    """The checkpoints of a case that an officer decided: stations backwards, clerk below, officer above."""
    rows = lithograph("history", shared_log, officer_thread, "--json").rows

    assert [row["step"] for row in rows] == [6, 5, 4, 3, 2, 1, 0, -1]
    assert rows[0]["next"] == []
    assert rows[3]["next"] == ["officer"]
    assert list(rows[0]["writes"]) == ["notice"]
    assert rows[0]["actor"].startswith("officer:")
    assert rows[0]["reason"]
    assert rows[-1]["actor"] == "clerk:intake"
    assert [row["parent_id"] for row in rows] == [row["checkpoint_id"] for row in rows[1:]] + [None]


def test_history_prints_whole_ids(lithograph: Lithograph, shared_log: Path, officer_thread: str) -> None:
    """Ids in the table can be pasted into the next command: none is cut."""
    ids = [row["checkpoint_id"] for row in lithograph("history", shared_log, officer_thread, "--json").rows]

    table = lithograph("history", shared_log, officer_thread).out

    assert all(each in table for each in ids)


def test_show_gives_the_latest_state(lithograph: Lithograph, shared_log: Path, officer_thread: str) -> None:
    """Without a checkpoint the file is shown as it stands, with who made it."""
    (shown,) = lithograph("show", shared_log, officer_thread, "--json").rows

    assert shown["values"]["decision"]["decided_by"] == "officer"
    assert shown["next"] == []
    assert shown["actor"].startswith("officer:")
    assert shown["metadata"]["step"] == 6
    table = lithograph("show", shared_log, officer_thread).out
    assert shown["actor"] in table
    assert shown["values"]["notice"] in table
    assert "nothing: finished" in table


def test_show_gives_an_earlier_state(lithograph: Lithograph, shared_log: Path, officer_thread: str) -> None:
    """With a checkpoint the state is the one of then: no decision yet, the question asked, the task named."""
    asked = lithograph("history", shared_log, officer_thread, "--json").rows[3]

    (shown,) = lithograph("show", shared_log, officer_thread, asked["checkpoint_id"], "--json").rows

    assert "decision" not in shown["values"]
    assert shown["values"]["route"] == "officer"
    assert [task["name"] for task in shown["tasks"]] == ["officer"]
    assert shown["tasks"][0]["interrupts"][0]["application_id"] == officer_thread


def test_show_names_the_question_that_waits(lithograph: Lithograph, shared_log: Path) -> None:
    """A thread that waits shows its question and the id that an answer addresses."""
    (row,) = lithograph("threads", shared_log, "--waiting", "--json").rows

    (shown,) = lithograph("show", shared_log, row["thread_id"], "--json").rows

    assert shown["interrupts"][0]["value"] == row["interrupts"][0]
    assert shown["interrupts"][0]["id"]


def test_diff_names_what_changed(lithograph: Lithograph, shared_log: Path, officer_thread: str) -> None:
    """Between the question and the end: answer, decision and notice came; the application stayed."""
    rows = lithograph("history", shared_log, officer_thread, "--json").rows
    old, new = rows[3]["checkpoint_id"], rows[0]["checkpoint_id"]

    (found,) = lithograph("diff", shared_log, officer_thread, old, new, "--json").rows

    assert set(found["channels"]) == {"answer", "decision", "notice"}
    assert found["channels"]["notice"]["after"].startswith(f"Application {officer_thread}")
    table = lithograph("diff", shared_log, officer_thread, old, new)
    assert table.code == 0
    assert "decision" in table.out
    same = lithograph("diff", shared_log, officer_thread, old, old)
    assert (same.code, same.out.strip()) == (0, "no channel differs")


def test_tail_prints_the_last_events_in_order(lithograph: Lithograph, shared_log: Path) -> None:
    """The last events, oldest first, with position, stream, who, and what happened."""
    rows = lithograph("tail", shared_log, "-n", 5, "--json").rows

    with EventLog(shared_log, read_only=True) as log:
        head = log.log_head().position
    assert [row["position"] for row in rows] == list(range(head - 4, head + 1))
    assert rows[-1]["kind"] == "RunEnded"
    assert rows[-1]["what"] == {"outcome": "interrupted"}
    lines = lithograph("tail", shared_log, "-n", 5).out.splitlines()
    assert len(lines) == 5
    assert "RunEnded" in lines[-1]
    assert "clerk:intake" in lines[-1]


def test_tail_of_a_thread_has_only_its_events(lithograph: Lithograph, shared_log: Path, officer_thread: str) -> None:
    """--thread picks one stream; its versions are dense."""
    rows = lithograph("tail", shared_log, "--thread", officer_thread, "-n", 1000, "--json").rows

    assert {row["stream"] for row in rows} == {f"thread/{officer_thread}"}
    assert [row["version"] for row in rows] == list(range(1, len(rows) + 1))


def test_stats_counts_what_is_there(lithograph: Lithograph, shared_log: Path) -> None:
    """Events by kind add up to the head of the log; threads are counted; bytes are measured."""
    (counted,) = lithograph("stats", shared_log, "--json").rows

    with EventLog(shared_log, read_only=True) as log:
        assert counted["events"] == log.log_head().position
    assert sum(kind["events"] for kind in counted["kinds"].values()) == counted["events"]
    assert counted["threads"] == DECIDED + 2
    assert 0 < counted["record_bytes"] <= counted["folder_bytes"]
    table = lithograph("stats", shared_log).out
    assert "CheckpointCommitted" in table


def test_verify_of_a_sound_log_is_fine(lithograph: Lithograph, shared_log: Path) -> None:
    """A sound log gives 0, and says how much was checked."""
    ran = lithograph("verify", shared_log)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("ok: ")
    (report,) = lithograph("verify", shared_log, "--json").rows
    assert report["ok"] is True
    assert report["findings"] == []


def test_reading_leaves_no_event(lithograph: Lithograph, own_log: Path, officer_thread: str) -> None:
    """No verb that reads appends anything."""
    before = lithograph("stats", own_log, "--json").rows[0]["events"]

    for verb in (["threads"], ["history", officer_thread], ["show", officer_thread], ["tail"], ["verify"]):
        assert lithograph(verb[0], own_log, *verb[1:]).code == 0

    assert lithograph("stats", own_log, "--json").rows[0]["events"] == before


def test_a_fork_shows_who_made_what_it_inherited(lithograph: Lithograph, own_log: Path, officer_thread: str) -> None:
    """A fork has its source's history, and each checkpoint of it still names who made it and why."""
    with EventLog(own_log) as log:
        log.fork({"configurable": {"thread_id": officer_thread}}, "what-if")

    inherited = lithograph("history", own_log, "what-if", "--json").rows

    assert inherited == lithograph("history", own_log, officer_thread, "--json").rows
    assert inherited[0]["actor"].startswith("officer:")


def test_a_narrow_screen_keeps_ids_whole(
    lithograph: Lithograph, shared_log: Path, officer_thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On 80 columns no id is folded, no line is longer, and what has no room beside the id is under it."""
    ids = [row["checkpoint_id"] for row in lithograph("history", shared_log, officer_thread, "--json").rows]
    monkeypatch.setattr(output, "_PIPE_WIDTH", 80)

    table = lithograph("history", shared_log, officer_thread).out
    queue = lithograph("threads", shared_log, "--waiting").out

    assert all(each in table for each in ids)
    assert max(map(len, (table + queue).splitlines())) <= 80
    assert "(waits)" in table
    assert "who: officer:" in table
    assert "question: {" in queue


def test_threads_of_edits_and_forks(lithograph: Lithograph, tmp_path: Path) -> None:
    """A fork shows how far its source was, and waits as that did; an edited thread says so and waits no longer."""
    with EventLog(tmp_path / "log") as log:
        builder = StateGraph(MessagesState)
        builder.add_node("ask", lambda state: {"messages": [interrupt("well?")]})
        builder.add_edge(START, "ask")
        graph = builder.compile(checkpointer=log)
        config = {"configurable": {"thread_id": "asked"}}
        graph.invoke({"messages": "hi"}, config)
        log.fork(config, "branch")
        graph.update_state(config, {"messages": "never mind"}, as_node="ask")

    rows = {row["thread_id"]: row for row in lithograph("threads", tmp_path / "log", "--json").rows}

    assert {name: row["status"] for name, row in rows.items()} == {"asked": "edited", "branch": "forked"}
    branch = rows["branch"]
    assert (branch["step"], branch["planned"], branch["interrupts"]) == (0, ["ask"], ["well?"])
    waiting = lithograph("threads", tmp_path / "log", "--waiting", "--json").rows
    assert [row["thread_id"] for row in waiting] == ["branch"]


def test_show_tells_a_conversation_as_a_script(lithograph: Lithograph, tmp_path: Path) -> None:
    """Messages are lines of who and what, the last twenty of them; --json has every field."""
    calls = [{"name": "look", "args": {}, "id": "1"}]
    with EventLog(tmp_path / "log") as log:
        builder = StateGraph(MessagesState)
        builder.add_node("bot", lambda state: {"messages": {"role": "ai", "content": "Hm.", "tool_calls": calls}})
        builder.add_edge(START, "bot")
        said = [("user", f"number {index}") for index in range(24)]
        builder.compile(checkpointer=log).invoke({"messages": said}, {"configurable": {"thread_id": "chat"}})

    table = lithograph("show", tmp_path / "log", "chat").out
    (document,) = lithograph("show", tmp_path / "log", "chat", "--json").rows

    assert "… 5 before" in table
    assert "human: number 5 " in table
    assert "number 4 " not in table
    assert "ai: Hm. [calls look]" in table
    assert len(document["values"]["messages"]) == 25
