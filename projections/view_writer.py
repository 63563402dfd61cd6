"""`ViewWriter`: brings a log's `views/` up to date, behind the runs that append to it.

A function of the log alone: the same rows at the same position, however many passes it took and whichever process made
them. A pass takes what is new page by page, each page one transaction together with the stamp of how far it goes, so a
kill leaves views that are older and nothing else. Whoever holds the folder's lock writes; the others do nothing.

Passes run in the background when appends have paused for a moment, give way when they go on, and run when the log is
closed. Nobody waits for views, and nobody is told when they cannot be written: a log without them is as good, and
slower to open.
"""

from __future__ import annotations

import math
import os
import threading
import time
from typing import Final
from weakref import WeakKeyDictionary, ref

from ..eventlog.derived import DerivedRows, open_rows, remove_rows, writers_lock
from ..eventlog.errors import LithographError, ViewDamaged
from ..eventlog.log import EventLog
from .reader import threads_of
from .view_pass import ViewPass
from .views import is_current

LULL_SECONDS: Final = 0.05
PATIENCE_SECONDS: Final = 30.0
"""Views are brought up to date after so long even when appends do not pause."""
DUE_RECORDS: Final = 64
"""How much is new before a pass is worth its flush."""
CLOSE_SECONDS: Final = 2.0
"""How long closing a log may take for its views."""
_IDLE_SECONDS: Final = 1.0
_PAGE: Final = 1024


class ViewWriter:
    """Writes the views of one log. Thread-safe; holds no reference to the log."""

    def __init__(self, log: EventLog) -> None:
        self._log = ref(log)
        self._rows: DerivedRows | None = None
        self._building: ViewPass | None = None
        self._passing = threading.Lock()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asked = 0.0
        self._since = 0.0
        """When the first of the appends that no pass has seen was told of; 0 for none."""
        self._until = math.inf
        """When whatever goes on has to end."""
        self._closed = False
        self._pid = os.getpid()
        log.on_close(self.finish)

    def poke(self) -> None:
        """Say that there was an append. Costs next to nothing."""
        self._asked = time.monotonic()
        if not self._since:
            self._since = self._asked
        if self._thread is None:
            self._start()

    def catch_up(self, *, all: bool = False, seconds: float | None = None, gives_way: bool = False) -> bool:
        """Bring the views up to the log's end, as it is now; return whether they are there.

        They are not when another process holds the lock, when `seconds` are over, when somebody appends meanwhile and
        this `gives_way`, or, unless `all`, when what is new is not worth it.
        """
        log = self._log()
        if log is None or log.path is None or log.read_only:
            return False
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._passing:
            since, self._since = self._since, 0.0
            if not all and not self._is_due(log):
                return False
            with writers_lock(log.path) as held:
                done = held and self._pass(log, deadline, gives_way=gives_way)
            if gives_way and held and not done:
                self._since = since
            return done

    def rebuild(self) -> bool:
        """Make all views anew; return whether they reach the log's end."""
        log = self._log()
        if log is None or log.path is None or log.read_only:
            return False
        with self._passing, writers_lock(log.path) as held:
            done = held and self._pass(log, None, gives_way=False, anew=True)
            self._rest()
            return done

    def finish(self) -> None:
        """Do what is due, within a bounded time, and let go of the folder."""
        self._until = time.monotonic() + CLOSE_SECONDS
        self._closed = True
        if self._pid != os.getpid():
            # A child's copy: the parent's thread may have held the lock, and is not here to give it back.
            return
        try:
            if self._asked:
                self.catch_up()
        except (LithographError, OSError):
            self._building = None
        with self._passing:
            self._let_go()

    def _is_due(self, log: EventLog) -> bool:
        views = threads_of(log).views
        if views.distrusted:
            return True
        goes_on = self._building is not None and self._rows is not None and self._rows.is_in_place()
        position = self._building.position if goes_on and self._building is not None else views.position(log)
        return log.log_head().position - position >= DUE_RECORDS

    def _is_over(self, deadline: float | None) -> bool:
        now = time.monotonic()
        return now > self._until or (deadline is not None and now > deadline)

    def _pass(self, log: EventLog, deadline: float | None, *, gives_way: bool, anew: bool = False) -> bool:
        """Go on with the views as they are, unless `anew`; when they turn out to be damaged, make them anew."""
        for again in (anew, True):
            try:
                return self._go_on(log, self._begin(log, anew=again), deadline, gives_way=gives_way)
            except ViewDamaged:
                self._building = None
            except BaseException:
                self._building = None
                raise
        return False

    def _begin(self, log: EventLog, *, anew: bool) -> ViewPass:
        anew = anew or threads_of(log).views.distrusted
        rows = self._open(log, anew=anew)
        building = self._building
        if building is None or building.transaction != rows.transaction():
            position = _position_to_go_on_from(log, rows)
            if not position and not rows.is_empty():
                rows = self._open(log, anew=True)
            building = self._building = ViewPass(log, rows, position)
        return building

    def _open(self, log: EventLog, *, anew: bool) -> DerivedRows:
        assert log.path is not None
        if anew:
            self._let_go()
            remove_rows(log.path)
        rows = self._rows
        if rows is None or not rows.is_in_place():
            self._let_go()
            rows = self._rows = open_rows(log.path, read_only=False)
            assert rows is not None, "opening for writing makes what is not there"
        return rows

    def _let_go(self) -> None:
        self._rest()
        self._building = self._rows = None

    def _rest(self) -> None:
        """Hold nothing open that a log which nobody closes would leave open."""
        if self._rows is not None:
            self._rows.rest()

    def _go_on(self, log: EventLog, building: ViewPass, deadline: float | None, *, gives_way: bool) -> bool:
        end = log.log_head().position
        for page in log.scan(building.position, page=_PAGE):
            if not building.take(log, page, lambda: self._is_over(deadline)):
                self._building = None
                return False
            if building.position >= end:
                return True
            if self._is_over(deadline) or (gives_way and time.monotonic() - self._asked < LULL_SECONDS):
                return False
            # Let whoever works in this process go first.
            time.sleep(0 if self._closed else 0.001)
        return True

    def _start(self) -> None:
        with self._starting:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, name="lithograph-views", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        try:
            self._look_after()
        finally:
            with self._passing:
                self._rest()
            self._thread = None
        if self._since and self._log() is not None:
            # Somebody asked while this thread was leaving, and saw it still there.
            self._start()

    def _look_after(self) -> None:
        while not self._closed and self._log() is not None:
            time.sleep(LULL_SECONDS)
            now = time.monotonic()
            patient = now - self._since < PATIENCE_SECONDS
            if self._since and (now - self._asked >= LULL_SECONDS or not patient):
                try:
                    self.catch_up(gives_way=patient)
                except (LithographError, OSError):
                    # Closed meanwhile, or the disk is full: the next pass, in whatever process, begins here again.
                    continue
            elif now - self._asked > _IDLE_SECONDS:
                break


def _position_to_go_on_from(log: EventLog, rows: DerivedRows) -> int:
    """Return the position up to which rows may be kept; 0 when none may, or there are none."""
    stamp = rows.stamp()
    return stamp.position if stamp is not None and is_current(log, rows) else 0


_WRITERS: WeakKeyDictionary[EventLog, ViewWriter] = WeakKeyDictionary()
_writers_lock = threading.Lock()


def view_writer_of(log: EventLog) -> ViewWriter:
    """Return the log's writer of views."""
    with _writers_lock:
        writer = _WRITERS.get(log)
        if writer is None:
            writer = _WRITERS[log] = ViewWriter(log)
        return writer


def _after_fork() -> None:
    global _writers_lock
    _writers_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    # A thread of the parent's may have held the lock, and is not here to give it back.
    os.register_at_fork(after_in_child=_after_fork)


def poke_views(log: EventLog) -> None:
    """Say that this process has appended to a log: its views are brought up to date in a while."""
    if log.path is not None and not log.read_only:
        view_writer_of(log).poke()


def rebuild_views(log: EventLog) -> bool:
    """Make all views of a log anew from its records; return whether that could be done now.

    Needed by nobody: views that are absent or wrong are made anew on their own. For those who want to see it.
    """
    return view_writer_of(log).rebuild()
