"""`rankframe agree`: two rankings of the same queries."""

from __future__ import annotations

from typing import Annotated

import typer

from rankframe.cli.completion import metrics_of
from rankframe.cli.options import (
    COLUMNS,
    MAX_MEMORY,
    Folder,
    Given,
    Ledger,
    Overwrite,
    PerQuery,
    Quiet,
    Style,
    Summary,
    takes,
)
from rankframe.cli.support import check_outputs, check_tables, deliver, open_inputs, progress_bar
from rankframe.core.options import Intervals, PairPolicies, Storage

EXAMPLES = """
  rankframe agree bm25.parquet dense.parquet -m rbo -m overlap@10

  rankframe agree monday=bm25.parquet tuesday=hybrid.parquet \\
    -m "rbo(p=0.95, ties=a)" --per-query moved.parquet

  rankframe agree qrels.parquet bm25.parquet -m ndpm -m fcp

The last one takes the judgments as the reference.
"""


@takes(PairPolicies, Intervals, Storage, shared=(COLUMNS, MAX_MEMORY))
def agree(
    a: Annotated[
        str, typer.Argument(metavar="A", help="A ranking (the reference): a file, glob, folder, -.")
    ],
    b: Annotated[
        str, typer.Argument(metavar="B", help="Another one, of the same queries; NAME=B names it.")
    ],
    *,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="A metric, e.g. overlap@1,5,10 (repeat); see `rankframe metrics`.",
            autocompletion=metrics_of("pair"),
        ),
    ] = None,
    style: Style = "table",
    per_query: PerQuery = None,
    summary: Summary = None,
    output: Folder = None,
    overwrite: Overwrite = False,
    ledger: Ledger = False,
    quiet: Quiet = False,
    how: Given,
) -> None:
    """Compare two rankings of the same queries, without judgments: how similar are they?"""
    import rankframe as rf
    from rankframe.engine.agree import DEFAULT_METRICS
    from rankframe.metrics.names import resolve

    check_tables(per_query, summary)
    metrics = metric or list(DEFAULT_METRICS)
    _, runs = open_inputs(None, [a, b])
    first, second = runs.values()
    check_outputs([first, second], per_query, summary, folder=output)
    name = " ~ ".join(runs)
    with progress_bar(name, quiet=quiet) as report:
        result = rf.agree(
            first, second, metrics, output=output, overwrite=overwrite, progress=report, **how
        )
    resolved = resolve(metrics, "pair", any_average=True)
    deliver({name: result}, resolved, style, per_query, summary, ledger=ledger)
