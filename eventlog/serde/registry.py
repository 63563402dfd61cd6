"""The closed registry: which types have a stored form, and under which name.

A registry knows Python's own types from the start and what was registered with it; nothing else is ever
stored or built. `BASE` is what every registry without another parent grows from: rooms add their own types to
it at import with `register_native`, programs with `register`. A graph has a registry of its own,
`BASE.extended(types)`, so classes of `__main__` and of functions work: the graph supplies them.

A class is named by module, qualified name and shape (its kind and fields). A class of `__main__`, now or when
the value was stored (a script that is also imported), is found by qualified name and shape alone. How each
kind of class is taken apart is in `classes`, how an annotation is searched for classes in `annotations`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar, cast, overload

from . import format as f
from .opaque import type_name

ClassT = TypeVar("ClassT", bound="type[Any]")


class Codec:
    """How the instances of one exact class are taken apart and built again.

    The payload is `head`, then the MessagePack list of `explode(value)`. `steps(value, parts)` is what the path
    of an error gets for each part, as `walk` keeps them; without it `label(value, index)` makes them one by one.
    `rebuild` gets the decoded list; only registered and native classes have one.
    """

    __slots__ = ("cls", "code", "explode", "head", "label", "name", "rebuild", "shape", "sort", "steps")

    def __init__(
        self,
        cls: type,
        code: int,
        explode: Callable[[Any], list[Any]],
        rebuild: Callable[[list[Any]], Any] | None = None,
        *,
        label: Callable[[Any, int], str] | None = None,
        steps: Callable[[Any, list[Any]], list[Any]] | None = None,
        name: str = "",
        shape: str = "",
        sort: bool = False,
    ) -> None:
        self.cls = cls
        self.code = code
        self.explode = explode
        self.rebuild = rebuild or _not_rebuilt
        self.label = label or index_label
        self.steps = steps or self._labels
        self.name = name
        self.shape = shape
        self.sort = sort
        self.head = b"\x93" + f.pack_exact(name, None) + f.pack_exact(shape, None) if name else b""

    def _labels(self, value: Any, parts: list[Any]) -> list[Any]:
        return [self.label(value, index) for index in range(len(parts))]

    def payload(self, parts: list[Any], pack: f.Pack) -> bytes:
        """Return the payload of an exploded value; `pack` encodes the list of its parts."""
        data = pack(parts)
        if self.sort:
            return f.join_array(sorted(f.split_array(data)))
        return self.head + data if self.head else data


class TypeRegistry:
    """A closed set of types, layered on a parent. Registering the same class twice changes nothing."""

    def __init__(self, parent: TypeRegistry | None = None) -> None:
        self._parent = parent
        self._by_class: dict[type, Codec] = {}
        self._by_name: dict[tuple[str, str], Codec] = {}
        self._by_qualname: dict[tuple[str, str], list[Codec]] = {}
        self._natives: dict[int, Codec] = {}

    @overload
    def register(self, cls: ClassT, name: str | None = None, *, aliases: Iterable[str] = ()) -> ClassT: ...

    @overload
    def register(
        self, cls: None = None, name: str | None = None, *, aliases: Iterable[str] = ()
    ) -> Callable[[ClassT], ClassT]: ...

    def register(self, cls: Any = None, name: str | None = None, *, aliases: Iterable[str] = ()) -> Any:
        """Give a class a stored form, by call or as a decorator; returns the class.

            @register(name="bank:Loan", aliases=["old_module:Loan"])
            @dataclass
            class Loan: ...

        What can be registered: a dataclass, pydantic v2 model, msgspec Struct, Enum, namedtuple, exception class, or
        subclass of a built-in type (`class Currency(str)`). `name` is stored instead of `module:Qualified.Name`, and
        stays when the class moves or is renamed. `aliases` are further names under which stored values are found: those
        of a class that moved or was renamed. For a class that is registered already, `name` is one more of them. Raises
        TypeError when the class is none of these, ValueError when another class has this name and shape.
        """
        if cls is None:
            return partial(self.register, name=name, aliases=aliases)
        for each in (name or class_name(cls), *aliases):
            self._register(cls, each)
        return cls

    def _register(self, cls: type, name: str) -> None:
        from .classes import class_codec

        codec = class_codec(cls, name)
        key = codec.name, codec.shape
        known = self._by_name.get(key)
        if known is not None and known.cls is not cls:
            raise ValueError(
                f"two classes are named {codec.name!r} and have the same fields: "
                f"register one of them with a name of its own, register(cls, name=…)"
            )
        self._by_name[key] = codec
        if self.codec(cls) is None:
            self._by_class[cls] = codec
        self._by_qualname.setdefault((_qualname(codec.name), codec.shape), []).append(codec)

    def register_native(
        self,
        tag: int,
        cls: type,
        to_fields: Callable[[Any], list[Any]],
        from_fields: Callable[[list[Any]], Any],
    ) -> None:
        """Give an exact class of ours an extension code, 64 to 127, for ever.

        `to_fields` returns a list of storable parts; `from_fields` builds an equal value from it, without
        running user code. Raises ValueError when the tag or the class is taken.
        """
        if not f.NATIVE_FIRST <= tag <= f.NATIVE_LAST:
            raise ValueError(f"native tags are {f.NATIVE_FIRST} to {f.NATIVE_LAST}, not {tag}")
        taken = self._natives.get(tag)
        if (taken is not None and taken.cls is not cls) or (taken is None and cls in self._by_class):
            raise ValueError(f"native tag {tag} or class {cls.__qualname__} is taken")
        codec = Codec(cls, tag, to_fields, from_fields, label=_native_label)
        self._natives[tag] = self._by_class[cls] = codec

    def extended(self, types: Iterable[type] = ()) -> TypeRegistry:
        """Return a new registry that knows all this one does, now and later, and `types`."""
        child = TypeRegistry(self)
        for cls in types:
            child.register(cls)
        return child

    def collect(self, annotation: Any) -> None:
        """Register every class that an annotation leads to and that can be registered."""
        from .annotations import classes_in

        for cls in classes_in(annotation):
            if self.codec(cls) is None:
                self.register(cls)

    def classes(self) -> frozenset[type]:
        """Return the classes registered here and with the parents; native types are left out."""
        own = frozenset(cls for cls, codec in self._by_class.items() if codec.name)
        return own if self._parent is None else self._parent.classes() | own

    def codec(self, cls: type) -> Codec | None:
        """Return how the instances of exactly this class are stored, or `None`."""
        return self._by_class.get(cls) or (self._parent.codec(cls) if self._parent else None)

    def native(self, tag: int) -> Codec | None:
        """Return who has a native tag, or `None`."""
        return self._natives.get(tag) or (self._parent.native(tag) if self._parent else None)

    def named(self, name: str, shape: str) -> Codec | None:
        """Return the class stored under this name and shape, or `None` when nobody registered it."""
        return self._named(name, shape) or self._moved(name, shape)

    def _named(self, name: str, shape: str) -> Codec | None:
        return self._by_name.get((name, shape)) or (self._parent._named(name, shape) if self._parent else None)

    def _moved(self, name: str, shape: str) -> Codec | None:
        """Find a class by qualified name, when it or the stored name is of `__main__`."""
        script = name.startswith("__main__:")
        found = [
            codec
            for codec in self._by_qualname.get((_qualname(name), shape), ())
            if script or codec.name.startswith("__main__:")
        ]
        if len({codec.cls for codec in found}) == 1:
            return found[0]
        return self._parent._moved(name, shape) if self._parent and not found else None


BASE = TypeRegistry()
"""The registry that every serializer knows: the rooms' own types."""


def class_name(cls: Any) -> str:
    """Return the name under which a class is stored that was given none; raises TypeError for what is no class."""
    if not isinstance(cls, type):
        raise TypeError(f"{cls!r} cannot be registered: it is no class; a name is passed as name=…")
    return type_name(cast("type[Any]", cls))


def index_label(value: Any, index: int) -> str:
    """Label a part by its index."""
    return f"[{index}]"


def _not_rebuilt(parts: list[Any]) -> Any:
    raise ValueError("this type is built by its extension code")


def _native_label(value: Any, index: int) -> str:
    return f".<{type(value).__name__} {index}>"


def _qualname(name: str) -> str:
    return name.rpartition(":")[2]
