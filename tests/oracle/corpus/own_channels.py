"""Channels that a user wrote on `BaseChannel`: what they show, what they keep, when they are there."""

from typing import Annotated, Any

from typing_extensions import TypedDict

from ..api import Api
from ..harness import Script, scenario


class _Parts:
    """What the channels below have in common; each runtime's `BaseChannel` is mixed in."""

    EMPTY: type[Exception]
    typ: Any
    held: Any = None

    @property
    def ValueType(self) -> Any:
        return self.typ

    @property
    def UpdateType(self) -> Any:
        return self.typ

    def get(self) -> Any:
        if self.held is None:
            raise self.EMPTY
        return self.held

    def from_checkpoint(self, checkpoint: Any) -> Any:
        made: Any = type(self)(self.typ)
        made.held = list(checkpoint) if isinstance(checkpoint, list) else None
        return made


class _Mean(_Parts):
    """Shows a mean, keeps sum and count."""

    def get(self) -> Any:
        return super().get()[0] / self.held[1]

    def checkpoint(self) -> Any:
        return super().get()

    def update(self, values: Any) -> bool:
        if not values:
            return False
        total, count = self.held or (0, 0)
        self.held = [total + sum(values), count + len(values)]
        return True


class _Window(_Parts):
    """The last three values, newest first; one of them goes with each step that brings none."""

    def update(self, values: Any) -> bool:
        before = self.held or []
        self.held = [*reversed(values), *before][:3] if values else before[:-1]
        return self.held != before


class _Batch(_Parts):
    """There once it has two values; taken by the task that it triggers."""

    def is_available(self) -> bool:
        return len(self.held or ()) >= 2

    def get(self) -> Any:
        if not self.is_available():
            raise self.EMPTY
        return self.held

    def checkpoint(self) -> Any:
        return self.held or []

    def update(self, values: Any) -> bool:
        self.held = [*(self.held or []), *values]
        return bool(values)


class _Started(_Parts):
    """There from the start: a count that begins at ten, and refuses what is negative."""

    def from_checkpoint(self, checkpoint: Any) -> Any:
        made: Any = type(self)(self.typ)
        made.held = checkpoint if isinstance(checkpoint, int) else 10
        return made

    def update(self, values: Any) -> bool:
        if any(value < 0 for value in values):
            raise ValueError("only up")
        self.held += sum(values)
        return bool(values)


def _channel(api: Api, parts: type[Any]) -> Any:
    return type(parts.__name__, (parts, api.BaseChannel), {"EMPTY": api.EmptyChannelError})


def _line(api: Api, schema: Any, **nodes: Any) -> Any:
    builder = api.StateGraph(schema)
    before = api.START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    return builder


@scenario("channel: BaseChannel", "parallel", "multi-turn", "time travel", "join")
def own_mean(api: Api, t: Script) -> None:
    """A channel that shows a mean and goes on from sum and count, in parallel and on a branch."""
    channel = _channel(api, _Mean)

    class State(TypedDict):
        mean: Annotated[float, channel]
        seen: float

    builder = api.StateGraph(State)
    builder.add_node("end", lambda state: {"seen": state["mean"]})
    for name, value in (("b", 4.0), ("a", 1.0)):
        builder.add_node(name, lambda state, value=value: {"mean": value})
        builder.add_edge(api.START, name)
    builder.add_edge(["a", "b"], "end")
    t.compile(builder)
    t.go({"mean": 7.0})
    t.go({"mean": 0.0})
    past = t.history()
    t.go(None, at=past[-1].config)
    t.update({"mean": 100.0})


@scenario("channel: BaseChannel", "linear", "channel: changes without a write", "channels given as objects")
def own_window(api: Api, t: Script) -> None:
    """A channel that hears of steps that bring it nothing."""
    channel = _channel(api, _Window)

    class State(TypedDict):
        recent: Annotated[list[int], channel(list)]
        n: int

    t.compile(
        _line(
            api,
            State,
            one=lambda state: {"recent": 1},
            quiet=lambda state: {"n": len(state["recent"])},
            two=lambda state: {"recent": 2},
        )
    )
    t.go({"recent": 0, "n": 0})
    t.go({"n": 1})


@scenario("channel: BaseChannel", "parallel", "channel: kept before it is there", "dynamic interrupt", "resume")
def own_batch(api: Api, t: Script) -> None:
    """A channel that keeps what it got until there are two, across a pause and a new run."""
    channel = _channel(api, _Batch)

    class State(TypedDict):
        batch: Annotated[list[Any], channel]
        n: int

    def ask(state: Any) -> Any:
        t.note(sorted(state))
        return {"batch": api.interrupt("what else?")}

    t.compile(_line(api, State, ask=ask, last=lambda state: {"n": len(state.get("batch", []))}))
    t.go({"batch": "first", "n": 0})
    t.go(api.Command(resume="second"))
    t.go({"n": 1})


@scenario("channel: BaseChannel", "refused step", "error: ValueError", "update_state", exit=False)
def own_started(api: Api, t: Script) -> None:
    """A channel that holds something from the start, and refuses an edit."""
    channel = _channel(api, _Started)

    class State(TypedDict):
        count: Annotated[int, channel]
        n: int

    t.compile(_line(api, State, node=lambda state: {"count": 1, "n": state["count"]}))
    t.go({"n": 0})
    t.update({"count": -1}, error="ValueError")
    t.update({"count": 5})
    t.go({"count": 2})
