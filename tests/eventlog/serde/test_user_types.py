"""User types: registered by call or decorator, stored whole, built without running any code of theirs."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, TypedDict

import msgspec
import pytest
from lithograph.eventlog.errors import UnsupportedTypeError
from lithograph.eventlog.serde import BASE, Opaque, Serializer, TypeRegistry, register

from tests.eventlog.serde.classes import Box, Fixed, Gauge, Half, Lost, Made, Names, Table, Tree, Triple
from tests.eventlog.serde.values import identical, serializer


def again(value: Any, *classes: type) -> Any:
    """Return a value as a registry of these classes gives it back."""
    codec = Serializer(BASE.extended(classes))
    return codec.decode(codec.encode(value))


def test_a_decorator_registers() -> None:
    """With and without a name, on a registry; the class stays what it was, and its name is what is stored."""
    registry = TypeRegistry()

    @registry.register
    @dataclasses.dataclass
    class One:
        a: int

    @registry.register(name="bank:Two", aliases=["old:Two", "older:Second"])
    class Two(msgspec.Struct):
        a: int

    codec = Serializer(registry)
    data = codec.encode([One(1), Two(2)])
    assert isinstance(One, type)
    assert codec.decode(data) == [One(1), Two(2)]
    assert b"bank:Two" in data
    assert f"{__name__}:".encode() in data
    for old in ("old:Two", "older:Second"):
        writer = TypeRegistry()
        writer.register(type(Two)("Before", (msgspec.Struct,), {"__annotations__": {"a": int}}), old)
        (cls,) = writer.classes()
        assert codec.decode(Serializer(writer).encode(cls(3))) == Two(3)


def test_the_module_level_register_reaches_every_serializer() -> None:
    """What is registered with `register` is known to serializers that exist already, whatever their registry."""
    codecs = [Serializer(), Serializer(BASE.extended()), Serializer(TypeRegistry())]

    @register(name=f"{__name__}:Everywhere")
    @dataclasses.dataclass
    class Everywhere:
        a: int

    assert [codec.decode(codec.encode(Everywhere(1))) for codec in codecs[:2]] == [Everywhere(1)] * 2
    assert Everywhere in BASE.classes()
    with pytest.raises(UnsupportedTypeError):
        codecs[2].encode(Everywhere(1))


def test_a_stable_name_outlives_moves() -> None:
    """A class with a name of its own can be renamed and moved: what was stored is found without aliases."""
    before = dataclasses.make_dataclass("Loan", ["a"], namespace={"__module__": "one"})
    after = dataclasses.make_dataclass("Credit", ["a"], namespace={"__module__": "two"})
    registries = [TypeRegistry(), TypeRegistry()]
    registries[0].register(before, "bank:Loan")
    registries[1].register(after, "bank:Loan")
    data = Serializer(registries[0]).encode(before(1))
    assert Serializer(registries[1]).decode(data) == after(1)
    assert Serializer(registries[1]).encode(after(1)) == data


def test_fields_that_init_does_not_take() -> None:
    """`init=False` fields come back as they are, also where the class holds the value; an `InitVar` is no field."""
    made = Made(1, seed=2)
    back = serializer().decode(serializer().encode(made))
    assert (back.given, back.made, back.rest) == (1, [2], "class default")
    assert not hasattr(back, "seed") or back.seed is None
    del made.made
    with pytest.raises(UnsupportedTypeError, match="without a value") as caught:
        serializer().encode({"a": made})
    assert caught.value.path == "a"


def test_slots_over_no_slots() -> None:
    """Fields come back to where they are kept: two in the instance's dict, one in a slot."""

    @dataclasses.dataclass
    class Base:
        amount: int
        note: int

    @dataclasses.dataclass
    class Low(Base):
        __slots__ = ("half",)
        half: int

    low = Low.__new__(Low)
    low.amount, low.note, low.half = 1, 2, 3
    back = again(low, Low)
    assert (back.amount, back.note, back.half, back.__dict__) == (1, 2, 3, {"amount": 1, "note": 2})
    assert identical(again(Half(1, 2, 3), Half), Half(1, 2, 3))


def test_slots_that_are_no_fields() -> None:
    """A slot beside the fields is part of the value, when it is filled."""

    @dataclasses.dataclass
    class Odd:
        __slots__ = ("a", "extra")
        a: int

    full, empty = Odd(1), Odd(2)
    full.extra = (3,)  # type: ignore[attr-defined]
    back = again([full, empty], Odd)
    assert back[0].extra == (3,)
    assert not hasattr(back[1], "extra")


def test_generics_and_recursion() -> None:
    """An instance of `Box[int]` is a `Box`; a tree of nested classes comes back whole."""
    assert again(Box[int](1), Box) == Box(1)
    tree = Tree("root", [Tree("a", [], Tree.Leaf("red")), Tree("b", [Tree("c")])])
    assert again(tree, Tree, Tree.Leaf) == tree


def test_structs() -> None:
    """Structs come back with `UNSET`, frozen or not, and are hashed and compared as before."""
    fixed = Fixed(x=(1,))
    back = serializer().decode(serializer().encode({fixed: Gauge(1)}))
    assert back == {fixed: Gauge(1)}
    assert back[Fixed(x=(1,))].unit == "m"
    assert next(iter(back)).y is msgspec.UNSET
    with pytest.raises(AttributeError):
        next(iter(back)).x = 2


class Strict(msgspec.Struct):
    """A Struct that refuses to be empty."""

    a: Any

    def __post_init__(self) -> None:
        if self.a is None:
            raise ValueError("a Strict is never empty")


def test_registering_a_struct_runs_no_code_of_it() -> None:
    """A Struct whose `__post_init__` refuses most values is registered, and read, without it."""
    assert again(Strict(7), Strict) == Strict(7)


def test_subclasses_of_builtin_types_keep_what_they_hold() -> None:
    """The plain value is the built-in type's, whatever the subclass makes of its methods; attributes stay with it."""
    names = Names([1])
    list.append(names, (2,))
    names.owner, names.note = {3}, "n"
    table = Table()
    dict.update(table, {1: "kept"})
    back = serializer().decode(serializer().encode([names, table, Triple(1, 2, 3)]))
    assert list.__len__(back[0]) == 2
    assert list.__getitem__(back[0], 1) == (2,)
    assert (back[0].owner, back[0].note) == ({3}, "n")
    assert dict.items(back[1]) == {1: "kept"}.items()
    assert identical(back[2], Triple(1, 2, 3))


def test_an_unregistered_subclass_reads_as_opaque() -> None:
    """A reader without the class sees what it holds, and keeps its bytes."""
    data = serializer().encode([Triple(1, 2, 3), Names([1])])
    shown = Serializer().decode(data)
    assert [type(each) for each in shown] == [Opaque, Opaque]
    assert shown[0].fields == {"value": (1, 2, 3)}
    assert Serializer().encode(shown) == data


def test_an_error_with_a_file_name_keeps_it() -> None:
    """A registered subclass of `OSError` comes back with number, text and file name."""
    back = again(Lost(2, "no such", "f.txt"), Lost)
    assert (back.args, back.errno, back.strerror, back.filename) == ((2, "no such"), 2, "no such", "f.txt")


def test_a_typed_dict_is_a_dict() -> None:
    """A TypedDict has no instances: it is not registered, by call or by annotation, and its values are plain dicts."""
    registry = BASE.extended()
    registry.collect(State)
    assert State not in registry.classes()
    with pytest.raises(TypeError, match="cannot be registered"):
        registry.register(State)
    assert type(again(State(a=1))) is dict


class State(TypedDict):
    """A TypedDict."""

    a: int


CALLS: list[str] = []


class Watching:
    """A data descriptor that tells when it is used."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"_{name}"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        CALLS.append("get")
        return "default" if instance is None else getattr(instance, self.name)

    def __set__(self, instance: Any, value: Any) -> None:
        CALLS.append("set")
        setattr(instance, self.name, value)


@dataclasses.dataclass
class Watched:
    """A dataclass with code at every door."""

    a: Any
    b: Any = Watching()

    def __post_init__(self) -> None:
        CALLS.append("post_init")

    def __setattr__(self, name: str, value: Any) -> None:
        CALLS.append("setattr")
        object.__setattr__(self, name, value)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        CALLS.append("new")
        return super().__new__(cls)

    def __eq__(self, other: object) -> bool:
        CALLS.append("eq")
        return True


class WatchedStruct(msgspec.Struct):
    """A Struct with code at every door."""

    a: Any

    def __post_init__(self) -> None:
        CALLS.append("post_init")

    def __copy__(self) -> Any:
        CALLS.append("copy")
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        CALLS.append("setattr")
        super().__setattr__(name, value)


class WatchedFlag(enum.Flag):
    """A Flag with code of its own for what it does not know."""

    A = 1
    B = 2

    @classmethod
    def _missing_(cls, value: object) -> Any:
        CALLS.append("missing")
        return super()._missing_(value)


class WatchedEnum(enum.Enum):
    """An Enum whose member's value has a comparison of its own."""

    A = Watched(1)

    @classmethod
    def _missing_(cls, value: object) -> Any:
        CALLS.append("missing")
        return cls.A


class WatchedList(list):  # type: ignore[type-arg]
    """A list with code at every door."""

    def __init__(self, *args: Any) -> None:
        CALLS.append("init")
        super().__init__(*args)

    def append(self, value: Any) -> None:
        """Tell and append."""
        CALLS.append("append")
        super().append(value)

    extend = append

    def __setattr__(self, name: str, value: Any) -> None:
        CALLS.append("setattr")
        object.__setattr__(self, name, value)


class WatchedDict(dict):  # type: ignore[type-arg]
    """A dict with code at every door."""

    def __setitem__(self, key: Any, value: Any) -> None:
        CALLS.append("setitem")
        super().__setitem__(key, value)

    update = __setitem__  # type: ignore[assignment]


class WatchedError(OSError):
    """An exception with code at every door."""

    def __init__(self, *args: Any) -> None:
        CALLS.append("init")
        super().__init__(*args)

    def __new__(cls, *args: Any) -> Any:
        CALLS.append("new")
        return super().__new__(cls, *args)


def test_reading_runs_no_code_of_any_class() -> None:
    """No constructor, descriptor, comparison or method of a class runs while values of it are read."""
    listed, table = WatchedList([1]), WatchedDict()
    listed.note = 1
    dict.update(table, {1: 2})
    both = WatchedFlag.A | WatchedFlag.B
    value = [Watched(1, 2), WatchedStruct(1), both, WatchedEnum.A, listed, table, WatchedError(1, "x", "f")]
    classes = [type(each) for each in value]
    data = Serializer(BASE.extended(classes)).encode(value)
    reader = Serializer(BASE.extended(classes))
    WatchedFlag._value2member_map_.pop(3, None)
    CALLS.clear()
    back = reader.decode(data)
    assert CALLS == []
    assert [type(each) for each in back] == classes
    assert back[0].__dict__ == value[0].__dict__ == {"a": 1, "_b": 2}
    assert (back[0].a, back[0].b, back[1].a, back[2].value, back[4], back[4].note) == (1, 2, 1, 3, [1], 1)
    assert (dict(back[5]), back[6].args, back[6].filename) == ({1: 2}, (1, "x"), "f")
