"""Mutants that no test can tell from the original, each with the proof that it is equivalent.

The key is (file, function, text before, text after), so an entry dies with the code it is about. Where a function has
the same text more than once, the texts are those of the whole line.
"""

from __future__ import annotations

from typing import TypeAlias

from .sites import Mutant

Key: TypeAlias = tuple[str, str, str, str]

PROOFS: dict[Key, str] = {
    (
        "projections/snapshot.py",
        "created_at",
        "_EPOCH + timedelta(microseconds=time_us)",
        "(timedelta(microseconds=time_us) + _EPOCH)",
    ): "adding a datetime and a timedelta commutes",
    (
        "graph/answering.py",
        "raised_here",
        "key in asked or key in raised",
        "(key in raised)",
    ): "`asked` are interrupts of a checkpoint of this thread, so each of them is among those it ever raised",
    (
        "graph/journal.py",
        "Journal.publish",
        "poke_views(self._log)",
        "pass",
    ): "views are derived: when they are written changes the time of a later read and nothing that it shows",
    (
        "graph/rules.py",
        "Rules._pull",
        'f"{namespace}|{name}" if namespace else name',
        "(name if namespace else f'{namespace}|{name}')",
    ): "it is part of what a task's id is a digest of, and nobody reads a digest; the checkpoint's id is in it "
    "too, and belongs to one namespace, so ids stay apart",
    (
        "graph/rules.py",
        "Rules._send",
        'f"{namespace}|{packet.node}" if namespace else packet.node',
        "(packet.node if namespace else f'{namespace}|{packet.node}')",
    ): "as in `Rules._pull`: part of what a task's id is a digest of",
    (
        "graph/ending.py",
        "_commit_at_exit",
        "state is None or state is loop.base",
        "(state is loop.base)",
    ): "a run without a state has no base either, and then `state is self.base` is `None is None`",
    (
        "graph/journal.py",
        "Journal.append",
        "state if isinstance(event, CheckpointCommitted) else None",
        "(None if isinstance(event, CheckpointCommitted) else state)",
    ): "without the state that the run has folded, the thread folds the commit from its record: the same state, by "
    "law L2, only later; with any other event a state is not looked at",
    (
        "projections/thread.py",
        "forget_run",
        "version > since",
        "version >= since",
    ): "`since` is the version of the run's claim, and the versions here are those of writes",
    (
        "graph/commits.py",
        "commit",
        "{**closed.cells, **closed.untracked} if closed.untracked else closed.cells",
        "(closed.cells if closed.untracked else {**closed.cells, **closed.untracked})",
    ): "planning looks at what triggers nodes and at the Sends, and those channels are the graph's own, all tracked; "
    "without untracked values both are the same cells",
    (
        "projections/splices.py",
        "common_ends",
        "suffix += 1",
        "suffix = 1 + suffix",
    ): "adding numbers commutes",
    (
        "graph/loop.py",
        "Loop.__init__",
        "self.stop = 0",
        "self.stop = 1",
    ): "where to stop is set by whoever begins a run, and no step is looked at before",
    (
        "graph/loop.py",
        "Loop.__init__",
        "self.limit = 0",
        "self.limit = 1",
    ): "the limit is set by whoever begins a run, and no step is looked at before",
    (
        "graph/interrupts.py",
        "place_of",
        "1",
        "2",
    ): "an id that gets here is of a question that was asked, and a task asks one behind its answers at most",
    (
        "graph/answering.py",
        "_answer_event",
        "place is None",
        "place is not None",
    ): "the waiting question is the one behind all answers, so all of them are earlier, however they are taken",
    (
        "graph/begin.py",
        "_on_input",
        "0",
        "1",
    ): "without a journal nothing is recorded, and the version of the input's event goes nowhere",
    (
        "graph/rules.py",
        "StepRefusal.__init__",
        "super().__init__(channel, error)",
        "pass",
    ): "it is always made with two arguments by place, and `BaseException.__new__` has kept these as `args` already: "
    "what `BaseException.__init__` does is the same once more",
    (
        "projections/thread.py",
        "Thread._close",
        "self.commits += 1",
        "self.commits = 1 + self.commits",
    ): "adding numbers commutes",
    (
        "projections/thread.py",
        "Thread.__init__",
        "self.running_since = 0",
        "self.running_since = 1",
    ): "it is looked at only when a commit skips steps, and that is the last commit of a run with durability `exit`: "
    "the run has claimed the thread before, in the same stream, and its `RunStarted` has set the number; a rung only "
    "carries it on",
    (
        "projections/thread.py",
        "Thread.__init__",
        "self.commits = 0",
        "self.commits = 1",
    ): "it only says when a state is kept in the ladder, which shortens reads and changes none",
    (
        "projections/thread.py",
        "Thread._close",
        "self.ladder = dict(list(self.ladder.items())[1::2])",
        "self.ladder = dict(list(self.ladder.items())[2::2])",
    ): "the places are those of a slice that thins the ladder out, which shortens reads and changes none",
    (
        "projections/thread.py",
        "Thread._close",
        "self.refused.pop(parent, None)",
        "pass",
    ): "a refusal is looked up for the head, and a checkpoint that another one followed is not the head again: it only "
    "takes room",
    (
        "projections/thread.py",
        "Thread._written",
        "checkpoint is not None",
        "checkpoint is None",
    ): "what is not found among the open writes is taken from the log, where it is the same, at the cost of a read",
    (
        "graph/step_record.py",
        "StepRecord.add",
        "journal.next_version + len(self._held)",
        "(len(self._held) + journal.next_version)",
    ): "adding numbers commutes",
    (
        "graph/run_input.py",
        "close_input",
        "written = Written(None, (NO_ID, (), START, 0), unchanged, value)",
        "written = Written(None, (NO_ID, (), START, 1), unchanged, value)",
    ): "only a reducer that mints ids looks at a write's place, and `__start__` has none",
}


def key_of(mutant: Mutant, source: str) -> Key | None:
    """Return the key under which there is a proof that a mutant of a file's text is equivalent."""
    lines = [text.splitlines()[mutant.line - 1].strip() for text in (source, mutant.apply(source))]
    for before, after in ((mutant.before, mutant.after), lines):
        key = (mutant.file, mutant.function, before, after)
        if key in PROOFS:
            return key
    return None
