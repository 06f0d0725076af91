"""`rankframe report`: an HTML report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from rankframe.cli.completion import metrics_of, names_of_runs
from rankframe.cli.gate import rules_from
from rankframe.cli.options import (
    BY,
    COLUMNS,
    QUERIES,
    QUERY_TEXT,
    TITLES,
    WEIGHT,
    Given,
    Qrels,
    Quiet,
    Rules,
    Runs,
    statistics_option,
    takes,
)
from rankframe.cli.support import open_inputs, progress_bar
from rankframe.core.errors import OptionError
from rankframe.core.messages import masked
from rankframe.core.options import Comparing, Intervals, SharedPolicies, Storage
from rankframe.core.wording import plain_text

EXAMPLES = """
  rankframe report qrels.parquet bm25.parquet dense.parquet -m ndcg@10 -m map

  rankframe report qrels.parquet old=bm25.parquet new=hybrid.parquet \\
    --queries queries.parquet --by locale -o report.html

  rankframe report qrels.parquet bm25.parquet dense.parquet --rules gate.toml \\
    --queries queries.parquet --weight traffic --titles products.parquet
"""


@takes(
    SharedPolicies, Comparing, Intervals, Storage,
    shared=(COLUMNS, QUERIES, BY, WEIGHT, QUERY_TEXT, TITLES),
)  # fmt: skip
def report(
    qrels: Qrels,
    runs: Runs,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The page, an .html file.")
    ] = Path("report.html"),
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="A metric (repeat); charts are of the first.",
            autocompletion=metrics_of("judged"),
        ),
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "Ranking report",
    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            "-r",
            metavar="RULE",
            help="A rule of a gate, whose verdict the page has (repeat).",
        ),
    ] = None,
    rules: Rules = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            "-b",
            metavar="NAME",
            help="The run that others are compared with (default: the first).",
            autocompletion=names_of_runs,
        ),
    ] = None,
    quiet: Quiet = False,
    how: Given,
    slice_order: Annotated[
        list[str] | None,
        statistics_option(
            metavar="NAME=A,B", help="Slices of an attribute in this order (repeat)."
        ),
    ] = None,
) -> None:
    """Write an HTML report: summary, significance, regressions, charts."""
    import rankframe as rf

    judgments, systems = open_inputs(qrels, runs)
    with progress_bar("report", quiet=quiet) as on_progress:
        target = rf.report(
            judgments,
            systems,
            metric,
            output=output,
            title=title,
            baseline=baseline,
            rules=rules_from(rule, rules) if rule or rules else None,
            slice_order=_orders(slice_order),
            command=_command(sys.argv),
            progress=on_progress,
            **how,
        )
    print(plain_text(str(target)))


def _orders(texts: list[str] | None) -> dict[str, list[str]]:
    """Read NAME=A,B,C pairs into a mapping.

    >>> _orders(["length=short,long"])
    {'length': ['short', 'long']}
    """
    orders: dict[str, list[str]] = {}
    for item in texts or ():
        name, equals, slices = item.partition("=")
        if not (name and equals and slices):
            raise OptionError(f"--slice-order reads NAME=A,B,C, not {item!r}.")
        orders[name] = slices.split(",")
    return orders


def _command(arguments: Sequence[str]) -> str:
    """Return the command as typed, without secrets.

    >>> _command(["/bin/rankframe", "report", "--storage-option", "key=abc", "a b"])
    "rankframe report --storage-option 'key=***' 'a b'"
    """
    words = ["rankframe"]
    for before, argument in pairwise(arguments):
        flag, equals, pair = argument.partition("=")
        if before == "--storage-option":
            words.append(f"{flag}=***")
        elif flag == "--storage-option" and equals:
            words.append(f"{flag}={pair.partition('=')[0]}=***")
        else:
            words.append(masked(argument))
    return shlex.join(words)
