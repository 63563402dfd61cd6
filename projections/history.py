"""History backwards: in blocks between rungs of the ladder, each folded forward once; then what a fork inherits.

Memory stays a small multiple of one state, and a block is folded when it is reached.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..eventlog.events import ThreadForked
from ..eventlog.log import EventLog
from .cells import Values
from .inherited import in_source, inherited
from .reader import FOLD_PAGE, StreamPast, feed_page, fold_until, moved, threads_of
from .state import CheckpointState
from .thread import OpenWrites, Thread

Entry = tuple[CheckpointState, OpenWrites]
"""A checkpoint of the history with its tasks' writes."""


class _Block(Thread):
    """A fold that also keeps each closed checkpoint with its tasks' writes."""

    __slots__ = ("entries",)

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self.entries: list[Entry] = []

    def _drop(self, namespace: str) -> None:
        head = self.heads[namespace]
        self.entries.append((head, self.open.get(head.id, {}).copy()))
        super()._drop(namespace)

    def _close(self, state: CheckpointState) -> None:
        head = self.heads.get(state.namespace)
        writes = {} if head is None else self.open.get(head.id, {})
        super()._close(state)
        if head is not None:
            # A copy: who edits the checkpoint after the thread has left it writes there too, and is not of its step.
            self.entries.append((head, writes.copy()))


def history(log: EventLog, thread: Thread, values: Values, *, before: int | None = None) -> Iterator[Entry]:
    """Yield a thread's checkpoints of all namespaces, newest first by position, each with its tasks' writes.

    `before` is the version of a checkpoint of the thread: only those committed before it. Lazy.
    """
    past = StreamPast(log, thread.stream, values, thread)
    if before is None or before > 0:
        top = thread.version
        ladder = (at for at, state in thread.ladder.items() if state.namespace == "")
        borders = {*ladder, *(at for at in past.rungs.versions if at < top)}
        for low in [*sorted(borders, reverse=True), 0]:
            wanted = before is None or low < before
            first = past.known_at(low) if low and wanted else None
            if wanted and low and first is None:
                continue
            if wanted:
                yield from _block(log, thread, past, values, first, top, before)
            top = low
    if thread.fork is not None:
        earlier = in_source(before) if before is not None and before < 0 else None
        yield from _before_fork(log, thread.fork, past, values, earlier)


def _block(
    log: EventLog,
    thread: Thread,
    past: StreamPast,
    values: Values,
    first: CheckpointState | None,
    high: int,
    before: int | None,
) -> Iterator[Entry]:
    """Yield the checkpoints from `first` up to version `high`, newest first; at the thread's end the heads too."""
    block = _Block(thread.stream)
    low = 0
    if first is not None:
        block.heads[first.namespace] = first
        block.version = low = first.version
    for page in log.scan_events(thread.stream, after=low, until=high, page=FOLD_PAGE):
        feed_page(block, page, values, past)
    entries = block.entries
    for head in block.heads.values():
        # What a graph inside a node wrote at a state that a border lies behind is in later blocks.
        beyond = head.namespace and high < thread.version and head.version >= low
        entries.append((head, past.writes_at(head) if beyond else block.open.get(head.id, {})))
    entries.sort(key=lambda entry: entry[0].version, reverse=True)
    # The state at `high` is the next block's first, where its own tasks' writes are; what is below zero is inherited.
    end = high + 1 if high == thread.version else high
    if before is not None:
        end = min(end, before)
    for state, writes in entries:
        if low <= state.version < end:
            yield state, writes


def _before_fork(
    log: EventLog, fork: ThreadForked, past: StreamPast, values: Values, before: int | None
) -> Iterator[Entry]:
    """Yield what a fork inherits: its base and the base's ancestors; for a copied thread everything up to the cut."""
    if fork.checkpoint is None:
        source = fold_until(log, fork.source, fork.version, values)
    else:
        source = threads_of(log).head(log, fork.source, values)
    bases = {state.id for state in past.inherited(fork).heads.values()}
    wanted, passed = fork.checkpoint, before is None
    for state, writes in history(log, source, values, before=fork.version + 1):
        is_ours = wanted is None or state.id == wanted
        if is_ours and passed:
            entry = moved(state)
            known = {inherited(v): w for v, w in writes.items() if v <= fork.version}
            yield entry, past.writes_at(entry) if state.id in bases else known
        if is_ours and wanted is not None:
            if state.parent is None:
                return
            wanted = state.parent
        passed = passed or state.version == before
