"""The embedded engine does what the specification does, to the byte."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from lithograph.eventlog.engine import ANY, Append, Draft, StreamAppend
from lithograph.eventlog.engines.lmdb import LmdbEngine
from lithograph.eventlog.engines.memory import MemoryEngine
from lithograph.eventlog.record import NO_ID

STREAMS = [bytes([at]) * 16 for at in range(4)]


def counting() -> Callable[[int], bytes]:
    """A source of bytes that is the same for both engines."""
    count = itertools.count()
    return lambda size: next(count).to_bytes(size, "big")


parts = st.builds(
    StreamAppend,
    st.sampled_from(STREAMS),
    st.integers(ANY, 6),
    st.lists(
        st.builds(Draft, st.just(12), st.just(1), st.integers(0, 9), st.just(NO_ID), st.binary(max_size=9)),
        max_size=3,
    ),
    st.just(1),
    st.just(bytes(32)),
)
appends = st.builds(
    Append,
    st.integers(0, 12).map(lambda number: number.to_bytes(16, "big")),
    st.lists(parts, min_size=1, max_size=3, unique_by=lambda part: part.stream),
    st.none() | st.integers(0, 5),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(appends, min_size=1, max_size=4), max_size=8), st.integers(1, 5))
def test_engines_agree(commits: list[list[Append]], limit: int) -> None:
    """Whatever is committed, right, wrong or repeated: answers, records, heads and pages agree."""
    memory = MemoryEngine(random=counting())
    with tempfile.TemporaryDirectory() as folder:
        embedded = LmdbEngine(Path(folder) / "log", random=counting())
        try:
            for commit in commits:
                assert embedded.commit(commit) == memory.commit(commit)
            assert embedded.identity() == memory.identity()
            assert embedded.log_head() == memory.log_head()
            assert embedded.streams(b"", 10) == memory.streams(b"", 10)
            for after in range(0, memory.log_head().position + 1, 2):
                assert embedded.read(after, limit) == memory.read(after, limit)
                for stream in STREAMS:
                    assert embedded.read_stream(stream, after, limit) == memory.read_stream(stream, after, limit)
        finally:
            embedded.close()
