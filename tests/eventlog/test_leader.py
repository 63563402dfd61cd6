"""A leader of a group commit that is struck at any line: nobody hangs, nothing is lost, nothing is written twice.

Eight followers wait in the queue when the leader takes over. Where it can be struck is not listed here but read from
the code of `GroupCommit`: every line is struck in every scenario that reaches it, and a line that none reaches is a
failure. Not struck is the way out of `with self._lead`, where the interpreter looks for no signals: whoever raises
there, as a debugger might, keeps the lock.
"""

from __future__ import annotations

import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest
from lithograph.eventlog import ANY, EventLog, StreamName, StreamWrite
from lithograph.eventlog import group as group_module
from lithograph.eventlog.audit import Audit, Finding
from lithograph.eventlog.engine import Append, Appended, Conflict, Limits
from lithograph.eventlog.engines.lmdb import LmdbEngine
from lithograph.eventlog.engines.memory import MemoryEngine
from lithograph.eventlog.errors import OutcomeUnknown
from lithograph.eventlog.events import Recorded
from lithograph.eventlog.group import GroupCommit, _Ticket

FOLLOWERS = 8
PATIENCE_SECONDS = 0.02
HANGS_SECONDS = 10.0
SECTION = (
    GroupCommit.submit,
    GroupCommit._run,
    GroupCommit._run_queued,
    GroupCommit._take,
    GroupCommit._commit,
    GroupCommit._alone,
    GroupCommit._abandon,
    GroupCommit._wake,
    GroupCommit._lead_or_wait,
    GroupCommit._follow,
    GroupCommit._withdraw,
    _Ticket.pass_on,
    _Ticket.wake,
    _Ticket.wait,
)
CODES: dict[CodeType, str] = {part.__code__: part.__qualname__ for part in SECTION}
SOURCE = inspect.getsource(group_module).splitlines()


class Place(NamedTuple):
    """A line of the section, and at which visit of one call it is struck."""

    function: str
    line: int
    visit: int


NOT_A_LEADERS = {
    "GroupCommit.submit": ["self._restart()"],
    "GroupCommit._run_queued": ["return", "own.outcome = OutcomeUnknown("],
    "GroupCommit._follow": ["except BaseException:", "self._withdraw(ticket)", "raise"],
    "_Ticket.wake": ["except RuntimeError:", "return"],
}
"""Lines that only a child of a fork takes, or a follower whose leader died, or who dies itself: tests of their own."""


class Few(Limits):
    """Limits that strike when they are asked the third time what a batch may hold: some are in it by then."""

    asked = 0

    @property
    def append_bytes(self) -> int:  # type: ignore[override]
        """Return the limit, twice."""
        self.asked += 1
        if self.asked == 3:
            raise KeyboardInterrupt
        return Limits().append_bytes


class Hooked:
    """An engine that strikes one thread once: when it commits a batch of several, or looks at the limits for one."""

    before: BaseException | None = None
    after: BaseException | None = None
    guilty: BaseException | None = None
    narrow: Limits | None = None
    victim: threading.Thread | None = None
    _limits: Limits

    def _strike(self, where: str) -> None:
        error = getattr(self, where)
        if error and threading.current_thread() is self.victim:
            setattr(self, where, None)
            raise error

    @property
    def limits(self) -> Limits:
        """Return the limits; whoever takes a batch may be struck here."""
        mine = threading.current_thread() is self.victim and sys._getframe(1).f_code is GroupCommit._take.__code__
        if not mine or not self.narrow:
            return self._limits
        narrow, self.narrow = self.narrow, None
        return narrow

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self._limits = limits

    def commit(self, appends: Sequence[Append]) -> list[Appended | Conflict]:
        """Commit; strike before or after a batch."""
        self._strike("before" if len(appends) > 1 else "guilty")
        outcomes = super().commit(appends)  # type: ignore[misc]
        if len(appends) > 1:
            self._strike("after")
        return outcomes


class HookedMemory(Hooked, MemoryEngine):
    """In memory."""


class HookedLmdb(Hooked, LmdbEngine):
    """On disk."""


SCENARIOS: dict[str, dict[str, Any]] = {
    "a follower leads": {},
    "a newcomer leads": {},
    "nobody else is there": {},
    "interrupted while it takes": {"narrow": Few},
    "a small batch": {"narrow": lambda: Limits(append_bytes=40)},
    "interrupted before the commit": {"before": KeyboardInterrupt()},
    "interrupted after the commit": {"after": KeyboardInterrupt()},
    "refused": {"before": ValueError("the batch cannot be stored")},
    "guilty": {"guilty": ValueError("this append cannot be stored"), "before": ValueError("one of them cannot")},
    "unknown": {"after": OutcomeUnknown("written, and not known")},
}


class Bench:
    """One log, on which round after round is played."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.log = EventLog.over(engine)
        self.group = self.log._writer._group
        self.rounds = 0
        self.written = 0

    def append(self, who: int, *, any_version: bool = False) -> Appended:
        """Append one record to a stream of this round, under an id of its own: a repeated call is a retry."""
        number = self.rounds * 100 + who
        name = StreamName("thread", f"{number}")
        event = self.log.stamp(Recorded("t", number), time_us=1)
        write = StreamWrite(name, ANY if any_version else 0, [event])
        return self.log.append([write], append_id=number.to_bytes(16, "big"))

    def play(self, scenario: str, trace: Callable[..., Any] | None) -> list[object]:
        """Let a traced leader commit for itself and its followers; return what each of them got, the leader first."""
        self.rounds += 1
        for hook in ("before", "after", "narrow", "guilty"):
            made = SCENARIOS[scenario].get(hook)
            setattr(self.engine, hook, made() if callable(made) else made)
        count = 0 if scenario == "nobody else is there" else FOLLOWERS
        results: list[object] = [None] * (count + 1)
        fresh, go = scenario != "a follower leads", threading.Event()

        def follow(who: int) -> None:
            results[who] = _outcome_of(lambda: self.append(who, any_version=who % 2 == 0))

        def lead() -> None:
            go.wait()
            sys.settrace(trace)
            try:
                results[0] = _outcome_of(lambda: self.append(0))
            finally:
                sys.settrace(None)

        threads = [threading.Thread(target=lead, daemon=True)]
        threads += [threading.Thread(target=follow, args=(who,), daemon=True) for who in range(1, count + 1)]
        self.engine.victim = threads[0]
        with self.group._lead:
            threads[0].start()
            if not fresh:
                go.set()
                self._until_queued(1, results)
            for thread in threads[1:]:
                thread.start()
            self._until_queued(count + (not fresh), results)
        if fresh:
            go.set()
        else:
            self.group._wake()
        deadline = time.monotonic() + HANGS_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        assert not [thread for thread in threads if thread.is_alive()], "somebody hangs"
        self.written += count + 1
        return results

    def _until_queued(self, count: int, results: list[object]) -> None:
        """Wait until so many are in the queue, not counting a leader that was struck on its way."""
        deadline = time.monotonic() + HANGS_SECONDS
        while len(self.group._queue) + (results[0] is not None) < count:
            assert time.monotonic() < deadline
            time.sleep(0.0005)

    def findings(self) -> list[Finding]:
        """Return what is wrong with the log."""
        found: list[Finding] = []
        Audit(self.engine, found.append, lambda done, total: None).run()
        return found


def _outcome_of(work: Callable[[], Appended]) -> object:
    try:
        return work()
    except BaseException as error:  # noqa: BLE001
        return error


def _tracer(on_line: Callable[[Place], None]) -> Callable[..., Any]:
    """Return a trace function that reports each line of the section that is reached, visit by visit of one call."""

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        function = CODES.get(frame.f_code)
        if function is None:
            return None
        visits: dict[int, int] = {}

        def look(frame: FrameType, event: str, argument: object) -> Any:
            if event == "line":
                line = frame.f_lineno
                visits[line] = visits.get(line, 0) + 1
                on_line(Place(function, line, visits[line]))
            return look

        return look

    return trace


def _strike(place: Place, error: type[BaseException]) -> tuple[Callable[..., Any], list[Place]]:
    struck: list[Place] = []

    def on_line(reached: Place) -> None:
        if reached == place and not struck:
            struck.append(place)
            raise error(f"{place}")

    return _tracer(on_line), struck


def _places(bench: Bench, scenario: str) -> list[Place]:
    """Return where a leader can be struck in a scenario: every line that it reaches, at the first and a later visit."""
    reached: set[Place] = set()
    _settle(bench, bench.play(scenario, _tracer(reached.add)), struck=False)
    return sorted(place for place in reached if place.visit <= 2 and not (_is_way_out(place)))


def _is_way_out(place: Place) -> bool:
    return place.visit > 1 and SOURCE[place.line - 1].strip().startswith("with ")


def _settle(bench: Bench, results: list[object], struck: bool) -> None:
    """Hold a round to the promise; whoever was struck tries again under the same id."""
    assert not bench.group._queue, "an append of somebody who has left is still in the queue"
    for who, result in enumerate(results[1:], 1):
        assert isinstance(result, Appended), (who, result)
    if not isinstance(results[0], Appended):
        assert struck or isinstance(results[0], KeyboardInterrupt | ValueError), results[0]
        assert isinstance(bench.append(0), Appended)
    assert bench.engine.log_head().position == bench.written, "something is there twice, or not at all"
    for who in range(len(results)):
        stream = bench.log.stream_id(StreamName("thread", f"{bench.rounds * 100 + who}"))
        assert bench.log.head(stream).version == 1


@pytest.fixture(params=["memory", "lmdb"])
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A log on each engine, whose followers have little patience."""
    monkeypatch.setattr(group_module, "PATIENCE_SECONDS", PATIENCE_SECONDS)
    made = Bench(HookedMemory() if request.param == "memory" else HookedLmdb(tmp_path / "log"))
    yield made
    made.log.close()


def _is_exempt(function: str, text: str) -> bool:
    return any(text.startswith(line) for line in NOT_A_LEADERS.get(function, ()))


REACHED: set[tuple[str, int]] = set()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_leader_struck_at_any_line(bench: Bench, scenario: str) -> None:
    """Whatever line raises, `KeyboardInterrupt` or an error: followers come through, a retry is no second append."""
    places = _places(bench, scenario)
    assert len(places) > 3
    for at, place in enumerate(places):
        REACHED.add((place.function, place.line))
        trace, struck = _strike(place, RuntimeError if at % 3 == 2 else KeyboardInterrupt)
        results = bench.play(scenario, trace)
        _settle(bench, results, bool(struck))
    assert bench.findings() == []


def test_every_line_was_struck() -> None:
    """The scenarios reach every line of the section that a leader can reach."""
    if not REACHED:
        pytest.skip("the tests above were not run")
    missed = [
        f"{name}:{line} {SOURCE[line - 1].strip()}"
        for code, name in CODES.items()
        for line in sorted({line for _, _, line in code.co_lines() if line and line != code.co_firstlineno})
        if (name, line) not in REACHED and not _is_exempt(name, SOURCE[line - 1].strip())
    ]
    assert not missed, "\n".join(missed)


def test_a_follower_struck_while_it_waits(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A follower that is interrupted takes its append out of the queue; its retry is the only one that is written."""
    really_wait = _Ticket.wait

    def wait(ticket: _Ticket) -> None:
        really_wait(ticket)
        if threading.current_thread() is bench.engine.victim:
            raise KeyboardInterrupt

    monkeypatch.setattr(_Ticket, "wait", wait)
    _settle(bench, bench.play("a follower leads", None), struck=False)
    assert bench.findings() == []


@pytest.mark.parametrize("scenario", ["interrupted while it takes", "interrupted before the commit"])
def test_a_leader_struck_again_while_it_lets_go(bench: Bench, scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Followers whom a dying leader could neither put back nor tell anything lead by themselves."""

    def abandon(group: GroupCommit, own: _Ticket, batch: list[_Ticket]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(GroupCommit, "_abandon", abandon)
    _settle(bench, bench.play(scenario, None), struck=False)
    assert bench.findings() == []
