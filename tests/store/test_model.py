"""The store against a simple model: a dict with places, for any sequence of operations, on both engines."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from lithograph.eventlog import EventLog
from lithograph.eventlog.clock import ManualClock
from lithograph.store import EventLogStore, GetOp, ListNamespacesOp, Op, PutOp, SearchOp

NAMESPACES = st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(tuple)
PREFIXES = st.lists(st.sampled_from("ab"), max_size=2).map(tuple)
KEYS = st.sampled_from(["x", "y", ""])
VALUES = st.fixed_dictionaries({"n": st.integers(0, 4)}, optional={"t": st.just((1, "a"))})
FILTERS = st.none() | st.fixed_dictionaries({"n": st.integers(0, 4) | st.just({"$gte": 2})})
COUNTS = st.integers(0, 4)
GETS = st.tuples(NAMESPACES, KEYS).map(lambda arguments: GetOp(*arguments))
PUTS = st.tuples(NAMESPACES, KEYS, st.none() | VALUES).map(lambda arguments: PutOp(*arguments))
SEARCHES = st.tuples(PREFIXES, FILTERS, COUNTS, COUNTS).map(lambda arguments: SearchOp(*arguments))
DEPTHS = st.none() | st.integers(1, 3)
LISTS = st.tuples(st.none(), DEPTHS, COUNTS, COUNTS).map(lambda arguments: ListNamespacesOp(*arguments))


class Kept(NamedTuple):
    """What the model remembers of an item."""

    place: int
    value: dict[str, Any]


class Model:
    """The store's promises, written down as plainly as possible."""

    def __init__(self) -> None:
        self.items: dict[tuple[tuple[str, ...], str], Kept] = {}
        self.count = 0

    def batch(self, ops: list[Op]) -> list[Any]:
        results = [self.read(op) for op in ops]
        last = {(op.namespace, op.key): op.value for op in ops if isinstance(op, PutOp)}
        spaces = list(dict.fromkeys(namespace for namespace, _ in last))
        for target in sorted(last, key=lambda target: spaces.index(target[0])):
            self.write(target, last[target])
        return results

    def write(self, target: tuple[tuple[str, ...], str], value: Any) -> None:
        if value is None:
            self.items.pop(target, None)
            return
        self.count += 1
        old = self.items.get(target)
        self.items[target] = Kept(old.place if old else self.count, value)

    def read(self, op: Op) -> Any:
        if isinstance(op, PutOp):
            return None
        if isinstance(op, GetOp):
            kept = self.items.get((op.namespace, op.key))
            return kept and (op.namespace, op.key, kept.value)
        if isinstance(op, SearchOp):
            return self.search(op)
        names = sorted({namespace[: op.max_depth] for namespace, _ in self.items})
        return names[op.offset : op.offset + op.limit]

    def search(self, op: SearchOp) -> Any:
        below = [
            (kept.place, (namespace, key, kept.value))
            for (namespace, key), kept in self.items.items()
            if namespace[: len(op.namespace_prefix)] == op.namespace_prefix and holds(op.filter, kept.value)
        ]
        newest_first = [found for _, found in sorted(below, key=lambda pair: -pair[0])]
        return newest_first[op.offset : op.offset + op.limit][::-1]


def holds(conditions: Any, value: dict[str, Any]) -> bool:
    if conditions is None:
        return True
    wanted = conditions["n"]
    return value["n"] >= 2 if isinstance(wanted, dict) else value["n"] == wanted


def plain(result: Any) -> Any:
    """Return a result without times, for comparison with the model's."""
    if isinstance(result, list):
        return [plain(part) for part in result]
    return (result.namespace, result.key, result.value) if hasattr(result, "namespace") else result


class Machine(RuleBasedStateMachine):
    """Any sequence of operations gives what the model gives, through every way of calling and reopening."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.log = self.opened()
        self.store = EventLogStore(self.log)

    def opened(self) -> EventLog:
        return EventLog.in_memory(clock=ManualClock())

    @rule(ops=st.lists(GETS | PUTS | SEARCHES | LISTS, max_size=8))
    def batch(self, ops: list[Op]) -> None:
        assert plain(self.store.batch(ops)) == self.model.batch(ops)

    @rule(op=PUTS)
    def write(self, op: PutOp) -> None:
        self.model.batch([op])
        if op.value is None:
            self.store.delete(op.namespace, op.key)
        else:
            self.store.put(op.namespace, op.key, op.value)

    @rule(op=SEARCHES)
    def search(self, op: SearchOp) -> None:
        found = self.store.search(op.namespace_prefix, filter=op.filter, limit=op.limit, offset=op.offset)
        assert plain(found) == self.model.read(op)

    @rule()
    def another_store(self) -> None:
        self.store = EventLogStore(self.log)

    @invariant()
    def holds_the_same(self) -> None:
        everything = SearchOp((), limit=1_000)
        assert plain(self.store.batch([everything])) == [self.model.read(everything)]

    def teardown(self) -> None:
        self.log.close()


class LmdbMachine(Machine):
    """The same on a log on disk, closed and opened again now and then."""

    def opened(self) -> EventLog:
        self.folder = tempfile.TemporaryDirectory()
        return EventLog(Path(self.folder.name) / "a.lithograph", clock=ManualClock())

    @rule()
    def reopen(self) -> None:
        self.log.close()
        self.log = EventLog(Path(self.folder.name) / "a.lithograph", clock=ManualClock())
        self.store = EventLogStore(self.log)

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()


QUICK = settings(max_examples=40, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize(("machine", "examples"), [(Machine, 150), (LmdbMachine, 40)])
def test_store_does_what_the_model_does(machine: type[Machine], examples: int) -> None:
    """For any sequence of operations, results and contents equal the model's."""
    run_state_machine_as_test(machine, settings=settings(QUICK, max_examples=examples))


@pytest.mark.nightly
@pytest.mark.parametrize(("machine", "examples"), [(Machine, 2_000), (LmdbMachine, 300)])
def test_store_does_what_the_model_does_at_length(machine: type[Machine], examples: int) -> None:
    """The same with many more and longer sequences."""
    longer = settings(QUICK, max_examples=examples, stateful_step_count=50)
    run_state_machine_as_test(machine, settings=longer)
