"""What a user's schema means for a graph: its channels, and how state becomes a node's input.

A schema is a TypedDict, a dataclass, a pydantic model, or any plain type. The first three have one channel
for each annotated field; a plain type is one channel named `__root__`. A field's channel is, in this order:
a channel (class or instance) in its `Annotated` metadata, a reducer as the last metadata item, else
last-value.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import lru_cache
from typing import Any, NotRequired, Required, cast, get_args, get_origin, get_type_hints

from ..projections.base_channel import BaseChannel, as_channel
from ..projections.channels import BinaryOperatorAggregate, Channel, LastValue
from ..projections.delta import DeltaChannel
from ..projections.types import ROOT
from .managed import Managed, ManagedValue
from .spec import MISSING

Reader = Callable[[Mapping[str, Any]], Any]
"""Turns the values of the available channels into what user code gets."""


@dataclass(frozen=True, slots=True)
class Schema:
    """One schema, analysed once: `channels` by field name and the `read` of its state."""

    type: Any
    channels: Mapping[str, Channel]
    keys: tuple[str, ...]
    read: Reader
    managed: Managed = ()
    """Keys that are no channels: the runtime fills them in."""


def analyse(schema: Any) -> Schema:
    """Return what `schema` means; warns when it is neither a type nor an `Annotated` one."""
    if not isinstance(schema, type) and not get_args(schema):
        warnings.warn(
            f"Invalid state_schema: {schema}. Expected a type or Annotated[type, reducer]. "
            "Please provide a valid schema to ensure correct updates.",
            stacklevel=4,
        )
    channels, managed = _channels_of(schema)
    keys = tuple(channels)
    return Schema(schema, channels, keys, _reader(schema, (*keys, *(key for key, _ in managed))), managed)


def is_record(schema: Any) -> bool:
    """Return whether instances of `schema` stand for a whole state: a dataclass or pydantic model."""
    return isinstance(schema, type) and (is_dataclass(schema) or _is_pydantic(schema))


def coerce_context(schema: Any, context: Any) -> Any:
    """Return `context` as an instance of its schema when it was given as a dictionary."""
    if isinstance(context, dict) and is_record(schema):
        return schema(**cast("dict[str, Any]", context))
    return cast("Any", context)


def input_hint(fn: Any) -> Any:
    """Return the schema that annotates the first parameter of `fn`, or `None` when there is none to see."""
    hints = visible_hints(fn)
    if not hints:
        return None
    first = next(iter(inspect.signature(fn).parameters), None)
    hint = hints.get(first) if first is not None else None
    try:
        return hint if isinstance(hint, type) and get_type_hints(hint) else None
    except (NameError, TypeError):
        return None


def visible_hints(fn: Any) -> dict[str, Any]:
    """Return the resolved annotations of a function, method or callable object; empty when unresolvable."""
    if not (inspect.isroutine(fn) or inspect.ismethod(getattr(fn, "__call__", None))):  # noqa: B004
        return {}
    target = fn if inspect.isroutine(fn) else fn.__call__
    try:
        return get_type_hints(target)
    except (NameError, TypeError, AttributeError):
        return {}


@lru_cache(maxsize=1024)
def annotated_keys(cls: type) -> tuple[str, ...]:
    """Return the annotated names of a class and its bases, oldest base first."""
    keys: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        keys.update(dict.fromkeys(inspect.get_annotations(base)))
    return tuple(keys)


def update_pairs(value: Any, keys: tuple[str, ...]) -> list[tuple[str, Any]]:
    """Return the writes that an instance of a state class stands for.

    A pydantic model writes what was set or differs from a `None` default; any other object writes every
    attribute that is a key.
    """
    if not _is_pydantic(type(value)):
        return [(key, getattr(value, key)) for key in keys if hasattr(value, key)]
    given = cast("set[str]", value.model_fields_set)
    fields = cast("dict[str, Any]", cast("Any", type(value)).model_fields)
    pairs: list[tuple[str, Any]] = []
    for key in keys:
        part = getattr(value, key, MISSING)
        if part is MISSING:
            continue
        unset_none = part is None and key in fields and fields[key].default is None and key not in given
        if not unset_none:
            pairs.append((key, part))
    return pairs


def _is_pydantic(cls: Any) -> bool:
    """Return whether `cls` is a pydantic v2 model, without importing pydantic for the sake of asking."""
    module = sys.modules.get("pydantic")
    return module is not None and isinstance(cls, type) and issubclass(cls, module.BaseModel)


def _channels_of(schema: Any) -> tuple[dict[str, Channel], Managed]:
    if not hasattr(schema, "__annotations__"):
        return {ROOT: channel_of(schema)}, ()
    hints = get_type_hints(schema, include_extras=True)
    found = {name: manager for name, hint in hints.items() if (manager := _manager_of(hint)) is not None}
    channels = {name: channel_of(hint) for name, hint in hints.items() if name not in ("__slots__", *found)}
    return channels, tuple(found.items())


def _manager_of(annotation: Any) -> type[ManagedValue[Any]] | None:
    """Return what manages a field, as its last metadata item says; `None` for a channel."""
    metadata = cast("tuple[Any, ...]", getattr(_without_presence(annotation), "__metadata__", ()))
    last = metadata[-1] if metadata else None
    return cast("type[ManagedValue[Any]]", last) if isinstance(last, type) and issubclass(last, ManagedValue) else None


def channel_of(annotation: Any) -> Channel:
    """Return the channel that a field's annotation asks for."""
    annotation = _without_presence(annotation)
    metadata = cast("tuple[Any, ...]", getattr(annotation, "__metadata__", ()))
    plain = _plain_type(annotation)
    for item in metadata:
        if isinstance(item, DeltaChannel):
            return item.of(plain)
        if isinstance(item, BaseChannel):
            return as_channel(cast("Channel", item))
        if isinstance(item, type) and issubclass(item, BaseChannel):
            return as_channel(cast("Callable[[Any], Channel]", item)(plain))
    if metadata and callable(metadata[-1]):
        _check_reducer(metadata[-1])
        return BinaryOperatorAggregate(plain, metadata[-1])
    return LastValue(plain)


def _check_reducer(reducer: Any) -> None:
    signature = inspect.signature(reducer)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if sum(parameter.kind in positional for parameter in signature.parameters.values()) != 2:
        raise ValueError(f"Invalid reducer signature. Expected (a, b) -> c. Got {signature}")


def _without_presence(annotation: Any) -> Any:
    while get_origin(annotation) in (Required, NotRequired):
        annotation = get_args(annotation)[0]
    return annotation


def _plain_type(annotation: Any) -> Any:
    """Return the annotation without `Annotated`, `Required` and `NotRequired` around it."""
    while True:
        if hasattr(annotation, "__metadata__"):
            annotation = annotation.__origin__
        elif get_origin(annotation) in (Required, NotRequired):
            annotation = get_args(annotation)[0]
        else:
            return annotation


def _reader(schema: Any, keys: tuple[str, ...]) -> Reader:
    if keys == (ROOT,):
        return _read_root
    if is_record(schema):
        return lambda values: schema(**{key: values[key] for key in keys if key in values})
    return lambda values: {key: values[key] for key in keys if key in values}


def _read_root(values: Mapping[str, Any]) -> Any:
    return values.get(ROOT, MISSING)
