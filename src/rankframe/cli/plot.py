"""`rankframe plot`: a chart in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer

from rankframe.base.options import ChartKind, Policies
from rankframe.base.storage import Storage
from rankframe.cli.completion import metrics_of
from rankframe.cli.options import By, Columns, Given, Queries, Quiet, takes
from rankframe.cli.support import (
    check_outputs,
    column_names,
    open_sources,
    progress_bar,
    runs_by_name,
    ways_to_slice,
)

EXAMPLES = """
  rankframe plot roc qrels.parquet bm25.parquet dense.parquet -o roc.png

  rankframe plot metric_at_k qrels.parquet bm25.parquet -m ndcg -o ndcg.svg

  rankframe plot differences qrels.parquet old=bm25.parquet new=dense.parquet \\
    -m ndcg@10 -o changes.html

  rankframe plot slices qrels.parquet bm25.parquet \\
    --queries queries.parquet --by locale -o slices.png
"""


@takes(Policies, Storage)
def plot(
    kind: Annotated[
        ChartKind,
        typer.Argument(metavar="KIND", help=f"What to draw: {', '.join(get_args(ChartKind))}."),
    ],
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="[QRELS RUN...]", help="Judgments, then runs (NAME=RUN names one)."),
    ] = None,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="A .png, .svg or .html file.")
    ] = Path("chart.svg"),
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="One metric, where one is drawn.",
            autocompletion=metrics_of("judged"),
        ),
    ] = "ndcg@10",
    most: Annotated[
        int, typer.Option("-k", metavar="N", help="The deepest rank, where ranks are drawn.")
    ] = 20,
    distance: Annotated[
        bool, typer.Option("--distance", help="Scores are distances: smaller is better (roc).")
    ] = False,
    column: Columns = None,
    quiet: Quiet = False,
    how: Given,
    queries: Queries = None,
    by: By = None,
) -> None:
    """Draw a chart: curves, differences, distributions, slices, heat maps."""
    from rankframe.plot.draw import draw
    from rankframe.plot.material import Material

    given = sources or []
    runs = runs_by_name(given[1:])
    opened = open_sources([*given[:1], *runs.values()])
    check_outputs([*opened, queries], output)
    with progress_bar(f"drawing {kind}", quiet=quiet):
        draw(
            kind,
            Material(
                qrels=opened[0] if opened else None,
                runs=dict(zip(runs, opened[1:], strict=True)),
                metric=metric,
                k=most,
                distance=distance,
                queries=queries,
                by=ways_to_slice(by),
                columns=column_names(column),
                policies=how,
            ),
            output,
        )
