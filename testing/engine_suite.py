"""The conformance suite of storage engines: what every engine owes, as tests that anybody can run on theirs.

Derive a class from `EngineConformance`, give it a fixture `open_engine` that returns a function opening the
same log again and again, and let pytest collect it:

    class TestMyEngine(EngineConformance):
        @pytest.fixture
        def open_engine(self, tmp_path):
            return lambda: MyEngine(tmp_path / "log")

An engine that keeps its log when it is closed derives from `DurableConformance`, which asks for more. Read
`eventlog/engine.py` for the promises, `eventlog/engines/memory.py` for the plainest engine that keeps them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

import pytest

from ..eventlog import merkle
from ..eventlog.audit import Audit, Finding
from ..eventlog.engine import ANY, Append, Appended, Conflict, Engine, Page, Rows
from ..eventlog.errors import LimitExceeded, LogClosed
from ..eventlog.record import NO_HASH, derive_salts, record_hash
from ..eventlog.streams import StreamName
from .engine_bench import Bench

OpenEngine = Callable[[], Engine]

NAMES = [
    StreamName("thread", name)
    for name in (
        "t",
        "t1",
        "t1\0",
        "t1\0\0",
        "",
        b"",
        b"\x00",
        b"\xff" * 20,
        "é" * 300,
        "x" * 5000,
        b"y" * 512,
    )
]
"""Names that are prefixes of each other, empty, binary, and longer than a key may be."""


class EngineConformance:
    """What every engine owes. Each test states one promise of `Engine`."""

    @pytest.fixture
    def open_engine(self) -> OpenEngine:
        """Return a function that opens the log under test: give one in the derived class."""
        raise NotImplementedError("the derived class says how its engine is opened")

    @pytest.fixture
    def bench(self, open_engine: OpenEngine) -> Iterator[Bench]:
        """Return the engine under test, closed afterwards."""
        engine = open_engine()
        yield Bench(engine)
        engine.close()

    def test_new_log_is_empty(self, bench: Bench) -> None:
        """A new log has no records, no streams, an empty frontier, and an identity of its own."""
        engine = bench.engine
        assert engine.log_head() == (0, ())
        assert engine.read(0, 10) == Page([], {}, 0)
        assert engine.streams(b"", 10) == []
        assert engine.head(bench.stream("a")).version == 0
        identity = engine.identity()
        assert (len(identity.log_id), len(identity.secret), identity.floor) == (16, 32, 0)

    def test_positions_are_dense_and_in_order(self, bench: Bench) -> None:
        """Positions are 1, 2, 3 … in the order of appends, versions 1, 2, 3 … in each stream."""
        first = bench.append(bench.part("a", 0, b"1", b"2"))
        second = bench.append(bench.part("b", 0, b"3"))
        third = bench.append(bench.part("a", 2, b"4"))
        assert [(first.first, first.last), (second.first, second.last), (third.first, third.last)] == [
            (1, 2),
            (3, 3),
            (4, 4),
        ]
        assert [position for position, _ in bench.everything()] == [1, 2, 3, 4]
        assert bench.data("a") == [b"1", b"2", b"4"]
        head = bench.engine.head(bench.stream("a"))
        assert (head.version, head.position, head.scope) == (3, 4, bench.scope)
        assert third.heads[bench.stream("a")] == head

    def test_streams_never_mix(self, bench: Bench) -> None:
        """Streams with names that are prefixes of others, empty, binary or long keep > 256 events each."""
        rounds = 26
        for turn in range(rounds):
            for at, name in enumerate(NAMES):
                bench.append(bench.part(name, turn * 10, *[b"%d %d" % (at, turn * 10 + n) for n in range(10)]))
        for at, name in enumerate(NAMES):
            assert bench.data(name) == [b"%d %d" % (at, n) for n in range(rounds * 10)]
        assert len(bench.everything()) == len(NAMES) * rounds * 10

    def test_conflict_writes_nothing(self, bench: Bench) -> None:
        """An append at a version that the stream has left, or not reached, leaves nothing."""
        bench.append(bench.part("a", 0, b"1", b"2"))
        before = bench.engine.log_head()
        assert bench.refused(bench.part("a", 1, b"x")) == (bench.stream("a"), 1, 2)
        assert bench.refused(bench.part("a", 5, b"x")) == (bench.stream("a"), 5, 2)
        assert bench.refused(bench.part("new", 1, b"x")) == (bench.stream("new"), 1, 0)
        assert bench.engine.log_head() == before
        assert bench.data("a") == [b"1", b"2"]

    def test_append_is_atomic_over_streams(self, bench: Bench) -> None:
        """Of an append to several streams all is written, in order, or nothing if one is refused."""
        done = bench.append(bench.part("a", 0, b"1"), bench.part("b", ANY, b"2", b"3", first=True))
        assert (done.first, done.last) == (1, 3)
        assert {stream: head.version for stream, head in done.heads.items()} == {
            bench.stream("a"): 1,
            bench.stream("b"): 2,
        }
        conflict = bench.refused(bench.part("b", 2, b"x"), bench.part("a", 0, b"x"), bench.part("c", 0, b"x"))
        assert conflict.stream == bench.stream("a")
        assert (bench.data("a"), bench.data("b"), bench.data("c")) == ([b"1"], [b"2", b"3"], [])

    def test_stream_may_be_checked_only(self, bench: Bench) -> None:
        """A stream named without drafts is compared with its expected version and not written to."""
        bench.append(bench.part("a", 0, b"1"))
        done = bench.append(bench.part("a", 1), bench.part("b", 0, b"2"))
        assert done.heads[bench.stream("a")].version == 1
        assert bench.refused(bench.part("a", 0), bench.part("b", 1, b"x")).actual == 1
        assert bench.data("b") == [b"2"]

    def test_any_appends_wherever_the_stream_is(self, bench: Bench) -> None:
        """With `ANY` an append takes the stream's next versions."""
        bench.append(bench.part("a", ANY, b"1", first=True))
        bench.append(bench.part("a", ANY, b"2"))
        assert bench.data("a") == [b"1", b"2"]

    def test_appends_of_one_commit_stand_alone(self, bench: Bench) -> None:
        """In one commit each append is accepted or refused on its own, and sees those before it."""
        outcomes = bench.engine.commit(
            [
                bench.make(bench.part("a", 0, b"1")),
                bench.make(bench.part("a", 0, b"x")),
                bench.make(bench.part("a", 1, b"2")),
                bench.make(bench.part("b", 0, b"3")),
            ]
        )
        assert [type(outcome) for outcome in outcomes] == [Appended, Conflict, Appended, Appended]
        assert (bench.data("a"), bench.data("b")) == ([b"1", b"2"], [b"3"])
        assert outcomes[1] == Conflict(bench.stream("a"), 0, 1)

    def test_repeated_append_is_recognised_for_ever(self, bench: Bench) -> None:
        """An append repeated under its id is answered as before and not written, however late."""
        parts = (bench.part("a", 0, b"1", b"2"), bench.part("b", 0, b"3"))
        done = bench.append(*parts, append_id=b"i" * 16)
        for turn in range(40):
            bench.append(bench.part("a", 2 + turn, b"later"))
        head = bench.engine.log_head()
        again = bench.append(*parts, append_id=b"i" * 16)
        assert again == done._replace(replayed=True)
        assert bench.engine.log_head() == head

    def test_repeated_append_is_recognised_within_a_commit(self, bench: Bench) -> None:
        """The same append twice in one commit is written once."""
        append = bench.make(bench.part("a", 0, b"1"))
        first, second = bench.engine.commit([append, append])
        assert isinstance(first, Appended)
        assert second == first._replace(replayed=True)
        assert bench.data("a") == [b"1"]

    def test_repeated_append_with_any_is_recognised(self, bench: Bench) -> None:
        """With `ANY` a retry says where the log was at the first try, 0 included, and is recognised."""
        parts = (bench.part("a", ANY, b"1", b"2", first=True),)
        done = bench.append(*parts, append_id=b"i" * 16)
        bench.append(bench.part("a", ANY, b"3"))
        assert bench.append(*parts, append_id=b"i" * 16, since=0) == done._replace(replayed=True)
        again = bench.append(*parts, append_id=b"j" * 16, since=2)
        assert not again.replayed
        assert bench.append(*parts, append_id=b"j" * 16, since=3) == again._replace(replayed=True)
        assert bench.data("a") == [b"1", b"2", b"3", b"1", b"2"]

    def test_another_append_is_not_taken_for_a_repeated_one(self, bench: Bench) -> None:
        """A conflict stays one when the id there is another's, or the append has other records."""
        bench.append(bench.part("a", 0, b"1"), append_id=b"i" * 16)
        assert bench.refused(bench.part("a", 0, b"1"), append_id=b"j" * 16).actual == 1
        assert bench.refused(bench.part("a", 0, b"1", b"2"), append_id=b"i" * 16).actual == 1
        assert bench.refused(bench.part("b", 0, b"0"), bench.part("a", 0, b"1"), append_id=b"i" * 16).actual == 1

    def test_salts_are_derived(self, bench: Bench) -> None:
        """A salt comes from scope key, append id and index: a retry has the same, no two records do."""
        bench.append(bench.part("a", 0, b"1"), bench.part("b", 0, b"1"), append_id=b"i" * 16)
        bench.append(bench.part("c", 0, b"1"), append_id=b"j" * 16)
        salts = [record[144:160] for _, record in bench.everything()]
        ids = [(b"i" * 16, 0), (b"i" * 16, 1), (b"j" * 16, 0)]
        assert salts == [derive_salts(bench.scope_key, append_id, index, 1) for append_id, index in ids]
        assert len(set(salts)) == 3

    def test_limits_are_known_before_anything_is_written(self, bench: Bench) -> None:
        """What is too large raises `LimitExceeded`; the rest of the commit is not written either."""
        limits = bench.engine.limits
        large = bytes(limits.record_bytes)
        many = [b""] * (limits.append_records + 1)
        heavy = [bytes(limits.record_bytes - 1000)] * (limits.append_bytes // (limits.record_bytes - 1000) + 1)
        for data in ([large], many, heavy):
            with pytest.raises(LimitExceeded):
                bench.engine.commit([bench.make(bench.part("a", 0, b"1")), bench.make(bench.part("b", 0, *data))])
        assert bench.engine.log_head().position == 0

    def test_stream_named_twice_is_refused(self, bench: Bench) -> None:
        """An append names each stream once."""
        with pytest.raises(ValueError, match="twice"):
            bench.append(bench.part("a", 0, b"1"), bench.part("a", ANY, b"2"))
        assert bench.engine.log_head().position == 0

    def test_records_are_chained(self, bench: Bench) -> None:
        """Each record holds the hash of the one before it in its stream; the head holds the last one's."""
        bench.append(bench.part("a", 0, b"1"), bench.part("b", 0, b"2"))
        bench.append(bench.part("a", 1, b"3"))
        first, other, second = [record for _, record in bench.everything()]
        assert (first[:32], other[:32]) == (NO_HASH, NO_HASH)
        assert second[:32] == record_hash(first)
        assert bench.engine.head(bench.stream("a")).hash == record_hash(second)

    def test_frontier_is_that_of_the_tree(self, bench: Bench) -> None:
        """After every append the frontier gives the root of the tree over all records."""
        for turn in range(20):
            bench.append(bench.part("a", turn * 3, b"1", b"2", b"3"))
            records = bench.everything()
            leaves = [merkle.leaf(position, record_hash(record)) for position, record in records]
            assert merkle.root_of(bench.engine.log_head().frontier) == merkle.root(leaves)

    def test_page_has_a_tail_for_each_stream(self, bench: Bench) -> None:
        """A page vouches for each stream's last record on it: by its successor, or by the head."""
        bench.append(bench.part("a", 0, b"1", b"2"), bench.part("b", 0, b"3"))
        bench.append(bench.part("a", 2, b"4"))
        records = dict(bench.everything())
        a, b = bench.stream("a"), bench.stream("b")
        assert bench.engine.read(0, 1).tails == {a: record_hash(records[1])}
        assert bench.engine.read(1, 2).tails == {a: record_hash(records[2]), b: record_hash(records[3])}
        assert bench.engine.read_stream(a, 1, 1).tails == {a: record_hash(records[2])}
        assert bench.engine.read_stream(a, 2, 9).tails == {a: record_hash(records[4])}

    def test_page_tells_where_the_end_is(self, bench: Bench) -> None:
        """A page tells the end of the log or the stream; behind the end there is an empty page."""
        bench.append(bench.part("a", 0, b"1"), bench.part("b", 0, b"2"))
        assert bench.engine.read(0, 1).end == 2
        assert bench.engine.read(2, 5) == Page([], {}, 2)
        assert bench.engine.read_stream(bench.stream("b"), 0, 5).end == 1
        assert bench.engine.read_stream(bench.stream("b"), 1, 5) == Page([], {}, 1)
        assert bench.engine.read_stream(bench.stream("none"), 0, 5) == Page([], {}, 0)

    def test_page_is_bounded_in_bytes(self, bench: Bench) -> None:
        """A page of large records is shorter than asked, and nothing is lost between pages."""
        data = [bytes([at]) * 200_000 for at in range(20)]
        for turn in range(6):
            bench.append(bench.part("a", turn * 20, *data))
        page = bench.engine.read(0, 1000)
        assert 0 < len(page.records) < 120
        assert page.end == 120
        assert bench.data("a") == data * 6
        assert len(bench.everything()) == 120

    def test_streams_are_listed_in_pages(self, bench: Bench) -> None:
        """Streams come with their heads in bytewise order of id, page after page, each once."""
        for at in range(30):
            bench.append(bench.part(f"s{at}", 0, b"1"))
        found: list[bytes] = []
        while page := bench.engine.streams(found[-1] if found else b"", 7):
            assert [bench.engine.head(stream) for stream, _ in page] == [head for _, head in page]
            found += [stream for stream, _ in page]
        assert found == sorted(bench.stream(f"s{at}") for at in range(30))

    def test_wait_is_a_hint(self, bench: Bench) -> None:
        """`wait` returns at once when there is more, soon after an append, else at its timeout."""
        bench.append(bench.part("a", 0, b"1"))
        assert bench.engine.wait(0, 30) == 1
        assert bench.engine.wait(1, 0.01) == 1
        timer = threading.Timer(0.05, lambda: bench.append(bench.part("a", 1, b"2")))
        timer.start()
        assert bench.engine.wait(1, 30) == 2
        timer.join()

    def test_scope_keys_are_drawn_once(self, bench: Bench) -> None:
        """Keys have numbers 1, 2, 3 …, no two are equal, and each is found under its number."""
        first, keys = bench.engine.draw_keys(5)
        second, more = bench.engine.draw_keys(2)
        assert (bench.scope, first, second) == (1, 2, 7)
        assert len({bench.scope_key, *keys, *more}) == 8
        assert [bench.engine.key(first + at) for at in range(5)] == keys
        assert bench.engine.key(9) is None
        assert {len(key) for key in keys} == {32}

    def test_destroyed_key_is_gone(self, bench: Bench) -> None:
        """A destroyed key is `None` for ever, its number is not given out again, and others stay."""
        first, keys = bench.engine.draw_keys(3)
        bench.engine.destroy_key(first + 2)
        assert [bench.engine.key(first + at) for at in range(3)] == [*keys[:2], None]
        assert bench.engine.draw_keys(1)[0] == first + 3

    def test_threads_may_commit_at_once(self, bench: Bench) -> None:
        """Commits from many threads are each atomic, and positions stay dense."""
        threads = [threading.Thread(target=self._commit_many, args=(bench, at)) for at in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [position for position, _ in bench.everything()] == list(range(1, 4 * 10 * 2 + 1))
        for at in range(4):
            assert bench.data(f"s{at}") == [b"%d" % turn for turn in range(20)]

    def test_rows_pass_the_audit(self, bench: Bench) -> None:
        """An engine that shows its rows passes the audit that `verify` is made of."""
        if not isinstance(bench.engine, Rows):
            pytest.skip("this engine does not show its rows")
        for name in NAMES:
            bench.append(bench.part(name, 0, b"1", b"2"), bench.part("every", ANY, b"3", first=name == NAMES[0]))
        bench.engine.destroy_key(bench.engine.draw_keys(3)[0])
        findings: list[Finding] = []
        audit = Audit(bench.engine, findings.append, lambda done, total: None)
        audit.run()
        assert findings == []
        assert (audit.records, len(audit.streams)) == (len(NAMES) * 3, len(NAMES) + 1)

    def test_closed_engine_refuses(self, open_engine: OpenEngine) -> None:
        """After `close` every call raises `LogClosed`; closing twice is no error."""
        engine = open_engine()
        bench = Bench(engine)
        append = bench.make(bench.part("a", 0, b"1"))
        engine.close()
        engine.close()
        calls: Sequence[Callable[[], object]] = (
            lambda: engine.commit([append]),
            engine.log_head,
            lambda: engine.head(b"s" * 16),
            lambda: engine.read(0, 1),
            lambda: engine.read_stream(b"s" * 16, 0, 1),
            lambda: engine.streams(b"", 1),
            lambda: engine.wait(0, 0),
            lambda: engine.draw_keys(1),
            lambda: engine.key(1),
        )
        for call in calls:
            with pytest.raises(LogClosed):
                call()

    def _commit_many(self, bench: Bench, at: int) -> None:
        for turn in range(10):
            part = bench.part(f"s{at}", turn * 2, b"%d" % (turn * 2), b"%d" % (turn * 2 + 1))
            append_id = bytes([at]) * 8 + turn.to_bytes(8, "big")
            outcome = bench.engine.commit((Append(append_id, (part,)),))[0]
            assert isinstance(outcome, Appended)


class DurableConformance(EngineConformance):
    """What an engine owes besides whose log is still there when it is opened again."""

    def test_reopened_log_is_the_same(self, open_engine: OpenEngine) -> None:
        """A log opened again has the same identity, records, heads and keys, and goes on."""
        engine = open_engine()
        bench = Bench(engine)
        bench.append(bench.part("a", 0, b"1", b"2"))
        before = (engine.identity(), engine.log_head(), engine.read(0, 10), engine.key(1))
        engine.close()
        engine = open_engine()
        assert (engine.identity(), engine.log_head(), engine.read(0, 10), engine.key(1)) == before
        again = Bench(engine)
        assert again.scope == 2
        again.append(again.part("a", 2, b"3"))
        assert again.data("a") == [b"1", b"2", b"3"]
        engine.close()
