"""How options are declared: groups of them, each with its choices, default and check, and with what
is said of it in documentation, ledger and help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import cache
from types import NoneType
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from rankframe.core.checks import check_flag, is_number
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, shown


@dataclass(frozen=True)
class Said:
    """What is said of an option."""

    sentence: str  # in the documentation of functions
    help: str  # of its flag
    ledger: Callable[[Any], str | None] | None  # its line there, given its value; None: it has none
    check: Callable[[str, Any], None] | None  # refuses values that its type does not
    of_averages: bool  # it says what is averaged, not what the frame holds


def option(
    default: Any,
    sentence: str,
    help: str,  # noqa: A002 (as everybody calls it)
    *,
    ledger: Callable[[Any], str | None] | None = str,
    check: Callable[[str, Any], None] | None = None,
    of_averages: bool = False,
) -> Any:
    """A field of a group of options."""
    said = Said(sentence, help, ledger, check, of_averages)
    return field(default=default, metadata={"said": said})


class Options:
    """A group of options, checked as it is made."""

    def __post_init__(self) -> None:
        for one, kind, said in declared(type(self)):
            value = getattr(self, one.name)
            _check(one.name, value, kind)
            if said.check is not None:
                said.check(one.name, value)

    @classmethod
    def given(cls, arguments: Mapping[str, Any], *, frame_only: bool = False) -> Self:
        """From the arguments of a function that takes all of them: its `locals()`.

        `frame_only`: it takes those that say what a frame holds.
        """
        return cls(**{name: arguments[name] for name in cls.names(frame_only=frame_only)})

    @classmethod
    def names(cls, *, frame_only: bool = False) -> list[str]:
        """What the options are called; those alone that say what a frame holds, if so asked."""
        return [one.name for one, _, said in declared(cls) if not (frame_only and said.of_averages)]

    def described(self) -> dict[str, str]:
        """As the ledger shows them."""
        lines = {
            one.name: said.ledger and said.ledger(getattr(self, one.name))
            for one, _, said in declared(type(self))
        }
        return {name: line for name, line in lines.items() if line is not None}


@cache
def declared(group: type[Options]) -> list[tuple[Field[Any], Any, Said]]:
    """The options of a group: field, type, and what is said of it."""
    types = get_type_hints(group)
    return [(one, types[one.name], one.metadata["said"]) for one in fields(group)]  # pyright: ignore[reportArgumentType]


def choices(kind: Any) -> Iterator[str]:
    """The values that a type lists."""
    for one in (kind, *get_args(kind)):
        if get_origin(one) is Literal:
            yield from get_args(one)


def _check(name: str, value: Any, kind: Any) -> None:
    """Refuse a value that is not of an option's type."""
    kinds = get_args(kind) if NoneType in get_args(kind) else (kind,)
    listed = list(choices(kind))
    if value is None and NoneType in kinds:
        return
    if listed and not (isinstance(value, str) and value in listed):
        raise OptionError.choice(name, value, [*listed, *(["None"] if NoneType in kinds else [])])
    if bool in kinds:
        check_flag(name, value)
    if float in kinds and not is_number(value):
        raise OptionError(Option(name, bare=True), f" must be a number, not {shown(value)}.")
