"""Child processes that stop where a test wants them, so that it can look at what they hold, or kill them there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import TracebackType

PATIENCE_SECONDS = 20


class Child:
    """A forked process that runs `work(stop)`: at each `stop()` it says so and waits to be let go on, or killed."""

    def __init__(self, work: Callable[[Callable[[], None]], None]) -> None:
        said, say = os.pipe()
        listen, tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(said)
            os.close(tell)
            self._run(work, say, listen)
        os.close(say)
        os.close(listen)
        self._said, self._tell = said, tell
        self._ended = False

    @staticmethod
    def _run(work: Callable[[Callable[[], None]], None], say: int, listen: int) -> None:
        def stop() -> None:
            os.write(say, b".")
            if not os.read(listen, 1):
                os._exit(2)

        signal.alarm(PATIENCE_SECONDS)
        code = 1
        try:
            work(stop)
            code = 0
        finally:
            os._exit(code)

    def stopped(self) -> None:
        """Wait until the child has come to a stop."""
        assert os.read(self._said, 1) == b".", "the child ended before it stopped"

    def go_on(self) -> None:
        """Let the child go on from its stop."""
        os.write(self._tell, b".")

    def kill(self) -> None:
        """Kill the child where it is."""
        os.kill(self.pid, signal.SIGKILL)
        assert self.wait() == -signal.SIGKILL

    def wait(self) -> int:
        """Wait for the child's end; return its exit code, negative for a signal."""
        self._ended = True
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._ended:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
        os.close(self._said)
        os.close(self._tell)


@contextmanager
def stopped(work: Callable[[Callable[[], None]], None]) -> Generator[Child]:
    """Run a child up to its first stop."""
    with Child(work) as child:
        child.stopped()
        yield child
