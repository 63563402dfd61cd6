"""The closed registry: what it takes, how it names classes, and what an unregistered type reads as."""

from __future__ import annotations

import dataclasses
import enum
import gc
import signal
import threading
from typing import Any

import pytest
from lithograph.eventlog.serde import BASE, Opaque, Serializer, StoredError, TypeRegistry, describe_error
from lithograph.eventlog.serde import serializer as serializer_module

from tests.eventlog.serde.values import (
    CLASSES,
    Color,
    Loan,
    Pair,
    Point,
    Refused,
    Right,
    identical,
    serializer,
)


@dataclasses.dataclass
class Parcel:
    """What a native type of another room could be."""

    where: Any
    what: Any


def native_registry() -> TypeRegistry:
    """Return a registry with `Parcel` as a native type."""
    registry = TypeRegistry()
    registry.register_native(100, Parcel, lambda p: [p.where, p.what], lambda parts: Parcel(*parts))
    return registry


def local_class(fields: list[str], name: str = "Local") -> Any:
    """Return a fresh dataclass, of the same qualified name at each call."""
    return dataclasses.make_dataclass(name, fields, namespace={"__module__": "m"})


def test_an_unregistered_type_reads_as_opaque() -> None:
    """A value of a class that the reader does not know shows its name and fields, and keeps its bytes."""
    data = serializer().encode({"k": [Loan(1, (2,))]})
    value = Serializer().decode(data)
    (opaque,) = value["k"]
    assert type(opaque) is Opaque
    assert opaque.name == "tests.eventlog.serde.classes:Loan"
    assert opaque.fields == {"amount": 1, "note": (2,)}
    assert Serializer().encode(value) == data
    assert serializer().decode(Serializer().encode(opaque)) == Loan(1, (2,))


def test_opaque_values_compare_by_bytes() -> None:
    """Two opaque values are equal, and hash alike, exactly when their bytes are the same."""
    codec = serializer()
    one, same, other = (Serializer().decode(codec.encode(Point(x))) for x in (1, 1, True))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != Point(1)
    assert {one: 1}[same] == 1
    assert "Point" in repr(one)


def test_opaque_values_nest() -> None:
    """An opaque value is a value: within containers, keys and other registered classes."""
    stranger = Serializer().decode(serializer().encode(Point(1)))
    codec = Serializer(BASE.extended([Loan]))
    value = {"s": {stranger}, "d": {stranger: (stranger,)}, "l": Loan(stranger)}
    assert identical(codec.decode(codec.encode(value)), value)


def test_a_class_with_other_fields_is_another_type() -> None:
    """A class of the same name whose fields changed does not take the old values; they read as opaque."""
    old, new = local_class(["a", "b"]), local_class(["a", "b", "c"])
    data = Serializer(BASE.extended([old])).encode(old(1, 2))
    read = Serializer(BASE.extended([new])).decode(data)
    assert type(read) is Opaque
    assert read.fields == {"a": 1, "b": 2}


def test_an_enum_member_that_changed_is_opaque() -> None:
    """A member that is gone, or has another value now, is not read as something else."""

    def color(members: dict[str, Any], kind: Any = enum.Enum) -> Any:
        return kind("Shade", members, module="m")

    data = Serializer(BASE.extended([cls := color({"A": 1, "B": 2})])).encode([cls.A, cls.B])
    for members, opaque in (
        ({"A": 1}, [False, True]),
        ({"A": 1, "B": 3}, [False, True]),
        ({"A": True, "B": 2}, [True, False]),
    ):
        read = Serializer(BASE.extended([color(members)])).decode(data)
        assert [type(member) is Opaque for member in read] == opaque
    strict = color({"R": 1, "W": 2}, enum.Flag)
    both = Serializer(BASE.extended([strict])).encode(strict.R | strict.W)
    assert type(Serializer(BASE.extended([color({"R": 1}, enum.Flag)])).decode(both)) is Opaque


@pytest.mark.parametrize("boundary", [enum.CONFORM, enum.EJECT])
def test_a_flag_that_lets_go_of_bits_is_opaque(boundary: enum.FlagBoundary) -> None:
    """A class that would drop unknown bits, or give an int for them, reads what it no longer has as `Opaque`."""

    def right(members: dict[str, int]) -> Any:
        return enum.Flag("Right", members, module="m", boundary=boundary)

    before = right({"R": 1, "W": 2})
    data = Serializer(BASE.extended([before])).encode([before.R | before.W, before.R])

    now = right({"R": 1})
    both, one = Serializer(BASE.extended([now])).decode(data)

    assert type(both) is Opaque
    assert one is now.R


def test_flags_combine() -> None:
    """A combination of flags, and none at all, come back as members."""
    codec = serializer()
    for flag in (Right.READ, Right.READ | Right.WRITE, Right(0)):
        assert codec.decode(codec.encode(flag)) is flag


def test_local_classes_work_when_the_registry_supplies_them() -> None:
    """A class of a function, which nothing could import, comes back when the reader registers its twin."""
    mine, twin = local_class(["a"]), local_class(["a"])
    data = Serializer(BASE.extended([mine])).encode(mine(1))
    assert type(Serializer(BASE.extended([twin])).decode(data)) is twin


def test_a_script_and_its_module_are_one() -> None:
    """A class of `__main__` is found when the same code is imported, and the other way round."""
    script, module = local_class(["a"]), local_class(["a"])
    script.__module__, module.__module__ = "__main__", "desk"
    as_script, as_module = (Serializer(BASE.extended([cls])) for cls in (script, module))
    assert type(as_module.decode(as_script.encode(script(1)))) is module
    assert type(as_script.decode(as_module.encode(module(1)))) is script
    other = local_class(["a"])
    other.__module__ = "elsewhere"
    assert type(Serializer(BASE.extended([other])).decode(as_module.encode(module(1)))) is Opaque


def test_two_classes_of_one_name_are_refused() -> None:
    """Two classes that a stored value could not tell apart cannot both be registered without a name."""
    one, two = local_class(["a"]), local_class(["a"])
    registry = BASE.extended([one])
    with pytest.raises(ValueError, match="name of its own"):
        registry.register(two)
    registry.register(two, "m:Second")
    codec = Serializer(registry)
    assert [type(value) for value in codec.decode(codec.encode([one(1), two(1)]))] == [one, two]


def test_a_moved_class_is_found_under_its_old_name() -> None:
    """A second registration under the old name reads old values; what is stored keeps the first name."""
    old, new = local_class(["a"]), local_class(["a"])
    old.__module__, new.__module__ = "before", "after"
    data = Serializer(BASE.extended([old])).encode(old(1))
    registry = BASE.extended([new])
    registry.register(new, "before:Local")
    codec = Serializer(registry)
    assert type(codec.decode(data)) is new
    assert b"after:Local" in codec.encode(new(1))


def test_registries_layer() -> None:
    """A child knows what its parent knows, also what is registered there later; the parent learns nothing."""
    parent = TypeRegistry()
    child = parent.extended([Loan])
    codec = Serializer(child)
    parent.register(Color)
    assert codec.decode(codec.encode([Loan(1), Color.RED])) == [Loan(1), Color.RED]
    assert parent.codec(Loan) is None
    assert BASE.codec(Loan) is None


def test_registering_later_reaches_a_serializer_in_use() -> None:
    """A class registered after values of it were refused and read as opaque is known from then on."""
    registry = TypeRegistry()
    codec = Serializer(registry)
    data = serializer().encode([Loan(1), Refused("no", 2)])
    assert [type(value) for value in codec.decode(data)] == [Opaque, Opaque]
    assert type(codec.decode(codec.encode(Refused("no", 2)))) is StoredError
    registry.register(Loan)
    registry.register(Refused)
    assert [type(value) for value in codec.decode(data)] == [Loan, Refused]
    assert type(codec.decode(codec.encode(Refused("no", 2)))) is Refused


def test_native_types() -> None:
    """A room's own type is stored under its tag, exactly; a reader without the room sees it as opaque."""
    codec = Serializer(native_registry().extended([Loan]))
    value = [Parcel("a", {1: Loan((2,))}), Parcel(None, Parcel(1, bytearray(b"x")))]
    data = codec.encode(value)
    assert codec.decode(data) == value
    stranger = Serializer().decode(data)
    assert [part.name for part in stranger] == ["native 100", "native 100"]
    assert Serializer().encode(stranger) == data


def test_an_interrupt_while_encoding_is_not_lost() -> None:
    """A KeyboardInterrupt that arrives while a part is encoded is raised, not taken for a refusal."""
    pressed: list[bool] = []

    def fields(parcel: Parcel) -> list[Any]:
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt
        return [parcel.where, parcel.what]

    registry = TypeRegistry()
    registry.register_native(100, Parcel, fields, lambda parts: Parcel(*parts))
    codec = Serializer(registry)
    with pytest.raises(KeyboardInterrupt):
        codec.encode([(Parcel(1, 2),)])
    assert codec.decode(codec.encode([(Parcel(1, 2),)])) == [(Parcel(1, 2),)]


@pytest.mark.parametrize("walked", [False, True])
def test_an_interrupt_at_the_entry_of_a_hook_is_not_lost(walked: bool) -> None:
    """Signals whose handlers raise while values are encoded are raised, each of them, wherever they strike."""
    codec = Serializer(BASE.extended([Loan]))
    value: list[Any] = [Loan(number, (1, {2})) for number in range(50)]
    if walked:
        value.append(Loan({1: 2}))
    fired = 0

    def interrupted(_signal: int, _frame: Any) -> None:
        nonlocal fired
        fired += 1
        raise KeyboardInterrupt

    def encode_until_interrupted(before: int) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0001 + before % 50 * 0.000007)
        while fired == before:
            codec.encode(value)

    known = signal.signal(signal.SIGALRM, interrupted)
    gc.disable()  # a callback of the collector, which other tools install, swallows what strikes within it
    try:
        for number in range(500):
            with pytest.raises(KeyboardInterrupt):
                encode_until_interrupted(number)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, known)
        gc.enable()


def test_a_refusal_that_an_interrupt_left_hides_no_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an earlier call noted before a signal ended it says nothing of the next call, whose interrupt is raised."""
    codec = Serializer(BASE.extended([Loan]))
    really, struck = codec._hook, [True]

    def struck_at_its_entry(value: Any) -> Any:
        if struck and struck.pop():
            raise KeyboardInterrupt  # as a handler does before the hook's first line: nobody notes it
        return really(value)

    monkeypatch.setattr(codec, "_hook", struck_at_its_entry)
    serializer_module._refusals.add(threading.get_ident())
    with pytest.raises(KeyboardInterrupt):
        codec.encode([Loan(1, "n")])
    assert codec.decode(codec.encode([Loan(1, "n")])) == [Loan(1, "n")]


def test_native_tags_are_taken_once() -> None:
    """A tag outside of 64 to 127, or taken by another class, is refused; the same again changes nothing."""
    registry = native_registry()
    same = registry.codec(Parcel)
    assert same is not None
    registry.register_native(100, Parcel, same.explode, same.rebuild)
    for tag, cls in ((63, Loan), (128, Loan), (100, Loan), (101, Parcel)):
        with pytest.raises(ValueError, match="tag"):
            registry.register_native(tag, cls, list, tuple)


def test_registering_twice_changes_nothing() -> None:
    """The same class can be registered again."""
    registry = BASE.extended(CLASSES)
    before = Serializer(registry).encode(Pair(1, 2))
    for cls in CLASSES:
        registry.register(cls)
    assert Serializer(registry).encode(Pair(1, 2)) == before


class Rude(Exception):
    """An exception that cannot even be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def test_errors_are_never_refused() -> None:
    """An exception of any class, with any arguments, is stored: what has no stored form in it is left out."""
    codec = Serializer()
    cycle = RuntimeError()
    cycle.args = (cycle,)
    stored = codec.decode(codec.encode([Refused("no"), ValueError(object()), Rude(1), cycle, Refused(object())]))
    assert [type(error) for error in stored] == [StoredError] * 5
    assert stored[0] == StoredError("tests.eventlog.serde.classes:Refused", "no", "Refused('no')", ("no",))
    assert stored[1].type_name == "ValueError"
    assert stored[1].args is None
    assert stored[2].text == "<Rude: str() raised RuntimeError>"
    assert stored[2].args == (1,)
    assert stored[4].args is None
    assert codec.encode(stored) == codec.encode(codec.decode(codec.encode(stored)))


def test_a_stored_error_made_by_hand_is_exact_or_refused() -> None:
    """The lenience is for exceptions only: a `StoredError` with odd arguments is refused like any value."""
    with pytest.raises(TypeError):
        Serializer().encode(StoredError("t", "x", "r", (object(),)))


def test_python_errors_come_back_as_themselves() -> None:
    """Python's own exceptions come back with type, arguments, file name and notes."""
    error = FileNotFoundError(2, "missing", "f.txt")
    error.add_note("looked twice")
    back = Serializer().decode(Serializer().encode(error))
    assert (type(back), back.args, back.filename) == (FileNotFoundError, (2, "missing"), "f.txt")
    assert back.__notes__ == ["looked twice"]


def test_describe_error() -> None:
    """An error's type name, text and repr are had without running into the error's own methods."""
    assert describe_error(KeyError("k")) == ("KeyError", "'k'", "KeyError('k')")
    name, text, shown = describe_error(Rude())
    assert name.endswith("test_registry:Rude")
    assert text == "<Rude: str() raised RuntimeError>"
    assert shown == "<Rude: repr() raised RuntimeError>"
