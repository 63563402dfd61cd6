"""Builds random graphs from their plans and performs random scripts on them, on either engine.

A `Place` is where a log lies: it can be reopened, and read by somebody who shares nothing with the writer but the
stored bytes. A `World` is what the nodes of a graph live in: which of them are broken, and which ran.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from lithograph.eventlog import Clock, EventLog, ManualClock
from lithograph.eventlog.errors import LithographError
from lithograph.graph import (
    END,
    AnyValue,
    Command,
    EphemeralValue,
    LastValueAfterFinish,
    Overwrite,
    Send,
    StateGraph,
    Topic,
    UntrackedValue,
    add_messages,
    interrupt,
)
from typing_extensions import TypedDict

from .plans import KINDS, UNLUCKY, Act, GraphPlan, NodePlan, RouterPlan

RECURSION_LIMIT = 7


class NodeFailure(Exception):
    """What a broken node raises."""


class ReducerFailure(Exception):
    """What the `picky` reducer raises."""


EXPECTED = (LithographError, NodeFailure, ReducerFailure, RecursionError)
"""What an act may raise; anything else is a mistake of ours."""


# Reducers of a user: impure on purpose where the runtime promises that it does not matter.


def joined(left: str, right: str) -> str:
    """Join texts."""
    return f"{left},{right}" if left else right


def last_four(left: list[Any], right: list[Any]) -> list[Any]:
    """Keep the newest four."""
    return [*left, *right][-4:]


def grow(left: list[Any], right: list[Any]) -> list[Any]:
    """Change the left operand in place, down to its elements, and return it."""
    for part in left:
        if isinstance(part, list):
            part.append(len(left))
    left.extend([word] for word in right)
    return left


def counted(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """Count keys; a key written as None is removed."""
    counts = {**left, **{key: left.get(key, 0) + 1 for key in right}}
    return {key: count for key, count in counts.items() if right.get(key, 0) is not None}


def longest(left: list[Any], right: list[Any]) -> list[Any]:
    """Return the longer operand itself."""
    return right if len(right) > len(left) else left


def picky(left: int, right: int) -> int:
    """Add, but refuse one number."""
    if right == UNLUCKY:
        raise ReducerFailure(f"{UNLUCKY} brings bad luck")
    return left + right


CHANNELS: dict[str, Any] = {
    "last": Any,
    "total": Annotated[int, operator.add],
    "items": Annotated[list[Any], operator.add],
    "table": Annotated[dict[str, Any], operator.or_],
    "marks": Annotated[set[str], operator.or_],
    "messages": Annotated[list[Any], add_messages],
    "text": Annotated[str, joined],
    "tail": Annotated[list[Any], last_four],
    "grown": Annotated[list[Any], grow],
    "count": Annotated[dict[str, Any], counted],
    "longest": Annotated[list[Any], longest],
    "picky": Annotated[int, picky],
    "topic": Annotated[list[Any], Topic(str)],
    "gathered": Annotated[list[Any], Topic(str, accumulate=True)],
    "brief": Annotated[Any, EphemeralValue(Any, guard=False)],
    "any": Annotated[Any, AnyValue(Any)],
    "late": Annotated[Any, LastValueAfterFinish(Any)],
    "notes": Annotated[Any, UntrackedValue(Any, guard=False)],
}
assert set(CHANNELS) == set(KINDS)


def _untouchable(_left: Any, _right: Any) -> Any:
    raise AssertionError("reading ran a reducer of a user")


def schema(channels: dict[str, Any] = CHANNELS) -> Any:
    """Return the state's schema."""
    return TypedDict("State", channels)


def strangers_schema() -> Any:
    """Return the same keys after a deploy: every reducer of a user is another one, and must not be run by reads."""
    changed = {
        kind: Annotated[typ.__origin__, _untouchable]
        for kind, typ in CHANNELS.items()
        if getattr(typ, "__metadata__", (None,))[0] in (joined, last_four, grow, counted, longest, picky)
    }
    return schema({**CHANNELS, **changed})


class World:
    """What the nodes of one graph live in."""

    def __init__(self) -> None:
        self.broken: set[str] = set()
        self.ran: list[str] = []
        self.on_run: Callable[[str], None] | None = None
        """Called by each node as it begins."""
        self._lock = threading.Lock()

    def enter(self, name: str) -> None:
        """Say that a node begins; raises when it is broken."""
        with self._lock:
            self.ran.append(name)
        if self.on_run is not None:
            self.on_run(name)
        if name in self.broken:
            raise NodeFailure(name)


def build(plan: GraphPlan, world: World, state: Any = None) -> StateGraph[Any]:
    """Return the graph that a plan describes, in a world."""
    builder: StateGraph[Any] = StateGraph(state or schema())
    for node in plan.nodes:
        builder.add_node(node.name, _node(node, world))
    for start, end in plan.edges:
        builder.add_edge(start, end)
    for starts, end in plan.joins:
        builder.add_edge(list(starts), end)
    for router in plan.routers:
        builder.add_conditional_edges(router.source, _router(router))
    return builder


def compiled(plan: GraphPlan, world: World, log: EventLog, state: Any = None) -> Any:
    """Return the graph of a plan, compiled over a log."""
    return build(plan, world, state).compile(
        checkpointer=log, interrupt_before=list(plan.stops_before), interrupt_after=list(plan.stops_after)
    )


def written(pairs: Any) -> dict[str, Any]:
    """Return planned writes as a node makes them: new objects each time."""
    made: dict[str, Any] = {}
    for channel, value in dict(pairs).items():
        replaces = type(value) is tuple and len(value) == 2 and value[0] == "overwrite"
        plain = value[1] if replaces else value
        plain = plain.copy() if isinstance(plain, (list, dict, set)) else plain
        made[channel] = Overwrite(plain) if replaces else plain
    return made


def _node(plan: NodePlan, world: World) -> Callable[[Any], Any]:
    def node(state: Any) -> Any:
        world.enter(plan.name)
        answers = [interrupt(f"{plan.name} asks {place}") for place in range(plan.asks)]
        update = written(plan.writes)
        if answers:
            update["any"] = answers
        for value in state.values():
            _mark(value)
        if plan.form == "dict":
            return update
        goto = [*plan.goto, *(Send(name, {"total": amount}) for name, amount in plan.sends)]
        command = Command(update=update, goto=goto)
        return command if plan.form == "command" else [command, {"gathered": plan.name}]

    node.__name__ = plan.name
    return node


def _mark(value: Any) -> None:
    """Change a node's own copy of a value, down to the containers within."""
    if isinstance(value, list | dict):
        for part in value if isinstance(value, list) else value.values():
            _mark(part)
    if isinstance(value, list):
        value.append("a mark that a node made on its own copy")
    elif isinstance(value, dict):
        value["mark"] = "a mark that a node made on its own copy"


def _router(plan: RouterPlan) -> Callable[[Any], Any]:
    def router(state: Any) -> Any:
        weight = len(state.get("items") or ()) + len(state.get("gathered") or ()) + (state.get("total") or 0)
        for value in state.values():
            _mark(value)
        if weight % 3 == 1 and plan.sends:
            return [Send(name, {"total": amount}) for name, amount in plan.sends]
        targets = (*plan.targets, END)
        return targets[weight % len(targets)]

    router.__name__ = f"router_of_{plan.source}"
    return router


class Place:
    """Where a log lies: in memory or in a folder."""

    def __init__(self, path: Path | None, clock: Clock | None = None) -> None:
        self.path = path
        self.clock = clock or ManualClock(step_us=7)
        self.log = EventLog.in_memory(clock=self.clock) if path is None else EventLog(path, clock=self.clock)

    def reopen(self) -> None:
        """Open the log anew; what the process knew of it is gone."""
        if self.path is None:
            self.log = EventLog.over(self.log.engine, clock=self.clock)
        else:
            self.log.close()
            self.log = EventLog(self.path, clock=self.clock)

    @contextmanager
    def stranger(self) -> Iterator[EventLog]:
        """Lend the log as somebody sees it who has read nothing yet."""
        if self.path is None:
            yield EventLog.over(self.log.engine, clock=ManualClock())
            return
        with EventLog(self.path, read_only=True) as log:
            yield log

    def close(self) -> None:
        """Close the log."""
        self.log.close()


def config_of(thread: str, checkpoint_id: str | None = None) -> dict[str, Any]:
    """Return the config of a thread, or of one of its checkpoints."""
    asked = {"thread_id": thread}
    if checkpoint_id is not None:
        asked |= {"checkpoint_id": checkpoint_id, "checkpoint_ns": ""}
    return {"configurable": asked, "recursion_limit": RECURSION_LIMIT}


class Player:
    """Performs scripts: one graph, two threads, one place."""

    def __init__(self, plan: GraphPlan, place: Place, name: str, *, max_concurrency: int | None = None) -> None:
        self.plan = plan
        self.place = place
        self.world = World()
        self.threads = [f"{name}-0", f"{name}-1"]
        self.outcomes: list[Any] = []
        """What each act returned, or the type of what it raised."""
        self._concurrency = max_concurrency
        self._forks = 0
        self.graph: Any = compiled(plan, self.world, place.log)

    def play(self, script: tuple[Act, ...], after: Callable[[Act], None] | None = None) -> None:
        """Perform acts in order; `after` looks at the place after each."""
        for act in script:
            try:
                self.outcomes.append(self.perform(act))
            except EXPECTED as error:
                self.outcomes.append(type(error))
            if after is not None:
                after(act)

    def perform(self, act: Act) -> Any:
        """Perform one act; raises what it raises."""
        match act.what:
            case "reopen":
                self.place.reopen()
                self.graph = compiled(self.plan, self.world, self.place.log)
            case "break":
                self.world.broken = {self.plan.nodes[act.pick % len(self.plan.nodes)].name}
            case "mend":
                self.world.broken = set()
            case "fork":
                return self._fork(act)
            case "update" | "update the past":
                return self._update(act)
            case _:
                return self._run(act)
        return None

    def history(self, thread: str) -> list[Any]:
        """Return a thread's history, newest first, as the writer's own graph reads it."""
        return list(self.graph.get_state_history(config_of(thread)))

    def _config(self, act: Act) -> Any:
        thread = self.threads[act.thread]
        if act.what in ("replay", "answer the past", "invoke in the past", "update the past", "fork"):
            ids = [snapshot.config["configurable"]["checkpoint_id"] for snapshot in self.history(thread)]
            if ids:
                return config_of(thread, ids[act.pick % len(ids)])
        return config_of(thread)

    def _run(self, act: Act) -> Any:
        config = self._config(act)
        if self._concurrency is not None:
            config["max_concurrency"] = self._concurrency
        return self.graph.invoke(self._given(act), config, durability=act.durability)

    def _given(self, act: Act) -> Any:
        match act.what:
            case "invoke" | "invoke in the past":
                return written(act.value)
            case "go on" | "replay":
                return None
            case "answer" | "answer the past":
                return Command(resume=act.value)
            case "answer all":
                waiting = self.graph.get_state(config_of(self.threads[act.thread])).interrupts
                return Command(resume={question.id: act.value for question in waiting})
            case "command":
                node = self.plan.nodes[act.pick % len(self.plan.nodes)].name
                return Command(update=written(act.value), goto=node if act.pick % 2 else ())
        raise AssertionError(act)

    def _update(self, act: Act) -> Any:
        node = self.plan.nodes[act.pick % len(self.plan.nodes)].name
        self.graph.update_state(self._config(act), written(act.value), as_node=node if act.pick % 3 else None)

    def _fork(self, act: Act) -> Any:
        """The thread goes on under a new name: as a fork of one of its checkpoints."""
        self._forks += 1
        new = f"{self.threads[act.thread]}-fork-{self._forks}"
        self.place.log.fork(self._config(act), new)
        self.threads.append(self.threads[act.thread])
        self.threads[act.thread] = new
