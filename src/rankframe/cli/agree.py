"""`rankframe agree`: two rankings of the same queries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankframe.base.options import Intervals, PairPolicies
from rankframe.cli.options import (
    OUTPUT,
    Columns,
    Given,
    Ledger,
    MaxMemory,
    Metrics,
    Overwrite,
    PerQuery,
    Quiet,
    Style,
    Summary,
    takes,
)
from rankframe.cli.progress import progress_bar
from rankframe.cli.support import (
    check_outputs,
    check_tables,
    column_names,
    deliver,
    open_sources,
    run_names,
    tell_if_not_held,
)

EXAMPLES = """
  rankframe agree monday.parquet tuesday.parquet -m rbo -m overlap@10 -m kendall_tau@10

  rankframe agree old.run new.run -m "rbo(p=0.95, ties=a)" --per-query moved.parquet

  rankframe agree qrels.parquet run.parquet -m ndpm -m fcp     (judgments as the reference)
"""


@takes(PairPolicies, Intervals)
def agree(
    a: Annotated[
        str, typer.Argument(metavar="A", help="A ranking (the reference): a file, glob, folder, -.")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one of the same queries.")],
    *,
    metric: Metrics = None,
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
    from rankframe.evaluation.agree import DEFAULT_METRICS
    from rankframe.metrics.names import resolve

    check_tables(per_query, summary)
    metrics = metric or list(DEFAULT_METRICS)
    first, second = open_sources([a, b])
    tell_if_not_held(max_memory)
    check_outputs([first, second], per_query, summary, folder=output)
    name = " ~ ".join(run_names([a, b]))
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
    resolved = resolve(metrics, "pair")
    deliver({name: result}, resolved, style, per_query, summary, ledger=ledger)
