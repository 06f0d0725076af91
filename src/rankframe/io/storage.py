"""Reach remote storage by the settings of the function at work: its `storage_options`.

They apply to every file that the function opens or writes, however deep below it, and to nothing
else: no ledger and no file contains them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import MappingProxyType
from typing import Any, TypeVar

from rankframe.core.options import Storage

F = TypeVar("F", bound=Callable[..., Any])

_NONE: Mapping[str, Any] = MappingProxyType({})
_current: ContextVar[Mapping[str, Any]] = ContextVar("storage_options", default=_NONE)


def storage_options() -> Mapping[str, Any]:
    """Return the settings in force here."""
    return _current.get()


@contextmanager
def reached_with(options: Mapping[str, Any] | None) -> Iterator[None]:
    """Reach storage by these settings; None leaves those in force as they are."""
    checked = Storage(options).storage_options
    if checked is None:
        yield
        return
    before = _current.set(MappingProxyType(dict(checked)))
    try:
        yield
    finally:
        _current.reset(before)


def reaching(function: F) -> F:
    """Let a function reach storage by its argument `storage_options`."""

    @wraps(function)
    def called(*args: Any, **arguments: Any) -> Any:
        with reached_with(arguments.get("storage_options")):
            return function(*args, **arguments)

    return called  # pyright: ignore[reportReturnType]
