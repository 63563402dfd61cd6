"""Managed values: keys of a schema that the runtime fills in for each task; they are no channels and are not stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any, Generic, TypeVar

V = TypeVar("V")


class ManagedValue(ABC, Generic[V]):
    """A value that is computed when a node or a router reads it: `Annotated[bool, IsLastStepManager]`."""

    @staticmethod
    @abstractmethod
    def get(step: int, stop: int) -> Any:
        """Return the value in superstep `step` of a run that may not go on behind superstep `stop`."""


class IsLastStepManager(ManagedValue[bool]):
    """Whether this is the last superstep that the recursion limit allows."""

    @staticmethod
    def get(step: int, stop: int) -> bool:
        """Say whether the run ends behind this superstep, done or not."""
        return step == stop - 1


class RemainingStepsManager(ManagedValue[int]):
    """How many supersteps the recursion limit still allows, this one included."""

    @staticmethod
    def get(step: int, stop: int) -> int:
        """Return the number of supersteps from this one on."""
        return stop - step


IsLastStep = Annotated[bool, IsLastStepManager]
RemainingSteps = Annotated[int, RemainingStepsManager]

Managed = tuple[tuple[str, type[ManagedValue[Any]]], ...]
"""Keys with what fills them in."""


def managed_values(managed: Managed, step: int, stop: int) -> dict[str, Any]:
    """Return the values of managed keys in a superstep."""
    return {key: manager.get(step, stop) for key, manager in managed}
