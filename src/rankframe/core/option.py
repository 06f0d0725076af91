"""Declare options: a group is a dataclass, each field an option with its default, check and texts.

A public function names its main arguments and takes the rest as `**options: Unpack[SomeOptions]`,
a TypedDict by which editors complete them. `takes_options` lists them in its signature and
documentation and refuses unknown names; `Options.from_options` makes a group of what was passed.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, wraps
from types import NoneType
from typing import Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

from rankframe.core.checks import check_flag, is_number
from rankframe.core.errors import OptionError, UnknownOptionError
from rankframe.core.messages import Option, shown

F = TypeVar("F", bound=Callable[..., Any])
_WIDTH = 88


@dataclass(frozen=True)
class OptionInfo:
    """Describe one option of a group."""

    name: str
    type: Any
    default: Any
    sentence: str  # for the documentation of functions
    help: str  # for the flag of commands
    ledger: Callable[[Any], str | None] | None  # its line in the ledger; None: it has none
    check: Callable[[str, Any], None] | None  # refuses values that the type allows


def option(
    default: Any,
    sentence: str,
    help: str,  # noqa: A002 (as argparse and typer call it)
    *,
    ledger: Callable[[Any], str | None] | None = str,
    check: Callable[[str, Any], None] | None = None,
) -> Any:
    """Declare a field of a group of options."""
    texts = {"sentence": sentence, "help": help, "ledger": ledger, "check": check}
    return field(default=default, metadata=texts)


class Options:
    """A group of options, checked when it is made."""

    # heads its section in the documentation of functions
    title: ClassVar[str] = "Options"

    def __post_init__(self) -> None:
        for info in declared(type(self)):
            value = getattr(self, info.name)
            _check_type(info, value)
            if info.check is not None:
                info.check(info.name, value)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Make the group from keyword arguments; names of other groups are passed over."""
        return cls(**{name: options[name] for name in cls.names() if name in options})

    @classmethod
    def names(cls) -> list[str]:
        """List the names of the options."""
        return [info.name for info in declared(cls)]

    def described(self) -> dict[str, str]:
        """Return the lines of the ledger, by option."""
        lines = {
            info.name: info.ledger and info.ledger(getattr(self, info.name))
            for info in declared(type(self))
        }
        return {name: line for name, line in lines.items() if line is not None}


@cache
def declared(group: type[Options]) -> list[OptionInfo]:
    """List the options of a group."""
    types = get_type_hints(group)
    return [
        OptionInfo(item.name, types[item.name], item.default, **item.metadata)
        for item in fields(group)  # pyright: ignore[reportArgumentType]
    ]


def same_option(group: type[Options], name: str) -> Any:
    """Declare a field as another group declares it."""
    original = vars(group)["__dataclass_fields__"][name]
    return field(default=original.default, metadata=original.metadata)


def choices(kind: Any) -> Iterator[str]:
    """Yield the values that a type lists."""
    for part in (kind, *get_args(kind)):
        if get_origin(part) is Literal:
            yield from get_args(part)


def _check_type(info: OptionInfo, value: Any) -> None:
    """Refuse a value that is not of an option's type."""
    name, kind = info.name, info.type
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


def takes_options(keywords: type, *groups: type[Options], **defaults: object) -> Callable[[F], F]:
    """Let a function take declared options as its `**options: Unpack[keywords]`.

    Args:
        keywords: the TypedDict that names the options.
        groups: where they are declared. An option belongs to the first group that has its name.
        defaults: defaults of this function that differ from the declared ones.

    The function's signature and documentation then list every option, and a name that is none of
    its arguments is refused.
    """

    def decorate(function: F) -> F:
        sections = _sections(keywords, groups)
        infos = {info.name: info for section in sections.values() for info in section}
        signature = inspect.signature(function)
        *main, _ = signature.parameters.values()  # the last is **options
        keyword_only = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(name, info.default),
                annotation=info.type,
            )
            for name, info in infos.items()
        ]
        names = {parameter.name for parameter in main} | infos.keys()

        @wraps(function)
        def called(*args: Any, **arguments: Any) -> Any:
            for name in arguments:
                if name not in names:
                    raise UnknownOptionError(function.__name__, name, sorted(names))
            return function(*args, **{**defaults, **arguments})

        called.__signature__ = signature.replace(parameters=[*main, *keyword_only])  # pyright: ignore[reportAttributeAccessIssue]
        called.__doc__ = _documented(function.__doc__ or "", sections)
        return called  # pyright: ignore[reportReturnType]

    return decorate


def _sections(keywords: type, groups: tuple[type[Options], ...]) -> dict[str, list[OptionInfo]]:
    """Return the options that a TypedDict names, by the title of the group that declares them."""
    undeclared = set(inspect.get_annotations(keywords))
    sections: dict[str, list[OptionInfo]] = {}
    for group in groups:
        section = [info for info in declared(group) if info.name in undeclared]
        undeclared -= {info.name for info in section}
        sections[group.title] = section
    if undeclared:
        raise TypeError(f"{keywords.__name__} names {sorted(undeclared)}, which no group declares.")
    return sections


def _documented(docstring: str, sections: Mapping[str, list[OptionInfo]]) -> str:
    """Add a section for each group to a docstring, before its examples."""
    text, prompt, examples = inspect.cleandoc(docstring).partition("\n>>> ")
    parts = [text.rstrip()]
    for title, infos in sections.items():
        entries = [
            textwrap.fill(
                f"{info.name}: {info.sentence}",
                _WIDTH,
                initial_indent=" " * 4,
                subsequent_indent=" " * 8,
                break_long_words=False,
                break_on_hyphens=False,
            )
            for info in infos
        ]
        parts.append("\n".join([f"{title}:", *entries]))
    return "\n\n".join(parts) + f"\n{prompt}{examples}\n"
