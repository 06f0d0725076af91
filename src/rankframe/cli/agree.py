"""`rankframe agree`: two rankings of the same queries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankframe.cli.options import (
    OUTPUT,
    Columns,
    Given,
    Ledger,
    MaxMemory,
    Overwrite,
    PairMetrics,
    PerQuery,
    Quiet,
    Style,
    Summary,
    takes,
)
from rankframe.cli.support import (
    check_outputs,
    check_tables,
    column_names,
    deliver,
    open_sources,
    progress_bar,
    runs_by_name,
    tell_if_not_held,
)
from rankframe.core.options import Intervals, PairPolicies, Storage

EXAMPLES = """
  rankframe agree bm25.parquet dense.parquet -m rbo -m overlap@10

  rankframe agree monday=bm25.parquet tuesday=hybrid.parquet \\
    -m "rbo(p=0.95, ties=a)" --per-query moved.parquet

  rankframe agree qrels.parquet bm25.parquet -m ndpm -m fcp

The last one takes the judgments as the reference.
"""


@takes(PairPolicies, Intervals, Storage)
def agree(
    a: Annotated[
        str, typer.Argument(metavar="A", help="A ranking (the reference): a file, glob, folder, -.")
    ],
    b: Annotated[
        str, typer.Argument(metavar="B", help="Another one, of the same queries; NAME=B names it.")
    ],
    *,
    metric: PairMetrics = None,
    column: Columns = None,
    style: Style = "table",
    per_query: PerQuery = None,
    summary: Summary = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Write the whole result there, as Parquet.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    overwrite: Overwrite = False,
    ledger: Ledger = False,
    quiet: Quiet = False,
    max_memory: MaxMemory = None,
    how: Given,
) -> None:
    """Compare two rankings of the same queries, without judgments: how alike are they?"""
    import rankframe as rf
    from rankframe.engine.agree import DEFAULT_METRICS
    from rankframe.metrics.names import resolve

    check_tables(per_query, summary)
    metrics = metric or list(DEFAULT_METRICS)
    runs = runs_by_name([a, b])
    first, second = open_sources([*runs.values()])
    tell_if_not_held(max_memory)
    check_outputs([first, second], per_query, summary, folder=output)
    name = " ~ ".join(runs)
    with progress_bar(name, quiet=quiet) as report:
        result = rf.agree(
            first,
            second,
            metrics,
            columns=column_names(column),
            max_memory=max_memory,
            output=output,
            overwrite=overwrite,
            progress=report,
            **how,
        )
    resolved = resolve(metrics, "pair", any_average=True)
    deliver({name: result}, resolved, style, per_query, summary, ledger=ledger)
