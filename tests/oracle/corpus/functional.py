"""The functional API: entrypoints, and tasks that they call."""

from collections.abc import Callable
from typing import Any

from ..api import Api
from ..harness import Script, scenario


class Entry:
    """An entrypoint that is yet to be given its checkpointer."""

    def __init__(self, api: Api, func: Callable[..., Any], **options: Any) -> None:
        self._api, self._func, self._options = api, func, options

    def compile(self, **given: Any) -> Any:
        """The graph, on a checkpointer."""
        return self._api.entrypoint(**self._options, **given)(self._func)


def _add(api: Api, t: Script, **options: Any) -> Any:
    @api.task(**options)
    def add(number: int) -> int:
        t.note("add", number)
        return number + 1

    return add


@scenario("functional", "sequence", "multi-turn")
def functional_sequence(api: Api, t: Script) -> None:
    """Tasks one after another."""
    add = _add(api, t)

    def flow(number: int) -> int:
        return add(add(number).result()).result()

    t.compile(Entry(api, flow))
    t.go(1)
    t.go(5)


@scenario("functional", "parallel")
def functional_parallel(api: Api, t: Script) -> None:
    """Tasks side by side; results in the order of the calls."""
    add = _add(api, t)

    def flow(numbers: list[int]) -> list[int]:
        return [future.result() for future in [add(number) for number in numbers]]

    t.compile(Entry(api, flow))
    t.invoke([3, 1, 2])


@scenario("functional", "no task", "values")
def functional_alone(api: Api, t: Script) -> None:
    """An entrypoint without tasks, with a dictionary."""

    def flow(given: dict[str, Any]) -> dict[str, Any]:
        return {**given, "seen": True}

    t.compile(Entry(api, flow))
    t.go({"a": 1})
    t.go({"b": 2})


@scenario("functional", "previous", "multi-turn")
def functional_previous(api: Api, t: Script) -> None:
    """What the function returned before is what it is given next."""

    def flow(number: int, *, previous: Any = None) -> int:
        t.note("previous", previous)
        return number + (previous or 0)

    t.compile(Entry(api, flow))
    t.go(1)
    t.go(2)
    t.go(3, thread="2")


@scenario("functional", "final", "previous")
def functional_final(api: Api, t: Script) -> None:
    """A function returns one value and saves another."""

    def flow(number: int, *, previous: Any = None) -> Any:
        return api.entrypoint.final(value=previous, save=2 * number)

    t.compile(Entry(api, flow))
    t.go(3)
    t.go(1)
    t.go(None)


@scenario("functional", "interrupt", "finished task not rerun")
def functional_question(api: Api, t: Script) -> None:
    """The function asks behind a task: the task is not called again when the answer is there."""
    add = _add(api, t)

    def flow(number: int) -> Any:
        t.note("flow runs")
        first = add(number).result()
        answer = api.interrupt({"first": first})
        return [first, answer, add(first).result()]

    t.compile(Entry(api, flow))
    t.go(1)
    t.state()
    t.go(api.Command(resume="yes"))


@scenario("functional", "interrupt in a task")
def functional_question_in_a_task(api: Api, t: Script) -> None:
    """A task asks."""

    @api.task
    def asks(word: str) -> str:
        return f"{word} {api.interrupt(word + '?')}"

    def flow(word: str) -> Any:
        return [asks(word).result(), asks("again").result()]

    t.compile(Entry(api, flow))
    t.go("first")
    t.go(api.Command(resume="one"))
    t.go(api.Command(resume="two"))


@scenario("functional", "interrupts in a loop")
def functional_questions_in_a_loop(api: Api, t: Script) -> None:
    """The function asks until it is told to stop."""
    add = _add(api, t)

    def flow(number: int) -> Any:
        answers = []
        while (answer := api.interrupt(f"more than {number}?")) != "no":
            number = add(number).result()
            answers.append(answer)
        return [number, answers]

    t.compile(Entry(api, flow))
    t.go(1)
    t.go(api.Command(resume="yes"))
    t.go(api.Command(resume="go"))
    t.go(api.Command(resume="no"))


@scenario("functional", "failure", "resume")
def functional_failure(api: Api, t: Script) -> None:
    """A task fails and with it the run; what had finished is not called again."""
    failing = [True]
    add = _add(api, t)

    @api.task
    def fails(number: int) -> int:
        t.note("fails", number)
        if failing[0]:
            raise ValueError("not yet")
        return number * 10

    def flow(number: int) -> int:
        return fails(add(number).result()).result()

    t.compile(Entry(api, flow))
    t.go(1, error="ValueError")
    failing[0] = False
    t.go(None)


@scenario("functional", "failure", "caught")
def functional_failure_caught(api: Api, t: Script) -> None:
    """The function catches what a task raises."""

    @api.task
    def fails(number: int) -> int:
        raise ValueError(f"no {number}")

    def flow(number: int) -> str:
        try:
            return str(fails(number).result())
        except ValueError as error:
            return f"caught {error}"

    t.compile(Entry(api, flow))
    t.go(1)


@scenario("functional", "retry")
def functional_retry(api: Api, t: Script) -> None:
    """A task is tried again as its policy says."""
    tries: list[int] = []
    policy = api.RetryPolicy(initial_interval=0.0, jitter=False, retry_on=ValueError)

    @api.task(retry_policy=policy)
    def flaky(number: int) -> int:
        tries.append(number)
        if len(tries) % 3:
            raise ValueError("again")
        return number

    def flow(number: int) -> int:
        return flaky(number).result()

    t.compile(Entry(api, flow))
    t.go(1)
    t.note(len(tries))


@scenario("functional", "nested tasks")
def functional_nested(api: Api, t: Script) -> None:
    """A task calls tasks."""
    add = _add(api, t)

    @api.task
    def twice(number: int) -> int:
        return add(add(number).result()).result()

    def flow(number: int) -> int:
        return twice(number).result()

    t.compile(Entry(api, flow))
    t.go(1)


@scenario("functional", "update_state")
def functional_edit(api: Api, t: Script) -> None:
    """What an entrypoint saved is edited."""

    def flow(number: int, *, previous: Any = None) -> int:
        return number + (previous or 0)

    t.compile(Entry(api, flow))
    t.go(1)
    t.update(100)
    t.go(2)


@scenario("functional", "time travel")
def functional_travel(api: Api, t: Script) -> None:
    """An entrypoint runs again from an earlier input."""
    add = _add(api, t)

    def flow(number: int, *, previous: Any = None) -> int:
        return add(number).result() + (previous or 0)

    t.compile(Entry(api, flow))
    t.go(1)
    t.go(10)
    past = [each for each in t.history() if each.next]
    if past:
        t.go(None, at=past[0].config)


@scenario("functional", "StateGraph", "task in a node")
def functional_task_in_a_node(api: Api, t: Script) -> None:
    """A node of a graph calls tasks."""
    from .nested import Log, line, stamp

    add = _add(api, t)

    def calls(state: Log) -> dict[str, Any]:
        return {"n": add(state["n"]).result(), "log": ["called"]}

    t.compile(line(api, ("calls", calls), ("after", stamp("after"))))
    t.go({"n": 1, "log": []})


@scenario("functional", "subgraph", "called by a task")
def functional_graph_in_a_task(api: Api, t: Script) -> None:
    """A task runs a graph that asks."""
    from .nested import ask, line, stamp

    inner = line(api, ("one", stamp("one")), ("asks", ask(api, "asks"))).compile()

    @api.task
    def runs(number: int) -> Any:
        return inner.invoke({"n": number, "log": []})["log"]

    def flow(number: int) -> Any:
        return runs(number).result()

    t.compile(Entry(api, flow))
    t.go(1)
    t.go(api.Command(resume="yes"))


@scenario("functional", "subgraph", "entrypoint in a node")
def functional_entrypoint_in_a_node(api: Api, t: Script) -> None:
    """A node of a graph calls an entrypoint."""
    from .nested import Log, line

    add = _add(api, t)

    @api.entrypoint()
    def flow(number: int) -> int:
        return add(number).result()

    def calls(state: Log) -> dict[str, Any]:
        return {"n": flow.invoke(state["n"]), "log": ["called"]}

    t.compile(line(api, ("calls", calls)))
    t.go({"n": 1, "log": []})


@scenario("functional", "no persistence")
def functional_without_persistence(api: Api, t: Script) -> None:
    """An entrypoint without a checkpointer."""
    add = _add(api, t)

    def flow(number: int) -> int:
        return add(number).result()

    t.compile(Entry(api, flow), persist=False)
    t.go(1)


@scenario("functional", "config", "writer", "runtime")
def functional_surroundings(api: Api, t: Script) -> None:
    """The function and its tasks are given what they ask for by name."""

    @api.task
    def looks(word: str, *, config: Any = None) -> str:
        api.get_stream_writer()({"task": word})
        t.note(config is None, sorted(api.get_config()["tags"]))
        return word

    def flow(word: str, *, writer: Any, runtime: Any) -> str:
        writer({"flow": word})
        t.note(runtime.context)
        return looks(word).result()

    flow.__annotations__["writer"] = api.StreamWriter
    t.compile(Entry(api, flow))
    t.go("hello", config={"tags": ["a"]}, context={"desk": 3})


@scenario("functional", "new input at a question")
def functional_new_input(api: Api, t: Script) -> None:
    """A new input while the function waits for an answer."""
    add = _add(api, t)

    def flow(number: int) -> Any:
        return [add(number).result(), api.interrupt("?")]

    t.compile(Entry(api, flow))
    t.go(1)
    t.go(2)
    t.go(api.Command(resume="yes"))
