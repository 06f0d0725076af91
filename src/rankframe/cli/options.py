"""Define the flags of commands, many from the options in `core/options.py`; parse their values."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from pathlib import Path
from types import NoneType, SimpleNamespace
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from rankframe.cli.completion import Completer, safe
from rankframe.cli.outputs import Output
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.core.options import (
    Comparing,
    Intervals,
    OptionInfo,
    Options,
    choices,
    declared,
    reached_with,
)
from rankframe.core.records import record

OUTPUT, POLICIES, STATISTICS = "Output", "Policies", "Intervals and slices"

# Keyword arguments for the function behind a command, from its flags.
Given: TypeAlias = dict[str, Any]
Command: TypeAlias = Callable[..., None]

REQUIRED = inspect.Parameter.empty
_NOTHING = "none"  # what a shell writes for None among choices
_METAVARS = {int: "N", float: "X", Path: "FILE", str: "TEXT"}


class PlainCommand(TyperCommand):
    """Show in the help of a command the syntax of values instead of Python types."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, without types of Python."""
        return plainly(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the name in the usage: options, then arguments."""
        names = [p.metavar for p in self.get_params(ctx) if p.param_type_name == "argument"]
        return ["[OPTIONS]", *(f"{name}..." if name == "RUN" else name for name in names)]


def plainly(parameters: list[Any]) -> list[Any]:
    """Show the syntax of each parameter's value; flags without a value show nothing."""
    for parameter in parameters:
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: ""  # noqa: ARG005 (as typer calls it)
        elif parameter.is_flag:
            parameter.metavar = ""
        else:
            parameter.metavar = parameter.metavar or metavar(parameter.type_descriptor.annotation)
        if "get_runtime_param" not in vars(parameter):
            _convert_late(parameter)
    return parameters


def _convert_late(parameter: Any) -> None:
    """Make typer take a parameter's value as it is if the value needs no conversion.

    To convert a value, typer imports pydantic, which takes as long as all the rest of `--help`.
    """
    kind, many = parameter.type_descriptor.annotation, parameter.multiple or parameter.nargs == -1
    kinds, convert = (kind, *get_args(kind)), parameter.get_runtime_param

    def coerce(value: Any, **how: Any) -> Any:
        if value is None:
            return () if many else None
        if many and list[str] in kinds:
            return list(value)
        if type(value) in kinds or value in choices(kind):
            return value
        return convert().coerce(value, **how)

    parameter.get_runtime_param = lambda: SimpleNamespace(coerce=coerce)


def metavar(kind: Any) -> str:
    """Return the placeholder of a type in help.

    >>> metavar(int), metavar(Literal["run", "qrels"])
    ('N', 'run|qrels')
    """
    names = [_METAVARS[part] for part in (kind, *get_args(kind)) if part in _METAVARS]
    return "|".join(choices(kind)) or next(iter(names), "TEXT")


@record
class Flag:
    """Describe a flag, and how its value becomes an argument of the function behind a command."""

    name: str  # the keyword argument
    kind: Any
    metavar: str | None = None
    typed: str = ""  # the flags, with blanks between them, if not made of the name
    default: Any = None
    panel: str | None = None
    complete: Completer | None = None
    read: Callable[[Any], Any] | None = None
    help: str = ""  # else in the docstring of the command

    @property
    def parameter(self) -> inspect.Parameter:
        """Return the flag as a parameter of a function, from which typer makes the command line."""
        shared: dict[str, Any] = {
            "metavar": self.metavar,
            "help": self.help,
            "rich_help_panel": self.panel,
            "autocompletion": self.complete and safe(self.complete),
        }
        if isinstance(self, Argument):
            shown, place = typer.Argument(**shared), inspect.Parameter.POSITIONAL_OR_KEYWORD
        else:
            names = (self.typed or Option(self.name).text(flags=True)).split()
            shown, place = typer.Option(*names, **shared), inspect.Parameter.KEYWORD_ONLY
        default, kind = False if self.kind is bool else self.default, Annotated[self.kind, shown]
        return inspect.Parameter(self.name, place, default=default, annotation=kind)


@record
class Argument(Flag):
    """Describe an argument, which has no flag; `metavar` is its name in the help."""

    default: Any = REQUIRED


def takes(
    *flags: Flag | type[Options], output: tuple[Flag, ...] = ()
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command its arguments and flags, also from groups of options.

    A flag under the name of one of the command's parameters becomes that parameter. The other flags
    become the keyword arguments `how`, and flags of the output the fields of `out`. The section
    `Flags` of the command's docstring has the help of flags.

    >>> @takes(Intervals, *flags_of(Comparing, "unpaired"))
    ... def look(run: str, *, how: Given) -> None:
    ...     print(run, dict(how))
    >>> list(inspect.signature(look).parameters)
    ['run', 'ci', 'confidence', 'replicates', 'seed', 'unpaired']
    >>> look(run="a", ci="none", confidence=0.9, replicates=500, seed=0, unpaired="skip")
    a {'ci': None, 'confidence': 0.9, 'replicates': 500, 'seed': 0, 'unpaired': 'skip'}
    """
    handed = [
        flag for item in flags for flag in ([item] if isinstance(item, Flag) else flags_of(item))
    ]
    written = {flag.name for flag in output}

    def with_flags(command: Command) -> Command:
        description, helps = _documented(command)
        flags_by_name = {
            flag.name: replace(flag, help=helps.get(flag.name, flag.help))
            for flag in (*(replace(flag, panel=OUTPUT) for flag in output), *handed)
        }
        assert helps.keys() <= flags_by_name.keys()  # a misspelt flag would lose its help
        types = get_type_hints(command, include_extras=True)
        own = inspect.signature(command).parameters

        @wraps(command)
        def called(**arguments: Any) -> None:
            how: Given = {}
            fields: dict[str, Any] = {}
            for name, flag in flags_by_name.items():
                value = typed = arguments.pop(name)
                if typed is not None and flag.read is not None:
                    value = flag.read(typed)
                if name in own:
                    arguments[name] = value
                elif name in written:
                    fields[name] = value
                elif typed is not None:  # else the function has its own default
                    how[name] = value
            if "unit_split" in how:
                how["unit"] = _unit(how.get("unit"), how.pop("unit_split"))
            collected = {"out": Output(**fields), "how": how}
            arguments |= {name: value for name, value in collected.items() if name in own}
            with reached_with(how.get("storage_options")):
                command(**arguments)

        parameters = [flag.parameter for flag in flags_by_name.values()]
        parameters += [
            parameter.replace(annotation=types[name])
            for name, parameter in own.items()
            if name not in (*flags_by_name, "how", "out")
        ]
        parameters.sort(key=lambda parameter: parameter.kind)  # arguments come first
        called.__doc__ = description
        # typer reads both
        called.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called

    return with_flags


def _documented(command: Command) -> tuple[str, dict[str, str]]:
    """Return the docstring of a command without its section `Flags`, and the help of each flag."""
    before, _, rest = inspect.cleandoc(command.__doc__ or "").partition("\n\nFlags:\n")
    section, _, after = rest.partition("\n\n")
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", section, re.MULTILINE)
    return f"{before}\n\n{after}", {name: " ".join(text.split()) for name, text in entries}


def flags_of(group: type[Options], *names: str) -> Iterator[Flag]:
    """Yield the flags of a group of declared options, or only of its options `names`."""
    for info in declared(group):
        if not names or info.name in names:
            yield _declared_flag(group, info)
            if info.name == "unit":
                yield _UNIT_SPLIT


def _declared_flag(group: type[Options], info: OptionInfo) -> Flag:
    """Return the flag of a declared option."""
    statistics = group in (Intervals, Comparing) and info.name != "unpaired"
    panel = STATISTICS if statistics else POLICIES
    if info.name in _REPEATED:
        return replace(_REPEATED[info.name], help=info.help)
    kind, shown, default, read = info.type, None, info.default, None
    listed = tuple(choices(info.type))
    if listed and NoneType in get_args(info.type):
        kind, default, read = Literal[(*listed, _NOTHING)], info.default or _NOTHING, _or_none
    elif info.type is Any:
        kind, shown = str | None, "FILE"
    return Flag(info.name, kind, shown, default=default, panel=panel, read=read, help=info.help)


def _or_none(value: str) -> str | None:
    return None if value == _NOTHING else value


def read_pairs(
    texts: list[str], refusal: str, *, secret: bool = False
) -> Iterator[tuple[str, str]]:
    """Split texts such as NAME=VALUE; refuse any other text, and quote it unless `secret`."""
    for item in texts:
        name, equals, value = item.partition("=")
        if not (name and equals and (value or secret)):
            raise OptionError(refusal + ("." if secret else f", not {item!r}."))
        yield name, value


def _storage_settings(texts: list[str]) -> dict[str, str]:
    refusal = "--storage-option reads KEY=VALUE, e.g. aws_region=eu-central-1"
    return dict(read_pairs(texts, refusal, secret=True))


def _splits(texts: list[str]) -> dict[str, str | None]:
    """Parse NAME=MARK; without a mark, texts are not split into values."""
    pairs = dict(read_pairs(texts, "--split reads NAME=MARK, e.g. 'genres=|'", secret=True))
    return {name: mark or None for name, mark in pairs.items()}


def _unit(file: str | None, mark: str) -> Any:
    """Return the file of units, or an expression that splits ids at a separator; refuse both."""
    if file is not None:
        raise OptionError("--unit and --unit-split say the same thing: leave one of them out.")
    if not mark:
        raise OptionError("--unit-split takes a mark, such as #.")
    import polars as pl

    return pl.col("doc_id").str.split(mark).list.first()


_UNIT_SPLIT = Flag(
    "unit_split", str | None, "MARK", panel=POLICIES,
    help="Map chunks to documents: the document id ends before this mark, e.g. # in d17#3.",
)  # fmt: skip
# The declared options whose flags are repeatable.
_REPEATED = {
    flag.name: flag
    for flag in (
        Flag("storage_options", list[str] | None, "KEY=VALUE", read=_storage_settings),
        Flag("split", list[str] | None, "NAME=MARK", panel=POLICIES, read=_splits),
        Flag("silence", list[str] | None, "CODE", panel=POLICIES),
    )
}
