"""The options that commands share: flags of what `core/options.py` declares are made from there;
those that only the command line has are here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from rankframe.cli.completion import attributes, metrics_of, own_columns
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.core.option import OptionInfo, Options, choices, declared
from rankframe.core.options import Comparing, Intervals, Storage
from rankframe.io.storage import reached_with

OUTPUT, POLICIES, STATISTICS = "Output", "Policies", "Intervals and slices"
SPARK = "Spark"

# The values of declared options by name, as the functions that take them do.
Given: TypeAlias = Mapping[str, Any]
Command: TypeAlias = Callable[..., None]

_NOTHING = "none"  # what a shell says for None where choices are listed


class PlainCommand(TyperCommand):
    """A command whose help shows what to type, not the types of Python."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, with nothing about types but what to type."""
        return plainly(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What stands behind its name: options, then arguments as they are called."""
        given = [one for one in self.get_params(ctx) if one.param_type_name == "argument"]
        return ["[OPTIONS]", *(f"{one.metavar}{'...' * (one.metavar == 'RUN')}" for one in given)]


def plainly(parameters: list[Any]) -> list[Any]:
    """Parameters that say nothing of their types where that says nothing: flags, and arguments."""
    for one in parameters:
        if one.param_type_name == "argument":
            one.display_type_rich = _no_type
        elif one.is_flag:
            one.metavar = ""
    return parameters


def _no_type(ctx: Any) -> str:  # noqa: ARG001 (as typer calls it)
    return ""


def takes(*groups: type[Options], **single: type[Options]) -> Callable[[Command], Command]:
    """A command with a flag for each option of some groups, and for single ones by name.

    The flags stand where the command has its parameter `how`, which then holds what was given:

    >>> @takes(Intervals, unpaired=Comparing)
    ... def look(run: str, *, how: Given) -> None:
    ...     print(run, dict(how))
    >>> list(inspect.signature(look).parameters)
    ['run', 'ci', 'confidence', 'replicates', 'seed', 'unpaired']
    >>> look(run="a", ci="none", confidence=0.9, replicates=500, seed=0, unpaired="skip")
    a {'ci': None, 'confidence': 0.9, 'replicates': 500, 'seed': 0, 'unpaired': 'skip'}
    """
    every = [(group, option) for group in groups for option in declared(group)]
    every += [
        (group, option)
        for name, group in single.items()
        for option in declared(group)
        if option.name == name
    ]
    flags = [_flag(group, option) for group, option in every]
    if has_units := "unit" in {flag.name for flag in flags}:
        flags.insert([flag.name for flag in flags].index("unit") + 1, _unit_split())
    pairs = {option.name for group, option in every if group is Storage}
    may_be_none = {option.name for _, option in every if NoneType in get_args(option.type)}

    def with_flags(command: Command) -> Command:
        @wraps(command)
        def called(**given: Any) -> None:
            how = {flag.name: given.pop(flag.name) for flag in flags}
            none = {name for name in may_be_none if how[name] == _NOTHING}
            mapped = {name: _mapping(name, how[name]) for name in pairs}
            if has_units:
                mapped["unit"] = _unit(how.pop("unit"), how.pop("unit_split"))
            with reached_with(mapped.get("storage_options")):
                command(**given, how=how | dict.fromkeys(none) | mapped)

        types = get_type_hints(command, include_extras=True)
        parameters: list[inspect.Parameter] = []
        for own in inspect.signature(command).parameters.values():
            read = own.replace(annotation=types[own.name])
            parameters += flags if own.name == "how" else [read]
        # typer reads both
        called.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
        called.__annotations__ = {one.name: one.annotation for one in parameters}
        return called

    return with_flags


def _unit_split() -> inspect.Parameter:
    """The flag for ids that say themselves what they are part of."""
    shown = typer.Option(
        "--unit-split", metavar="MARK",
        help="Map chunks to documents: the document id ends before this mark, e.g. # in d17#3.",
        rich_help_panel=POLICIES,
    )  # fmt: skip
    annotation = Annotated[str | None, shown]
    return inspect.Parameter(
        "unit_split", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )


def _unit(file: str | None, mark: str | None) -> Any:
    """What documents are part of: as a file says, or their own ids."""
    if mark is None:
        return file
    if file is not None:
        raise OptionError("--unit and --unit-split say the same thing: leave one of them out.")
    if not mark:
        raise OptionError("--unit-split takes a mark, such as #.")
    import polars as pl

    return pl.col("doc_id").str.split(mark).list.first()


def _mapping(name: str, given: list[str] | None) -> dict[str, str] | None:
    """KEY=VALUE pairs as a mapping; what a shell is given may be secret, and is not shown."""
    found = [item.partition("=") for item in given or ()]
    if any(not (key and equals) for key, equals, _ in found):
        raise OptionError(Option(name), " reads KEY=VALUE, e.g. aws_region=eu-central-1.")
    return {key: value for key, _, value in found} or None


def _flag(group: type[Options], one: OptionInfo) -> inspect.Parameter:
    """Return an option as typer reads it."""
    kind, default, names = one.type, one.default, ()
    listed = tuple(choices(kind))
    if listed and NoneType in get_args(kind):
        kind, default = Literal[(*listed, _NOTHING)], default or _NOTHING
    elif kind is bool:
        names = (f"--{one.name.replace('_', '-')}",)  # else typer adds one that says no
    metavar = None
    file = kind is Any
    if file:
        kind = str | None
    if group is Storage:
        kind, metavar, names = list[str] | None, "KEY=VALUE", (Option(one.name).said(flags=True),)
    statistics = group in (Intervals, Comparing) and one.name != "unpaired"
    shown = typer.Option(
        *names,
        help=one.help,
        metavar=metavar or ("FILE" if file else _metavar(kind)),
        rich_help_panel=None if metavar else STATISTICS if statistics else POLICIES,
    )
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, shown],
    )


def _metavar(kind: Any) -> str | None:
    """What to type for an option of this type."""
    if listed := list(choices(kind)):
        return "|".join(listed)
    kinds = (kind, *get_args(kind))
    return "N" if int in kinds else "X" if float in kinds else None


Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column", "-c", metavar="NAME=YOURS",
        help="A column of yours, e.g. query_id=user, run.doc_id=_id (repeat).",
        autocompletion=own_columns,
    ),
]  # fmt: skip
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        metavar="NAME",
        help="By name, e.g. name@1,5,10 (repeat); see `rankframe metrics`.",
        autocompletion=metrics_of("judged"),
    ),
]
PairMetrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        metavar="NAME",
        help="By name, e.g. overlap@1,5,10 (repeat); see `rankframe metrics`.",
        autocompletion=metrics_of("pair"),
    ),
]
Style = Annotated[
    Literal["table", "json", "csv", "markdown"],
    typer.Option(
        "--format",
        metavar="table|json|csv|markdown",
        help="How to print.",
        rich_help_panel=OUTPUT,
    ),
]
LowerIsBetter = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A stored column of which less is better (repeat)."),
]
PerQuery = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write each query's values there.", rich_help_panel=OUTPUT),
]
Summary = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the summary there.", rich_help_panel=OUTPUT),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace what is there.", rich_help_panel=OUTPUT)
]
Ledger = Annotated[
    bool, typer.Option("--ledger", help="Show all that was counted.", rich_help_panel=OUTPUT)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.", rich_help_panel=OUTPUT)]
MaxMemory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="About how much to take, e.g. 2GiB.")
]
Engine = Annotated[
    Literal["polars", "spark"],
    typer.Option(
        metavar="polars|spark",
        help="On this machine, or on Spark (needs the extra).",
        rich_help_panel=SPARK,
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Of Spark; else this machine, or what spark-submit says.",
        rich_help_panel=SPARK,
    ),
]
Partitions = Annotated[
    int | None,
    typer.Option(metavar="N", help="On Spark; else a million rows each.", rich_help_panel=SPARK),
]
Queries = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A table of queries: query_id, and attributes for --by and --weight.",
        rich_help_panel=STATISTICS,
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Slice by an attribute; a,b for combinations (repeat).",
        autocompletion=attributes,
        rich_help_panel=STATISTICS,
    ),
]
ItemsBy = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Slice documents by an attribute of --items, or popularity (repeat).",
        rich_help_panel=STATISTICS,
    ),
]
QueryText = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="A table of query_id and text, to show."),
]
Titles = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="A table of doc_id and title, to show."),
]
Weight = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="An attribute to weigh by (average=weighted).",
        autocompletion=attributes,
        rich_help_panel=STATISTICS,
    ),
]  # fmt: skip
