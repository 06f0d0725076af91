"""`rankframe report`: one web page to send around."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankframe.base.options import Comparing, Intervals, SharedPolicies
from rankframe.base.storage import Storage
from rankframe.base.wording import plain_text
from rankframe.cli.completion import metrics_of, names_of_runs
from rankframe.cli.options import By, Columns, Given, Queries, Quiet, Weight, takes
from rankframe.cli.support import (
    column_names,
    open_sources,
    progress_bar,
    runs_by_name,
    ways_to_slice,
)

EXAMPLES = """
  rankframe report qrels.parquet bm25.parquet dense.parquet -m ndcg@10 -m map

  rankframe report qrels.parquet old=bm25.parquet new=hybrid.parquet \\
    --queries queries.parquet --by locale -o report.html
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
    weight: Weight = None,
) -> None:
    """One web page to send around: numbers, tests, charts, slices, and what moved."""
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
            queries=queries,
            by=ways_to_slice(by),
            weight=weight,
            columns=column_names(column),
            progress=told,
            **how,
        )
    print(plain_text(str(target)))
