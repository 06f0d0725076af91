"""`rankframe report`: one web page to send around."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from rankframe.cli.completion import attributes, metrics_of, names_of_runs
from rankframe.cli.gate import rules_from
from rankframe.cli.options import (
    STATISTICS,
    By,
    Columns,
    Given,
    Queries,
    QueryText,
    Quiet,
    Titles,
    takes,
)
from rankframe.cli.support import (
    column_names,
    open_sources,
    progress_bar,
    runs_by_name,
    ways_to_slice,
)
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


@takes(SharedPolicies, Comparing, Intervals, Storage)
def report(
    qrels: Annotated[
        str, typer.Argument(metavar="QRELS", help="Judgments: a file, glob, folder, or -.")
    ],
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN", help="One run or several; NAME=RUN names one.")
    ],
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
            help="The first is drawn; repeat for more.",
            autocompletion=metrics_of("judged"),
        ),
    ] = None,
    title: Annotated[
        str, typer.Option(metavar="TEXT", help="What the page is called.")
    ] = "Ranking report",
    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule", "-r", metavar="RULE", help="As a gate takes it: the page has its verdict."
        ),
    ] = None,
    rules: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rules in a TOML file.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            "-b",
            metavar="NAME",
            help="Else the first run.",
            autocompletion=names_of_runs,
        ),
    ] = None,
    column: Columns = None,
    quiet: Quiet = False,
    how: Given,
    queries: Queries = None,
    by: By = None,
    weight: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="An attribute to weigh regressions by, such as traffic (and average=weighted).",
            autocompletion=attributes,
            rich_help_panel=STATISTICS,
        ),
    ] = None,
    slice_order: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B",
            help="Slices of an attribute in this order (repeat).",
            rich_help_panel=STATISTICS,
        ),
    ] = None,
    query_text: QueryText = None,
    titles: Titles = None,
) -> None:
    """One web page to decide by: what was found, how sure it is, what got worse, and charts."""
    import rankframe as rf

    named = runs_by_name(runs)
    opened = open_sources([qrels, *named.values()])
    with progress_bar("report", quiet=quiet) as told:
        target = rf.report(
            opened[0],
            dict(zip(named, opened[1:], strict=True)),
            metric,
            output=output,
            title=title,
            baseline=baseline,
            rules=rules_from(rule, rules) if rule or rules else None,
            queries=queries,
            by=ways_to_slice(by),
            weight=weight,
            slice_order=_orders(slice_order),
            query_text=query_text,
            titles=titles,
            command=_command(sys.argv),
            columns=column_names(column),
            progress=told,
            **how,
        )
    print(plain_text(str(target)))


def _orders(given: list[str] | None) -> dict[str, list[str]]:
    """NAME=A,B,C pairs as a mapping.

    >>> _orders(["length=short,long"])
    {'length': ['short', 'long']}
    """
    found: dict[str, list[str]] = {}
    for item in given or ():
        name, equals, slices = item.partition("=")
        if not (name and equals and slices):
            raise OptionError(f"--slice-order reads NAME=A,B,C, not {item!r}.")
        found[name] = slices.split(",")
    return found


def _command(arguments: Sequence[str]) -> str:
    """What was typed, without what may be secret.

    >>> _command(["/bin/rankframe", "report", "--storage-option", "key=abc", "a b"])
    "rankframe report --storage-option 'key=***' 'a b'"
    """
    said = ["rankframe"]
    for before, one in pairwise(arguments):
        flag, equals, pair = one.partition("=")
        if before == "--storage-option":
            said.append(f"{flag}=***")
        elif flag == "--storage-option" and equals:
            said.append(f"{flag}={pair.partition('=')[0]}=***")
        else:
            said.append(masked(one))
    return shlex.join(said)
