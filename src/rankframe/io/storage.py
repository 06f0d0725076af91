"""How addresses are reached while a function is at work: its `storage_options`.

They hold for all that the function opens and writes, however deep below it, and for nothing else:
neither a ledger nor a file has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from types import MappingProxyType
from typing import Any, ParamSpec, TypeAlias, TypeVar

from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, shown
from rankframe.core.option import Options, option

P = ParamSpec("P")
R = TypeVar("R")
# {"aws_region": "eu-central-1"}: under the names that polars has.
StorageOptions: TypeAlias = Mapping[str, str | int | float | bool]

_NONE: Mapping[str, Any] = MappingProxyType({})
_given: ContextVar[Mapping[str, Any]] = ContextVar("storage_options", default=_NONE)


def _check(name: str, value: Any) -> None:
    """Refuse what is no mapping of names; values are not shown, as there are secrets among them."""
    if value is None or (
        isinstance(value, Mapping)
        and all(isinstance(key, str) for key in value)
        and all(isinstance(one, str | int | float) for one in value.values())
    ):
        return
    raise OptionError(
        Option(name, bare=True),
        ' takes a mapping of names to texts or numbers, such as {"aws_region": "eu-west-1"}, not ',
        "one of other things." if isinstance(value, Mapping) else f"{shown(value)}.",
    )


@dataclass(frozen=True)
class Storage(Options):
    """How addresses are reached."""

    storage_options: StorageOptions | None = option(  # noqa: RUF009 (as in options.py)
        None,
        "how addresses (`s3://…`) are reached: `endpoint_url`, `aws_region`, keys, and what else "
        "polars takes under this name; otherwise as the environment says (`AWS_ENDPOINT_URL`, …).",
        "How addresses are reached, e.g. aws_region=eu-central-1 (repeat).",
        ledger=None,  # there are keys among them
        check=_check,
    )


def storage_options() -> Mapping[str, Any]:
    """The options in force here."""
    return _given.get()


@contextmanager
def reached_with(options: Mapping[str, Any] | None) -> Iterator[None]:
    """Addresses are reached so; without options, as around it."""
    checked = Storage(options).storage_options
    if checked is None:
        yield
        return
    before = _given.set(MappingProxyType(dict(checked)))
    try:
        yield
    finally:
        _given.reset(before)


def reaching(function: Callable[P, R]) -> Callable[P, R]:
    """A function that reaches addresses as its argument `storage_options` says."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        options: Any = kwargs.get("storage_options")
        with reached_with(options):
            return function(*args, **kwargs)

    return called
