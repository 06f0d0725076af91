"""Flags of commands: from declared options (`core/options.py`), and flags that commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from rankframe.cli.completion import attributes, metrics_of, own_columns
from rankframe.cli.support import column_names, tell_if_not_held, ways_to_slice
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.core.options import (
    Comparing,
    Intervals,
    OptionInfo,
    Options,
    Storage,
    choices,
    declared,
    reached_with,
)

OUTPUT, POLICIES, STATISTICS = "Output", "Policies", "Intervals and slices"
SPARK = "Spark"

# Keyword arguments for the function behind a command, from its declared and shared flags.
Given: TypeAlias = Mapping[str, Any]
Command: TypeAlias = Callable[..., None]

_NOTHING = "none"  # what a shell writes for None among choices
_METAVARS = {int: "N", float: "X", Path: "FILE", str: "TEXT"}


class PlainCommand(TyperCommand):
    """A command whose help shows what to type, not the types of Python."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, without types of Python."""
        return plainly(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the name in the usage: options, then arguments."""
        names = [p.metavar for p in self.get_params(ctx) if p.param_type_name == "argument"]
        return ["[OPTIONS]", *(f"{name}..." if name == "RUN" else name for name in names)]


def plainly(parameters: list[Any]) -> list[Any]:
    """Show what to type for each parameter, and nothing where there is nothing to type."""
    for parameter in parameters:
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = _no_type
        elif parameter.is_flag:
            parameter.metavar = ""
        else:
            parameter.metavar = parameter.metavar or metavar(parameter.type_descriptor.annotation)
    return parameters


def _no_type(ctx: Any) -> str:  # noqa: ARG001 (as typer calls it)
    return ""


def metavar(kind: Any) -> str:
    """Return what stands for a value of a type in help.

    >>> metavar(int), metavar(Literal["run", "qrels"])
    ('N', 'run|qrels')
    """
    names = [_METAVARS[part] for part in (kind, *get_args(kind)) if part in _METAVARS]
    return "|".join(choices(kind)) or next(iter(names), "TEXT")


@dataclass(frozen=True)
class Flag:
    """A flag, and how its value becomes a keyword argument of the function behind a command."""

    parameter: inspect.Parameter
    read: Callable[[Any], Any]

    @classmethod
    def make(
        cls,
        name: str,
        kind: Any,
        option: Any,
        read: Callable[[Any], Any] = lambda value: value,
        default: Any = None,
    ) -> Flag:
        """Make the flag of an argument from its type and typer's option."""
        keyword, annotation = inspect.Parameter.KEYWORD_ONLY, Annotated[kind, option]
        parameter = inspect.Parameter(name, keyword, default=default, annotation=annotation)
        return cls(parameter, read)


def takes(
    *groups: type[Options], shared: tuple[Flag, ...] = (), **single: type[Options]
) -> Callable[[Command], Command]:
    """Give a command a flag for each option of some groups, for single options, and shared flags.

    The flags stand where the command has its parameter `how`, which then holds the keyword
    arguments that they make:

    >>> @takes(Intervals, unpaired=Comparing)
    ... def look(run: str, *, how: Given) -> None:
    ...     print(run, dict(how))
    >>> list(inspect.signature(look).parameters)
    ['run', 'ci', 'confidence', 'replicates', 'seed', 'unpaired']
    >>> look(run="a", ci="none", confidence=0.9, replicates=500, seed=0, unpaired="skip")
    a {'ci': None, 'confidence': 0.9, 'replicates': 500, 'seed': 0, 'unpaired': 'skip'}
    """
    flags = [_flag(group, info) for group in groups for info in declared(group)]
    flags += [
        _flag(group, info)
        for name, group in single.items()
        for info in declared(group)
        if info.name == name
    ]
    flags += shared
    names = [flag.parameter.name for flag in flags]
    if has_units := "unit" in names:
        flags.insert(names.index("unit") + 1, _UNIT_SPLIT)

    def with_flags(command: Command) -> Command:
        @wraps(command)
        def called(**arguments: Any) -> None:
            how = {
                flag.parameter.name: flag.read(arguments.pop(flag.parameter.name)) for flag in flags
            }
            if has_units:
                how["unit"] = _unit(how["unit"], how.pop("unit_split"))
            with reached_with(how.get("storage_options")):
                command(**arguments, how=how)

        types = get_type_hints(command, include_extras=True)
        parameters: list[inspect.Parameter] = []
        for own in inspect.signature(command).parameters.values():
            if own.name == "how":
                parameters += [flag.parameter for flag in flags]
            else:
                parameters.append(own.replace(annotation=types[own.name]))
        # typer reads both
        called.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called

    return with_flags


def _flag(group: type[Options], info: OptionInfo) -> Flag:
    """Return the flag of a declared option."""
    if group is Storage:
        option = typer.Option(
            Option(info.name).text(flags=True), metavar="KEY=VALUE", help=info.help
        )
        return Flag.make(info.name, list[str] | None, option, partial(_mapping, info.name))
    statistics = group in (Intervals, Comparing) and info.name != "unpaired"
    more: dict[str, Any] = {"rich_help_panel": STATISTICS if statistics else POLICIES}
    kind, default, names, read = info.type, info.default, (), _as_typed
    if (listed := tuple(choices(kind))) and NoneType in get_args(kind):
        kind, default, read = Literal[(*listed, _NOTHING)], default or _NOTHING, _or_none
    elif kind is bool:
        names = (f"--{info.name.replace('_', '-')}",)  # else typer adds one that says no
    elif kind is Any:
        kind, more["metavar"] = str | None, "FILE"
    option = typer.Option(*names, help=info.help, **more)
    return Flag.make(info.name, kind, option, read, default)


def _as_typed(value: Any) -> Any:
    return value


def _or_none(value: str) -> str | None:
    return None if value == _NOTHING else value


def _mapping(name: str, texts: list[str] | None) -> dict[str, str] | None:
    """Return KEY=VALUE pairs as a mapping; values may be secret, and are not shown."""
    pairs = [item.partition("=") for item in texts or ()]
    if any(not (key and equals) for key, equals, _ in pairs):
        raise OptionError(Option(name), " reads KEY=VALUE, e.g. aws_region=eu-central-1.")
    return {key: value for key, _, value in pairs} or None


_UNIT_SPLIT = Flag.make(
    "unit_split",
    str | None,
    typer.Option(
        "--unit-split",
        metavar="MARK",
        help="Map chunks to documents: the document id ends before this mark, e.g. # in d17#3.",
        rich_help_panel=POLICIES,
    ),
)


def _unit(file: str | None, mark: str | None) -> Any:
    """Return the units that a file maps to, or that the ids begin with."""
    if mark is None:
        return file
    if file is not None:
        raise OptionError("--unit and --unit-split say the same thing: leave one of them out.")
    if not mark:
        raise OptionError("--unit-split takes a mark, such as #.")
    import polars as pl

    return pl.col("doc_id").str.split(mark).list.first()


def _memory(size: str | None) -> str | None:
    tell_if_not_held(size)
    return size


output_option = partial(typer.Option, rich_help_panel=OUTPUT)
statistics_option = partial(typer.Option, rich_help_panel=STATISTICS)
spark_option = partial(typer.Option, rich_help_panel=SPARK)

# Flags that several commands hand on as they are, by the names of the functions behind them.
COLUMNS = Flag.make(
    "columns",
    list[str] | None,
    typer.Option(
        "--column", "-c", metavar="NAME=YOURS",
        help="Name of a column in your data, e.g. query_id=user, run.doc_id=_id (repeat).",
        autocompletion=own_columns,
    ),
    column_names,
)  # fmt: skip
MAX_MEMORY = Flag.make(
    "max_memory",
    str | None,
    typer.Option(metavar="SIZE", help="Approximate memory limit, e.g. 2GiB."),
    _memory,
)
QUERIES = Flag.make(
    "queries",
    str | None,
    statistics_option(
        metavar="FILE", help="A table of queries: query_id, and attributes for --by and --weight."
    ),
)
BY = Flag.make(
    "by",
    list[str] | None,
    statistics_option(
        metavar="NAME",
        help="Slice by an attribute; a,b for combinations (repeat).",
        autocompletion=attributes,
    ),
    ways_to_slice,
)
WEIGHT = Flag.make(
    "weight",
    str | None,
    statistics_option(
        metavar="NAME",
        help="Attribute with the weight of each query, such as traffic (average=weighted).",
        autocompletion=attributes,
    ),
)
ITEMS_BY = Flag.make(
    "items_by",
    list[str] | None,
    statistics_option(
        metavar="NAME",
        help="Slice documents by an attribute of --items, or popularity (repeat).",
    ),
)
QUERY_TEXT = Flag.make(
    "query_text",
    str | None,
    typer.Option(metavar="FILE", help="A table of query_id and text, to show."),
)
TITLES = Flag.make(
    "titles",
    str | None,
    typer.Option(metavar="FILE", help="A table of doc_id and title, to show."),
)
LOWER_IS_BETTER = Flag.make(
    "lower_is_better",
    list[str] | None,
    typer.Option(metavar="NAME", help="A stored column where less is better (repeat)."),
    lambda names: names or (),
)
HIGHER_IS_BETTER = Flag.make(
    "higher_is_better",
    list[str] | None,
    typer.Option(metavar="NAME", help="A stored column where more is better (repeat)."),
    lambda names: names or (),
)

# Parameters that several commands use themselves.
Qrels = Annotated[
    str,
    typer.Argument(metavar="QRELS", help="Judgments: a file, glob, folder, or - (stdin); or none."),
]
Runs = Annotated[
    list[str], typer.Argument(metavar="RUN", help="One run or several; NAME=RUN names one.")
]
QrelsAndRuns = Annotated[
    list[str],
    typer.Argument(
        metavar="QRELS RUN...",
        help="Judgments (or none), then two runs or more (NAME=RUN names one).",
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        metavar="NAME",
        help="A metric, e.g. ndcg@1,5,10 (repeat); see `rankframe metrics`.",
        autocompletion=metrics_of("judged"),
    ),
]
Rules = Annotated[Path | None, typer.Option(help="Rules in a TOML file.")]
Style = Annotated[
    Literal["table", "json", "csv", "markdown"], output_option("--format", help="How to print.")
]
ShortStyle = Annotated[
    Literal["table", "json", "csv"], output_option("--format", help="How to print.")
]
PerQuery = Annotated[Path | None, output_option(help="Write the values of each query there.")]
Summary = Annotated[Path | None, output_option(help="Write the summary there.")]
Folder = Annotated[
    Path | None,
    output_option(
        "--output", "-o", metavar="FOLDER", help="Write the whole result there, as Parquet."
    ),
]
Overwrite = Annotated[bool, output_option("--overwrite", help="Replace what is there.")]
Ledger = Annotated[bool, output_option("--ledger", help="Show all counts and policies.")]
Quiet = Annotated[bool, output_option("--quiet", "-q", help="Show no progress.")]
