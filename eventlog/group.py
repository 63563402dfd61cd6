"""Group commit: concurrent appenders share one transaction and one flush, on their own threads.

Whoever finds nobody leading leads: it takes what is queued, commits it together with its own append, hands
out the outcomes and wakes the next leader. Of a batch each wakes the one behind it when it runs itself: woken all at
once they would only wait for the interpreter. A lone appender takes one free lock and nothing else. The queue is
only ever emptied under the leader's lock, and every follower looks after itself: it wakes up now and then,
and when the lock is free it leads. So no exception, wherever it strikes, leaves anyone waiting for ever.

A leader that dies (`KeyboardInterrupt`, say) before its commit puts its followers back in the queue; during
or after it, they get `OutcomeUnknown`, which the log retries with the same append id. One that dies while it does so
leaves followers that are nowhere: each finds that out when its patience ends, and leads with its own append.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from .chain import check_limits
from .engine import Append, Appended, Conflict, Engine
from .errors import OutcomeUnknown

MAX_BATCH = 256
PATIENCE_SECONDS = 0.25
"""After how long a follower looks whether its leader is still there; only a killed leader makes it matter."""
Outcome = Appended | Conflict


class GroupCommit:
    """Appends to one engine, batched. Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lead = threading.Lock()
        self._queue: deque[_Ticket] = deque()
        self._process = os.getpid()

    def submit(self, append: Append) -> Outcome:
        """Return the outcome of an append, durable when accepted.

        Raises what the engine raises; `OutcomeUnknown` also when the leader of its batch was interrupted.
        """
        # One that is too large must not spoil the batch of others.
        check_limits(append, self._engine.limits)
        if self._process != os.getpid():
            self._restart()
        if not self._lead.locked():
            # `with` on a lock cannot be interrupted between taking it and being sure to give it back.
            with self._lead:
                outcome = self._run(append)
            self._wake()
            return outcome
        return self._follow(_Ticket(append))

    def _restart(self) -> None:
        """Begin anew in the child of a fork: whoever led or queued here is a thread of the parent."""
        self._lead = threading.Lock()
        self._queue.clear()
        self._process = os.getpid()

    def _follow(self, ticket: _Ticket) -> Outcome:
        try:
            self._queue.append(ticket)
            while ticket.outcome is None:
                self._lead_or_wait(ticket)
        except BaseException:
            self._withdraw(ticket)
            raise
        finally:
            ticket.pass_on()
        if isinstance(ticket.outcome, BaseException):
            raise ticket.outcome
        return ticket.outcome

    def _lead_or_wait(self, ticket: _Ticket) -> None:
        if self._lead.locked():
            ticket.wait()
            return
        with self._lead:
            self._run_queued(ticket)
        self._wake()

    def _run(self, append: Append) -> Outcome:
        """Lead with an own append: commit it with all that is queued."""
        if not self._queue:
            return self._engine.commit((append,))[0]
        own = _Ticket(append)
        self._run_queued(own)
        own.pass_on()
        assert own.outcome is not None
        if isinstance(own.outcome, BaseException):
            raise own.outcome
        return own.outcome

    def _run_queued(self, own: _Ticket) -> None:
        """Commit the leader's own ticket and what is queued, unless an earlier leader has dealt with the own one."""
        if own.outcome is not None:
            return
        if own.taken:
            own.outcome = OutcomeUnknown("the leader of this append's batch was interrupted")
            return
        batch: list[_Ticket] = []
        try:
            self._take(own, batch)
            self._commit(batch)
        except BaseException:
            self._abandon(own, batch)
            raise

    def _take(self, own: _Ticket, batch: list[_Ticket]) -> None:
        """Make a batch of the own ticket, be it in the queue or not, and of what is queued."""
        self._withdraw(own)
        batch.append(own)
        limits, size, count = self._engine.limits, own.size, own.count
        while self._queue and len(batch) < MAX_BATCH:
            size += self._queue[0].size
            count += self._queue[0].count
            if size > limits.append_bytes or count > 8 * limits.append_records:
                break
            # An interrupt may find it in neither, never in both: it could be committed twice.
            batch.append(self._queue.popleft())

    def _commit(self, batch: list[_Ticket]) -> None:
        for ticket in batch:
            ticket.taken = True
        try:
            outcomes: Sequence[Outcome | BaseException] = self._engine.commit([ticket.append for ticket in batch])
        except OutcomeUnknown as error:
            outcomes = [OutcomeUnknown(*error.args) for _ in batch]
        except Exception as error:  # noqa: BLE001 (nothing was written; each append gets its own error)
            outcomes = [error] if len(batch) == 1 else [self._alone(ticket.append) for ticket in batch]
        # Whoever looks by itself and finds its outcome wakes the one behind it, so that one must have its own already.
        for ticket, behind in pairwise(batch):
            ticket.behind = behind
        for ticket, outcome in zip(reversed(batch), reversed(outcomes), strict=True):
            ticket.outcome = outcome
        batch[0].wake()

    def _alone(self, append: Append) -> Outcome | BaseException:
        """Commit one append of a batch that was refused as a whole, so that only the guilty one fails."""
        try:
            return self._engine.commit((append,))[0]
        except Exception as error:  # noqa: BLE001 (handed to whoever appended)
            return error

    def _abandon(self, own: _Ticket, batch: list[_Ticket]) -> None:
        """Let go of a batch whose leader is dying: back to the queue when it was not begun, else unknown."""
        begun = bool(batch) and batch[-1].taken
        for ticket in reversed(batch):
            if ticket is own:
                continue
            if not begun:
                ticket.taken = False
                self._queue.appendleft(ticket)
            elif ticket.outcome is None:
                ticket.outcome = OutcomeUnknown("the leader of this append's batch was interrupted")
            ticket.wake()

    def _wake(self) -> None:
        """Wake the next leader, if anybody waits."""
        try:
            self._queue[0].wake()
        except IndexError:
            return

    def _withdraw(self, ticket: _Ticket) -> None:
        """Take back a ticket whose thread is leaving, when no leader has it yet."""
        try:
            self._queue.remove(ticket)
        except ValueError:
            return


class _Ticket:
    """One queued append and the place where its thread waits."""

    __slots__ = ("_gate", "append", "behind", "count", "outcome", "size", "taken")

    def __init__(self, append: Append) -> None:
        self.append = append
        self.count = sum([len(write.drafts) for write in append.streams])
        self.size = sum([len(draft.body) for write in append.streams for draft in write.drafts])
        self.outcome: Outcome | BaseException | None = None
        self.taken = False
        self.behind: _Ticket | None = None
        """The next one of a batch whose outcomes are there."""
        self._gate = threading.Lock()
        self._gate.acquire()

    def wait(self) -> None:
        """Wait to be settled, to be woken, or for patience to end."""
        self._gate.acquire(timeout=PATIENCE_SECONDS)

    def pass_on(self) -> None:
        """Wake the one behind. Should this never be called, that one's patience ends."""
        if self.behind is not None:
            self.behind.wake()

    def wake(self) -> None:
        # Nobody else releases the gate while it is locked except another waker, whose release will do.
        try:
            self._gate.release()
        except RuntimeError:
            return
